"""The one-dimensional dual of stability: passes over the data and the two problems they solve.

Everything is a sum over rows of a small statistic, so the only seam to the data is `Gather`: in memory it maps
blocks by threads; elsewhere it may sum over shards or processes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.blocks import map_reduce, row_blocks
from shiftmetrics._core.root import Bracket, Probe, monotone_root
from shiftmetrics._core.statistics import Statistic
from shiftmetrics.stability.divergence import Divergence, Moment
from shiftmetrics.stability.losses.base import Loss, Transform
from shiftmetrics.stability.options import Options

Kernel = Callable[[Loss, FloatArray | None, slice], Statistic]
"""Maps some rows of a loss, with the sample weights of all its rows, to a statistic."""
Gather = Callable[[Kernel], Statistic]
"""Runs a kernel over all rows, wherever they are, and adds up."""

_KEPT_MOMENTS = 8
_EPS = float(np.finfo(np.float64).eps)
_SLOPE_TOLERANCE = 1e-9  # of the target: then one plan alone will do
_WIDTH_TOLERANCE = 1e-6  # of the dual: then both plans differ by a kink alone


def in_memory(loss: Loss, weights: FloatArray | None, executor: Executor | None = None) -> Gather:
    """Return the passes over a loss in memory, block by block."""
    blocks = row_blocks(loss.n_samples, loss.row_bytes)

    def gather(kernel: Kernel) -> Statistic:
        return map_reduce(lambda rows: kernel(loss, weights, rows), blocks, executor=executor)

    return gather


class Placement(Protocol):
    """Where the rows of a block go."""

    def __call__(self, loss: Loss, rows: slice) -> Transform:
        """Return transformed values, losses and squared distances."""

    def choice(self, loss: Loss, rows: slice) -> IntArray | None:
        """Return the candidate or piece that each row takes, for losses that have any."""


@dataclass(frozen=True)
class AtDual:
    """Every row at its worst case for one dual price."""

    dual: float
    theta1: float

    def __call__(self, loss: Loss, rows: slice) -> Transform:
        """Transform a block."""
        return loss.transform(self.dual, self.theta1, rows)

    def choice(self, loss: Loss, rows: slice) -> IntArray | None:
        """Return the candidate or piece that each row takes."""
        return loss.choice(self.dual, self.theta1, rows)


@dataclass(frozen=True)
class AtReach:
    """The limit of an infinite dual price: rows at their highest loss; with a ``top``, only those that reach it."""

    theta1: float
    top: float | None

    def __call__(self, loss: Loss, rows: slice) -> Transform:
        """Transform a block; rows that take no part have the value -inf."""
        highest, squared = loss.reach(self.theta1, rows)
        value = np.zeros_like(squared) if math.isinf(self.theta1) else -self.theta1 * squared
        if self.top is not None:
            value = np.where(highest >= self.top, value, -math.inf)
        return Transform(value, highest, squared)

    def choice(self, loss: Loss, rows: slice) -> IntArray | None:
        """Return the candidate or piece that each row takes."""
        return loss.choice(math.inf, self.theta1, rows)


@dataclass(frozen=True)
class AtRisk:
    """Every row lifted to one loss: the limit for a loss that costs the same per unit, however far it goes."""

    risk: float

    def __call__(self, loss: Loss, rows: slice) -> Transform:
        """Lift a block."""
        lifted = loss.lift(self.risk, rows)
        if lifted is None:
            raise TypeError(f"{type(loss).__name__} has a largest dual, so it must implement lift.")
        return lifted

    def choice(self, loss: Loss, rows: slice) -> IntArray | None:
        """Return None: such losses have no candidates."""
        return None


@dataclass(frozen=True, eq=False)
class BaselineStatistic(Statistic):
    """The sample where it stands, and how high its losses can be raised."""

    weight: float
    squared_weight: float
    loss: float
    squared_loss: float
    not_binary: float
    reach: float
    top: float

    def __add__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        names = [name for name in self.field_names() if name != "top"]
        sums = {name: getattr(self, name) + getattr(other, name) for name in names}
        return type(self)(**sums, top=max(self.top, other.top))

    def zeros(self) -> Self:
        """Return the neutral element of ``+``."""
        return type(self)(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, top=-math.inf)

    @property
    def risk(self) -> float:
        """Mean loss."""
        return self.loss / self.weight

    @property
    def variance(self) -> float:
        """Variance of the losses."""
        return max(self.squared_loss / self.weight - self.risk**2, 0.0)

    @property
    def effective_samples(self) -> float:
        """Number of equally weighted rows that know as much (Kish)."""
        return self.weight**2 / self.squared_weight


@dataclass(frozen=True)
class BaselinePass:
    """Kernel of `BaselineStatistic`."""

    theta1: float

    def __call__(self, loss: Loss, weights: FloatArray | None, rows: slice) -> BaselineStatistic:
        """Map a block."""
        base = loss.base(rows)
        highest = loss.reach(self.theta1, rows).loss
        weight = np.ones_like(base) if weights is None else weights[rows]
        return BaselineStatistic(
            weight=float(weight.sum()),
            squared_weight=float(weight @ weight),
            loss=float(weight @ base),
            squared_loss=float((weight * base) @ base),
            not_binary=float(np.count_nonzero((base != 0.0) & (base != 1.0))),
            reach=float(weight @ highest),
            top=float(highest.max()),
        )


@dataclass(frozen=True)
class DualPass:
    """Kernel of the statistic of a divergence, at one placement and one normaliser."""

    placement: Placement
    divergence: Divergence
    normaliser: float

    def __call__(self, loss: Loss, weights: FloatArray | None, rows: slice) -> Statistic:
        """Map a block."""
        value, losses, _ = self.placement(loss, rows)
        weight = None if weights is None else weights[rows]
        return self.divergence.statistic(value, losses, weight, self.normaliser)


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
    """

    def __init__(
        self,
        gather: Gather,
        theta1: float,
        divergence: Divergence,
        upper: float = math.inf,
        on_pass: Callable[[], object] | None = None,
    ) -> None:
        self.theta1, self.divergence, self.upper = theta1, divergence, upper
        self.n_passes = 0
        self._gather, self._on_pass = gather, on_pass
        baseline = self.gather(BaselinePass(theta1))
        assert isinstance(baseline, BaselineStatistic)
        self.baseline = baseline
        # At h = 0 all values are 0 and no weight changes.
        self.at_rest = Moment(dual=0.0, conjugate=0.0, risk=baseline.risk, drift=baseline.risk)
        self._moments = [self.at_rest]

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
        return baseline.reach / baseline.weight if math.isinf(self.divergence.theta2) else baseline.top

    @property
    def reach(self) -> AtReach:
        """Where the rows are when the risk is the highest."""
        return AtReach(self.theta1, None if math.isinf(self.divergence.theta2) else self.baseline.top)

    def moment(self, dual: float) -> Moment:
        """Evaluate the conjugate at a dual price."""
        # The normaliser is convex in h, so its tangents are lower bounds: the side from which Newton's is monotone.
        start = max(known.normaliser + known.drift * (dual - known.dual) for known in self._moments)
        moment = self._solve(AtDual(dual, self.theta1), dual, start)
        self._moments = [*self._moments[-_KEPT_MOMENTS:], moment]
        return moment

    def moment_at_reach(self) -> Moment:
        """Return the moment in the limit of an infinite dual price, without the term ``h * risk``."""
        return self._solve(self.reach, math.inf, 0.0)

    def _solve(self, placement: Placement, dual: float, start: float) -> Moment:
        def evaluate(normaliser: float) -> Statistic:
            return self.gather(DualPass(placement, self.divergence, normaliser))

        return self.divergence.solve(dual, evaluate, start)

    def price_of_risk(self, threshold: float, options: Options) -> Bracket[Moment]:
        """Bracket the dual price at which the reweighted, moved risk crosses ``threshold``.

        The bracket is in the dual h; its convex function is ``-g(h) = conjugate(h) - h threshold``.
        """

        def evaluate(dual: float) -> Probe[Moment]:
            moment = self.moment(dual)
            return Probe(dual, moment.conjugate - dual * threshold, moment.risk - threshold, moment)

        def accept(bracket: Bracket[Moment]) -> bool:
            return bracket.gap <= self.tolerance(bracket, threshold, options.rtol) and _settled(
                bracket, threshold
            )

        excess = threshold - self.baseline.risk
        guesses = [2.0 * self.theta1 * excess, self._without_moves(excess), 0.5 * self.upper]
        at_rest = Probe(0.0, 0.0, -excess, self.at_rest)
        return monotone_root(
            evaluate,
            _first_guess(options.initial_dual, guesses, self.upper),
            accept,
            low=at_rest,
            upper=self.upper,
            max_iter=options.max_iter,
        )

    def tolerance(self, bracket: Bracket[Moment], threshold: float, rtol: float) -> float:
        """Return the gap that is good enough: ``rtol`` of the value, or what rounding leaves of it."""
        return max(rtol * abs(bracket.least), 4.0 * _EPS * bracket.high.x * threshold)

    def price_of_cost(self, budget: float, options: Options) -> Bracket[Moment]:
        """Bracket the price at which the cost of the worst plan crosses ``budget``.

        The bracket is in the risk that a unit of cost buys, 1 / h; its convex function is
        ``(budget + conjugate(h)) / h``, an upper bound of the risk within the budget.
        """
        lower = 1.0 / self.upper

        def evaluate(price: float) -> Probe[Moment]:
            moment = self.moment(1.0 / price)
            return Probe(price, price * (budget + moment.conjugate), budget - moment.cost, moment)

        def accept(bracket: Bracket[Moment]) -> bool:
            return bracket.gap <= options.rtol * abs(bracket.least) and _settled(bracket, budget)

        slope = self.baseline.variance * self.divergence.variance_scale()
        guesses = [
            math.sqrt(4.0 * self.theta1 * budget),
            math.sqrt(2.0 * budget / slope) if slope > 0.0 else math.inf,
            0.5 * self.upper,
        ]
        first = _first_guess(options.initial_dual, guesses, self.upper)
        return monotone_root(evaluate, 1.0 / first, accept, lower=lower, max_iter=options.max_iter)

    def _without_moves(self, excess: float) -> float:
        """Return the dual that would raise the risk by ``excess`` through weights alone, to first order."""
        slope = self.baseline.variance * self.divergence.variance_scale()
        return excess / slope if slope > 0.0 else math.inf


def _first_guess(start: float | None, guesses: list[float], upper: float) -> float:
    if start is not None and 0.0 < start < upper:
        return start
    guess = min(guesses)
    return guess if 0.0 < guess < math.inf else 1.0


def _settled(bracket: Bracket[Moment], target: float) -> bool:
    """Tell whether the two plans of a bracket are one, or differ by a kink alone."""
    return (
        min(-bracket.low.slope, bracket.high.slope) <= _SLOPE_TOLERANCE * target
        or bracket.width <= _WIDTH_TOLERANCE * bracket.high.x
    )
