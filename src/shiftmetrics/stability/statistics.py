"""What a pass over the data adds up for each price of reweighting, and the moment that its solution leads to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

from shiftmetrics._core.statistics import Statistic


@dataclass(frozen=True)
class Moment:
    """The conjugate at one dual price, and what turns transformed values into weights there."""

    dual: float
    conjugate: float
    risk: float
    """Risk of the reweighted, moved sample: the slope of the conjugate."""
    normaliser: float = 0.0
    """KL: log of the mean of ``exp(v / theta2 - shift)``. chi2: the level at which a row keeps its weight."""
    shift: float = 0.0
    """KL: the greatest ``v / theta2``; apart from the normaliser, so that no digit is lost where it is large."""
    drift: float = 0.0
    """Slope of the normaliser in the dual price, a start for the next one."""

    @property
    def cost(self) -> float:
        """Cost of the plan: what it takes to bring the sample to this risk."""
        return self.dual * self.risk - self.conjugate


@dataclass(frozen=True, eq=False)
class PlainStatistic(Statistic):
    """Sums over rows that keep their weights."""

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

    def __add__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        if other.shift > self.shift:
            return other + self
        fade = math.exp(other.shift - self.shift) if other.total > 0.0 else 0.0
        return type(self)(
            weight=self.weight + other.weight,
            shift=self.shift,
            total=self.total + fade * other.total,
            loss=self.loss + fade * other.loss,
        )

    def zeros(self) -> Self:
        """Return the neutral element of ``+``."""
        return type(self)(weight=0.0, shift=-math.inf, total=0.0, loss=0.0)


@dataclass(frozen=True, eq=False)
class MomentStatistic(Statistic):
    """Sums of the excess weights ``u = max((v - level) / (2 theta2), -1)`` and of the rows that keep a weight."""

    weight: float
    active: float
    excess: float
    squared_excess: float
    reweighted_loss: float
    active_loss: float
