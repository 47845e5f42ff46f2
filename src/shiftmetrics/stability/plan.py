"""The most sensitive sample: the plan that the dual leads to, its cost, and what each row does in it.

A plan mixes up to two placements of the rows. Both ends of the last bracket take part, in the shares that bring
the risk (or the cost) exactly to its target: at a kink no single dual price does, and rows split.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.statistics import Statistic
from shiftmetrics.stability.divergence import Divergence, Moment
from shiftmetrics.stability.losses.base import Loss, Transform
from shiftmetrics.stability.passes import Placement
from shiftmetrics.stability.result import Splits

_SAME = 1e-5  # two places of a row that differ by less are one


@dataclass(frozen=True)
class Part:
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
    influence: float
    squared_weight: float
    weighted_influence: float
    weighted_squared_influence: float

    def mean(self, name: str) -> float:
        """Return the mean over rows of one of the sums."""
        return float(getattr(self, name) / self.weight)

    @property
    def standard_error(self) -> float:
        """Standard deviation of the influence function over the square root of the number of rows."""
        centre = self.influence / self.weight
        spread = (
            self.weighted_squared_influence
            - 2.0 * centre * self.weighted_influence
            + centre * centre * self.squared_weight
        )
        return float(np.sqrt(max(spread, 0.0)) / self.weight)


class RowOutputs:
    """What each row does: arrays of one value for each, filled block by block."""

    def __init__(self, n_samples: int) -> None:
        self.weights: FloatArray = np.empty(n_samples)
        self.losses: FloatArray = np.empty(n_samples)
        self.distances: FloatArray = np.empty(n_samples)
        self.choices: IntArray | None = None
        self.splits: Splits | None = None
        self._choices: dict[int, IntArray] = {}
        self._splits: dict[int, Splits] = {}

    def keep(self, rows: slice, outcome: _Outcome) -> None:
        """Store what a block of rows does; blocks may come in any order, from any thread."""
        self.weights[rows] = outcome.density
        self.losses[rows] = outcome.losses
        self.distances[rows] = outcome.distances
        if outcome.choices is not None:
            self._choices[rows.start] = outcome.choices
        if outcome.splits is not None:
            self._splits[rows.start] = outcome.splits

    def finish(self) -> None:
        """Join what the blocks left behind, in the order of the rows."""
        if self._choices:
            self.choices = np.concatenate([self._choices[start] for start in sorted(self._choices)])
        if self._splits:
            self.splits = Splits.joined([self._splits[start] for start in sorted(self._splits)])


@dataclass(frozen=True)
class _Outcome:
    """What a block of rows does in a plan."""

    density: FloatArray
    mean_losses: FloatArray
    losses: FloatArray
    """Like the mean losses, but where a row splits, that of its first place."""
    distances: FloatArray
    choices: IntArray | None
    splits: Splits | None = None


@dataclass(frozen=True)
class PlanPass:
    """Kernel of `PlanStatistic`; with ``rows_out`` it also keeps what each row does."""

    parts: tuple[Part, ...]
    divergence: Divergence
    rows_out: RowOutputs | None = None

    def __call__(self, loss: Loss, weights: FloatArray | None, rows: slice) -> PlanStatistic:
        """Map a block."""
        places = [part.placement(loss, rows) for part in self.parts]
        densities = [self._density(part, place) for part, place in zip(self.parts, places, strict=True)]
        density: FloatArray = np.sum(densities, axis=0) if len(densities) > 1 else densities[0]
        outcome = self._outcome(loss, rows, places, densities, density)
        if self.rows_out is not None:
            self.rows_out.keep(rows, outcome)
        base = loss.base(rows)
        weight = np.ones_like(base) if weights is None else weights[rows]
        reweighted = weight * density
        masses = [weight * part for part in densities]
        moving = [mass * (place.squared_distance > 0.0) for mass, place in zip(masses, places, strict=True)]
        influence = self._influence(places, density)
        return PlanStatistic(
            weight=float(weight.sum()),
            density=float(reweighted.sum()),
            squared_density=float(reweighted @ density),
            penalty=float(weight @ self.divergence.penalty(density)),
            base_loss=float(weight @ base),
            moved_loss=float(weight @ outcome.mean_losses),
            reweighted_base_loss=float(reweighted @ base),
            loss=sum(float(mass @ place.loss) for mass, place in zip(masses, places, strict=True)),
            squared_distance=sum(
                float(mass @ place.squared_distance) for mass, place in zip(masses, places, strict=True)
            ),
            moved=float(np.divide(sum(moving), density, out=np.zeros_like(base), where=density > 0.0).sum()),
            influence=float(weight @ influence),
            squared_weight=float(weight @ weight),
            weighted_influence=float((weight * weight) @ influence),
            weighted_squared_influence=float((weight * weight) @ (influence * influence)),
        )

    def _density(self, part: Part, place: Transform) -> FloatArray:
        if part.moment is None:
            return np.full_like(place.value, part.share)
        return part.share * self.divergence.density(place.value, part.moment)

    def _influence(self, places: list[Transform], density: FloatArray) -> FloatArray:
        """Return the influence of each row, measured from about its mean so that squares do not cancel."""
        value = sum(part.share * place.value for part, place in zip(self.parts, places, strict=True))
        moment, theta2 = self.parts[0].moment, self.divergence.theta2
        centre = theta2 if np.isfinite(theta2) else 0.0 if moment is None else moment.conjugate
        return self.divergence.influence(np.asarray(value), density) - centre

    def _outcome(
        self,
        loss: Loss,
        rows: slice,
        places: list[Transform],
        densities: list[FloatArray],
        density: FloatArray,
    ) -> _Outcome:
        """Join the places of each row where they agree, and tell the rows that split."""
        choices = [part.placement.choice(loss, rows) for part in self.parts] if self.rows_out else [None]
        distances = [np.sqrt(place.squared_distance) for place in places]
        if len(places) == 1:
            return _Outcome(density, places[0].loss, places[0].loss, distances[0], choices[0])
        (first, second), (near, far) = (place.loss for place in places), distances
        share = np.divide(densities[1], density, out=np.zeros_like(density), where=density > 0.0)
        apart = (np.abs(second - first) > _SAME * (second + first)) | (
            np.abs(far - near) > _SAME * (far + near)
        )
        split = apart & (share > _SAME) & (share < 1.0 - _SAME)
        # A row that splits reports its first place here, and its second among the splits.
        takes_second = (share > 0.5) & ~split
        mean = first + share * (second - first)
        losses = np.where(split, first, mean)
        moves = np.where(takes_second, far, near)
        chosen = None
        if choices[0] is not None and choices[1] is not None:
            chosen = np.where(takes_second, choices[1], choices[0])
        where = np.flatnonzero(split)
        if where.size == 0 or self.rows_out is None:
            return _Outcome(density, mean, losses, moves, chosen)
        splits = Splits(
            rows=where + rows.start,
            weights=densities[1][where],
            losses=second[where],
            distances=far[where],
            choices=None if choices[1] is None else choices[1][where],
        )
        return _Outcome(density, mean, losses, moves, chosen, splits)
