"""How new each row looks: the mean of three ranks, none of which a row decides for itself.

Membership in the modes says it of clear kinds, a ridge classifier of the two samples of gradual changes, and the
share of the neighbours that are of the test sample of small and odd kinds. Together they rank new rows better than
each does.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray, float64_rows, to_float64
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics._core.neighbours import nearest_neighbours
from shiftmetrics._core.numerics import directions
from shiftmetrics.novelty.gram import Landmarks
from shiftmetrics.novelty.kernels import CosineKernel, GaussianKernel
from shiftmetrics.novelty.kinds import Kind
from shiftmetrics.novelty.pooled import Pooled
from shiftmetrics.novelty.relabelling import RIDGE

N_NEIGHBOURS = 15
MOST_NEIGHBOURS = 20_000
"""Rows among which neighbours are looked for, drawn evenly from more."""

_MOST_PAIRS = 4_000_000_000
"""Distances to neighbours: of millions of rows, fewer are looked among."""

_BLOCK_ROWS = 4096


class RowScorer:
    """Scores of the rows of both samples, and of new rows.

    Parameters
    ----------
    pooled : Pooled
        Coordinates of the rows.
    weights : ndarray of shape (n_rows,)
        Weights of the rows.
    kinds : list of Kind
        What the test sample has in excess.
    """

    def __init__(self, pooled: Pooled, weights: FloatArray, kinds: list[Kind]) -> None:
        self.pooled = pooled
        self._weights, self._kinds = weights, kinds
        self._width = len(pooled.widths) // 2
        n_rows = pooled.gram.n_rows
        most = max(N_NEIGHBOURS + 2, min(MOST_NEIGHBOURS, _MOST_PAIRS // n_rows))
        self._candidates: IntArray = np.arange(0, n_rows, -(-n_rows // most))

    @cached_property
    def rows(self) -> FloatArray:
        """Scores of the rows of both samples, test rows first: from 0 to 1, mean ranks over all rows."""
        from scipy.stats import rankdata

        # Kernels that overflow leave some values undefined: such rows rank with the least new.
        ranks = [rankdata(np.nan_to_num(part, nan=-np.inf)) for part in self._parts]
        scores: FloatArray = np.mean(ranks, axis=0) / len(self._weights)
        return scores

    def at(self, points: Any) -> FloatArray:
        """Return the scores of new rows: the share of the rows of both samples that they outrank, on average."""
        array = self.pooled.gram.check_points(points)
        coefficients = self._ridge[1]
        values = self.pooled.values(self._width, coefficients[:-1, None], array)[:, 0] + coefficients[-1]
        parts = [self._strengths(array), values, self._neighbour_shares(array)]
        ranked = [
            0.5 * (np.searchsorted(known, part, "left") + np.searchsorted(known, part, "right")) / len(known)
            for known, part in zip(map(np.sort, self._parts), parts, strict=True)
        ]
        scores: FloatArray = np.mean(ranked, axis=0)
        return scores

    @cached_property
    def _parts(self) -> list[FloatArray]:
        return [self._strengths(None), self._ridge[0], self._neighbour_shares(None)]

    def _strengths(self, points: Any) -> FloatArray:
        """Return the largest strength of rows in any kind."""
        largest = np.zeros(len(self._weights) if points is None else int(points.shape[0]))
        for kind in self._kinds:
            values = self.pooled.values(kind.width, kind.directions, points)
            largest = np.maximum(largest, kind.at(values)[0])
        return largest

    @cached_property
    def _ridge(self) -> tuple[FloatArray, FloatArray]:
        """Values of a ridge classifier at each row without that row, in closed form, and its coefficients."""
        in_test = self.pooled.gram.in_test
        labels, weights = np.where(in_test, 1.0, -1.0), self._balanced * (0.5 * len(in_test))
        size = self.pooled.projections[self._width].shape[1] + 1
        products, targets = RIDGE * np.eye(size), np.zeros(size)
        for chunk, (part,) in self.pooled.passed([self._width]):
            rows = _with_one(part)
            weighted = rows * weights[chunk, None]
            products += rows.T @ weighted
            targets += weighted.T @ labels[chunk]
        inverse = np.linalg.inv(products)
        coefficients: FloatArray = np.asarray(inverse @ targets, dtype=np.float64)
        left_out = np.empty(len(labels))
        for chunk, (part,) in self.pooled.passed([self._width]):
            rows = _with_one(part)
            leverage = weights[chunk] * ((rows @ inverse) * rows).sum(axis=1)
            values = rows @ coefficients - leverage * labels[chunk]
            left_out[chunk] = values / np.maximum(1.0 - leverage, 1e-9)
        return left_out, coefficients

    @cached_property
    def _balanced(self) -> FloatArray:
        """Weights of the rows that sum to 1 over each sample."""
        in_test = self.pooled.gram.in_test
        sides = (self._weights[in_test].sum(), self._weights[~in_test].sum())
        return np.asarray(self._weights / np.where(in_test, *sides))

    def _neighbour_shares(self, points: Any) -> FloatArray:
        """Return the share of the nearest rows that are of the test sample, were both samples equally large."""
        gram, candidates = self.pooled.gram, self._candidates
        count = min(N_NEIGHBOURS, len(candidates) - 1) + (points is None)
        landmarks = gram.take(candidates)
        blocks = (
            gram.blocks(1, block_bytes=_BLOCK_ROWS)
            if points is None
            else row_blocks(int(points.shape[0]), 1, block_bytes=_BLOCK_ROWS)
        )
        empty = np.empty((0, count), dtype=np.int64)
        nearest = [self._nearest(rows, points, landmarks, count) for rows in blocks]
        found = candidates[np.concatenate([empty, *nearest])]
        if points is None:  # the row itself goes, or else the last one
            itself = found == np.arange(len(found))[:, None]
            itself[~itself.any(axis=1), -1] = True
            found = found[~itself].reshape(len(found), -1)
        weight = self._balanced
        new, total = (weight * gram.in_test)[found].sum(axis=1), weight[found].sum(axis=1)
        shares: FloatArray = np.where(total > 0.0, new / np.where(total > 0.0, total, 1.0), 0.5)
        return shares

    def _nearest(self, rows: slice, points: Any, landmarks: Landmarks, count: int) -> IntArray:
        """Return which landmarks are nearest to some rows, or new points: by distance where the kernel has one."""
        gram = self.pooled.gram
        if isinstance(gram.kernel, GaussianKernel | CosineKernel):
            block = gram.rows(rows) if points is None else gram.in_units(float64_rows(points, rows))
            pair = to_float64(block), to_float64(landmarks.rows)
            if isinstance(gram.kernel, CosineKernel):
                pair = directions(pair[0]), directions(pair[1])
            return nearest_neighbours(*pair, count)[1]
        similar = gram.block(rows, landmarks) if points is None else gram.against(points, rows, landmarks)
        return np.argsort(-similar, axis=1, kind="stable")[:, :count]


def _with_one(rows: FloatArray) -> FloatArray:
    return np.hstack([rows, np.ones((len(rows), 1))])
