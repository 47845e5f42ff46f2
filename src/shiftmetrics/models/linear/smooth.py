"""Hinge, logistic and squared losses of a linear model: closed forms along the paths of its rivals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.models.linear.geometry import Geometry, Rival
from shiftmetrics.models.route import Answer
from shiftmetrics.stability.losses import (
    AlternativesLoss,
    BoundedHingeLoss,
    BoundedLogisticLoss,
    BoundedLoss,
    BoundedSquaredLoss,
    Kind,
    Loss,
    Reach,
    ScorePath,
    Transform,
)

_BOUNDED: dict[str, type[BoundedLoss]] = {
    "hinge": BoundedHingeLoss,
    "log_loss": BoundedLogisticLoss,
    "squared": BoundedSquaredLoss,
}


def closed_form(geometry: Geometry, *, kind: Kind = "exact", least: bool = False) -> Answer:
    """Return the loss with its worst case in closed form.

    Parameters
    ----------
    geometry : Geometry
        The rivals of the rows.
    kind : {"exact", "lower_bound"}, default "exact"
        What its stability is for the model.
    least : bool, default False
        Whether flips are priced at a lower bound of their distance, where prices were joined.

    Notes
    -----
    With more than two classes the logistic loss ``log(1 + sum_k exp(gap_k))`` is taken for the greatest
    ``log(1 + exp(gap_k + log(number of rivals)))``, which it never exceeds: a place to start a search from.
    """
    question = geometry.question
    rivals = list(geometry.rivals())
    parts: list[Loss] = []
    offsets: list[FloatArray] = []
    ratios: list[FloatArray] = []
    ways: list[tuple[int, BoolArray]] = []
    lift = math.log(len(rivals)) if question.loss == "log_loss" else 0.0
    for number, rival in enumerate(rivals):
        for plan in geometry.plans(rival):
            distance = plan.least_distance if least else plan.distance
            gain = np.where(np.isfinite(distance), plan.gain, 0.0)
            parts.append(_BOUNDED[question.loss](rival.gap + gain + lift, rival.path))
            offsets.append(distance)
            ratios.append(plan.from_ratio)
            ways.append((number, plan.flipped))
    # These losses rise by at most as much as the score, so that a flip must gain its price.
    ratio = None if question.loss == "squared" else np.stack(ratios, axis=1)
    loss = AlternativesLoss(parts, np.stack(offsets, axis=1), kind=kind, from_ratio=ratio)

    def points(rows: IntArray, distances: FloatArray, choices: IntArray | None) -> FloatArray:
        assert choices is not None
        placed = np.array(question.codes[rows])
        for part in np.unique(choices):  # the parts have no choices of their own
            number, flipped = ways[part]
            rival = rivals[number]
            mine = np.flatnonzero(choices == part)
            chosen = rows[mine]
            squared = np.maximum(distances[mine] ** 2 - loss.offsets[chosen, part] ** 2, 0.0)
            place = rival.path.take(chosen).place_of_squared(squared)
            placed[mine] = geometry.place(chosen, rival, flipped[chosen], place)
        return placed

    return Answer(loss, points)


@dataclass(frozen=True, eq=False)
class SoftmaxBoundLoss(Loss):
    """The bound as a loss, whose stability is at most that of the model.

    Attributes
    ----------
    gaps : array of shape (n_samples, n_rivals)
        Lead of each rival over the label.
    paths : sequence of ScorePath
        The cheapest moves of numbers that raise each gap.
    gains : array of shape (n_samples, n_rivals, n_flips)
        What each flip adds to each gap; 0 where it adds nothing.
    prices : array of shape (n_flips,)
        Squared distances of the flips.
    """

    gaps: FloatArray
    paths: tuple[ScorePath, ...]
    gains: FloatArray
    prices: FloatArray
    kind: Kind = "lower_bound"

    def __post_init__(self) -> None:
        n_rivals, n_flips = self.gains.shape[1:]
        width = self.paths[0].starts.shape[1]
        object.__setattr__(self, "row_bytes", 32 * n_rivals * (n_flips + width + 4))

    @classmethod
    def of(cls, rivals: Sequence[Rival], distances: Sequence[float]) -> Self:
        """Return the bound for these rivals and distances of flips."""
        return cls(
            gaps=np.stack([rival.gap for rival in rivals], axis=1),
            paths=tuple(rival.path for rival in rivals),
            gains=np.stack([np.maximum(rival.gains, 0.0) for rival in rivals], axis=1),
            prices=np.asarray(distances, dtype=np.float64) ** 2,
        )

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.gaps)

    def base(self, rows: slice) -> FloatArray:
        """Return the losses of ``rows`` where they stand."""
        return _softmax(self.gaps[rows])[0]

    def _moved(self, dual: float, theta1: float, rows: slice) -> Transform:
        n = len(self.gaps[rows])
        gain, cost = np.empty((n, len(self.paths))), np.empty((n, len(self.paths)))
        for k, path in enumerate(self.paths):
            gain[:, k], cost[:, k] = path.take(rows).at(dual / (2.0 * theta1))
        worth = dual * self.gains[rows] > theta1 * self.prices
        gain += np.where(worth, self.gains[rows], 0.0).sum(axis=2)
        cost += worth @ self.prices
        loss, share = _softmax(self.gaps[rows] + gain - theta1 / dual * cost)
        value, squared = dual * loss, (share * cost).sum(axis=1)
        return Transform(value, (value + theta1 * squared) / dual, squared)

    def _reach(self, rows: slice) -> Reach:
        ends = [path.take(rows).furthest() for path in self.paths]
        gain, cost = (np.stack(part, axis=1) for part in zip(*ends, strict=True))
        endless = np.isinf(gain).any(axis=1)
        gain = np.where(np.isinf(gain), 0.0, gain) + self.gains[rows].sum(axis=2)
        cost = cost + (self.gains[rows] > 0.0) @ self.prices
        loss, share = _softmax(self.gaps[rows] + gain)
        return Reach(np.where(endless, math.inf, loss), np.where(endless, 0.0, (share * cost).sum(axis=1)))

    def take(self, rows: IntArray) -> Self:
        """Return the loss of some of the rows."""
        paths = tuple(path.take(rows) for path in self.paths)
        return type(self)(self.gaps[rows], paths, self.gains[rows], self.prices)


def _softmax(gaps: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return ``log(1 + sum_k exp(gap_k))`` and the share of each rival in it."""
    top = np.maximum(gaps.max(axis=1), 0.0)
    parts = np.exp(gaps - top[:, None])
    total = np.exp(-top) + parts.sum(axis=1)
    return top + np.log(total), parts / total[:, None]
