"""A certified bound for the logistic loss of several classes, which has no closed form.

``log sum_k exp(gap_k)`` is the greatest ``sum_k p_k gap_k + entropy(p)`` over class probabilities p. What moves add
to ``sum_k p_k gap_k``, less their price, is convex in p, so at most the average of what they add to each gap alone:
with Q_k the worth of the best moves for gap k at dual price h,

    max over moves of  h loss - theta1 d  <=  h log sum_k exp(gap_k + Q_k / h).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics.models.linear.geometry import Rival
from shiftmetrics.stability.losses import Kind, Loss, Reach, ScorePath, Transform


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
