"""Losses of a linear score whose samples change within bounds: the best point lies on the path of cheapest changes.

With slopes a_j (in units of distance) and limits b_j of each feature, the least squared distance that raises a score
by g is on the path ``change_j = min(s |a_j|, b_j)``: every feature changes in proportion to its slope until its limit
is reached. Between the breakpoints ``s_j = b_j / |a_j|`` gain and squared distance are a line and a parabola in s.
Each segment is a line of slope norm |a| that starts off the sample, so that the closed forms of `linear` hold inside
it; the best of all segments is the worst case of the sample.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from shiftmetrics._core.arrays import Array, BoolArray, FloatArray, IntArray
from shiftmetrics._core.validation import check_vector
from shiftmetrics.stability.losses.base import Loss, Reach, Transform, best_columns
from shiftmetrics.stability.losses.linear import _lower_root, _softplus


@dataclass(frozen=True, eq=False)
class ScorePath:
    """Gain and squared distance along the path of each sample; segment k starts at column k.

    Attributes
    ----------
    starts : array of shape (n_samples, n_segments)
        Where each segment starts, s; 0 in the first column. Inf for segments that are never reached.
    gains, squared : array of shape (n_samples, n_segments)
        Gain of the score and squared distance there.
    slopes : array of shape (n_samples, n_segments)
        Squared norm of the slopes of the features that still change.
    """

    starts: FloatArray
    gains: FloatArray
    squared: FloatArray
    slopes: FloatArray

    @classmethod
    def of(cls, slopes: FloatArray, limits: FloatArray, bounded: BoolArray | None = None) -> Self:
        """Lay out the path of samples.

        Parameters
        ----------
        slopes : array of shape (n_samples, n_features)
            Absolute slopes of the score, for changes measured in units of distance.
        limits : array of shape (n_samples, n_features)
            How far each feature may change in the direction that raises the score; inf without a bound.
        bounded : bool array of shape (n_features,), optional
            Columns that get a segment, by default those whose limit is finite for some sample.
        """
        # A feature that may not change in this direction is as one without a slope.
        slopes = np.where(limits > 0.0, slopes, 0.0)
        limited = np.isfinite(limits).any(axis=0) if bounded is None else np.asarray(bounded)
        power = slopes * slopes
        leaving = power[:, limited]
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.where(leaving > 0.0, limits[:, limited] / slopes[:, limited], np.inf)
        # The features reach their limits one after another, for each sample in its own order.
        order = np.argsort(ends, axis=1, kind="stable")
        ends = np.take_along_axis(ends, order, axis=1)
        leaving = np.take_along_axis(leaving, order, axis=1)
        starts = np.concatenate([np.zeros((len(power), 1)), ends], axis=1)
        # What still changes in each segment, summed from the end so that it is 0 when nothing is left.
        forever = power[:, ~limited].sum(axis=1, keepdims=True)
        left = np.concatenate([leaving, forever], axis=1)[:, ::-1].cumsum(axis=1)[:, ::-1]
        # Along a segment the score gains left * s, and the squared distance left * s^2.
        active = left[:, :-1]
        with np.errstate(invalid="ignore"):
            gains = active * np.diff(starts, axis=1)
            squares = active * np.diff(starts * starts, axis=1)
        reached = (active > 0.0) & np.isfinite(starts[:, :-1])
        return cls(starts, _from_zero(gains, reached), _from_zero(squares, reached), left)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.starts)

    @property
    def endless(self) -> FloatArray:
        """Squared norm of the slopes of the features without a bound; 0 where the gain is limited."""
        return np.asarray(self._segment(self._last)[3])

    @property
    def _last(self) -> IntArray:
        """The last segment of each sample that is ever reached."""
        last: IntArray = np.isfinite(self.starts).sum(axis=1) - 1
        return last

    def __getitem__(self, rows: Any) -> Self:
        """Return the paths of some samples, or of a slice."""
        return type(self)(
            self.starts[rows], self.gains[rows], self.squared[rows], self.slopes[rows]
        )

    def until(self, place: float) -> Self:
        """Return the paths without the segments that start beyond ``place`` for every sample."""
        # the largest number of segments that any sample needs
        last = int((self.starts <= place).sum(axis=1).max())
        return self[:, :last]

    def at(self, place: float | FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return gain and squared distance at ``place``, a number or one for each sample."""
        place = np.broadcast_to(np.asarray(place, dtype=np.float64), (self.n_samples,))
        k = (self.starts[:, 1:] <= place[:, None]).sum(axis=1)
        start, gain, squared, slope = self._segment(k)
        return gain + slope * (place - start), squared + slope * (place**2 - start**2)

    def place_of_gain(self, gain: FloatArray) -> FloatArray:
        """Return where the gain of each sample is reached; inf where it is out of reach."""
        k = (self.gains[:, 1:] < gain[:, None]).sum(axis=1)
        start, before, _, slope = self._segment(k)
        missing = np.maximum(gain - before, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(missing > 0.0, missing / slope, 0.0)
        return np.where(np.isfinite(start), start + step, np.inf)

    def place_of_squared(self, squared: FloatArray) -> FloatArray:
        """Return where each sample has changed by this squared distance, or as far as it can."""
        passed = (self.squared[:, 1:] < squared[:, None]) & np.isfinite(self.starts[:, 1:])
        start, _, before, slope = self._segment(passed.sum(axis=1))
        missing = np.maximum(squared - before, 0.0)
        more = np.divide(missing, slope, out=np.zeros_like(missing), where=slope > 0.0)
        return np.asarray(np.sqrt(start**2 + more))

    def squared_of_gain(self, gain: FloatArray) -> FloatArray:
        """Return the least squared distance that raises each score by ``gain``; inf where none does."""
        place = self.place_of_gain(gain)
        finite = np.isfinite(place)
        squared = self.at(np.where(finite, place, 0.0))[1]
        return np.where(finite, squared, np.inf)

    def furthest(self) -> tuple[FloatArray, FloatArray]:
        """Return the highest gain of each sample and the least squared distance to it; inf without a limit."""
        _, gain, squared, slope = self._segment(self._last)
        limited = slope == 0.0
        return np.where(limited, gain, np.inf), np.where(limited, squared, 0.0)

    def _segment(self, k: IntArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        row = np.arange(self.n_samples)
        return self.starts[row, k], self.gains[row, k], self.squared[row, k], self.slopes[row, k]


def _from_zero(steps: FloatArray, wanted: BoolArray) -> FloatArray:
    """Return the sums of the wanted steps of each sample, from 0 on."""
    sums = np.where(wanted, steps, 0.0).cumsum(axis=1)
    return np.pad(sums, ((0, 0), (1, 0)))


@dataclass(frozen=True, eq=False)
class BoundedLoss(Loss):
    """Base of losses ``f(score)`` that rise with a score, which changes raise along ``path``.

    Parameters
    ----------
    scores : array_like of shape (n_samples,)
        The current score of each sample.
    path : ScorePath
        What changes add to it.
    """

    # Whether the loss rises by at most as much as the score.
    gentle: ClassVar[bool] = True

    scores: Array
    path: ScorePath

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "scores", check_vector(self.scores, "scores", length=self.path.n_samples)
        )
        object.__setattr__(self, "row_bytes", 96 * self.path.starts.shape[1])

    def base(self, rows: slice) -> FloatArray:
        """Return the losses of ``rows`` before they change."""
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
        # A gain without a limit leads to any loss.
        gain, squared = self.path[rows].furthest()
        base = self.base(rows)
        highest = np.maximum(self._loss(self.scores[rows] + gain), base)
        return Reach(highest, np.where(highest > base, squared, 0.0))

    def _perturbed(self, dual: float, theta1: float, rows: slice) -> Transform:
        """Return the best point of the path: the start of a segment, the first of which is no change, or one inside.

        Within a segment the squared distance is ``t^2 / slope + constant`` with ``t = gain + shift``, as on a line
        that starts off the sample: so the stationary points of the loss on a line are clipped to the segment.
        """
        path = self.path[rows]
        scores = self.scores[rows]
        if self.gentle:
            # No sample goes beyond the place where the last unit of score is worth its price.
            # At s the gain costs 2 theta1 s a unit, and is worth at most the dual price.
            path = path.until(dual / (2.0 * theta1))
        # Segments that are never reached get harmless numbers and the value -inf.
        reached = np.isfinite(path.starts)
        starts, gains, distances = (
            np.where(reached, part, 0.0) for part in (path.starts, path.gains, path.squared)
        )
        # Nothing changes in the last segment where all features have a limit: it has a start and no inside.
        usable = reached & (path.slopes > 0.0)
        slopes = np.where(usable, path.slopes, 1.0)
        # The virtual start of the line of each segment.
        # On segment k the gain is slope (s - start) + gain_k: so t = gain + shift is slope s.
        shift = starts * slopes - gains
        constant = distances - starts * starts * slopes
        ends = np.full_like(slopes, np.inf)
        ends[:, :-1] = np.where(reached[:, 1:], gains[:, 1:], np.inf)
        # Points to try: gain, squared distance, and whether they exist.
        points = [(gains, distances, reached)]
        for t in self._stationary(dual, theta1, scores[:, None] - shift, slopes):
            inside = np.clip(t - shift, gains, ends)
            distance = np.maximum((inside + shift) ** 2 / slopes + constant, 0.0)
            points.append((inside, distance, usable))
        gains, distances, exist = (
            np.concatenate(part, axis=1) for part in zip(*points, strict=True)
        )
        losses = self._loss(scores[:, None] + gains)
        values = np.where(exist, dual * losses - theta1 * distances, -np.inf)
        return Transform(*best_columns(values, losses, distances)[:3])


@dataclass(frozen=True, eq=False)
class BoundedHingeLoss(BoundedLoss):
    """The hinge loss ``max(0, 1 + score)``; a score is a margin with the sign changed."""

    def in_words(self) -> str:
        """Return its name."""
        return "hinge loss"

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

    def in_words(self) -> str:
        """Return its name."""
        return "log loss"

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
    """The squared loss ``score^2`` of a residual that changes raise."""

    gentle: ClassVar[bool] = False

    def in_words(self) -> str:
        """Return its name."""
        return "squared error"

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

    def lift(self, risk: float, rows: slice) -> Reach | None:
        """Return the changes that raise every sample to the loss ``risk``."""
        scores = self.scores[rows]
        gain = np.maximum(math.sqrt(risk) - scores, 0.0)
        squared = self.path[rows].squared_of_gain(gain)
        return Reach(np.full_like(scores, risk), squared)
