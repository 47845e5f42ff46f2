"""How reweighting is priced: for each divergence its additive statistic, and the weights and cost it leads to.

For the transformed values ``v`` of the samples (greatest ``h loss - theta1 d``) the price of reweighting turns the
dual into ``conjugate(h) = max over weights W >= 0 of mean 1 of mean(W v) - theta2 mean phi(W)``; the stability is
the greatest ``h r - conjugate(h)``, and the slope of the conjugate is the risk ``mean(W loss)``.
Blanchet, Cui, Li, Liu (arXiv:2405.03198), Theorem 1 and Remark 4, corrected.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, Self, TypeVar

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.blocks import Statistic

DivergenceName = Literal["kl", "chi2"]
DIVERGENCES: tuple[DivergenceName, ...] = ("kl", "chi2")

_SMALL = 0.25  # of ``v / theta2``
_TINY = float(np.finfo(np.float64).tiny)
_NEWTON_STEPS = 100
_NEWTON_TOLERANCE = 1e-9  # of the mean weight; what is left is corrected to first order

# The statistic that a divergence adds up.
Sums = TypeVar("Sums", bound=Statistic)


@dataclass(frozen=True)
class Moment:
    """The conjugate at one dual price, and what turns transformed values into weights there."""

    dual: float
    conjugate: float
    # Risk of the changed and reweighted sample: the slope of the conjugate.
    risk: float
    # KL: log of the mean of ``exp(v / theta2 - shift)``. chi2: the level at which a sample keeps
    # its weight.
    normaliser: float = 0.0
    # KL: the greatest ``v / theta2``; apart from the normaliser, so that no digit is lost where it
    # is large.
    shift: float = 0.0
    # Slope of the normaliser in the dual price, a start for the next one.
    drift: float = 0.0

    @property
    def cost(self) -> float:
        """Cost of the plan: what it takes to bring the sample to this risk."""
        return self.dual * self.risk - self.conjugate


@dataclass(frozen=True, eq=False)
class PlainStatistic(Statistic):
    """Sums over samples that keep their weights."""

    weight: float
    value: float
    loss: float


@dataclass(frozen=True, eq=False)
class ExponentialStatistic(Statistic):
    """Sums of ``exp(v / theta2)`` and ``exp(v / theta2) loss``, divided by ``exp(shift)`` so that none overflows."""

    weight: float
    shift: float
    total: float
    loss: float
    # ``total - weight`` with all its digits where the shift is 0, the largest ``v / theta2`` being
    # small; else 0.
    excess: float

    def __add__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        if other.shift > self.shift:
            return other + self
        # Bring the sums of the other one to the larger shift.
        fade = math.exp(other.shift - self.shift) if other.total > 0.0 else 0.0
        excess = 0.0
        if self.shift == 0.0:
            excess = self.excess
            # Of a block that was shifted, the same difference is taken after its exponentials are added up.
            excess += other.excess if other.shift == 0.0 else fade * other.total - other.weight
        return type(self)(
            weight=self.weight + other.weight,
            shift=self.shift,
            total=self.total + fade * other.total,
            loss=self.loss + fade * other.loss,
            excess=excess,
        )

    def zeros(self) -> Self:
        """Return the neutral element of ``+``."""
        return type(self)(weight=0.0, shift=-math.inf, total=0.0, loss=0.0, excess=0.0)


@dataclass(frozen=True, eq=False)
class MomentStatistic(Statistic):
    """Sums of the excess weights ``u = max((v - level) / (2 theta2), -1)`` and of the samples that keep a weight."""

    weight: float
    active: float
    excess: float
    squared_excess: float
    reweighted_loss: float
    active_loss: float


class Divergence(ABC, Generic[Sums]):
    """A price ``theta2 phi(W)`` of giving a sample the weight W.

    A new divergence has a statistic, whose sum over all samples is what one pass over the data gives, and says how
    a moment follows from it. What is abstract here differs between divergences; `rounding` is 0 unless large numbers
    cancel.

    Parameters
    ----------
    theta2 : float
        Price of a unit of divergence.
    """

    def __init__(self, theta2: float) -> None:
        self.theta2 = theta2

    @abstractmethod
    def statistic(
        self, value: FloatArray, loss: FloatArray, weights: FloatArray | None, normaliser: float
    ) -> Sums:
        """Map a block: transformed values, losses and sample weights to their sums."""

    @abstractmethod
    def solve(self, dual: float, evaluate: Callable[[float], Sums], start: float) -> Moment:
        """Find the normaliser; ``evaluate`` is a pass over the data, from a normaliser to the sum of all samples."""

    @abstractmethod
    def density(self, value: FloatArray, moment: Moment) -> FloatArray:
        """Return the weights W of a block."""

    @abstractmethod
    def penalty(self, density: FloatArray) -> FloatArray:
        """Return ``phi(W)``, without its price."""

    @abstractmethod
    def influence(self, value: FloatArray, moment: Moment) -> FloatArray:
        """Return minus the influence of each sample on the stability, up to a constant that is about its mean."""

    @abstractmethod
    def variance_scale(self) -> float:
        """Return the slope of the risk at dual 0 over the variance of the losses, where no sample changes."""

    def rounding(self, moment: Moment) -> float:
        """Return the size of the numbers that cancel in a conjugate."""
        return 0.0


class FixedWeights(Divergence[PlainStatistic]):
    """The limit ``theta2 = inf``, whatever the divergence: every sample keeps its weight."""

    def __init__(self) -> None:
        super().__init__(math.inf)

    def statistic(
        self, value: FloatArray, loss: FloatArray, weights: FloatArray | None, normaliser: float
    ) -> PlainStatistic:
        """Map a block: there is nothing to normalise."""
        return PlainStatistic(
            weight=_sum_of(None, weights, len(value)),
            value=_sum_of(value, weights),
            loss=_sum_of(loss, weights),
        )

    def solve(
        self, dual: float, evaluate: Callable[[float], PlainStatistic], start: float
    ) -> Moment:
        """Take the means, in one pass."""
        total = evaluate(0.0)
        return Moment(
            dual=dual, conjugate=total.value / total.weight, risk=total.loss / total.weight
        )

    def density(self, value: FloatArray, moment: Moment) -> FloatArray:
        """Return 1 for each sample."""
        return np.ones_like(value)

    def penalty(self, density: FloatArray) -> FloatArray:
        """Return 0 for each sample: no weight changes."""
        return np.zeros_like(density)

    def influence(self, value: FloatArray, moment: Moment) -> FloatArray:
        """Return how far the transformed values are above their mean."""
        return value - moment.conjugate

    def variance_scale(self) -> float:
        """Return 0: the risk does not grow with the variance."""
        return 0.0


class KullbackLeibler(Divergence[ExponentialStatistic]):
    """``phi(W) = W log W - W + 1``."""

    def rounding(self, moment: Moment) -> float:
        """Return theta2, where the logarithm is that of a number of size 1."""
        return self.theta2 if moment.shift else 0.0

    def statistic(
        self, value: FloatArray, loss: FloatArray, weights: FloatArray | None, normaliser: float
    ) -> ExponentialStatistic:
        """Map a block."""
        scaled = value / self.theta2
        weight = _sum_of(None, weights, len(value))
        shift = float(scaled.max(initial=-math.inf))
        if shift == -math.inf:
            # A block of which no sample takes part.
            return ExponentialStatistic(weight, shift, 0.0, 0.0, 0.0)
        excess = 0.0
        if abs(shift) < _SMALL:
            # exp(v) - 1 is small, and keeps all its digits.
            np.expm1(scaled, out=scaled)
            excess = _sum_of(scaled, weights)
            scaled += 1.0
            total = weight + excess
            shift = 0.0
        else:
            # The largest exponential is 1, so that none overflows.
            scaled -= shift
            np.exp(scaled, out=scaled)
            total = _sum_of(scaled, weights)
        if weights is not None:
            scaled *= weights
        return ExponentialStatistic(weight, shift, total, float(scaled @ loss), excess)

    def solve(
        self, dual: float, evaluate: Callable[[float], ExponentialStatistic], start: float
    ) -> Moment:
        """Take the log of the mean: ``g(h) = h r - theta2 log mean exp(v / theta2)``."""
        total = evaluate(0.0)
        if total.shift == 0.0 and total.excess > -0.5 * total.weight:
            normaliser = math.log1p(total.excess / total.weight)
        else:
            # Here log1p would lose digits.
            normaliser = math.log(total.total / total.weight)
        return Moment(
            dual=dual,
            conjugate=self.theta2 * (total.shift + normaliser),
            risk=total.loss / total.total,
            normaliser=normaliser,
            shift=total.shift,
        )

    def density(self, value: FloatArray, moment: Moment) -> FloatArray:
        """Return ``exp(v / theta2) / mean exp(v / theta2)``."""
        scaled = value / self.theta2
        scaled -= moment.shift
        scaled -= moment.normaliser
        density: FloatArray = np.exp(scaled, out=scaled)
        return density

    def penalty(self, density: FloatArray) -> FloatArray:
        """Return ``W log W - W + 1``."""
        # 0 log 0 = 0
        penalty = np.maximum(density, _TINY)
        np.log(penalty, out=penalty)
        penalty *= density
        # exact near W = 1, where all the rest is small too
        penalty -= density - 1.0
        return penalty

    def influence(self, value: FloatArray, moment: Moment) -> FloatArray:
        """Return ``theta2 (W - 1)``, with all digits of small differences."""
        return self.theta2 * np.expm1(value / self.theta2 - moment.shift - moment.normaliser)

    def variance_scale(self) -> float:
        """Return ``1 / theta2``."""
        return 1.0 / self.theta2


class ChiSquared(Divergence[MomentStatistic]):
    """``phi(W) = (W - 1)^2``.

    The level c solves ``mean(u) = 0`` for ``u = W - 1 = max((v - c) / (2 theta2), -1)``; written in the excess u
    nothing cancels when theta2 is large.
    """

    def statistic(
        self, value: FloatArray, loss: FloatArray, weights: FloatArray | None, normaliser: float
    ) -> MomentStatistic:
        """Map a block at the level ``normaliser``."""
        excess = value - normaliser
        excess /= 2.0 * self.theta2
        np.maximum(excess, -1.0, out=excess)
        active: FloatArray = (excess > -1.0).astype(np.float64)
        # Weighted by the sample weights w: w u, and w W for the weights W = 1 + u. A sample whose u is cut off at -1
        # keeps no weight, and does not change with the level.
        linear = excess
        density = excess + 1.0
        if weights is not None:
            linear = weights * excess
            density = linear + weights
            active *= weights
        return MomentStatistic(
            weight=_sum_of(None, weights, len(value)),
            active=float(active.sum()),
            excess=float(linear.sum()),
            squared_excess=float(linear @ excess),
            reweighted_loss=float(density @ loss),
            active_loss=float(active @ loss),
        )

    def solve(
        self, dual: float, evaluate: Callable[[float], MomentStatistic], start: float
    ) -> Moment:
        """Raise or lower the level by Newton's method, which is monotone once the mean excess is positive."""
        level = start
        retreat = max(2.0 * self.theta2, math.ulp(start))
        for _ in range(_NEWTON_STEPS):
            total = evaluate(level)
            # The mean excess is piecewise linear in the level, with the slope -active / (2 theta2).
            excess = total.excess / total.weight
            active = total.active / total.weight
            if active == 0.0:
                # far above every sample: only a bad start leads here
                level -= retreat
                retreat *= 2.0
                continue
            step = excess / active
            if not math.isfinite(step) or abs(excess) <= _NEWTON_TOLERANCE:
                break
            if level + 2.0 * self.theta2 * step == level:
                # below the precision of the level
                break
            level += 2.0 * self.theta2 * step
        if active == 0.0:
            # The values are so large beside theta2 that no level is found.
            return Moment(dual=dual, conjugate=math.inf, risk=math.inf)
        # What is left of the mean excess is corrected to first order: the level rises by 2 theta2 step, and with it
        # every weight that is not zero falls by step.
        active_loss = total.active_loss / total.weight
        # max over W of mean(W v) - theta2 mean (W - 1)^2, an upper bound at any level and exact at the right one
        conjugate = level + self.theta2 * (2.0 * excess + total.squared_excess / total.weight)
        return Moment(
            dual=dual,
            conjugate=conjugate,
            risk=total.reweighted_loss / total.weight - step * active_loss,
            normaliser=level + 2.0 * self.theta2 * step,
            # As h grows the level rises by the mean loss of the samples that keep a weight: the derivative of
            # mean(u) = 0.
            drift=active_loss / active,
        )

    def density(self, value: FloatArray, moment: Moment) -> FloatArray:
        """Return ``max(1 + (v - c) / (2 theta2), 0)``."""
        excess = (value - moment.normaliser) / (2.0 * self.theta2)
        excess += 1.0
        return np.maximum(excess, 0.0, out=excess)

    def penalty(self, density: FloatArray) -> FloatArray:
        """Return ``(W - 1)^2``."""
        excess = density - 1.0
        excess *= excess
        return excess

    def influence(self, value: FloatArray, moment: Moment) -> FloatArray:
        """Return ``theta2 (W^2 - 1)``, with all digits of small differences."""
        excess = np.maximum((value - moment.normaliser) / (2.0 * self.theta2), -1.0)
        return self.theta2 * excess * (excess + 2.0)

    def variance_scale(self) -> float:
        """Return ``1 / (2 theta2)``."""
        return 0.5 / self.theta2


def _sum_of(
    values: FloatArray | None, weights: FloatArray | None, n_samples: int | None = None
) -> float:
    """Return a weighted sum; without ``values`` that of the weights, which are 1 for each of ``n_samples``."""
    if values is None:
        return float(n_samples or 0) if weights is None else float(weights.sum())
    return float(values.sum() if weights is None else weights @ values)


def divergence_of(name: DivergenceName, theta2: float) -> Divergence[Any]:
    """Return the price of reweighting; ``theta2 = inf`` forbids it, whatever the divergence."""
    if math.isinf(theta2):
        return FixedWeights()
    return KullbackLeibler(theta2) if name == "kl" else ChiSquared(theta2)
