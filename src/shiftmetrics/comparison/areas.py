"""Areas under curves of several columns of scores at once, as functions of the weights of the rows.

The scores of all columns are sorted once. A level is a value that a column takes; the levels of all columns have one
numbering, so that a resample costs one pass over the rows, whatever the number of columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray

ScoreColumn: TypeAlias = tuple[IntArray, FloatArray, BoolArray]
"""Which rows a column has, their scores, and which of them are positive."""


class ScoreLevels:
    """Columns of scores by level, from the lowest level of each column to its highest.

    Parameters
    ----------
    columns : sequence of tuple
        Each has a positive row and another one.
    """

    def __init__(self, columns: Sequence[ScoreColumn]) -> None:
        starts = []
        placed = []
        n_levels = 0
        for _, scores, _ in columns:
            values, level = np.unique(scores, return_inverse=True)
            starts.append(n_levels)
            placed.append(n_levels + level)
            n_levels += len(values)
        self._starts = np.array(starts)
        self._n_levels = n_levels
        rows = np.concatenate([column[0] for column in columns])
        positive = np.concatenate([column[2] for column in columns])
        level = np.concatenate(placed)
        self._positive = rows[positive], level[positive]
        self._negative = rows[~positive], level[~positive]

    def totals(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the weight of the positive rows and of the others, of each column."""
        positive, negative = self._by_level(weights)
        return self._sums(positive), self._sums(negative)

    def area_under_roc(self, weights: FloatArray) -> FloatArray:
        """Return the area under the ROC curve of each column.

        The weighted fraction of pairs of a positive and a negative row in which the positive one has the higher
        score; equal scores count half.
        """
        positive, negative = self._by_level(weights)
        # Negative weight under each level, half of that at the level itself.
        lower = self._sums_before(negative) + 0.5 * negative
        wins = self._sums(positive * lower)
        with np.errstate(invalid="ignore"):
            return np.asarray(wins / (self._sums(positive) * self._sums(negative)))

    def average_precision(self, weights: FloatArray) -> FloatArray:
        """Return the average precision of each column.

        The mean, over the weight of the positive rows, of the precision among the rows that score at least as high.
        """
        positive, negative = self._by_level(weights)
        hits = self._sums_from(positive)
        taken = hits + self._sums_from(negative)
        precision = np.divide(hits, taken, out=np.zeros_like(hits), where=taken > 0.0)
        with np.errstate(invalid="ignore"):
            return np.asarray(self._sums(positive * precision) / self._sums(positive))

    def _by_level(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the weight of the positive rows and of the others at each level."""
        positive, negative = [
            np.asarray(np.bincount(level, weights[rows], self._n_levels), dtype=np.float64)
            for rows, level in (self._positive, self._negative)
        ]
        return positive, negative

    def _sums(self, of_levels: FloatArray) -> FloatArray:
        """Return the sum over the levels of each column."""
        return np.asarray(np.add.reduceat(of_levels, self._starts))

    def _sums_before(self, of_levels: FloatArray) -> FloatArray:
        """Return the sum over lower levels of the same column."""
        # One running sum over all columns: what it is at the first level of a column is of the columns before.
        before = np.cumsum(of_levels) - of_levels
        return np.asarray(before - self._of_column(before[self._starts]))

    def _sums_from(self, of_levels: FloatArray) -> FloatArray:
        """Return the sum over the level and higher ones of the same column."""
        return np.asarray(self._of_column(self._sums(of_levels)) - self._sums_before(of_levels))

    def _of_column(self, of_columns: FloatArray) -> FloatArray:
        """Return what a column has at each of its levels."""
        n_levels = np.diff(self._starts, append=self._n_levels)
        return np.repeat(of_columns, n_levels)
