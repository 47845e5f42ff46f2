"""Sentences that stay true when the world is not two clusters, and the calibration behind them."""

import numpy as np
import pandas as pd
import pytest

from calls import novelty
from shiftmetrics import kernel_entropic_novelty
from shiftmetrics.novelty.dependence import duplicate_warnings, order_warnings
from shiftmetrics.novelty.modes.changes import changes_of_columns, is_gradual, smoothed
from shiftmetrics.novelty.modes.crossfit import crossfitted_members, lower_bound
from shiftmetrics.novelty.modes.gate import likelihood_ratio

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


# --- what is said --------------------------------------------------------------------------------


@pytest.mark.parametrize("fraction", [0.3, 0.62, pytest.param(0.7, marks=pytest.mark.slow)])
def test_a_large_new_mode_dilutes_and_nothing_is_missing(fraction: float) -> None:
    result = novelty(with_mode(normal(0), fraction, 0, 1.0, 1), normal(2), n_resamples=99)
    assert result.fraction == pytest.approx(fraction, abs=0.06)
    assert 0.6 * fraction <= result.fraction_interval.low <= fraction
    assert (len(result.modes), result.missing, result.changes.modes) == (1, (), ())
    assert result.test.missing_p_value > 0.05
    assert result.headline().startswith("New: about")
    assert "Nothing is shown to be missing" in result.headline()


@pytest.mark.slow
def test_diluted_modes_are_never_missing() -> None:
    false = 0
    for seed in range(40):
        fraction = 0.3 + 0.01 * seed
        sample = with_mode(normal(10 + seed, 250), fraction, 0, 1.0, seed)
        false += bool(kernel_entropic_novelty(sample, normal(50 + seed, 250)).missing)
    assert false == 0


def test_one_mode_new_and_one_missing() -> None:
    sample = with_mode(normal(3), 0.15, 0, 1.0, 4)
    reference = with_mode(normal(5), 0.15, 1, -1.0, 6)
    result = novelty(sample, reference, n_resamples=99)
    assert (len(result.modes), len(result.missing)) == (1, 1)
    assert result.fraction == pytest.approx(0.15, abs=0.05)
    assert result.missing_fraction == pytest.approx(0.15, abs=0.05)
    assert np.mean(result.modes[0].members() < 60) > 0.9
    assert np.mean(result.missing[0].members(of="reference") < 60) > 0.9
    assert result.modes[0].columns[0].name == "column 0"
    assert result.missing[0].columns[0].name == "column 1"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda rows: 1.3 * rows, "wider spread"),
        (lambda rows: 0.75 * rows, "narrower spread"),
        (lambda rows: rows + 0.5 * np.eye(5)[2], "gradual shift in column c2 by +0."),
    ],
)
def test_gradual_changes_are_not_new(change, words: str) -> None:
    sample = pd.DataFrame(change(normal(7, 500)), columns=NAMES)
    result = novelty(sample, pd.DataFrame(normal(8, 500), columns=NAMES), n_resamples=99)
    assert (result.modes, result.missing, result.fraction) == ((), (), 0.0)
    assert words in result.headline()


def test_a_shift_of_one_standard_deviation_is_gradual() -> None:
    result = novelty(normal(9, 400, 1) + 1.0, normal(10, 400, 1), n_resamples=99)
    assert (result.modes, result.missing) == ((), ())
    assert result.changes.columns[0].shift == pytest.approx(1.0, abs=0.3)


def test_counts_that_fell_are_a_gradual_change() -> None:
    rng = np.random.default_rng(40)
    result = novelty(rng.poisson(3, (400, 3)), rng.poisson(4, (400, 3)), n_resamples=99)
    assert (result.modes, result.missing) == ((), ())
    assert "gradual shift" in result.headline()


def test_half_of_a_column_that_is_cut_off_is_missing() -> None:
    rows = normal(41, 800)
    result = novelty(rows[rows[:, 0] > 0.0], normal(42), n_resamples=99)
    assert result.changes.columns == ()
    assert result.missing_fraction == pytest.approx(0.5, abs=0.08)
    assert result.missing[0].columns[0].name == "column 0"


def test_beside_nearly_all_new_nothing_is_said_of_what_is_missing() -> None:
    result = novelty(normal(43, 200) + 20.0, normal(44, 200)[:, :5], n_resamples=59)
    assert result.fraction > 0.95
    apart = novelty(0.3 * normal(45, 300), normal(46, 300), n_resamples=59)
    assert "Nothing is shown to be missing" not in apart.headline()


def test_values_that_repeat_are_spread_between_their_neighbours() -> None:
    values = np.repeat([0.0, 1.0, 3.0], 50)
    spread = smoothed(values, np.random.default_rng(0))
    assert len(np.unique(spread)) == 150
    low, high = np.repeat([-0.5, 0.5, 2.0], 50), np.repeat([0.5, 2.0, 4.0], 50)
    assert ((spread >= low) & (spread <= high)).all()
    np.testing.assert_array_equal(smoothed(normal(0, 50)[:, 0], None), normal(0, 50)[:, 0])


@pytest.mark.slow
def test_twice_as_frequent_is_not_new() -> None:
    rare = with_mode(normal(11), 0.2, 0, 1.0, 12)
    often = with_mode(normal(13), 0.45, 0, 1.0, 14)
    more = novelty(often, rare, n_resamples=99)
    assert (more.modes, more.missing, more.fraction) == ((), (), 0.0)
    assert "More frequent: " in more.headline()
    less = novelty(rare, often, n_resamples=99)
    assert (less.modes, less.missing) == ((), ())
    assert "Less frequent: " in less.headline()
    assert np.mean(less.changes.modes[0].members(of="reference") < 180) > 0.9


@pytest.mark.slow
def test_pieces_of_a_mode_that_is_more_frequent_are_not_new() -> None:
    # By chance a piece of a wide mode lacks samples of one side: of 16 pairs 9 had a new or a missing mode.
    false = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        samples = []
        for size in (150, 250):
            rows = rng.normal(size=(500, 4))
            rows[:size, :2] += [4.0, -4.0]
            samples.append(rows)
        for sides in (samples, samples[::-1]):
            result = kernel_entropic_novelty(*sides)
            assert min(result.test.p_value, result.test.missing_p_value) < 0.01
            false += bool(result.modes or result.missing)
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
    inside = sample["age"].to_numpy()[result.modes[0].members()]
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
    if not result.modes:
        assert "no single clear mode; look first at rows row " in result.headline()
    assert np.mean(result.test.first_rows < 24) >= 0.3  # of 8 % of the sample


# --- dependence ----------------------------------------------------------------------------------


def test_copies_are_said_before_the_verdict_and_groups_make_it_right() -> None:
    x = np.repeat(normal(29, 100), 3, axis=0)
    y = np.repeat(normal(30, 100), 3, axis=0)
    result = novelty(x, y, n_resamples=99)
    assert result.headline().startswith("Every row of features stands 3 times")
    assert "independent samples" in result.warnings[0]
    groups = np.repeat(np.arange(100), 3)
    grouped = novelty(x, y, n_resamples=99, groups=(groups, groups + 100))
    assert grouped.p_value > 0.05
    assert grouped.test.dependence == ()


def test_copies_within_and_across_samples_are_told_from_tables_of_few_values() -> None:
    x, y = normal(21, 200), normal(22, 200)
    assert duplicate_warnings(x, y) == ()
    assert "40 rows stand in both" in duplicate_warnings(np.concatenate([x, y[:40]]), y)[0]
    assert duplicate_warnings(np.sign(x), np.sign(y)) == ()


def test_an_order_is_told_from_none() -> None:
    rng = np.random.default_rng(23)
    noise = rng.normal(size=(2, 300))
    walk = np.cumsum(noise, axis=1)
    assert order_warnings((noise[0], noise[1])) == ()
    assert "as in a time series" in order_warnings((noise[0], walk[1]))[0]


# --- calibration ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_both_sides_share_one_level() -> None:
    called = 0
    for seed in range(120):
        x, y = normal(1000 + seed, 80, 3), normal(2000 + seed, 120, 3)
        result = novelty(x, y, n_resamples=99, rng=seed)
        called += min(result.p_value, result.test.missing_p_value) <= 0.05
    assert called <= 12  # at a rate of 5 % more have a chance of 1 in 100


@pytest.mark.slow
def test_the_lower_bound_holds() -> None:
    held = []
    for seed in range(60):
        fraction = (0.0, 0.1, 0.3)[seed % 3]
        sample = with_mode(normal(3000 + seed, 150, 3), fraction, 0, 0.6, seed)
        result = novelty(sample, normal(4000 + seed, 200, 3), n_resamples=59, rng=seed)
        held.append(result.fraction_interval.low <= fraction)
    assert np.mean(held) >= 0.9


def test_crossfitted_members_do_not_depend_on_their_own_labels() -> None:
    rng = np.random.default_rng(24)
    values = rng.normal(size=(300, 4))
    labels = np.arange(300) < 150
    values[:40] += 6.0
    folds = rng.permutation(np.arange(300) % 10)
    members = crossfitted_members([(values, 10.0)], labels, folds, np.ones(300), 0.95)
    assert members[:40].mean() > 0.9
    assert members[40:].mean() < 0.05
    swapped = np.where(folds == 3, ~labels, labels)
    again = crossfitted_members([(values, 10.0)], swapped, folds, np.ones(300), 0.95)
    np.testing.assert_array_equal(members[folds == 3], again[folds == 3])
    bound = lower_bound(np.array(0.3), np.array(0.0), 1000, 1000, 0.95)
    assert 0.25 < float(bound) < 0.3


def test_the_likelihood_ratio_is_that_of_two_fractions() -> None:
    from scipy.stats import binom

    def loglik(inside: int, size: int, total: int, n: int) -> float:
        within = binom.logpmf(inside, size, inside / size)
        outside = binom.logpmf(total - inside, n - size, (total - inside) / (n - size))
        null = binom.logpmf(inside, size, total / n)
        return within + outside - null - binom.logpmf(total - inside, n - size, total / n)

    counts = [np.array([float(value)]) for value in (9, 12, 40, 100)]
    assert likelihood_ratio(*counts)[0] == pytest.approx(loglik(9, 12, 40, 100))
    few = [np.array([float(value)]) for value in (2, 12, 40, 100)]
    assert likelihood_ratio(*few)[0] == 0.0


def test_only_columns_that_moved_for_certain_are_changes() -> None:
    x, y = normal(25, 300), normal(26, 300)
    assert changes_of_columns(x, y, tuple(NAMES), 0.01) == ()
    moved = changes_of_columns(x + 0.8 * np.eye(5)[3], y, tuple(NAMES), 0.01)
    assert [change.name for change in moved] == ["c3"]
    assert moved[0].shift == pytest.approx(0.8, abs=0.2)
    assert is_gradual(x + 0.8 * np.eye(5)[3], y, tuple(NAMES), moved)
    far = x + 4.0 * np.eye(5)[3]
    assert not is_gradual(far, y, tuple(NAMES), changes_of_columns(far, y, tuple(NAMES), 0.01))


def test_copies_of_the_other_sample_are_told_where_rows_repeat_within_one() -> None:
    x = normal(21)
    rng = np.random.default_rng(0)
    # a bootstrap sample of the reference repeats rows, and has no row of its own
    resampled = x[rng.integers(len(x), size=len(x))]
    assert "rows stand in both samples (100 %" in duplicate_warnings(resampled, x)[0]
    tripled = np.repeat(x, 3, axis=0)
    assert "Every row of features stands 3 times" in duplicate_warnings(tripled, tripled)[0]
    # rows of few values repeat by chance, within a sample and across two
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = rng.choice(8, (1200, 6), p=rng.dirichlet(np.full(8, 0.2))).astype(float)
        assert duplicate_warnings(rows[:500], rows[500:]) == ()
