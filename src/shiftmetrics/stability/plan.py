"""Passes over the data: where rows are placed, what each pass adds up, and the plan that the dual leads to.

Everything is a sum over rows of a small statistic, so the only seam to the data is `Gather`: it maps blocks by
threads, or by the workers that hold them. Kernels are plain objects that travel.

A plan, the most sensitive sample, mixes up to two placements of the rows. Both ends of the last bracket take part,
in the shares that bring the risk (or the cost) exactly to its target: at a kink no single dual price does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray, is_in_chunks
from shiftmetrics._core.blocks import Statistic, map_reduce, row_blocks
from shiftmetrics._core.placement import placed
from shiftmetrics.stability.divergence import Divergence, Moment
from shiftmetrics.stability.losses.base import Loss, Transform
from shiftmetrics.stability.result import Splits

Kernel = Callable[[Loss, FloatArray | None, slice], Statistic]
"""Maps some rows of a loss, with the sample weights of all its rows, to a statistic."""
Gather = Callable[[Kernel], Statistic]
"""Runs a kernel over all rows, wherever they are, and adds up."""


def blocks_of(loss: Loss) -> list[slice]:
    """Cut the rows of a loss into blocks that are mapped where they live."""
    arrays = [array for array in vars(loss).values() if is_in_chunks(array)]
    return placed(row_blocks(loss.n_samples, loss.row_bytes), arrays)


def passes_over(loss: Loss, weights: FloatArray | None, executor: Executor | None = None) -> Gather:
    """Return the passes over a loss, block by block."""
    blocks = blocks_of(loss)

    def gather(kernel: Kernel) -> Statistic:
        return map_reduce(lambda rows: kernel(loss, weights, rows), blocks, executor=executor)

    return gather


Placement = Callable[[Loss, slice], Transform]
"""Where the rows of a block go: transformed values, losses, squared distances and choices."""


@dataclass(frozen=True)
class AtDual:
    """Every row at its worst case for one dual price."""

    dual: float
    theta1: float

    def __call__(self, loss: Loss, rows: slice) -> Transform:
        """Transform a block."""
        return loss.transform(self.dual, self.theta1, rows)


@dataclass(frozen=True)
class AtReach:
    """The limit of an infinite dual price: rows at their highest loss; with a ``top``, only those that reach it."""

    theta1: float
    top: float | None

    def __call__(self, loss: Loss, rows: slice) -> Transform:
        """Transform a block; rows that take no part have the value -inf."""
        highest, squared, choice = loss.reach(self.theta1, rows)
        value = np.zeros_like(squared) if math.isinf(self.theta1) else -self.theta1 * squared
        if self.top is not None:
            value = np.where(highest >= self.top, value, -math.inf)
        return Transform(value, highest, squared, choice)


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


@dataclass(frozen=True, eq=False)
class BaselineStatistic(Statistic):
    """The sample before any move, and how high its losses can be raised."""

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
            top=float(highest.max(initial=-math.inf)),
        )


@dataclass(frozen=True)
class DualPass:
    """Kernel of the statistic of a divergence, at one placement and one normaliser."""

    placement: Placement
    divergence: Divergence
    normaliser: float

    def __call__(self, loss: Loss, weights: FloatArray | None, rows: slice) -> Statistic:
        """Map a block. A first guess far too high overflows, which the search takes for the end of its domain."""
        with np.errstate(over="ignore", invalid="ignore"):
            value, losses, *_ = self.placement(loss, rows)
            weight = None if weights is None else weights[rows]
            return self.divergence.statistic(value, losses, weight, self.normaliser)


_SAME = 1e-5  # two places of a row that differ by less are one


@dataclass(frozen=True)
class PlanPart:
    """A placement of all rows, the moment that gives their weights, and its share of the plan."""

    placement: Placement
    moment: Moment | None
    """None keeps all weights."""
    share: float = 1.0


@dataclass(frozen=True, eq=False)
class PlanStatistic(Statistic):
    """Sums over the rows of a plan, weighted by the sample weights."""

    weight: float
    density: float
    """Of the weights W that the plan gives."""
    squared_density: float
    penalty: float
    """Of phi(W)."""
    base_loss: float
    moved_loss: float
    reweighted_base_loss: float
    loss: float
    """Of W times the loss after the move: the risk."""
    squared_distance: float
    """Of W times the squared distance of the move."""
    moved: float
    """Of the share of each row that moves."""

    def mean(self, name: str) -> float:
        """Return the mean over rows of one of the sums."""
        return float(getattr(self, name) / self.weight)


class RowOutputs:
    """What each row does: arrays of one value for each, filled block by block."""

    def __init__(self, n_samples: int) -> None:
        self.weights: FloatArray = np.empty(n_samples)
        self.base_losses: FloatArray = np.empty(n_samples)
        self.losses: FloatArray = np.empty(n_samples)
        self.distances: FloatArray = np.empty(n_samples)
        self.influence: FloatArray = np.empty(n_samples)
        self.choices: IntArray | None = None
        self.splits: Splits | None = None
        self._choices: dict[int, IntArray] = {}
        self._splits: dict[int, Splits] = {}

    def keep(self, rows: slice, base: FloatArray, influence: FloatArray, mixture: Mixture) -> None:
        """Store what a block of rows does; blocks may come in any order, from any thread."""
        self.base_losses[rows], self.influence[rows] = base, influence
        loss, distance = mixture.loss.copy(), np.sqrt(mixture.squared_distance)
        choice = mixture.places[0].choice
        if len(mixture.places) > 1:
            # Where both places are one, their mean represents them; only the other rows are split.
            near, far = mixture.places
            apart = np.flatnonzero(mixture.apart())
            share = mixture.share[apart]
            split = (share > _SAME) & (share < 1.0 - _SAME)
            second = (share > 0.5) & ~split
            loss[apart] = np.where(second, far.loss[apart], near.loss[apart])
            distance[apart] = np.sqrt(
                np.where(second, far.squared_distance[apart], near.squared_distance[apart])
            )
            if choice is not None and far.choice is not None:
                choice = choice.copy()
                choice[apart[second]] = far.choice[apart[second]]
            where = apart[split]
            if where.size:
                self._splits[rows.start] = Splits(
                    rows=where + rows.start,
                    weights=mixture.density[where] * mixture.share[where],
                    losses=far.loss[where],
                    distances=np.sqrt(far.squared_distance[where]),
                    choices=None if far.choice is None else far.choice[where],
                )
        self.weights[rows], self.losses[rows], self.distances[rows] = (
            mixture.density,
            loss,
            distance,
        )
        if choice is not None:
            self._choices[rows.start] = choice

    def finish(self) -> None:
        """Join the choices and splits of the blocks, in the order of the rows."""
        if self._choices:
            self.choices = np.concatenate([self._choices[start] for start in sorted(self._choices)])
        if self._splits:
            self.splits = Splits.joined([self._splits[start] for start in sorted(self._splits)])


@dataclass(frozen=True)
class Mixture:
    """A block of rows in a plan of one or two places each."""

    places: tuple[Transform, ...]
    density: FloatArray
    """The weight W of each row."""
    share: FloatArray
    """Part of it in the second place."""
    rest: FloatArray
    """Part of it in the first place, with all its digits."""

    @classmethod
    def of(cls, places: tuple[Transform, ...], densities: list[FloatArray]) -> Self:
        """Add up the weights of the places."""
        if len(places) == 1:
            one = np.ones_like(densities[0])
            return cls(places, densities[0], 1.0 - one, one)
        density = densities[0] + densities[1]
        # A row without weight counts as if it stood in its first place.
        share = np.divide(densities[1], density, out=np.zeros_like(density), where=density > 0.0)
        rest = np.divide(densities[0], density, out=np.ones_like(density), where=density > 0.0)
        return cls(places, density, share, rest)

    def mean(self, parts: list[FloatArray]) -> FloatArray:
        """Average a value over the places of each row."""
        if len(parts) == 1:
            return parts[0]
        first, second = parts
        step = second - first  # from the nearer place, so that no digit of a tiny share is lost
        return np.where(
            self.share < self.rest, first + self.share * step, second - self.rest * step
        )

    @cached_property
    def loss(self) -> FloatArray:
        """Mean loss of each row."""
        return self.mean([place.loss for place in self.places])

    @cached_property
    def squared_distance(self) -> FloatArray:
        """Mean squared distance of each row."""
        return self.mean([place.squared_distance for place in self.places])

    def moved(self) -> FloatArray:
        """Return the part of each row that moves; 0 for a row without weight."""
        moved = self.mean(
            [(place.squared_distance > 0.0).astype(np.float64) for place in self.places]
        )
        return moved * (self.density > 0.0)

    def apart(self) -> BoolArray:
        """Tell the rows whose two places differ by more than rounding."""
        first, second = self.places
        apart: BoolArray = np.abs(second.loss - first.loss) > _SAME * (second.loss + first.loss)
        apart |= np.abs(second.squared_distance - first.squared_distance) > _SAME * (
            second.squared_distance + first.squared_distance
        )
        if (
            first.choice is not None and second.choice is not None
        ):  # two points, however near to each other
            differ = (second.loss != first.loss) | (
                second.squared_distance != first.squared_distance
            )
            apart |= (second.choice != first.choice) & differ
        return apart


@dataclass(frozen=True)
class PlanPass:
    """Kernel of `PlanStatistic`; with ``rows_out`` it also keeps what each row does."""

    parts: tuple[PlanPart, ...]
    divergence: Divergence
    rows_out: RowOutputs | None = None

    def __call__(self, loss: Loss, weights: FloatArray | None, rows: slice) -> PlanStatistic:
        """Map a block."""
        places = tuple(part.placement(loss, rows) for part in self.parts)
        mixture = Mixture.of(
            places, [self._density(*pair) for pair in zip(self.parts, places, strict=True)]
        )
        base, density = loss.base(rows), mixture.density
        weight = np.ones_like(base) if weights is None else weights[rows]
        reweighted = density if weights is None else weight * density
        if self.rows_out is not None:
            self.rows_out.keep(rows, base, self._influence(places), mixture)
        return PlanStatistic(
            weight=float(weight.sum()),
            density=float(reweighted.sum()),
            squared_density=float(reweighted @ density),
            penalty=float(weight @ self.divergence.penalty(density)),
            base_loss=float(weight @ base),
            moved_loss=float(weight @ mixture.loss),
            reweighted_base_loss=float(reweighted @ base),
            loss=float(reweighted @ mixture.loss),
            squared_distance=float(reweighted @ mixture.squared_distance),
            moved=float(weight @ mixture.moved()),
        )

    def influence(self, loss: Loss, rows: slice) -> FloatArray:
        """Return the influence of a block of rows alone."""
        return self._influence(tuple(part.placement(loss, rows) for part in self.parts))

    def _density(self, part: PlanPart, place: Transform) -> FloatArray:
        if part.moment is None:
            return np.full_like(place.value, part.share)
        density = self.divergence.density(place.value, part.moment)
        density *= part.share
        return density

    def _influence(self, places: tuple[Transform, ...]) -> FloatArray:
        """Return minus the influence of each row on the least cost, up to a constant; 0 without a moment."""
        influence = np.zeros_like(places[0].value)
        for part, place in zip(self.parts, places, strict=True):
            if part.moment is not None:
                influence += part.share * self.divergence.influence(place.value, part.moment)
        return influence
