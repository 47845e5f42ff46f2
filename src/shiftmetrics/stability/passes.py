"""Passes over the data: where samples are placed, and what the passes of the solver add up.

Everything is a sum over samples of a small statistic, so the only seam to the data is `Gather`: it maps blocks by
threads, or by the workers that hold them. Kernels are plain objects that travel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from shiftmetrics._core.arrays import FloatArray, is_in_chunks
from shiftmetrics._core.blocks import Statistic, map_reduce, row_blocks
from shiftmetrics._core.placement import placed
from shiftmetrics.stability.divergence import Divergence
from shiftmetrics.stability.losses.base import Loss, Transform

if TYPE_CHECKING:
    from concurrent.futures import Executor

# Maps some samples of a loss, with the sample weights of all of them, to a statistic.
Kernel = Callable[[Loss, FloatArray | None, slice], Statistic]
# Runs a kernel over all samples, wherever they are, and adds up.
Gather = Callable[[Kernel], Statistic]
# Where the samples of a block go: transformed values, losses, squared distances and choices.
Placement = Callable[[Loss, slice], Transform]


def blocks_of(loss: Loss) -> list[slice]:
    """Cut the samples of a loss into blocks that are mapped where they live."""
    arrays = [array for array in vars(loss).values() if is_in_chunks(array)]
    return placed(row_blocks(loss.n_samples, loss.row_bytes), arrays)


def passes_over(loss: Loss, weights: FloatArray | None, executor: Executor | None = None) -> Gather:
    """Return the passes over a loss, block by block."""
    blocks = blocks_of(loss)

    def gather(kernel: Kernel) -> Statistic:
        return map_reduce(lambda rows: kernel(loss, weights, rows), blocks, executor=executor)

    return gather


@dataclass(frozen=True)
class AtDual:
    """Every sample at its worst case for one dual price."""

    dual: float
    theta1: float

    def __call__(self, loss: Loss, rows: slice) -> Transform:
        """Transform a block."""
        return loss.transform(self.dual, self.theta1, rows)


@dataclass(frozen=True)
class AtReach:
    """The limit of an infinite dual price: every sample at its highest loss; with ``top``, those that reach it."""

    theta1: float
    top: float | None

    def __call__(self, loss: Loss, rows: slice) -> Transform:
        """Transform a block; samples that take no part have the value -inf."""
        highest, squared, choice = loss.reach(self.theta1, rows)
        value = np.zeros_like(squared)
        if not math.isinf(self.theta1):
            value = -self.theta1 * squared
        if self.top is not None:
            value = np.where(highest >= self.top, value, -math.inf)
        return Transform(value, highest, squared, choice)


@dataclass(frozen=True)
class AtRisk:
    """Every sample lifted to one loss: the limit for a loss that costs the same per unit, however far it goes."""

    risk: float

    def __call__(self, loss: Loss, rows: slice) -> Transform:
        """Lift a block."""
        lifted = loss.lift(self.risk, rows)
        if lifted is None:
            raise TypeError(f"{type(loss).__name__} has a largest dual, so it must implement lift.")
        return Transform(np.zeros_like(lifted.loss), *lifted)


@dataclass(frozen=True, eq=False)
class BaselineStatistic(Statistic):
    """The sample as it is, and how high its losses can be raised."""

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
        # The highest loss of two parts is the higher one of theirs; all else adds up.
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
        """Number of equally weighted samples that know as much (Kish)."""
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
            top=float(highest.max(initial=-math.inf)),
        )


@dataclass(frozen=True)
class DualPass:
    """Kernel of the statistic of a divergence, at one placement and one normaliser."""

    placement: Placement
    divergence: Divergence[Statistic]
    normaliser: float

    def __call__(self, loss: Loss, weights: FloatArray | None, rows: slice) -> Statistic:
        """Map a block. A first guess far too high overflows, which the search takes for the end of its domain."""
        with np.errstate(over="ignore", invalid="ignore"):
            value, losses, *_ = self.placement(loss, rows)
            weight = None if weights is None else weights[rows]
            return self.divergence.statistic(value, losses, weight, self.normaliser)
