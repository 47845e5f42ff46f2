"""Sentences that stay true when the world is not two clusters, and the calibration behind them."""

import numpy as np
import pandas as pd
import pytest

from calls import novelty
from shiftmetrics import kernel_entropic_novelty

NAMES = [f"c{number}" for number in range(5)]


def normal(seed: int, n: int = 400, columns: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, columns))


def with_mode(rows: np.ndarray, fraction: float, column: int, sign: float, seed: int) -> np.ndarray:
    """Replace the first rows by a mode far along a column."""
    rng = np.random.default_rng(seed)
    rows = rows.copy()
    size = round(fraction * len(rows))
    rows[:size] = 0.7 * rng.normal(size=(size, rows.shape[1]))
    rows[:size, column] += 6.0 * sign
    return rows


@pytest.mark.parametrize(
    "fraction", [0.3, *(pytest.param(large, marks=pytest.mark.slow) for large in (0.62, 0.7))]
)
def test_a_large_new_mode_dilutes_and_nothing_is_missing(fraction: float) -> None:
    result = novelty(with_mode(normal(0), fraction, 0, 1.0, 1), normal(2), n_resamples=99)
    assert result.fraction == pytest.approx(fraction, abs=0.06)
    assert 0.6 * fraction <= result.fraction_interval.low <= fraction
    assert (len(result.new), result.missing, result.changes.modes) == (1, (), ())
    assert result.test.missing_p_value > 0.05
    assert result.headline().startswith("New: about")
    assert "Nothing is shown to be missing" in result.headline()


@pytest.mark.slow
def test_diluted_modes_are_never_missing() -> None:
    false = 0
    for seed in range(0, 40, 3):
        fraction = 0.3 + 0.01 * seed
        sample = with_mode(normal(10 + seed, 250), fraction, 0, 1.0, seed)
        false += bool(kernel_entropic_novelty(sample, normal(50 + seed, 250)).missing)
    assert false == 0


def test_one_mode_new_and_one_missing() -> None:
    sample = with_mode(normal(3), 0.15, 0, 1.0, 4)
    reference = with_mode(normal(5), 0.15, 1, -1.0, 6)
    result = novelty(sample, reference, n_resamples=99)
    assert (len(result.new), len(result.missing)) == (1, 1)
    assert result.fraction == pytest.approx(0.15, abs=0.05)
    assert result.missing_fraction == pytest.approx(0.15, abs=0.05)
    assert np.mean(result.new[0].members() < 60) > 0.9
    assert np.mean(result.missing[0].members(of="reference") < 60) > 0.9
    assert result.new[0].columns[0].name == "column 0"
    assert result.missing[0].columns[0].name == "column 1"


def test_half_of_a_column_that_is_cut_off_is_missing() -> None:
    rows = normal(41, 800)
    result = novelty(rows[rows[:, 0] > 0.0], normal(42), n_resamples=99)
    assert result.changes.columns == ()
    assert result.missing_fraction == pytest.approx(0.5, abs=0.08)
    assert result.missing[0].columns[0].name == "column 0"


def test_beside_nearly_all_new_nothing_is_said_of_what_is_missing() -> None:
    result = novelty(normal(43, 100) + 20.0, normal(44, 100)[:, :5], n_resamples=59)
    assert result.fraction > 0.95
    apart = novelty(0.3 * normal(45, 150), normal(46, 150), n_resamples=59)
    assert "Nothing is shown to be missing" not in apart.headline()


@pytest.mark.slow
def test_twice_as_frequent_is_not_new() -> None:
    rare = with_mode(normal(11), 0.2, 0, 1.0, 12)
    often = with_mode(normal(13), 0.45, 0, 1.0, 14)
    more = novelty(often, rare, n_resamples=99)
    assert (more.new, more.missing, more.fraction) == ((), (), 0.0)
    assert "is more frequent: rows" in more.headline()
    less = novelty(rare, often, n_resamples=99)
    assert (less.new, less.missing) == ((), ())
    assert "Less frequent: " in less.headline()
    assert np.mean(less.changes.modes[0].members(of="reference") < 180) > 0.9


@pytest.mark.slow
def test_pieces_of_a_mode_that_is_more_frequent_are_not_new() -> None:
    # By chance a piece of a wide mode lacks samples of one side: of 16 pairs 9 had a new or a missing mode.
    false = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        samples = []
        for size in (150, 250):
            rows = rng.normal(size=(500, 4))
            rows[:size, :2] += [4.0, -4.0]
            samples.append(rows)
        for sides in (samples, samples[::-1]):
            result = kernel_entropic_novelty(*sides)
            assert min(result.test.p_value, result.test.missing_p_value) < 0.01
            false += bool(result.new or result.missing)
    assert false <= 1


def test_an_age_band_is_new() -> None:
    rng = np.random.default_rng(15)
    sample = pd.DataFrame({"age": rng.uniform(20, 80, 600), "dose": rng.normal(size=600)})
    reference = pd.DataFrame({"age": rng.uniform(20, 80, 900), "dose": rng.normal(size=900)})
    reference = reference[~reference["age"].between(45, 55)].reset_index(drop=True)
    result = novelty(sample, reference, n_resamples=99)
    assert result.p_value < 0.05
    assert result.missing == ()
    assert result.changes.columns == ()
    inside = sample["age"].to_numpy()[result.new[0].members()]
    assert np.mean((inside > 44) & (inside < 56)) > 0.8


def test_where_no_mode_is_clear_samples_to_look_at_are_named() -> None:
    # Each new sample is far away on its own: there is no mode of them.
    rng = np.random.default_rng(16)
    sample = normal(17, 300, 20)
    directions = rng.normal(size=(24, 20))
    sample[:24] = 14.0 * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    names = [f"row {number}" for number in range(300)]
    result = novelty(sample, normal(18, 300, 20), n_resamples=199).named(names, None)
    assert result.p_value < 0.05
    if not result.new:
        assert "no single clear mode; look first at rows row " in result.headline()
    assert np.mean(result.test.first_rows < 24) >= 0.3  # of 8 % of the sample
