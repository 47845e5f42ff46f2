"""The one-dimensional dual of stability: its value and slope at any price of a unit of risk.

The stability is the greatest ``g(h) = h r - conjugate(h)`` over prices h of a unit of risk, and the slope of the
conjugate is the risk of the worst plan at that price (`divergence`). So the price of a threshold is a root of a
monotone function, and so is the price of a budget. Both are bracketed with as few passes over the data as it takes;
every moment is kept, so that a second root on the same samples starts from those of the first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shiftmetrics._core.blocks import Statistic
from shiftmetrics._core.root import Bracket, Probe, monotone_root
from shiftmetrics.stability.divergence import Divergence, Moment
from shiftmetrics.stability.passes import (
    AtDual,
    AtReach,
    BaselinePass,
    BaselineStatistic,
    DualPass,
    Gather,
    Kernel,
    Placement,
)

_EPS = float(np.finfo(np.float64).eps)
_LARGEST = float(np.finfo(np.float64).max)
# Of the target: where a slope is smaller, one plan alone will do.
_SLOPE_TOLERANCE = 1e-9
# Of the dual: where a bracket is narrower, both plans differ by a kink alone.
_WIDTH_TOLERANCE = 1e-6


class Dual:
    """The dual of one sample: moments at any price, from as few passes as they take.

    Parameters
    ----------
    gather : callable
        The passes over the data.
    theta1 : float
        Price of perturbation.
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
        divergence: Divergence[Any],
        upper: float = math.inf,
        on_pass: Callable[[], object] | None = None,
        *,
        rtol: float = 1e-10,
        max_iter: int = 200,
    ) -> None:
        self.theta1 = theta1
        self.divergence = divergence
        self.upper = upper
        self.rtol = rtol
        self.max_iter = max_iter
        self.n_passes = 0
        self._gather = gather
        self._on_pass = on_pass
        baseline = self.gather(BaselinePass(theta1))
        assert isinstance(baseline, BaselineStatistic)
        self.baseline = baseline
        # At h = 0 all values are 0 and no weight changes.
        self.at_rest = Moment(dual=0.0, conjugate=0.0, risk=baseline.risk, drift=baseline.risk)
        self.moments = {0.0: self.at_rest}

    def gather(self, kernel: Kernel) -> Statistic:
        """Run one pass."""
        total = self._gather(kernel)
        self.n_passes += 1
        if self._on_pass is not None:
            self._on_pass()
        return total

    @property
    def weights_may_change(self) -> bool:
        """Whether reweighting has a finite price."""
        return not math.isinf(self.divergence.theta2)

    @property
    def highest_risk(self) -> float:
        """The supremum of the risks that any plan reaches."""
        baseline = self.baseline
        if self.weights_may_change:
            # All weight may go to the samples of the highest loss.
            return baseline.top
        # Weights stay as they are: each sample is at the highest loss of its own.
        return baseline.reach / baseline.weight

    @property
    def reach(self) -> AtReach:
        """Where the samples are when the risk is the highest."""
        return AtReach(self.theta1, self.baseline.top if self.weights_may_change else None)

    def moment(self, dual: float) -> Moment:
        """Evaluate the conjugate at a dual price, or recall it."""
        if dual in self.moments:
            return self.moments[dual]
        # The normaliser is convex in h, so its tangents are lower bounds: the side from which Newton's is monotone.
        tangents = [
            known.normaliser + known.drift * (dual - known.dual) for known in self.moments.values()
        ]
        moment = self._solve(AtDual(dual, self.theta1), dual, max(tangents))
        if math.isfinite(moment.risk) and math.isfinite(moment.conjugate):
            self.moments[dual] = moment
        return moment

    def moment_at_reach(self) -> Moment:
        """Return the moment in the limit of an infinite dual price, without the term ``h * risk``."""
        return self._solve(self.reach, math.inf, 0.0)

    def _solve(self, placement: Placement, dual: float, start: float) -> Moment:
        # The pass adds up the statistic of this divergence.
        def evaluate(normaliser: float) -> Any:
            return self.gather(DualPass(placement, self.divergence, normaliser))

        return self.divergence.solve(dual, evaluate, start)

    def rounding(self, price: float, moment: Moment) -> float:
        """Return the rounding error of a conjugate, from the numbers that add up to it."""
        cancelling = price * moment.risk + abs(moment.conjugate) + self.divergence.rounding(moment)
        return 16.0 * _EPS * cancelling

    def price_of_risk(self, threshold: float) -> Bracket[Moment]:
        """Bracket the dual price at which the risk of the worst plan crosses ``threshold``.

        The bracket is in the dual h; its convex function is ``-g(h) = conjugate(h) - h threshold``.
        """

        def evaluate(dual: float) -> Probe[Moment]:
            moment = self.moment(dual)
            return Probe(dual, moment.conjugate - dual * threshold, moment.risk - threshold, moment)

        def accept(bracket: Bracket[Moment]) -> bool:
            precise = bracket.gap <= self.tolerance(bracket, threshold)
            return precise and _settled(bracket, threshold)

        below, above = self._around(threshold)
        if above is not None:
            first = above.dual
        elif below.dual > 0.0:
            first = min(2.0 * below.dual, 0.5 * (below.dual + self.upper))
        else:
            # What perturbation alone, and what weights alone, would take to first order.
            excess = threshold - self.baseline.risk
            slope = self.baseline.variance * self.divergence.variance_scale()
            # Near h = 0 the risk rises by h / (2 theta1) where all losses have slope 1, and by h slope where weights
            # change.
            of_weights = excess / slope if slope > 0.0 else math.inf
            first = _first_guess([2.0 * self.theta1 * excess, of_weights, 0.5 * self.upper])
        return monotone_root(
            evaluate,
            first,
            accept,
            low=evaluate(below.dual),
            upper=self.upper,
            max_iter=self.max_iter,
        )

    def _around(self, threshold: float) -> tuple[Moment, Moment | None]:
        """Return the known moments whose risks are the nearest below and above a threshold."""
        below = self.at_rest
        above = None
        for known in self.moments.values():
            if known.risk < threshold:
                below = max(below, known, key=_dual_of)
            elif known.dual > 0.0:
                above = known if above is None else min(above, known, key=_dual_of)
        return below, above

    def tolerance(self, bracket: Bracket[Moment], threshold: float) -> float:
        """Return the gap that is good enough: ``rtol`` of the value, or what rounding leaves of it."""
        return max(self.rtol * abs(bracket.least), 4.0 * _EPS * bracket.high.x * threshold)

    def price_of_cost(self, budget: float) -> Bracket[Moment]:
        """Bracket the price at which the cost of the worst plan crosses ``budget``.

        The bracket is in the risk that a unit of cost buys, 1 / h; its convex function is
        ``(budget + conjugate(h)) / h``, an upper bound of the risk within the budget.
        """
        largest = math.nextafter(self.upper, 0.0)

        def evaluate(price: float) -> Probe[Moment]:
            dual = 1.0 / price if price > 0.0 else _LARGEST
            moment = self.moment(min(dual, largest))
            # The perspective of the convex conjugate, convex in 1 / h; its slope is budget + conjugate - h risk.
            return Probe(price, price * (budget + moment.conjugate), budget - moment.cost, moment)

        def accept(bracket: Bracket[Moment]) -> bool:
            precise = bracket.gap <= self.rtol * abs(bracket.least)
            return precise and _settled(bracket, budget)

        slope = self.baseline.variance * self.divergence.variance_scale()
        # To first order, as in `price_of_risk`: the cost is h^2 / (4 theta1) where all losses have slope 1, and h^2
        # slope / 2 where weights change.
        of_perturbation = math.sqrt(4.0 * self.theta1 * budget)
        of_weights = math.sqrt(2.0 * budget / slope) if slope > 0.0 else math.inf
        first = _first_guess([of_perturbation, of_weights, 0.5 * self.upper])
        return monotone_root(
            evaluate, 1.0 / first, accept, lower=1.0 / self.upper, max_iter=self.max_iter
        )


def _dual_of(moment: Moment) -> float:
    return moment.dual


def _first_guess(guesses: Sequence[float]) -> float:
    guess = min(guesses)
    if 0.0 < guess < math.inf:
        return guess
    return 1.0


def _settled(bracket: Bracket[Moment], target: float) -> bool:
    """Return True if the two plans of a bracket are one, or differ by a kink alone."""
    flattest = min(-bracket.low.slope, bracket.high.slope)
    if flattest <= _SLOPE_TOLERANCE * target:
        return True
    return bracket.width <= _WIDTH_TOLERANCE * bracket.high.x
