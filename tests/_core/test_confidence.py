"""Intervals and p-values against SciPy and against their definitions."""

import numpy as np
import pytest
from scipy import stats

from shiftmetrics._core.confidence import (
    BootstrapWeights,
    ResamplingUnits,
    binomial_interval,
    resampled_interval,
    resampled_p_value,
    resampled_sums,
    student_quantile,
)
from shiftmetrics.comparison.joint_errors import simultaneous_p_values


@pytest.mark.parametrize("confidence_level", [0.8, 0.9, 0.95])
def test_a_p_value_never_contradicts_the_interval(confidence_level):
    for seed in range(300):
        rng = np.random.default_rng(seed)
        low = rng.normal(0.18, 0.1, int(rng.integers(39, 300)))
        high = low + rng.exponential(0.02, len(low))
        ends = resampled_interval(low, high, confidence_level)
        assert (resampled_p_value(low, high) <= 1.0 - confidence_level + 1e-12) == (
            not ends[0] <= 0.0 <= ends[1]
        )


def test_p_values_have_a_floor_and_a_ceiling():
    draws = np.random.default_rng(0).normal(5.0, 0.1, 999)
    assert (
        resampled_p_value(draws, draws)
        == resampled_p_value(-draws, -draws)
        == pytest.approx(2 / 1000)
    )
    assert resampled_p_value(np.zeros(99), np.zeros(99)) == 1.0
    assert resampled_interval(np.ones(99), np.ones(99), 0.9) == (1.0, 1.0)


def test_too_few_draws_are_refused():
    with pytest.raises(
        ValueError, match=r"n_resamples must be at least 39 for a level of 0\.95, got 38"
    ):
        resampled_interval(np.zeros(38), np.zeros(38), 0.95)


@pytest.mark.parametrize(("errors", "n"), [(0, 30), (3, 30), (30, 30), (2.5, 17.5)])
def test_exact_binomial(errors, n):
    low, high = binomial_interval(errors / n, n, 0.9)
    beta = stats.beta
    assert low == pytest.approx(0.0 if errors == 0 else beta.ppf(0.05, errors, n - errors + 1))
    assert high == pytest.approx(1.0 if errors == n else beta.ppf(0.95, errors + 1, n - errors))
    assert binomial_interval(0.0, n, 0.9, one_sided=True)[1] == pytest.approx(1.0 - 0.1 ** (1 / n))


def test_simultaneous_p_values_control_the_whole_family():
    """Ten true nulls in 300 trials: a false rejection in at most about 10 % of them, and more by single p-values."""
    rng = np.random.default_rng(0)
    family = single = 0
    for _ in range(300):
        sample = rng.normal(size=(80, 10))
        draws = rng.multinomial(80, np.full(80, 1 / 80), size=300) @ sample / 80
        values = sample.mean(axis=0)
        family += simultaneous_p_values(values, draws)[0].min() <= 0.1
        single += min(resampled_p_value(part, part) for part in draws.T) <= 0.1
    assert 0.04 < family / 300 < 0.16
    assert single / 300 > 0.4


def test_what_does_not_vary_is_certain():
    draws = np.zeros((99, 3))
    draws[:, 1] = 1.0
    draws[:, 2] = np.random.default_rng(0).normal(size=99)
    p, _ = simultaneous_p_values(np.array([0.0, 1.0, 0.0]), draws)
    assert p.tolist() == [1.0, 0.01, 1.0]


def all_weights(draws: BootstrapWeights) -> np.ndarray:
    return np.concatenate([draws.weights(block) for block in range(len(draws.blocks))], axis=1)


@pytest.mark.parametrize(
    "draws",
    [BootstrapWeights(70, 4000, 3), BootstrapWeights(1000, 400, 3)],
    ids=["one block", "several"],
)
def test_weights_follow_their_law(draws):
    weights = all_weights(draws)
    assert weights.shape == (draws.n_resamples, draws.n_units)
    assert np.array_equal(weights, all_weights(draws))
    error = 6 / np.sqrt(draws.n_resamples)
    assert weights.mean(axis=0) == pytest.approx(1.0, abs=error)
    assert weights.var(axis=0).mean() == pytest.approx(1.0, rel=0.03)
    # Units are independent, across blocks as well as within them.
    assert np.cov(weights[:, 0], weights[:, 1])[0, 1] == pytest.approx(0.0, abs=error)
    assert np.cov(weights[:, 0], weights[:, -1])[0, 1] == pytest.approx(0.0, abs=error)


def test_several_blocks_are_tried():
    assert len(BootstrapWeights(1000, 400, 3).blocks) > 1


def test_sums_are_those_of_the_weights():
    rng = np.random.default_rng(0)
    values, groups = rng.normal(size=(900, 3)), rng.integers(0, 50, 900)
    for labels in (None, groups):
        units = ResamplingUnits.of(labels, 900)
        draws = BootstrapWeights(units.n_units, 500, 1)
        weights = all_weights(draws) if units.codes is None else all_weights(draws)[:, units.codes]
        assert resampled_sums(lambda rows: values[rows], draws, units) == pytest.approx(
            weights @ values
        )


def test_another_seed_is_another_draw():
    assert not np.array_equal(
        all_weights(BootstrapWeights(50, 10, 0)), all_weights(BootstrapWeights(50, 10, 1))
    )


def test_units_add_up_their_rows():
    units = ResamplingUnits.of(["b", "a", "b"], 3)
    assert units.n_units == 2
    assert units.sums(np.array([1.0, 2.0, 4.0])).tolist() == [2.0, 5.0]


@pytest.mark.parametrize("freedom", [1.0, 5.5, 39.0, 40.0, 57.3, 1e3, 1e7])
def test_quantiles_are_those_of_student(freedom: float) -> None:
    for probability in (0.51, 0.8, 0.95, 0.975, 0.995, 0.9999, 0.9999999):
        exact = stats.t.ppf(probability, freedom)
        assert student_quantile(probability, freedom) == pytest.approx(exact, rel=1e-6)
        assert np.isfinite(exact)


@pytest.mark.parametrize("errors", [0, 1, 7, 39, 40])
def test_binomial_limits(errors: int) -> None:
    low, high = binomial_interval(errors / 40, 40, 0.9)
    exact = stats.binomtest(errors, 40).proportion_ci(0.9, method="exact")
    assert (low, high) == (pytest.approx(exact.low), pytest.approx(exact.high))
