"""Worst-case subpopulation risk: closed forms, ties, weights, and how often the interval covers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shiftmetrics import Resampling, Result
from shiftmetrics._core.confidence import binomial_interval
from shiftmetrics.comparison import compare_results
from shiftmetrics.lab.published import worst_subpopulation_risk
from shiftmetrics.stability import FixedLoss, worst_case_risk

LAWS = {
    # the law of the losses, and its CVaR at a fraction
    "exponential": (stats.expon(), lambda f: 1.0 - np.log(f)),
    "normal": (stats.norm(2.0, 0.5), lambda f: 2.0 + 0.5 * stats.norm.pdf(stats.norm.isf(f)) / f),
    "uniform": (stats.uniform(), lambda f: 1.0 - f / 2),
}


def by_program(losses: np.ndarray, fraction: float, weights: np.ndarray) -> float:
    """The best fraction of a knapsack: take the worst rows, the last of them in part."""
    left, total = fraction * weights.sum(), 0.0
    for row in sorted(range(len(losses)), key=lambda i: -losses[i]):
        taken = min(left, weights[row])
        total, left = total + taken * losses[row], left - taken
    return total / (fraction * weights.sum())


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("fraction", [0.02, 0.2, 0.7, 1.0])
def test_closed_forms(name: str, fraction: float) -> None:
    law, closed = LAWS[name]
    n = 200_000
    losses = law.ppf((np.arange(n) + 0.5) / n)  # the law itself, to about 1 / n
    result = worst_subpopulation_risk(losses, fraction)
    assert result.value == pytest.approx(
        law.mean() if fraction == 1.0 else closed(fraction), rel=2e-4
    )
    assert result.parts["base_risk"] == pytest.approx(law.mean(), rel=1e-4)
    if fraction < 1.0:
        assert result.parts["cutoff"] == pytest.approx(law.isf(fraction), rel=1e-3)
        excess = np.maximum(losses - law.isf(fraction), 0.0)
        assert result.standard_error == pytest.approx(
            excess.std() / fraction / np.sqrt(n), rel=1e-3
        )


@pytest.mark.parametrize(
    ("rate", "fraction", "expected"), [(0.1, 0.5, 0.2), (0.1, 0.1, 1.0), (0.3, 0.2, 1.0)]
)
def test_two_points(rate: float, fraction: float, expected: float) -> None:
    errors = np.arange(200) < 200 * rate
    result = worst_subpopulation_risk(errors, fraction)
    assert result.value == pytest.approx(expected, rel=1e-12)
    low, high = (min(p / fraction, 1.0) for p in binomial_interval(rate, 200, 0.95))
    assert (result.interval.low, result.interval.high) == pytest.approx((low, high))
    assert result.interval.method == "exact binomial"
    assert (str(result.status) == "boundary") is (rate >= fraction)


@given(st.integers(0, 10_000), st.floats(0.01, 1.0))
def test_ties_are_shared_and_the_value_is_that_of_the_weights(seed: int, fraction: float) -> None:
    rng = np.random.default_rng(seed)
    losses = rng.integers(-2, 4, 25).astype(float)
    weights = rng.integers(0, 4, 25).astype(float)
    weights[0] += 1.0
    result = worst_subpopulation_risk(losses, fraction, sample_weight=weights)
    assert result.value == pytest.approx(by_program(losses, fraction, weights), rel=1e-9, abs=1e-12)
    share = weights / weights.sum()
    assert share @ result.weights == pytest.approx(1.0)
    assert share @ (result.weights * losses) == pytest.approx(result.value, abs=1e-9)
    assert result.weights.max() <= 1.0 / fraction + 1e-9
    for loss in np.unique(losses):  # rows alike are treated alike
        same = result.weights[(losses == loss) & (weights > 0)]
        assert len(np.unique(same)) <= 1
    assert result.value >= result.parts["base_risk"] - 1e-12


def test_it_is_monotone_and_moves_with_the_losses() -> None:
    losses = np.random.default_rng(0).gamma(2.0, 1.0, 300)
    values = [worst_subpopulation_risk(losses, f).value for f in (0.05, 0.1, 0.5, 1.0)]
    assert values == sorted(values, reverse=True)
    moved = worst_subpopulation_risk(3.0 * losses - 50.0, 0.1)
    assert moved.value == pytest.approx(3.0 * values[1] - 50.0)
    assert moved.standard_error == pytest.approx(
        3.0 * worst_subpopulation_risk(losses, 0.1).standard_error
    )


def test_prices_that_allow_it_reach_as_high() -> None:
    """Its weights are a shift that `worst_case_risk` may choose at their price."""
    losses = np.random.default_rng(1).gamma(2.0, 1.0, 400)
    result = worst_subpopulation_risk(losses, 0.25)
    price = float(np.mean((result.weights - 1.0) ** 2))
    same = worst_case_risk(FixedLoss(losses), price, theta1=np.inf, theta2=1.0, divergence="chi2")
    assert same.value >= result.value - 1e-9


def test_the_influence_is_the_derivative_in_the_weight_of_a_row() -> None:
    rng = np.random.default_rng(2)
    losses, weights = rng.gamma(2.0, 1.0, 40), rng.uniform(0.5, 2.0, 40)
    result = worst_subpopulation_risk(losses, 0.3, sample_weight=weights)
    assert np.linalg.norm(result.influence) == pytest.approx(result.standard_error)
    for row in range(0, 40, 7):
        more = weights.copy()
        more[row] *= 1 + 1e-6
        slope = (
            worst_subpopulation_risk(losses, 0.3, sample_weight=more).value - result.value
        ) / 1e-6
        assert slope == pytest.approx(
            result.influence[row], abs=1e-4 * np.abs(result.influence).max()
        )


def test_groups_and_results() -> None:
    losses = np.random.default_rng(3).gamma(2.0, 1.0, 200)
    single = worst_subpopulation_risk(losses, 0.2)
    twice = worst_subpopulation_risk(
        np.tile(losses, 2), 0.2, resampling=Resampling(groups=np.tile(np.arange(200), 2))
    )
    assert twice.value == pytest.approx(single.value)
    assert twice.standard_error == pytest.approx(single.standard_error)
    assert Result.from_json(single.to_json()).equals(single)
    assert single.headline().startswith("The worst 20 % of the rows have a mean loss of ")
    ranked = compare_results({"a": single, "b": worst_subpopulation_risk(losses + 0.1, 0.2)})
    assert ranked.best.name == "a"
    assert ranked.differences[0].standard_error < 1e-12


def test_few_rows_are_warned_of() -> None:
    assert "about 4 independent rows" in worst_subpopulation_risk(np.arange(40.0), 0.1).warnings[0]
    alone = worst_subpopulation_risk(np.arange(40.0), 0.001)
    assert alone.value == 39.0
    assert str(alone.status) == "boundary"
    assert worst_subpopulation_risk(np.zeros(30), 0.5).standard_error is None
    assert worst_subpopulation_risk(np.full(30, 0.7), 0.5).standard_error == pytest.approx(
        0.0, abs=1e-15
    )


@pytest.mark.parametrize(
    ("losses", "fraction", "options", "error", "message"),
    [
        (
            [0.1, 0.2],
            0.0,
            {},
            ValueError,
            "fraction must be a number greater than 0 and at most 1, got 0.0",
        ),
        ([0.1, 0.2], 1.1, {}, ValueError, "fraction must be"),
        ([0.1, 0.2], "half", {}, TypeError, "fraction must be a real number"),
        ([0.1, np.nan], 0.5, {}, ValueError, "losses must be finite everywhere, got nan at row 1"),
        ([], 0.5, {}, ValueError, "losses must be an array of at least 1"),
        ([[0.1], [0.2]], 0.5, {}, ValueError, "losses must be a one-dimensional array"),
        (["a", "b"], 0.5, {}, TypeError, "losses must hold real numbers"),
        ([0.1, 0.2], 0.5, {"resampling": 1.0}, ValueError, "resampling must be"),
        (
            [0.1, 0.2],
            0.5,
            {"sample_weight": [1, -1]},
            ValueError,
            "sample_weight must be at least 0",
        ),
        (
            [0.1, 0.2],
            0.5,
            {"resampling": Resampling(groups=[1, 1, 2])},
            ValueError,
            "groups must be of length 2",
        ),
    ],
)
def test_bad_input(losses, fraction, options, error, message) -> None:
    with pytest.raises(error, match=message):
        worst_subpopulation_risk(losses, fraction, **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "fraction"), [("exponential", 0.2), ("normal", 0.1), ("uniform", 0.5)]
)
def test_the_interval_covers(name: str, fraction: float) -> None:
    law, closed = LAWS[name]
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(200):
        losses = np.repeat(law.rvs(500, random_state=rng), 2)
        interval = worst_subpopulation_risk(
            losses,
            fraction,
            resampling=Resampling(confidence_level=0.9, groups=np.repeat(np.arange(500), 2)),
        ).interval
        covered += interval.low <= closed(fraction) <= interval.high
    assert 0.85 <= covered / 200 <= 0.95


@pytest.mark.parametrize("scale", [2.0**-1000, 2.0**1000])
def test_no_unit_is_too_large_or_too_small(scale: float) -> None:
    losses = np.random.default_rng(4).normal(size=60)
    one, other = (
        worst_subpopulation_risk(losses, 0.5),
        worst_subpopulation_risk(scale * losses, 0.5),
    )
    assert other.value == scale * one.value
    assert other.standard_error == scale * one.standard_error
    np.testing.assert_array_equal(one.weights, other.weights)
