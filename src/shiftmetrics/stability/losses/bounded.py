"""Losses of a linear score whose rows move within bounds: the best point lies on the path of cheapest moves.

Each segment of a path is a line of slope norm |a| that starts off the row, so that the closed forms of `linear` hold
inside it; the best of all segments is the worst case of the row.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, IntArray
from shiftmetrics._core.validation import check_vector
from shiftmetrics.stability.losses.base import Loss, Reach, Transform
from shiftmetrics.stability.losses.linear import _lower_root, _softplus
from shiftmetrics.stability.losses.path import ScorePath


@dataclass(frozen=True, eq=False)
class BoundedLoss(Loss):
    """Base of losses ``f(score)`` that rise with a score, which moves raise along ``path``.

    Parameters
    ----------
    scores : array_like of shape (n_samples,)
        The score of each row before its move.
    path : ScorePath
        What moves add to it.
    """

    gentle: ClassVar[bool] = True
    """Whether the loss rises by at most as much as the score."""

    scores: Array
    path: ScorePath

    def __post_init__(self) -> None:
        object.__setattr__(self, "scores", check_vector(self.scores, "scores", length=self.path.n_samples))
        object.__setattr__(self, "row_bytes", 96 * self.path.starts.shape[1])

    def take(self, rows: IntArray) -> Self:
        """Return the loss of some of the rows."""
        return type(self)(self.scores[rows], self.path.take(rows))

    def base(self, rows: slice) -> FloatArray:
        """Return the losses of ``rows`` before any move."""
        return self._loss(self.scores[rows])

    @staticmethod
    @abstractmethod
    def _loss(scores: FloatArray) -> FloatArray:
        """Return the loss of scores."""

    @abstractmethod
    def _stationary(
        self, dual: float, theta1: float, scores: FloatArray, slopes: FloatArray
    ) -> list[FloatArray]:
        """Return the gains at which ``dual * loss - theta1 * gain^2 / slopes`` may be greatest, without bounds."""

    def _reach(self, rows: slice) -> Reach:
        gain, squared = self.path.take(rows).furthest()
        base = self.base(rows)
        with np.errstate(invalid="ignore"):
            loss = np.where(np.isinf(gain), math.inf, self._loss(self.scores[rows] + gain))
        raised = loss > base
        return Reach(np.where(raised, loss, base), np.where(raised, squared, 0.0))

    def _moved(self, dual: float, theta1: float, rows: slice) -> Transform:
        path, scores = self.path.take(rows), self.scores[rows]
        if self.gentle:  # no row goes beyond the place where the last unit of score is worth its price
            path = path.until(dual / (2.0 * theta1))
        slopes, finite = path.slopes, np.isfinite(path.starts)
        usable = finite & (slopes > 0.0)
        start = np.where(finite, path.starts, 0.0)
        low = np.where(usable, path.gains, 0.0)
        # Within segment k the squared distance is t^2 / slope + constant, with t = gain + shift from a virtual start.
        shift = np.where(usable, start * slopes, 0.0) - low
        constant = np.where(usable, path.squared, 0.0) - np.where(usable, start * start * slopes, 0.0)
        ends = np.concatenate([path.gains[:, 1:], np.full((len(scores), 1), np.inf)], axis=1)
        unlimited = np.concatenate([~finite[:, 1:], np.ones((len(scores), 1), dtype=np.bool_)], axis=1)
        high = np.where(unlimited, np.inf, ends)
        safe = np.where(usable, slopes, 1.0)
        gains = [low]  # the breakpoints themselves, and no move
        stationary = self._stationary(dual, theta1, scores[:, None] - shift, safe)
        gains.extend(np.clip(t - shift, low, np.maximum(high, low)) for t in stationary)
        gains.append(np.where(np.isfinite(high) & usable, high, low))
        best = None
        for gain in gains:
            gain = np.where(usable, gain, 0.0)
            moved = np.where(usable, (gain + shift) ** 2 / safe + constant, 0.0)
            loss = self._loss(scores[:, None] + gain)
            value = np.where(usable, dual * loss - theta1 * moved, -np.inf)
            k = value.argmax(axis=1)
            row = np.arange(len(k))
            found = (value[row, k], loss[row, k], np.maximum(moved[row, k], 0.0))
            if best is None:
                best = found
            else:
                better = found[0] > best[0]
                best = tuple(np.where(better, new, old) for new, old in zip(found, best, strict=True))
        assert best is not None
        base = self._loss(scores)
        stays = best[0] <= dual * base
        rest = (dual * base, base, np.zeros_like(base))
        return Transform(*(np.where(stays, here, there) for here, there in zip(rest, best, strict=True)))


@dataclass(frozen=True, eq=False)
class BoundedHingeLoss(BoundedLoss):
    """The hinge loss ``max(0, 1 + score)``; a score is a margin with the sign changed."""

    @staticmethod
    def _loss(scores: FloatArray) -> FloatArray:
        return np.maximum(1.0 + scores, 0.0)

    def _stationary(
        self, dual: float, theta1: float, scores: FloatArray, slopes: FloatArray
    ) -> list[FloatArray]:
        return [dual / (2.0 * theta1) * slopes]


@dataclass(frozen=True, eq=False)
class BoundedLogisticLoss(BoundedLoss):
    """The logistic loss ``log(1 + exp(score))`` (nats); a score is a margin with the sign changed."""

    @staticmethod
    def _loss(scores: FloatArray) -> FloatArray:
        return _softplus(scores)

    def _stationary(
        self, dual: float, theta1: float, scores: FloatArray, slopes: FloatArray
    ) -> list[FloatArray]:
        # z = score + t solves z = k sigmoid(z) + score; the lower maximum has z <= 0, the upper one mirrors it.
        k = dual / (2.0 * theta1) * slopes
        lower = _lower_root(-scores, k)
        upper = -_lower_root(k + scores, k)
        return [lower - scores, upper - scores]


@dataclass(frozen=True, eq=False)
class BoundedSquaredLoss(BoundedLoss):
    """The squared loss ``score^2`` of a residual that moves raise."""

    gentle: ClassVar[bool] = False

    @staticmethod
    def _loss(scores: FloatArray) -> FloatArray:
        return scores * scores

    def largest_dual(self, theta1: float) -> float:
        """Return ``theta1 / |w|^2`` over the features without a bound."""
        steepest = float(self.path.endless.max())
        return math.inf if math.isinf(theta1) or steepest == 0.0 else theta1 / steepest

    def _stationary(
        self, dual: float, theta1: float, scores: FloatArray, slopes: FloatArray
    ) -> list[FloatArray]:
        # 2 h (score + t) = 2 theta1 t / slope, a maximum where theta1 > h slope
        stiffness = theta1 / slopes - dual
        with np.errstate(divide="ignore", invalid="ignore"):
            return [np.where(stiffness > 0.0, dual * scores / stiffness, 0.0)]

    def lift(self, risk: float, rows: slice) -> Transform | None:
        """Return the moves that raise every row to the loss ``risk``."""
        scores, path = self.scores[rows], self.path.take(rows)
        gain = np.maximum(math.sqrt(risk) - scores, 0.0)
        squared = path.squared_of_gain(gain)
        return Transform(np.zeros_like(scores), np.full_like(scores, risk), squared)
