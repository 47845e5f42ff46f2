"""From the dual to a plan: the least cost of a risk and the highest risk of a cost, with every edge case."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.root import Bracket
from shiftmetrics._core.status import Status
from shiftmetrics.stability.divergence import Moment
from shiftmetrics.stability.dual import Dual
from shiftmetrics.stability.passes import AtDual, AtRisk
from shiftmetrics.stability.plan import Part
from shiftmetrics.stability.result import (
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
class Solution:
    """A plan, and the bound on its value from the other side.

    Attributes
    ----------
    status : Status
        How the solver ended.
    parts : tuple of Part
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
    parts: tuple[Part, ...]
    dual: float
    bound: float
    value: float | None = None
    computed: bool = False
    has_influence: bool = False


def least_cost(dual: Dual, threshold: float) -> Solution:
    """Find the least cost of a plan whose risk reaches ``threshold``."""
    highest, rest = dual.highest_risk, (Part(AtDual(0.0, dual.theta1), dual.at_rest),)
    if threshold <= dual.baseline.risk * (1.0 + _ROUNDING):
        return Solution(ALREADY_AT_RISK, rest, 0.0, 0.0, value=0.0)
    if threshold > highest * (1.0 + _ROUNDING):
        reach = (Part(dual.reach, dual.moment_at_reach()),)
        return Solution(UNATTAINABLE, reach, math.inf, math.inf, value=math.inf)
    if dual.upper == 0.0:
        return Solution(UNBOUNDED_LOSS, rest, 0.0, 0.0, value=0.0)
    if threshold < highest * (1.0 - _ROUNDING):
        bracket = dual.price_of_risk(threshold)
        if bracket.closed:
            precise = bracket.gap <= dual.tolerance(bracket, threshold)
            status = CONVERGED if precise else MAX_ITER
            parts = parts_of(bracket, dual.theta1)
            bound = max(-end.value - dual.rounding(end.x, end.state) for end in (bracket.low, bracket.high))
            return Solution(status, parts, _root_of(bracket), bound, has_influence=True)
        if bracket.evaluations >= dual.max_iter:
            last = (Part(AtDual(bracket.low.x, dual.theta1), bracket.low.state),)
            return Solution(MAX_ITER, last, bracket.low.x, math.inf, value=-bracket.least)
        if not math.isinf(dual.upper):  # no loss to speak of: every unit of risk has the same price
            lift = (Part(AtRisk(threshold), None),)
            return Solution(BOUNDARY, lift, dual.upper, -bracket.least)
    moment = dual.moment_at_reach()
    reach = (Part(dual.reach, moment),)
    bound = -moment.conjugate - dual.rounding(0.0, moment)
    return Solution(BOUNDARY, reach, math.inf, bound, has_influence=True)


def most_risk(dual: Dual, budget: float) -> Solution:
    """Find the highest risk of a plan that costs at most ``budget``."""
    highest, base, theta1 = dual.highest_risk, dual.baseline.risk, dual.theta1
    rest = (Part(AtDual(0.0, theta1), dual.at_rest),)
    if budget == 0.0:
        return Solution(CONVERGED, rest, 0.0, base)
    if dual.upper == 0.0:
        return Solution(UNBOUNDED_LOSS, rest, 0.0, math.inf, value=math.inf)
    if math.isfinite(highest):
        moment = dual.moment_at_reach()
        if budget >= -moment.conjugate * (1.0 - _ROUNDING):
            return Solution(HIGHEST_RISK, (Part(dual.reach, moment),), math.inf, highest)
    bracket = dual.price_of_cost(budget)
    if bracket.closed:
        precise = bracket.gap <= dual.rtol * abs(bracket.least)
        status = CONVERGED if precise else MAX_ITER
        parts = parts_of(bracket, theta1)
        bound = min(
            end.value + end.x * dual.rounding(1.0 / end.x, end.state) for end in (bracket.low, bracket.high)
        )
        return Solution(status, parts, 1.0 / _root_of(bracket), bound, has_influence=True)
    last = bracket.low
    if last.slope < 0.0:  # even the first unit of risk is too dear for floating-point numbers
        return Solution(MAX_ITER, rest, last.state.dual, bracket.least)
    if bracket.evaluations < dual.max_iter and not math.isinf(dual.upper):
        lift = (Part(AtRisk(budget / dual.upper), None),)
        return Solution(CONVERGED, lift, dual.upper, bracket.least)
    part = Part(AtDual(last.state.dual, theta1), last.state)
    return Solution(MAX_ITER, (part,), last.state.dual, bracket.least)


def parts_of(bracket: Bracket[Moment], theta1: float) -> tuple[Part, ...]:
    """Return the plans at both ends of a bracket, in the shares that make its slope zero."""
    ends = [(bracket.low, bracket.share)]
    if bracket.low is not bracket.high:
        ends.append((bracket.high, bracket.rest))
    return tuple(Part(AtDual(end.state.dual, theta1), end.state, share) for end, share in ends if share > 0.0)


def _root_of(bracket: Bracket[Moment]) -> float:
    return bracket.low.x + bracket.rest * bracket.width
