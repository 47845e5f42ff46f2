"""The least cost of a risk and the highest risk of a cost: a plan each, and the bound that the dual certifies."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.result import Status
from shiftmetrics._core.root import Bracket
from shiftmetrics.stability.divergence import Moment
from shiftmetrics.stability.dual import Dual
from shiftmetrics.stability.passes import AtDual, AtRisk
from shiftmetrics.stability.plan import PlanPart
from shiftmetrics.stability.status import (
    ALREADY_AT_RISK,
    BOUNDARY,
    CONVERGED,
    HIGHEST_RISK,
    MAX_ITER,
    UNATTAINABLE,
    UNBOUNDED_LOSS,
)

_ROUNDING = 8.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class DualSolution:
    """A plan, and the bound on its value from the other side.

    Attributes
    ----------
    status : Status
        How the solver ended.
    parts : tuple of PlanPart
        The plan; where the threshold is out of reach, the nearest one.
    dual : float
        Cost of one more unit of risk.
    bound : float
        What the dual certifies: no plan is better.
    value : float or None
        The value where it is not that of the plan.
    computed : bool
        Whether ``value`` was computed apart from the plan, whose cost and bound then enclose it.
    has_influence : bool
        Whether the plan depends on the sample smoothly, so that its influence function gives a standard error.
    """

    status: Status
    parts: tuple[PlanPart, ...]
    dual: float
    bound: float
    value: float | None = None
    computed: bool = False
    has_influence: bool = False


def least_cost(dual: Dual, threshold: float) -> DualSolution:
    """Find the least cost of a plan whose risk reaches ``threshold``."""
    highest = dual.highest_risk
    rest = _at_rest(dual)
    # The threshold may be the current risk, or the highest one, up to rounding.
    if threshold <= dual.baseline.risk * (1.0 + _ROUNDING):
        return DualSolution(ALREADY_AT_RISK, rest, 0.0, 0.0, value=0.0)
    if threshold > highest * (1.0 + _ROUNDING):
        reach = (PlanPart(dual.reach, dual.moment_at_reach()),)
        return DualSolution(UNATTAINABLE, reach, math.inf, math.inf, value=math.inf)
    if dual.upper == 0.0:
        return DualSolution(UNBOUNDED_LOSS, rest, 0.0, 0.0, value=0.0)
    if threshold < highest * (1.0 - _ROUNDING):
        bracket = dual.price_of_risk(threshold)
        if bracket.closed:
            # Whatever the price, g is at most the least cost: the larger of both ends, less what rounding may have
            # added, is what the dual certifies.
            precise = bracket.gap <= dual.tolerance(bracket, threshold)
            bounds = [
                -end.value - dual.rounding(end.x, end.state) for end in (bracket.low, bracket.high)
            ]
            return _of_bracket(dual, bracket, _root_of(bracket), max(bounds), precise=precise)
        low = bracket.low
        if bracket.evaluations >= dual.max_iter:
            last = (PlanPart(AtDual(low.x, dual.theta1), low.state),)
            return DualSolution(MAX_ITER, last, low.x, math.inf, value=-bracket.least)
        if not math.isinf(dual.upper):
            # No sample has a loss to start from: every unit of risk has the same price.
            lift = (PlanPart(AtRisk(threshold), None),)
            return DualSolution(BOUNDARY, lift, dual.upper, -bracket.least)
    # The highest risk itself: only the limit of an infinite price reaches it.
    moment = dual.moment_at_reach()
    reach = (PlanPart(dual.reach, moment),)
    bound = -moment.conjugate - dual.rounding(0.0, moment)
    return DualSolution(BOUNDARY, reach, math.inf, bound, has_influence=True)


def most_risk(dual: Dual, budget: float) -> DualSolution:
    """Find the highest risk of a plan that costs at most ``budget``."""
    rest = _at_rest(dual)
    if budget == 0.0:
        return DualSolution(CONVERGED, rest, 0.0, dual.baseline.risk)
    if dual.upper == 0.0 or (math.isinf(budget) and math.isinf(dual.highest_risk)):
        return DualSolution(UNBOUNDED_LOSS, rest, 0.0, math.inf, value=math.inf)
    if math.isfinite(dual.highest_risk):
        moment = dual.moment_at_reach()
        # The moment in the limit lacks h * risk: minus its conjugate is the cost of the highest risk.
        if budget >= -moment.conjugate * (1.0 - _ROUNDING):
            reach = (PlanPart(dual.reach, moment),)
            return DualSolution(HIGHEST_RISK, reach, math.inf, dual.highest_risk)
    bracket = dual.price_of_cost(budget)
    if bracket.closed:
        # At either end (budget + conjugate) / h is at least the highest risk of the budget.
        precise = bracket.gap <= dual.rtol * abs(bracket.least)
        bounds = [
            end.value + end.x * dual.rounding(1.0 / end.x, end.state)
            for end in (bracket.low, bracket.high)
        ]
        return _of_bracket(dual, bracket, 1.0 / _root_of(bracket), min(bounds), precise=precise)
    last = bracket.low
    price = last.state.dual
    if last.slope < 0.0:
        # Even the first unit of risk costs too much for floating-point numbers.
        return DualSolution(MAX_ITER, rest, price, bracket.least)
    if bracket.evaluations < dual.max_iter and not math.isinf(dual.upper):
        # Every unit of risk costs the largest price, as in `least_cost`.
        lift = (PlanPart(AtRisk(budget / dual.upper), None),)
        return DualSolution(CONVERGED, lift, dual.upper, bracket.least)
    part = PlanPart(AtDual(price, dual.theta1), last.state)
    return DualSolution(MAX_ITER, (part,), price, bracket.least)


def _at_rest(dual: Dual) -> tuple[PlanPart, ...]:
    """Return the plan that changes nothing."""
    return (PlanPart(AtDual(0.0, dual.theta1), dual.at_rest),)


def _of_bracket(
    dual: Dual, bracket: Bracket[Moment], price: float, bound: float, *, precise: bool
) -> DualSolution:
    """Return the solution that mixes the plans at both ends of a bracket."""
    status = CONVERGED if precise else MAX_ITER
    parts = parts_of(bracket, dual.theta1)
    return DualSolution(status, parts, price, bound, has_influence=True)


def parts_of(bracket: Bracket[Moment], theta1: float) -> tuple[PlanPart, ...]:
    """Return the plans at both ends of a bracket, in the fractions that make its slope zero."""
    ends = [(bracket.low, bracket.low_fraction)]
    if bracket.low is not bracket.high:
        ends.append((bracket.high, bracket.high_fraction))
    return tuple(
        PlanPart(AtDual(end.state.dual, theta1), end.state, fraction)
        for end, fraction in ends
        if fraction > 0.0
    )


def _root_of(bracket: Bracket[Moment]) -> float:
    return bracket.low.x + bracket.high_fraction * bracket.width
