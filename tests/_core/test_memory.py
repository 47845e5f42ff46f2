"""Memory: what there is, limits, and a refusal in words."""

from pathlib import Path

import pytest

from shiftmetrics._core import memory
from shiftmetrics._core.memory import available_memory, check_memory, check_memory_limit, format_bytes


def test_some_memory_is_available() -> None:
    assert 2**20 < available_memory() < 2**60
    assert check_memory_limit(None) == pytest.approx(available_memory() / 2, rel=0.5)
    assert check_memory_limit(1e6) == 1_000_000


def test_the_limit_of_a_container_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_CGROUP", tmp_path)
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
    monkeypatch.setattr(memory, "_meminfo", lambda: None)
    monkeypatch.setattr(memory, "_cgroup", lambda: None)
    assert available_memory() > 2**20
    monkeypatch.delattr(memory.os, "sysconf")
    assert available_memory() == 4 << 30


def test_what_does_not_fit_is_refused_with_both_figures() -> None:
    check_memory(100, 100, "method='dense'", "Take fewer rows.")
    with pytest.raises(
        MemoryError, match=r"method='dense' needs 3 GiB of memory, got a limit of 1.5 KiB. Take fewer"
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
