"""Options of computing and resampling: defaults, what is recorded, and bad values in words."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from shiftmetrics import Computing, Resampling
from shiftmetrics._core import options
from shiftmetrics._core.options import (
    available_memory,
    check_memory,
    check_memory_limit,
    computing_of,
    format_bytes,
    resampling_of,
)

# --- computing -------------------------------------------------------------------------------------------


def test_nothing_is_set_by_default_and_nothing_recorded() -> None:
    options = Computing()
    assert (options.executor, options.memory_limit, options.atol, options.rtol) == (None,) * 4
    assert options.max_iter is None
    assert options.progress
    assert options.settings() == {}


def test_a_function_fills_in_its_defaults() -> None:
    given = Computing(atol=1e-6, progress=False)
    options = computing_of(given, atol=1e-9, max_iter=50, memory_limit=None)
    assert (options.atol, options.max_iter, options.memory_limit, options.progress) == (
        1e-6,
        50,
        None,
        False,
    )
    assert options.settings() == {"atol": 1e-6, "max_iter": 50}
    assert computing_of(None, rtol=1e-3).rtol == 1e-3
    assert given.max_iter is None  # what the caller holds stays as it was


def test_an_option_without_effect_is_refused() -> None:
    with pytest.raises(
        ValueError, match="computing must be without max_iter, which has no effect here"
    ):
        computing_of(Computing(max_iter=3), atol=1e-9)
    assert (
        computing_of(Computing(executor=ThreadPoolExecutor(1), progress=False)).executor is not None
    )


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"executor": 4},
            TypeError,
            r"executor must be a concurrent.*got 4. Pass concurrent.*Executor\(4\).",
        ),
        (
            {"executor": "threads"},
            TypeError,
            "executor must be a concurrent.futures.Executor or None",
        ),
        ({"atol": 0.0}, ValueError, "atol must be a number greater than 0"),
        ({"atol": "small"}, TypeError, "atol must be a real number"),
        ({"rtol": -1e-3}, ValueError, "rtol must be a number at least 0"),
        ({"rtol": np.nan}, ValueError, "rtol must be a number at least 0"),
        ({"max_iter": 0}, ValueError, "max_iter must be an integer at least 1"),
        ({"max_iter": 1.5}, TypeError, "max_iter must be an integer"),
        ({"memory_limit": 0}, ValueError, "memory_limit must be a number greater than 0"),
    ],
)
def test_bad_options_are_named(options: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Computing(**options)


def test_something_else_is_refused() -> None:
    with pytest.raises(TypeError, match="computing must be a Computing or None, got 1e-09"):
        computing_of(1e-9, atol=None)  # type: ignore[arg-type]


# --- resampling ------------------------------------------------------------------------------------------


def test_a_number_is_the_level_and_a_seed_is_drawn() -> None:
    assert resampling_of(None) is None
    options = resampling_of(0.9)
    assert options is not None
    assert (options.confidence_level, options.n_resamples, options.groups) == (0.9, 1000, None)
    assert isinstance(options.rng, int)
    assert resampling_of(Resampling(rng=3)).rng == 3  # type: ignore[union-attr]
    first, second = (resampling_of(Resampling(rng=np.random.default_rng(0))) for _ in range(2))
    assert first == second


def test_what_is_recorded_are_numbers() -> None:
    options = Resampling(confidence_level=0.8, n_resamples=50, groups=["a", "b"], rng=1)
    assert options.settings() == {
        "confidence_level": 0.8,
        "n_resamples": 50,
        "groups": True,
        "rng": 1,
    }
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.confidence_level = 0.5  # type: ignore[misc]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"confidence_level": 1.0},
            ValueError,
            "confidence_level must be a number greater than 0 and less than 1",
        ),
        ({"confidence_level": "high"}, TypeError, "confidence_level must be a real number"),
        ({"n_resamples": 1}, ValueError, "n_resamples must be an integer between 2"),
        ({"n_resamples": 10.0}, TypeError, "n_resamples must be an integer"),
    ],
)
def test_bad_resampling_is_named(options: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Resampling(**options)


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (95, ValueError, "resampling must be a number greater than 0 and less than 1"),
        ("0.95", TypeError, "resampling must be a real number"),
        (True, TypeError, "resampling must be a real number"),
    ],
)
def test_a_bad_level_is_named(value: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        resampling_of(value)  # type: ignore[arg-type]


def test_some_memory_is_available() -> None:
    assert 2**20 < available_memory() < 2**60
    assert check_memory_limit(None) == pytest.approx(available_memory() / 2, rel=0.5)
    assert check_memory_limit(1e6) == 1_000_000


def test_the_limit_of_a_container_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "_CGROUP", tmp_path)
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("700000\n")
    (tmp_path / "memory.stat").write_text("anon 1\ninactive_file 200000\n")
    assert available_memory() == 500_000
    (tmp_path / "memory.current").write_text("5000000\n")
    assert available_memory() == 0
    (tmp_path / "memory.max").write_text("max\n")
    assert available_memory() > 2**20
    (tmp_path / "memory.max").write_text("nonsense\n")
    assert available_memory() > 2**20


def test_a_system_that_tells_nothing_is_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "_meminfo", lambda: None)
    monkeypatch.setattr(options, "_cgroup", lambda: None)
    assert available_memory() > 2**20
    monkeypatch.delattr(options.os, "sysconf")
    assert available_memory() == 4 << 30


def test_what_does_not_fit_is_refused_with_both_figures() -> None:
    check_memory(100, 100, "method='dense'", "Take fewer rows.")
    with pytest.raises(
        MemoryError,
        match=r"method='dense' needs 3 GiB of memory, got a limit of 1.5 KiB. Take fewer",
    ):
        check_memory(3 * 2**30, 1536, "method='dense'", "Take fewer rows.")


@pytest.mark.parametrize("value", [0, -1, float("nan"), 1e30])
def test_a_limit_is_a_positive_number(value: float) -> None:
    with pytest.raises(ValueError, match="memory_limit must be a number greater than 0"):
        check_memory_limit(value)


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1023, "1023 B"), (2048, "2 KiB"), (5 * 2**40, "5 TiB"), (3e9, "2.794 GiB")],
)
def test_bytes_for_people(size: float, text: str) -> None:
    assert format_bytes(size) == text
