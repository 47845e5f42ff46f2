"""The plan that a solution leads to: the place and the weight of each sample, as sums and as arrays.

A plan, the most sensitive sample, mixes up to two placements of the samples. Both ends of the last bracket take part,
in the fractions that bring the risk (or the cost) exactly to its target: at a kink no single dual price does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.blocks import Statistic
from shiftmetrics.stability.divergence import Divergence, Moment
from shiftmetrics.stability.losses.base import Loss, Transform
from shiftmetrics.stability.passes import AtDual, Placement
from shiftmetrics.stability.shift import Splits

# Two places of a sample that differ by less than this, relatively, are one.
_SAME = 1e-5
# Two dual prices that differ by less are the two sides of a kink.
_KINK = 2e-6
# Fraction of a sample in a place that counts there: below, it is what the root was missed by.
_LEAST_AT_KINK = 1e-9
_LEAST_ELSEWHERE = 1e-5


@dataclass(frozen=True)
class PlanPart:
    """A placement of all samples, the moment that gives their weights, and its fraction of the plan."""

    placement: Placement
    # None keeps all weights.
    moment: Moment | None
    fraction: float = 1.0


@dataclass(frozen=True, eq=False)
class PlanStatistic(Statistic):
    """Sums over the samples of a plan, weighted by the sample weights."""

    weight: float
    # Of the weights W that the plan gives.
    density: float
    squared_density: float
    # Of phi(W).
    penalty: float
    base_loss: float
    changed_loss: float
    reweighted_base_loss: float
    # Of W times the loss afterwards: the risk.
    loss: float
    # Of W times the squared distance.
    squared_distance: float
    # Of the part of each sample that changes.
    changed: float

    def mean(self, name: str) -> float:
        """Return the mean over samples of one of the sums."""
        return float(getattr(self, name) / self.weight)


@dataclass(frozen=True)
class Mixture:
    """A block of samples in a plan of one or two places each."""

    places: tuple[Transform, ...]
    # The weight W of each sample.
    density: FloatArray
    # Fraction of it in the second place.
    second_fraction: FloatArray
    # Part of it in the first place, with all its digits.
    rest: FloatArray

    @classmethod
    def of(cls, places: tuple[Transform, ...], densities: list[FloatArray]) -> Self:
        """Add up the weights of the places."""
        if len(places) == 1:
            one = np.ones_like(densities[0])
            return cls(places, densities[0], 1.0 - one, one)
        density = densities[0] + densities[1]
        # A sample without weight counts as if it stood in its first place.
        # Both fractions are kept, because 1 - second_fraction would lose the digits of a small rest.
        second_fraction = np.divide(
            densities[1], density, out=np.zeros_like(density), where=density > 0.0
        )
        rest = np.divide(densities[0], density, out=np.ones_like(density), where=density > 0.0)
        return cls(places, density, second_fraction, rest)

    def mean(self, parts: list[FloatArray]) -> FloatArray:
        """Average a value over the places of each sample."""
        if len(parts) == 1:
            return parts[0]
        first, second = parts
        # From the nearer place, so that no digit of a tiny fraction is lost.
        step = second - first
        forwards = first + self.second_fraction * step
        backwards = second - self.rest * step
        return np.where(self.second_fraction < self.rest, forwards, backwards)

    @cached_property
    def loss(self) -> FloatArray:
        """Mean loss of each sample."""
        return self.mean([place.loss for place in self.places])

    @cached_property
    def squared_distance(self) -> FloatArray:
        """Mean squared distance of each sample."""
        return self.mean([place.squared_distance for place in self.places])

    def changed(self) -> FloatArray:
        """Return the part of each sample that changes; 0 for one without weight."""
        # A sample that is split between its own place and another one changes in part.
        changed = [(place.squared_distance > 0.0).astype(np.float64) for place in self.places]
        return self.mean(changed) * (self.density > 0.0)

    def apart(self) -> BoolArray:
        """Return True for the samples whose two places differ by more than rounding."""
        first, second = self.places
        losses = first.loss, second.loss
        squares = first.squared_distance, second.squared_distance
        apart = _differ(*losses, _SAME) | _differ(*squares, _SAME)
        if first.choice is not None and second.choice is not None:
            # Two candidates are two points, however near to each other.
            differ = _differ(*losses, 0.0) | _differ(*squares, 0.0)
            apart |= (second.choice != first.choice) & differ
        return apart


def _differ(first: FloatArray, second: FloatArray, tolerance: float) -> BoolArray:
    differ: BoolArray = np.abs(second - first) > tolerance * (second + first)
    return differ


class PlanRows:
    """What each sample does: arrays of one value for each, filled block by block."""

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

    def keep(self, rows: slice, mixture: Mixture, least: float) -> None:
        """Store where a block of samples is; blocks may come in any order, from any thread.

        A sample stands in one place where its two are the same, to which their mean then belongs, or where the other
        has less than the fraction ``least`` of it.
        """
        loss = mixture.loss.copy()
        distance = np.sqrt(mixture.squared_distance)
        choice = mixture.places[0].choice
        if len(mixture.places) > 1:
            # Samples whose two places differ stand in the near one, in the far one, or in both.
            near, far = mixture.places
            # A sample stands in the far place if next to nothing is left in the near one, and is split if both have
            # some.
            apart = mixture.apart()
            in_far = apart & (mixture.rest <= least)
            in_near = apart & ~in_far
            for place, here in ((near, in_near), (far, in_far)):
                loss[here] = place.loss[here]
                distance[here] = np.sqrt(place.squared_distance[here])
            if choice is not None and far.choice is not None:
                choice = np.where(in_far, far.choice, choice)
            split = np.flatnonzero(in_near & (mixture.second_fraction > least))
            if split.size:
                self._splits[rows.start] = Splits(
                    rows=split + rows.start,
                    weights=mixture.density[split] * mixture.second_fraction[split],
                    losses=far.loss[split],
                    distances=np.sqrt(far.squared_distance[split]),
                    choices=None if far.choice is None else far.choice[split],
                )
        self.weights[rows] = mixture.density
        self.losses[rows] = loss
        self.distances[rows] = distance
        if choice is not None:
            self._choices[rows.start] = choice

    def finish(self, sample_weights: FloatArray | None) -> None:
        """Join the choices and splits of the blocks, in the order of the samples, and move tied samples as wholes.

        Parameters
        ----------
        sample_weights : ndarray of shape (n_samples,) or None
            The sample weights.
        """
        if self._choices:
            self.choices = np.concatenate([self._choices[start] for start in sorted(self._choices)])
        if self._splits:
            splits = Splits.joined([self._splits[start] for start in sorted(self._splits)])
            self.splits = self._as_wholes(splits, sample_weights)

    def _as_wholes(self, splits: Splits, sample_weights: FloatArray | None) -> Splits | None:
        """Put tied samples into their second place one by one, as wholes, and split at most one.

        Where many samples are tied between two places, each stands in both by the same fraction, and none would
        have changed as a whole. At the dual price of a tie, loss gained over squared distance is the same for all of
        them: as many wholes as gain the same loss are at the same cost, and the risk stays what it was. Samples that
        gain nothing in their second place are no ties, and stay split.
        """
        rows = splits.rows
        weight = self.weights[rows]
        if sample_weights is not None:
            weight = weight * sample_weights[rows]
        fraction = splits.weights / self.weights[rows]
        whole = weight * (splits.losses - self.losses[rows])
        tied = np.flatnonzero(whole > 0.0)
        # What all tied samples gain together, given to the first of them.
        left = float(np.sum(fraction[tied] * whole[tied]))
        before = np.concatenate([[0.0], np.cumsum(whole[tied])[:-1]])
        fraction = fraction.copy()
        # Clipped before the division: what one sample gains may be as small as floats are.
        fraction[tied] = np.clip(left - before, 0.0, whole[tied]) / whole[tied]
        fraction[fraction < _LEAST_AT_KINK] = 0.0
        fraction[fraction > 1.0 - _LEAST_AT_KINK] = 1.0
        moved = fraction == 1.0
        self.losses[rows[moved]] = splits.losses[moved]
        self.distances[rows[moved]] = splits.distances[moved]
        if self.choices is not None and splits.choices is not None:
            self.choices[rows[moved]] = splits.choices[moved]
        kept = np.flatnonzero((fraction > 0.0) & ~moved)
        if not len(kept):
            return None
        return Splits(
            rows=rows[kept],
            weights=self.weights[rows[kept]] * fraction[kept],
            losses=splits.losses[kept],
            distances=splits.distances[kept],
            choices=None if splits.choices is None else splits.choices[kept],
        )


@dataclass(frozen=True)
class PlanPass:
    """Kernel of `PlanStatistic`; with ``rows_out`` it also keeps what each sample does."""

    parts: tuple[PlanPart, ...]
    divergence: Divergence[Any]
    rows_out: PlanRows | None = None

    def __call__(self, loss: Loss, weights: FloatArray | None, rows: slice) -> PlanStatistic:
        """Map a block."""
        # where the samples are in each part of the plan, and with which weight
        places = tuple(part.placement(loss, rows) for part in self.parts)
        densities = [self._density(*pair) for pair in zip(self.parts, places, strict=True)]
        mixture = Mixture.of(places, densities)
        base = loss.base(rows)
        density = mixture.density
        weight = np.ones_like(base)
        reweighted = density
        if weights is not None:
            weight = weights[rows]
            reweighted = weight * density
        if self.rows_out is not None:
            self.rows_out.base_losses[rows] = base
            self.rows_out.influence[rows] = self._influence(places)
            self.rows_out.keep(rows, mixture, self._least())
        return PlanStatistic(
            weight=float(weight.sum()),
            density=float(reweighted.sum()),
            squared_density=float(reweighted @ density),
            penalty=float(weight @ self.divergence.penalty(density)),
            base_loss=float(weight @ base),
            changed_loss=float(weight @ mixture.loss),
            reweighted_base_loss=float(reweighted @ base),
            loss=float(reweighted @ mixture.loss),
            squared_distance=float(reweighted @ mixture.squared_distance),
            changed=float(weight @ mixture.changed()),
        )

    def influence(self, loss: Loss, rows: slice) -> FloatArray:
        """Return the influence of a block of samples alone."""
        return self._influence(tuple(part.placement(loss, rows) for part in self.parts))

    def _density(self, part: PlanPart, place: Transform) -> FloatArray:
        if part.moment is None:
            return np.full_like(place.value, part.fraction)
        density = self.divergence.density(place.value, part.moment)
        density *= part.fraction
        return density

    def _influence(self, places: tuple[Transform, ...]) -> FloatArray:
        """Return minus the influence of each sample on the least cost, up to a constant; 0 without a moment."""
        influence = np.zeros_like(places[0].value)
        for part, place in zip(self.parts, places, strict=True):
            if part.moment is not None:
                influence += part.fraction * self.divergence.influence(place.value, part.moment)
        return influence

    def _least(self) -> float:
        """Return the fraction of a sample from which on it counts in a place.

        At a kink every fraction is meant: one of a million equal samples may have to change. Where the two dual
        prices are wider apart, one plan is nearly right and the other one takes a fraction that corrects it a bit.
        """
        prices = [part.placement.dual for part in self.parts if isinstance(part.placement, AtDual)]
        if len(prices) == 2 and max(prices) - min(prices) <= _KINK * max(prices):
            return _LEAST_AT_KINK
        return _LEAST_ELSEWHERE
