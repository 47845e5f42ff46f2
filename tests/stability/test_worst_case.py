"""The highest risk within a budget: the inverse of stability, with its own edges."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from shiftmetrics import Computing
from shiftmetrics.stability import (
    CandidateLoss,
    FixedLoss,
    HingeLoss,
    SquaredLoss,
    ZeroOneLoss,
    stability_criterion,
    worst_case_risk,
)
from shiftmetrics.stability.losses import Loss

INF = np.inf
PRICES = [(0.4, 0.4), (0.2, INF), (INF, 0.3), (3.0, 0.1)]


@pytest.mark.parametrize("divergence", ["kl", "chi2"])
@pytest.mark.parametrize(("theta1", "theta2"), PRICES)
def test_round_trip(
    make_loss: Callable[..., Loss],
    theta1: float,
    theta2: float,
    divergence: str,
    between: Callable[..., float],
) -> None:
    loss = make_loss(seed=6)
    options = {"theta1": theta1, "theta2": theta2, "divergence": divergence}
    for depth in (0.05, 0.4, 0.9):
        threshold = between(loss, theta1, theta2, depth)
        cost = stability_criterion(loss, threshold, **options)
        risk = worst_case_risk(loss, cost.value, **options)
        assert risk.value == pytest.approx(threshold, rel=1e-8)
        assert (
            abs(risk.value - threshold)
            <= risk.error_bound + cost.error_bound / max(cost.slopes.threshold, 1e-9) + 1e-12
        )
        if cost.status.code != "converged":  # nothing can change
            continue
        assert risk.plan.rms_distance == pytest.approx(cost.plan.rms_distance, rel=1e-4, abs=1e-7)
        assert risk.plan.effective_sample_fraction == pytest.approx(
            cost.plan.effective_sample_fraction, rel=1e-4
        )
        # The plan does not cost more than the budget, and reaches the risk that it reports.
        spent = sum(
            price * slope
            for price, slope in (
                (theta1, risk.slopes.theta1),
                (theta2, risk.slopes.theta2),
            )
            if np.isfinite(price)
        )
        assert spent <= cost.value * (1 + 1e-9)
        assert risk.plan.risk == risk.value


@given(
    kind=st.sampled_from(
        ["fixed", "zero_one", "hinge", "logistic", "squared", "piecewise", "candidate"]
    ),
    price=st.sampled_from(PRICES),
    divergence=st.sampled_from(["kl", "chi2"]),
    seed=st.integers(0, 50),
    budgets=st.lists(st.floats(1e-6, 2.0), min_size=3, max_size=3, unique=True),
)
@settings(max_examples=20)
def test_concave_and_rising_in_the_budget(loss_of, kind, price, divergence, seed, budgets) -> None:
    loss = loss_of(kind, seed, 25)
    low, middle, high = sorted(budgets)
    options = {"theta1": price[0], "theta2": price[1], "divergence": divergence}
    values = [worst_case_risk(loss, b, **options).value for b in (0.0, low, middle, high)]
    assert values[0] == pytest.approx(loss.base(slice(0, 25)).mean())
    assert all(a <= b * (1 + 1e-9) for a, b in itertools.pairwise(values))
    share = (middle - low) / (high - low)
    assert values[2] >= (1 - share) * values[1] + share * values[3] - 1e-8 * values[3]


def test_what_a_budget_buys_without_moves() -> None:
    errors = np.arange(50) < 5
    for divergence in ("kl", "chi2"):
        for target in (0.2, 0.6):
            budget = oracles.zero_one_stability(0.1, target, 0.4, divergence)
            result = worst_case_risk(FixedLoss(errors), budget, theta1=INF, divergence=divergence)
            assert result.value == pytest.approx(target, rel=1e-9)
            assert result.status.code == "converged"


def test_what_a_budget_buys_without_weights() -> None:
    distances = np.array([0.0, 0.1, 0.2, 0.3, INF])
    for budget, expected in (
        (0.0, 0.2),
        (0.01 / 5, 0.4),
        (0.03 / 5, 0.5),
        (0.05 / 5, 0.6),
        (0.14 / 5, 0.8),
    ):
        result = worst_case_risk(ZeroOneLoss(distances), budget, theta1=1.0, theta2=INF)
        assert result.value == pytest.approx(expected, rel=1e-9)


def test_a_budget_that_pays_for_the_highest_risk() -> None:
    loss = ZeroOneLoss([0.0, 0.3, INF])
    for divergence in ("kl", "chi2"):
        top = stability_criterion(loss, 1.0, divergence=divergence).value
        for budget in (top, 1.5 * top, 1e6):
            result = worst_case_risk(loss, budget, divergence=divergence)
            assert (result.value, result.status.code, result.slopes.threshold) == (
                1.0,
                "boundary",
                INF,
            )
            assert result.standard_error is None
            assert result.error_bound < 1e-14
        below = worst_case_risk(loss, 0.999 * top, divergence=divergence)
        assert below.status.code == "converged"
        assert 0.9 < below.value < 1.0
    nothing = worst_case_risk(FixedLoss([0.0, 1.0]), 1.0, theta1=INF, theta2=INF)
    assert (nothing.value, nothing.status.code) == (0.5, "boundary")


def test_no_budget_buys_nothing(make_loss: Callable[..., Loss]) -> None:
    loss = make_loss()
    result = worst_case_risk(loss, 0.0)
    assert result.value == result.base_risk == pytest.approx(loss.base(slice(0, 40)).mean())
    assert (
        result.slopes.threshold,
        result.plan.rms_distance,
        result.plan.effective_sample_fraction,
    ) == (0.0, 0.0, 1.0)
    np.testing.assert_array_equal(result.plan.weights, 1.0)


def test_bounds_change_sides() -> None:
    losses, distances = [[0.0, 1.0], [0.0, 1.0]], [[0.0, 0.5], [0.0, 1.0]]
    loss = CandidateLoss(losses, distances)
    assert stability_criterion(loss, 0.5).kind == "upper_bound"
    result = worst_case_risk(loss, 0.01)
    assert result.kind == "lower_bound"
    assert "A lower bound" in result.summary()
    assert worst_case_risk(ZeroOneLoss([1.0, 2.0], kind="lower_bound"), 0.01).kind == "upper_bound"
    assert worst_case_risk(HingeLoss([1.0, 2.0], 1.0), 0.01).kind == "exact"
    more = worst_case_risk(loss.appended([1.0, 1.0], [0.1, 0.1]), 0.01)
    assert more.value > result.value


def test_tiny_and_huge_budgets() -> None:
    for loss in (HingeLoss(np.linspace(-1, 3, 40), 1.5), SquaredLoss(np.linspace(-1, 3, 40), 1.5)):
        base = worst_case_risk(loss, 0.0).value
        small = [worst_case_risk(loss, b).value - base for b in (1e-12, 1e-8)]
        assert small[1] == pytest.approx(
            100 * small[0], rel=1e-3
        )  # like the square root of the budget
        large = worst_case_risk(loss, 1e9)
        assert large.status.code == "converged"
        assert large.value > 1e4


def test_too_few_iterations_are_said() -> None:
    loss = ZeroOneLoss(np.random.default_rng(0).exponential(size=100))
    exact = worst_case_risk(loss, 0.02)
    for limit in (1, 2, 3):
        result = worst_case_risk(loss, 0.02, computing=Computing(max_iter=limit))
        assert result.status.code == "max_iter"
        assert abs(result.value - exact.value) <= result.error_bound
        assert not np.isnan(result.value)


def test_a_budget_without_a_limit_gives_the_highest_risk_within_reach() -> None:
    result = worst_case_risk(ZeroOneLoss([0.0, 0.5, 1.0, INF]), INF)
    assert (result.value, result.status.code) == (1.0, "boundary")
    assert worst_case_risk(ZeroOneLoss([0.0, 0.5, 1.0, INF]), INF, theta2=INF).value == 0.75


@pytest.mark.parametrize("budget", [-1.0, np.nan])
def test_bad_budgets(budget: float) -> None:
    with pytest.raises(ValueError, match="budget must be a number at least 0"):
        worst_case_risk(FixedLoss([0.0, 1.0]), budget)
    with pytest.raises(TypeError, match="loss must be a loss object"):
        worst_case_risk([0.0, 1.0], 0.1)
