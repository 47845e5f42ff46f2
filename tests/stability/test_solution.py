"""Solutions of the dual: the least cost and the highest risk undo each other, and ends have their status."""

import numpy as np
import pytest

from shiftmetrics.stability import FixedLoss, ZeroOneLoss
from shiftmetrics.stability.divergence import divergence_of
from shiftmetrics.stability.dual import Dual
from shiftmetrics.stability.losses import Loss
from shiftmetrics.stability.passes import passes_over
from shiftmetrics.stability.plan import PlanPass
from shiftmetrics.stability.solution import DualSolution, least_cost, most_risk
from shiftmetrics.stability.status import (
    ALREADY_AT_RISK,
    BOUNDARY,
    CONVERGED,
    HIGHEST_RISK,
    MAX_ITER,
    UNATTAINABLE,
)

DISTANCES = np.array([0.0, 0.3, 0.5, 0.8, 1.2])


def dual_of(loss: Loss, *, theta1: float = 0.4, theta2: float = 0.4, **options) -> Dual:
    return Dual(passes_over(loss, None), theta1, divergence_of("kl", theta2), **options)


def plan_of(dual: Dual, solution: DualSolution) -> tuple[float, float]:
    """Return the risk and the cost of the plan that a solution leads to."""
    plan = dual.gather(PlanPass(solution.parts, dual.divergence))
    weights = 0.0 if np.isinf(dual.divergence.theta2) else dual.divergence.theta2
    cost = dual.theta1 * plan.mean("squared_distance") + weights * plan.mean("penalty")
    return plan.mean("loss"), cost


@pytest.mark.parametrize("theta2", [0.4, np.inf])
@pytest.mark.parametrize("threshold", [0.4, 0.55, 0.7])
def test_the_plan_reaches_the_threshold_at_the_cost_that_is_certified(
    threshold: float, theta2: float
) -> None:
    dual = dual_of(ZeroOneLoss(DISTANCES), theta2=theta2)
    solution = least_cost(dual, threshold)
    risk, cost = plan_of(dual, solution)
    assert solution.status is CONVERGED
    assert risk == pytest.approx(threshold, rel=1e-6)
    assert solution.bound == pytest.approx(cost, rel=1e-6)
    assert solution.bound <= cost * (1.0 + 1e-9)
    assert sum(part.fraction for part in solution.parts) == pytest.approx(1.0)


def test_without_weights_the_nearest_samples_are_bought_in_turn() -> None:
    """By hand: of five samples one is wrong; a threshold of 0.5 takes one and a half of the next ones."""
    dual = dual_of(ZeroOneLoss(DISTANCES), theta2=np.inf)
    solution = least_cost(dual, 0.5)
    by_hand = 0.4 * (0.3**2 + 0.5 * 0.5**2) / 5.0
    assert solution.bound == pytest.approx(by_hand, rel=1e-8)
    assert solution.dual == pytest.approx(0.4 * 0.5**2, rel=1e-5)


@pytest.mark.parametrize("threshold", [0.4, 0.7])
def test_the_most_risk_of_the_least_cost_is_the_threshold(threshold: float) -> None:
    dual = dual_of(ZeroOneLoss(DISTANCES))
    _, cost = plan_of(dual, least_cost(dual, threshold))
    solution = most_risk(dual, cost)
    assert solution.bound == pytest.approx(threshold, rel=1e-5)
    assert solution.bound >= threshold * (1.0 - 1e-9)


def test_ends_have_their_own_status() -> None:
    fixed = FixedLoss([0.0, 0.5, 1.0])
    assert least_cost(dual_of(fixed), 0.4).status is ALREADY_AT_RISK
    assert least_cost(dual_of(fixed), 0.4).value == 0.0
    assert least_cost(dual_of(fixed), 1.01).status is UNATTAINABLE
    assert least_cost(dual_of(fixed), 1.01).value == np.inf
    highest = least_cost(dual_of(fixed), 1.0)
    assert highest.status is BOUNDARY
    # all weight on one of three samples costs theta2 log 3
    assert highest.bound == pytest.approx(0.4 * np.log(3.0), rel=1e-9)
    assert most_risk(dual_of(fixed), 0.0).bound == pytest.approx(0.5)
    assert most_risk(dual_of(fixed), 1.0).status is HIGHEST_RISK
    assert most_risk(dual_of(fixed), 1.0).bound == 1.0


def test_too_few_evaluations_are_said() -> None:
    solution = least_cost(dual_of(FixedLoss([0.0, 0.5, 1.0]), max_iter=1), 0.9)
    assert solution.status is MAX_ITER
