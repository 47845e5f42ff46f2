"""Routes and statuses of novelty, and what its result says."""

import json
import math

import numpy as np
import pytest

from calls import novelty
from shiftmetrics.novelty import NoveltyResult
from shiftmetrics.novelty.score.solution import EXACT, RANK_LIMITED, SAMPLED

ROUTES = ("dense", "landmarks")
ANGLES = np.arange(8) * np.pi / 4
RING = np.c_[np.cos(ANGLES), np.sin(ANGLES)]


def two_samples(
    seed: int, n: int = 25, m: int = 18, columns: int = 2, shift: float = 0.5
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, columns)), rng.normal(size=(m, columns)) + shift


def ring(n: int, modes: list[int], seed: int) -> np.ndarray:
    """The geometry of the paper's figure 1: components of standard deviation 0.031 on the unit circle."""
    rng = np.random.default_rng(seed)
    return RING[rng.choice(modes, n)] + rng.normal(size=(n, 2)) * 0.031


# --- routes, memory, statuses ----------------------------------------------------------------------------


def test_auto_says_why() -> None:
    x, y = two_samples(0)
    few = novelty(x, y)
    assert (few.score.method, few.settings["reason"]) == (
        "dense",
        "43 rows are few enough to factor the whole matrix",
    )
    wide = novelty(ring(800, [1], 0), ring(800, [0], 1), bandwidth=0.4)
    assert wide.score.method == "landmarks"
    assert "of the 1600 rows" in wide.settings["reason"]
    asked = novelty(x, y, method="landmarks")
    assert asked.settings["reason"] == "chosen by name"


@pytest.mark.slow
def test_auto_goes_dense_when_the_rank_is_full() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(700, 40)), rng.normal(size=(600, 40))
    result = novelty(x, y, bandwidth=4.0)
    assert (result.score.method, result.score.rank, result.status) == ("dense", 1300, EXACT)
    assert "325 landmarks leave out" in result.settings["reason"]


@pytest.mark.slow
def test_auto_scores_a_part_of_the_rows_where_all_would_take_long() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2100, 30)), rng.normal(size=(1900, 30)) + 0.3
    result = novelty(x, y, bandwidth=4.0)
    assert (result.score.method, result.status, result.score.sizes) == (
        "dense",
        SAMPLED,
        (1000, 1000),
    )
    assert not result.status.ok
    assert "method='dense' would take about" in result.settings["reason"]
    assert "on 1000 and 1000 samples chosen at random" in result.summary()
    assert result.score.total < 1.0


@pytest.mark.slow
def test_a_rank_limit_is_a_lower_bound() -> None:
    x, y = two_samples(0, 300, 200)
    exactly = novelty(x, y, bandwidth=0.5, method="dense")
    values = []
    for rank in (5, 20, 60):
        result = novelty(x, y, bandwidth=0.5, method="landmarks", n_landmarks=rank)
        assert result.score.rank == rank
        assert result.status is RANK_LIMITED
        assert result.value <= exactly.value <= result.value + result.error_bound
        values.append(result.value)
    assert values == sorted(values)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"method": "dense"},
            r"method='dense' with 3000 rows needs .* MiB .* got a limit of 97.66 MiB. Take",
        ),
        (
            {"method": "landmarks", "memory_limit": 64 << 20},
            r"method='landmarks' with 1024 landmarks needs .* fewer rows",
        ),
    ],
)
def test_what_does_not_fit_is_refused_before_it_is_tried(arguments: dict, message: str) -> None:
    x = np.random.default_rng(0).normal(size=(1500, 2))
    with pytest.raises(MemoryError, match=message):
        novelty(x, x, **{"bandwidth": 1.0, "memory_limit": 100_000 << 10, **arguments})


@pytest.mark.slow
def test_points_are_scored_by_all_modes_of_a_large_rank() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(700, 30)), rng.normal(size=(500, 30))
    some = novelty(x, y, bandwidth=3.0)
    # Too large to keep all eigenvectors: points are scored by a second decomposition.
    total = some.point_novelty(x).mean() - some.point_novelty(y).mean()
    assert total == pytest.approx(some.score.total, abs=1e-9)


# --- what is reported ------------------------------------------------------------------------------------


def test_the_degenerate_bandwidths_are_flagged() -> None:
    x, y = two_samples(0, 100, 100)
    narrow = novelty(x, y, bandwidth=1e-3)
    assert narrow.value == pytest.approx(math.log(100), abs=1e-6)
    assert sum("for 100 modes" in warning for warning in narrow.warnings) == 2
    wide = novelty(x, y, bandwidth=1e3)
    assert wide.value == pytest.approx(0.0, abs=1e-4)
    assert any("nearly alike" in warning for warning in wide.warnings)
    middle = novelty(x, y, bandwidth=0.3)
    assert any("few rows, 100 " in warning for warning in middle.warnings)
    assert novelty(x, y, bandwidth=1.5).warnings == ()


def test_two_far_points_are_no_degenerate_bandwidth() -> None:
    x, y = np.zeros((50, 2)), np.ones((50, 2))
    result = novelty(x, y, bandwidth=0.1)
    assert result.score.total == pytest.approx(1.0)
    assert result.value == pytest.approx(0.0, abs=1e-12)
    assert result.warnings == ()


@pytest.mark.parametrize("method", ROUTES)
def test_constant_rows_are_no_news(method: str) -> None:
    result = novelty(np.ones((9, 3)), np.ones((7, 3)), method=method)
    assert (result.value, result.score.total, result.new) == (0.0, 0.0, ())
    assert result.headline().startswith("Nothing new shown at this size (p = ")
    assert any("nearly alike" in warning for warning in result.warnings)


def test_the_summary_says_what_is_new_before_any_statistic() -> None:
    result = novelty(ring(400, [1, 5], 0), ring(400, [0, 2], 1), bandwidth=0.4)
    lines = result.summary().splitlines()
    assert lines[0].startswith("New: about 100 % of the sample, 2 modes (p = .0033): rows ")
    assert "Missing: about 100 % of the reference, 2 modes (p = .0033): rows " in lines[0]
    assert lines[1].startswith("At least 9")
    assert lines[2].startswith("Mode 1: ")
    assert lines[4].startswith("Missing mode 1: ")
    assert result.details()[0].startswith("Kernel entropic novelty 0.7")
    x, y = np.random.default_rng(0).normal(size=(2, 100, 3))
    nothing = novelty(x, y, n_resamples=99)
    assert nothing.headline().startswith("Nothing new shown at this size (p = ")
    assert "Nothing is shown to be missing" in nothing.headline()
    tenfold = novelty(x, y, eta=10.0)
    assert tenfold.headline().startswith("No mode more than 10 times as frequent shown")
    assert tenfold.score.reverse is None


def test_the_reverse_comes_at_eta_1() -> None:
    x, y = two_samples(0)
    assert novelty(x, y, bandwidth=1.0).score.reverse is not None
    assert novelty(x, y, bandwidth=1.0, eta=2.0).score.reverse is None
    turned = novelty(y, x, bandwidth=1.0)
    assert novelty(x, y, bandwidth=1.0).score.reverse == pytest.approx(turned.value, abs=1e-8)


def test_settings_hold_all_arguments() -> None:
    x, y = two_samples(0)
    result = novelty(x, y, eta=2, rng=7)
    for name in ("eta", "kernel", "bandwidth", "method", "resampling", "computing", "versions"):
        assert name in result.settings
    assert result.settings["resampling"]["rng"] == 7
    assert result.settings["bandwidth_choice"]["value"] == result.score.bandwidth
    assert (result.n_samples, result.n_reference) == (25, 18)


def test_json_that_calls_the_new_modes_modes_stays_readable() -> None:
    x, y = two_samples(0, n=60, m=60, shift=6.0)
    result = novelty(x, y)
    assert result.new
    document = json.loads(result.to_json())
    document["modes"] = document.pop("new")
    assert NoveltyResult.from_json(json.dumps(document)).equals(result)


def test_a_result_travels_through_json(tmp_path) -> None:
    x, y = two_samples(0)
    result = novelty(x, y)
    for back in (
        NoveltyResult.from_json(result.to_json()),
        NoveltyResult.from_json(tmp_path / "r.json")
        if result.to_json(tmp_path / "r.json")
        else None,
    ):
        assert back is not None
        assert back.equals(result)
        assert back.p_value == result.p_value
        with pytest.raises(ValueError, match="got one read from a file"):
            back.point_novelty(x)
    frame = result.to_frame()
    assert frame.loc[0, "value"] == result.value
    assert frame.loc[0, "p_value"] == result.p_value


def test_results_are_read_only_and_inputs_unchanged() -> None:
    x, y = two_samples(0)
    before = x.copy(), y.copy()
    result = novelty(x, y)
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(y, before[1])
    for array in (result.score.eigenvalues, result.score.reverse_eigenvalues):
        assert array is not None
        assert not array.flags.writeable
