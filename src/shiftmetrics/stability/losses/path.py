"""The cheapest moves that raise a linear score within bounds: one path for each row, in closed form.

With slopes a_j (in units of distance) and limits b_j of each feature, the least squared distance that raises a score
by g is on the path ``move_j = min(s |a_j|, b_j)``: every feature moves in proportion to its slope until its limit is
reached. Between the breakpoints ``s_j = b_j / |a_j|`` gain and squared distance are a line and a parabola in s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class ScorePath:
    """Gain and squared distance along the path of each row; segment k starts at column k.

    Attributes
    ----------
    starts : array of shape (n_samples, n_segments)
        Where each segment starts, s; 0 in the first column. Inf for segments that are never reached.
    gains, squared : array of shape (n_samples, n_segments)
        Gain of the score and squared distance there.
    slopes : array of shape (n_samples, n_segments)
        Squared norm of the slopes of the features that still move.
    """

    starts: FloatArray
    gains: FloatArray
    squared: FloatArray
    slopes: FloatArray

    @classmethod
    def of(cls, slopes: FloatArray, limits: FloatArray, bounded: npt.NDArray[np.bool_] | None = None) -> Self:
        """Lay out the path of rows.

        Parameters
        ----------
        slopes : array of shape (n_samples, n_features)
            Absolute slopes of the score, for moves measured in units of distance.
        limits : array of shape (n_samples, n_features)
            How far each feature may move in the direction that raises the score; inf without a bound.
        bounded : bool array of shape (n_features,), optional
            Columns that get a segment, by default those whose limit is finite in some row.
        """
        slopes = np.where(limits > 0.0, slopes, 0.0)
        power = slopes * slopes
        limited = np.asarray(np.isfinite(limits).any(axis=0) if bounded is None else bounded, dtype=np.bool_)
        n = len(power)
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.where(power[:, limited] > 0.0, limits[:, limited] / slopes[:, limited], np.inf)
        order = np.argsort(ends, axis=1, kind="stable")
        ends = np.take_along_axis(ends, order, axis=1)
        leaving = np.take_along_axis(power[:, limited], order, axis=1)
        forever = power[:, ~limited].sum(axis=1)
        # What still moves in each segment, summed from the end so that it is 0 when nothing is left.
        left = np.concatenate([leaving, forever[:, None]], axis=1)[:, ::-1].cumsum(axis=1)[:, ::-1]
        starts = np.concatenate([np.zeros((n, 1)), ends], axis=1)
        gains, squared = np.zeros_like(starts), np.zeros_like(starts)
        for k in range(1, starts.shape[1]):
            moving = left[:, k - 1] > 0.0
            with np.errstate(invalid="ignore"):
                gain = left[:, k - 1] * (starts[:, k] - starts[:, k - 1])
                cost = left[:, k - 1] * (starts[:, k] ** 2 - starts[:, k - 1] ** 2)
            reached = np.isfinite(starts[:, k - 1])
            gains[:, k] = np.where(moving & reached, gains[:, k - 1] + gain, gains[:, k - 1])
            squared[:, k] = np.where(moving & reached, squared[:, k - 1] + cost, squared[:, k - 1])
        return cls(starts, gains, squared, left)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.starts)

    @property
    def endless(self) -> FloatArray:
        """Squared norm of the slopes of the features without a bound; 0 where the gain is limited."""
        last = np.isfinite(self.starts).sum(axis=1) - 1
        return np.asarray(self.slopes[np.arange(self.n_samples), last])

    def take(self, rows: Any) -> Self:
        """Return the paths of some rows, or of a slice."""
        return type(self)(self.starts[rows], self.gains[rows], self.squared[rows], self.slopes[rows])

    def until(self, place: float) -> Self:
        """Return the paths without the segments that start beyond ``place`` in every row."""
        last = int((self.starts <= place).sum(axis=1).max())
        return self.take((slice(None), slice(0, last)))

    def at(self, place: float | FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return gain and squared distance at ``place``, a number or one for each row."""
        place = np.broadcast_to(np.asarray(place, dtype=np.float64), (self.n_samples,))
        k = (self.starts[:, 1:] <= place[:, None]).sum(axis=1)
        start, gain, squared, slope = self._segment(k)
        with np.errstate(invalid="ignore"):
            gain = gain + np.where(slope > 0.0, slope * (place - start), 0.0)
            squared = squared + np.where(slope > 0.0, slope * (place**2 - start**2), 0.0)
        return gain, squared

    def place_of_gain(self, gain: FloatArray) -> FloatArray:
        """Return where the gain of each row is reached; inf where it is out of reach."""
        k = (self.gains[:, 1:] < gain[:, None]).sum(axis=1)
        start, before, _, slope = self._segment(k)
        missing = np.maximum(gain - before, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(missing > 0.0, missing / slope, 0.0)
        return np.where(np.isfinite(start), start + step, np.inf)

    def place_of_squared(self, squared: FloatArray) -> FloatArray:
        """Return where each row has moved by this squared distance, or as far as it can."""
        k = ((self.squared[:, 1:] < squared[:, None]) & np.isfinite(self.starts[:, 1:])).sum(axis=1)
        start, _, before, slope = self._segment(k)
        missing = np.maximum(squared - before, 0.0)
        more = np.divide(missing, slope, out=np.zeros_like(missing), where=slope > 0.0)
        return np.asarray(np.sqrt(start**2 + more))

    def squared_of_gain(self, gain: FloatArray) -> FloatArray:
        """Return the least squared distance that raises each score by ``gain``; inf where none does."""
        place = self.place_of_gain(gain)
        finite = np.isfinite(place)
        squared = np.full(len(place), np.inf)
        if finite.all():
            squared = self.at(place)[1]
        elif finite.any():
            squared[finite] = self.take(finite).at(place[finite])[1]
        return squared

    def furthest(self) -> tuple[FloatArray, FloatArray]:
        """Return the highest gain of each row and the least squared distance to it; inf without a limit."""
        limited = self.endless == 0.0
        last = np.isfinite(self.starts).sum(axis=1) - 1
        row = np.arange(self.n_samples)
        gain = np.where(limited, self.gains[row, last], np.inf)
        return gain, np.where(limited, self.squared[row, last], 0.0)

    def _segment(self, k: IntArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        row = np.arange(self.n_samples)
        return self.starts[row, k], self.gains[row, k], self.squared[row, k], self.slopes[row, k]
