"""The one-dimensional dual of stability, and from it the least cost of a risk and the highest risk of a cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.blocks import Statistic
from shiftmetrics._core.result import Status
from shiftmetrics._core.root import Bracket, Probe, monotone_root
from shiftmetrics.stability.divergence import Divergence, Moment
from shiftmetrics.stability.passes import (
    AtDual,
    AtReach,
    AtRisk,
    BaselinePass,
    BaselineStatistic,
    DualPass,
    Gather,
    Kernel,
    Placement,
)
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

_EPS = float(np.finfo(np.float64).eps)
_LARGEST = float(np.finfo(np.float64).max)
_SLOPE_TOLERANCE = 1e-9  # of the target: then one plan alone will do
_WIDTH_TOLERANCE = 1e-6  # of the dual: then both plans differ by a kink alone


class Dual:
    """The dual of one sample: moments at any price, from as few passes as they take.

    Parameters
    ----------
    gather : callable
        The passes over the data.
    theta1 : float
        Price of moving.
    divergence : Divergence
        Price of reweighting.
    upper : float
        Dual price that no evaluation may reach (`Loss.largest_dual`).
    on_pass : callable, optional
        Called after each pass, for progress.
    rtol : float, default 1e-10
        Relative primal-dual gap at which to stop.
    max_iter : int, default 200
        Most evaluations for one root.
    """

    def __init__(
        self,
        gather: Gather,
        theta1: float,
        divergence: Divergence,
        upper: float = math.inf,
        on_pass: Callable[[], object] | None = None,
        *,
        rtol: float = 1e-10,
        max_iter: int = 200,
    ) -> None:
        self.theta1, self.divergence, self.upper = theta1, divergence, upper
        self.rtol, self.max_iter = rtol, max_iter
        self.n_passes = 0
        self._gather, self._on_pass = gather, on_pass
        baseline = self.gather(BaselinePass(theta1))
        assert isinstance(baseline, BaselineStatistic)
        self.baseline = baseline
        # At h = 0 all values are 0 and no weight changes.
        self.at_rest = Moment(dual=0.0, conjugate=0.0, risk=baseline.risk, drift=baseline.risk)
        self.moments = {0.0: self.at_rest}
        """Every moment so far, by dual price; a second root on the same rows starts from them."""

    def gather(self, kernel: Kernel) -> Statistic:
        """Run one pass."""
        total = self._gather(kernel)
        self.n_passes += 1
        if self._on_pass is not None:
            self._on_pass()
        return total

    @property
    def highest_risk(self) -> float:
        """The supremum of the risks that any plan reaches."""
        baseline = self.baseline
        return (
            baseline.reach / baseline.weight if math.isinf(self.divergence.theta2) else baseline.top
        )

    @property
    def reach(self) -> AtReach:
        """Where the rows are when the risk is the highest."""
        return AtReach(
            self.theta1, None if math.isinf(self.divergence.theta2) else self.baseline.top
        )

    def moment(self, dual: float) -> Moment:
        """Evaluate the conjugate at a dual price, or recall it."""
        known = self.moments.get(dual)
        if known is not None:
            return known
        # The normaliser is convex in h, so its tangents are lower bounds: the side from which Newton's is monotone.
        start = max(
            known.normaliser + known.drift * (dual - known.dual) for known in self.moments.values()
        )
        moment = self._solve(AtDual(dual, self.theta1), dual, start)
        if math.isfinite(moment.risk) and math.isfinite(moment.conjugate):
            self.moments[dual] = moment
        return moment

    def moment_at_reach(self) -> Moment:
        """Return the moment in the limit of an infinite dual price, without the term ``h * risk``."""
        return self._solve(self.reach, math.inf, 0.0)

    def _solve(self, placement: Placement, dual: float, start: float) -> Moment:
        def evaluate(normaliser: float) -> Statistic:
            return self.gather(DualPass(placement, self.divergence, normaliser))

        return self.divergence.solve(dual, evaluate, start)

    def rounding(self, price: float, moment: Moment) -> float:
        """Return the rounding error of a conjugate, from the numbers that add up to it."""
        cancelling = price * moment.risk + abs(moment.conjugate) + self.divergence.rounding(moment)
        return 16.0 * _EPS * cancelling

    def price_of_risk(self, threshold: float) -> Bracket[Moment]:
        """Bracket the dual price at which the reweighted, moved risk crosses ``threshold``.

        The bracket is in the dual h; its convex function is ``-g(h) = conjugate(h) - h threshold``.
        """

        def evaluate(dual: float) -> Probe[Moment]:
            moment = self.moment(dual)
            return Probe(dual, moment.conjugate - dual * threshold, moment.risk - threshold, moment)

        def accept(bracket: Bracket[Moment]) -> bool:
            return bracket.gap <= self.tolerance(bracket, threshold) and _settled(
                bracket, threshold
            )

        excess = threshold - self.baseline.risk
        guesses = [2.0 * self.theta1 * excess, self._without_moves(excess), 0.5 * self.upper]
        below, above = self._around(threshold)
        if above is not None:
            first = above.dual
        elif below.dual > 0.0:
            first = min(2.0 * below.dual, 0.5 * (below.dual + self.upper))
        else:
            first = _first_guess(guesses)
        return monotone_root(
            evaluate,
            first,
            accept,
            low=evaluate(below.dual),
            upper=self.upper,
            max_iter=self.max_iter,
        )

    def _around(self, threshold: float) -> tuple[Moment, Moment | None]:
        """Return the evaluated moments whose risks are the nearest below and above a threshold."""
        below = [known for known in self.moments.values() if known.risk < threshold]
        above = [
            known for known in self.moments.values() if known.risk >= threshold and known.dual > 0.0
        ]
        lowest = max(below, key=lambda known: known.dual, default=self.at_rest)
        return lowest, min(above, key=lambda known: known.dual, default=None)

    def tolerance(self, bracket: Bracket[Moment], threshold: float) -> float:
        """Return the gap that is good enough: ``rtol`` of the value, or what rounding leaves of it."""
        return max(self.rtol * abs(bracket.least), 4.0 * _EPS * bracket.high.x * threshold)

    def price_of_cost(self, budget: float) -> Bracket[Moment]:
        """Bracket the price at which the cost of the worst plan crosses ``budget``.

        The bracket is in the risk that a unit of cost buys, 1 / h; its convex function is
        ``(budget + conjugate(h)) / h``, an upper bound of the risk within the budget.
        """
        lower = 1.0 / self.upper

        def evaluate(price: float) -> Probe[Moment]:
            dual = 1.0 / price if price > 0.0 else _LARGEST
            moment = self.moment(min(dual, math.nextafter(self.upper, 0.0)))
            return Probe(price, price * (budget + moment.conjugate), budget - moment.cost, moment)

        def accept(bracket: Bracket[Moment]) -> bool:
            return bracket.gap <= self.rtol * abs(bracket.least) and _settled(bracket, budget)

        slope = self.baseline.variance * self.divergence.variance_scale()
        guesses = [
            math.sqrt(4.0 * self.theta1 * budget),
            math.sqrt(2.0 * budget / slope) if slope > 0.0 else math.inf,
            0.5 * self.upper,
        ]
        first = _first_guess(guesses)
        return monotone_root(evaluate, 1.0 / first, accept, lower=lower, max_iter=self.max_iter)

    def _without_moves(self, excess: float) -> float:
        """Return the dual that would raise the risk by ``excess`` through weights alone, to first order."""
        slope = self.baseline.variance * self.divergence.variance_scale()
        return excess / slope if slope > 0.0 else math.inf


def _first_guess(guesses: list[float]) -> float:
    guess = min(guesses)
    return guess if 0.0 < guess < math.inf else 1.0


def _settled(bracket: Bracket[Moment], target: float) -> bool:
    """Tell whether the two plans of a bracket are one, or differ by a kink alone."""
    return (
        min(-bracket.low.slope, bracket.high.slope) <= _SLOPE_TOLERANCE * target
        or bracket.width <= _WIDTH_TOLERANCE * bracket.high.x
    )


_ROUNDING = 8.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Solution:
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


def least_cost(dual: Dual, threshold: float) -> Solution:
    """Find the least cost of a plan whose risk reaches ``threshold``."""
    highest, rest = dual.highest_risk, (PlanPart(AtDual(0.0, dual.theta1), dual.at_rest),)
    if threshold <= dual.baseline.risk * (1.0 + _ROUNDING):
        return Solution(ALREADY_AT_RISK, rest, 0.0, 0.0, value=0.0)
    if threshold > highest * (1.0 + _ROUNDING):
        reach = (PlanPart(dual.reach, dual.moment_at_reach()),)
        return Solution(UNATTAINABLE, reach, math.inf, math.inf, value=math.inf)
    if dual.upper == 0.0:
        return Solution(UNBOUNDED_LOSS, rest, 0.0, 0.0, value=0.0)
    if threshold < highest * (1.0 - _ROUNDING):
        bracket = dual.price_of_risk(threshold)
        if bracket.closed:
            precise = bracket.gap <= dual.tolerance(bracket, threshold)
            status = CONVERGED if precise else MAX_ITER
            parts = parts_of(bracket, dual.theta1)
            bound = max(
                -end.value - dual.rounding(end.x, end.state) for end in (bracket.low, bracket.high)
            )
            return Solution(status, parts, _root_of(bracket), bound, has_influence=True)
        if bracket.evaluations >= dual.max_iter:
            last = (PlanPart(AtDual(bracket.low.x, dual.theta1), bracket.low.state),)
            return Solution(MAX_ITER, last, bracket.low.x, math.inf, value=-bracket.least)
        if not math.isinf(dual.upper):  # no loss to speak of: every unit of risk has the same price
            lift = (PlanPart(AtRisk(threshold), None),)
            return Solution(BOUNDARY, lift, dual.upper, -bracket.least)
    moment = dual.moment_at_reach()
    reach = (PlanPart(dual.reach, moment),)
    bound = -moment.conjugate - dual.rounding(0.0, moment)
    return Solution(BOUNDARY, reach, math.inf, bound, has_influence=True)


def most_risk(dual: Dual, budget: float) -> Solution:
    """Find the highest risk of a plan that costs at most ``budget``."""
    highest, base, theta1 = dual.highest_risk, dual.baseline.risk, dual.theta1
    rest = (PlanPart(AtDual(0.0, theta1), dual.at_rest),)
    if budget == 0.0:
        return Solution(CONVERGED, rest, 0.0, base)
    if dual.upper == 0.0:
        return Solution(UNBOUNDED_LOSS, rest, 0.0, math.inf, value=math.inf)
    if math.isfinite(highest):
        moment = dual.moment_at_reach()
        if budget >= -moment.conjugate * (1.0 - _ROUNDING):
            return Solution(HIGHEST_RISK, (PlanPart(dual.reach, moment),), math.inf, highest)
    bracket = dual.price_of_cost(budget)
    if bracket.closed:
        precise = bracket.gap <= dual.rtol * abs(bracket.least)
        status = CONVERGED if precise else MAX_ITER
        parts = parts_of(bracket, theta1)
        bound = min(
            end.value + end.x * dual.rounding(1.0 / end.x, end.state)
            for end in (bracket.low, bracket.high)
        )
        return Solution(status, parts, 1.0 / _root_of(bracket), bound, has_influence=True)
    last = bracket.low
    if last.slope < 0.0:  # even the first unit of risk is too dear for floating-point numbers
        return Solution(MAX_ITER, rest, last.state.dual, bracket.least)
    if bracket.evaluations < dual.max_iter and not math.isinf(dual.upper):
        lift = (PlanPart(AtRisk(budget / dual.upper), None),)
        return Solution(CONVERGED, lift, dual.upper, bracket.least)
    part = PlanPart(AtDual(last.state.dual, theta1), last.state)
    return Solution(MAX_ITER, (part,), last.state.dual, bracket.least)


def parts_of(bracket: Bracket[Moment], theta1: float) -> tuple[PlanPart, ...]:
    """Return the plans at both ends of a bracket, in the shares that make its slope zero."""
    ends = [(bracket.low, bracket.share)]
    if bracket.low is not bracket.high:
        ends.append((bracket.high, bracket.rest))
    return tuple(
        PlanPart(AtDual(end.state.dual, theta1), end.state, share)
        for end, share in ends
        if share > 0.0
    )


def _root_of(bracket: Bracket[Moment]) -> float:
    return bracket.low.x + bracket.rest * bracket.width
