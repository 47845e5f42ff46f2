"""How new each sample looks: the mean of three ranks, none of which it decides for itself.

Membership in the modes says it of clear modes, a ridge classifier of the two samples of gradual changes, and the
fraction of the neighbours that are of the test sample of small and odd modes. Together they rank new samples better
than each does.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import (
    Array,
    FloatArray,
    IntArray,
    float64_rows,
    to_float64,
)
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics._core.neighbours import nearest_neighbours
from shiftmetrics.novelty.modes.membership import ModeFunction
from shiftmetrics.novelty.modes.permutations import RIDGE
from shiftmetrics.novelty.modes.ridge import RidgeClassifier
from shiftmetrics.novelty.modes.space import SearchSpace
from shiftmetrics.novelty.score.basis import Function
from shiftmetrics.novelty.score.gram import Gram

N_NEIGHBOURS = 15
MOST_NEIGHBOURS = 20_000
"""Rows among which neighbours are searched for, evenly spaced if there are more."""

_MOST_PAIRS = 500_000_000
"""Distances to neighbours: of millions of rows, fewer are searched."""

_BLOCK_ROWS = 4096


class RowScorer:
    """Scores of the rows of both samples, and of new rows.

    Parameters
    ----------
    space : SearchSpace
        Coordinates of the rows that were searched.
    part : ndarray of shape (n_part,)
        Which of all rows these are.
    gram : Gram
        The kernel matrix of all rows.
    weights : ndarray of shape (n_rows,)
        Weights of the rows.
    modes : list of ModeFunction
        What the test sample has in excess.
    """

    def __init__(
        self,
        space: SearchSpace,
        part: IntArray,
        gram: Gram,
        weights: FloatArray,
        modes: list[ModeFunction],
    ) -> None:
        self._space = space
        self._part = part
        self._gram = gram
        self._weights = weights
        self._modes = modes
        n_rows = gram.n_rows
        # Evenly spaced, so that equal data have equal scores whatever the seed.
        most = max(N_NEIGHBOURS + 2, min(MOST_NEIGHBOURS, _MOST_PAIRS // n_rows))
        self._candidates: IntArray = np.arange(0, n_rows, -(-n_rows // most))

    @cached_property
    def rows(self) -> FloatArray:
        """Scores of the rows of both samples, test rows first."""
        return self._ranked(self._parts)

    def at(self, points: Any) -> FloatArray:
        """Return the scores of new rows."""
        array = self._space.gram.check_points(points)
        values = self._space.values_at(array, self._functions)
        return self._ranked([*self._scored(values), self._neighbour_fractions(array)])

    def _ranked(self, parts: list[FloatArray]) -> FloatArray:
        """Return the fraction of the rows of both samples that each row outranks, ties by half: the mean of parts."""
        ranked = []
        for known, part in zip(self._parts, parts, strict=True):
            # Kernels that overflow leave some values undefined: such rows rank with the least new.
            ordered = np.sort(np.nan_to_num(known, nan=-np.inf))
            values = np.nan_to_num(part, nan=-np.inf)
            below = np.searchsorted(ordered, values, "left")
            not_above = np.searchsorted(ordered, values, "right")
            ranked.append(0.5 * (below + not_above) / len(known))
        return np.asarray(np.mean(ranked, axis=0))

    @cached_property
    def _parts(self) -> list[FloatArray]:
        values = self._space.values_in(self._gram, self._functions)
        scored = self._scored(values)
        # Rows that the classifier was fitted on get the scores that leave themselves out.
        scored[-1][self._part] = self._ridge[0]
        return [*scored, self._neighbour_fractions(None)]

    @property
    def _functions(self) -> list[Function]:
        """The functions of the modes, and that of the ridge classifier."""
        ridge = self._space.middle, self._ridge[1]
        return [*(mode.function for mode in self._modes), ridge]

    def _scored(self, values: list[FloatArray]) -> list[FloatArray]:
        """Return the largest strength of rows in any mode, where there are modes, and the classifier's values."""
        ridge = values[-1][:, 0].copy()
        # Where there are no modes, a rank of theirs would be the same for all rows.
        if not self._modes:
            return [ridge]
        strengths = []
        for mode, part in zip(self._modes, values[:-1], strict=True):
            strengths.append(mode.at(part)[0])
        return [np.max(strengths, axis=0), ridge]

    @cached_property
    def _ridge(self) -> tuple[FloatArray, FloatArray]:
        """Scores of a ridge classifier for each row of the part without that row, and its coefficients."""
        coordinates = self._space.coordinates[self._space.middle]
        labels = self._gram.in_test[None, self._part]
        classifier = RidgeClassifier(coordinates, self._weights[self._part], RIDGE)
        return classifier.scores(labels)[0], classifier.coefficients(labels).T

    @cached_property
    def _balanced(self) -> FloatArray:
        """Weights of the rows that sum to 1 over each sample."""
        in_test = self._gram.in_test
        sides = (self._weights[in_test].sum(), self._weights[~in_test].sum())
        return np.asarray(self._weights / np.where(in_test, *sides))

    def _neighbour_fractions(self, points: Any) -> FloatArray:
        """Return the fraction of the nearest rows that are of the test sample, were both samples equally large."""
        gram = self._gram
        candidates = self._candidates
        # One more for rows of the samples, each of which is its own nearest row.
        count = min(N_NEIGHBOURS, len(candidates) - 1) + (points is None)
        landmarks = gram.take(candidates)
        blocks = gram.blocks(1, block_bytes=_BLOCK_ROWS)
        if points is not None:
            blocks = row_blocks(int(points.shape[0]), 1, block_bytes=_BLOCK_ROWS)
        # In balanced weights a half is what chance gives, however large the samples are.
        weight = self._balanced
        of_test = weight * gram.in_test
        fractions = np.full(blocks[-1].stop if blocks else 0, 0.5)
        for rows in blocks:
            found = candidates[self._nearest(rows, points, landmarks, count)]
            if points is None:
                # The row itself goes, or else the last one.
                itself = found == np.arange(rows.start, rows.stop)[:, None]
                itself[~itself.any(axis=1), -1] = True
                found = found[~itself].reshape(len(found), -1)
            total = weight[found].sum(axis=1)
            own = of_test[found].sum(axis=1)
            np.divide(own, total, out=fractions[rows], where=total > 0.0)
        return fractions

    def _nearest(self, rows: slice, points: Any, landmarks: Array, count: int) -> IntArray:
        """Return which landmarks are nearest to some rows, or new points: by distance where the kernel has one."""
        gram = self._gram
        block = gram.rows(rows) if points is None else gram.in_units(float64_rows(points, rows))
        near = gram.kernel.points(block)
        if near is not None:
            others = to_float64(gram.kernel.points(landmarks))
            return nearest_neighbours(to_float64(near), others, count)[1]
        similar = gram.kernel(block, landmarks)
        return np.argsort(-similar, axis=1, kind="stable")[:, :count]
