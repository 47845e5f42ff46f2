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
        self.pooled = self._pooled = pooled
        self._weights, self._kinds = weights, kinds
        self._width = len(pooled.widths) // 2
        n_rows = pooled.gram.n_rows
        self._candidates: IntArray = np.arange(0, n_rows, -(-n_rows // MOST_NEIGHBOURS))

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
        array = self._pooled.gram.check_points(points)
        _, coefficients = self._ridge
        values = _with_one(self._pooled.at(array, self._width, np.eye(len(coefficients) - 1))) @ coefficients
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
            values = (
                self._pooled.values(kind.width, kind.directions)
                if points is None
                else self._pooled.at(points, kind.width, kind.directions)
            )
            largest = np.maximum(largest, kind.at(values)[0])
        return largest

    @cached_property
    def _ridge(self) -> tuple[FloatArray, FloatArray]:
        """Values of a ridge classifier at each row without that row, in closed form, and its coefficients."""
        rows = _with_one(self._pooled.coordinates(self._width))
        labels = np.where(np.arange(len(rows)) < self._pooled.gram.n_test, 1.0, -1.0)
        weights = self._weights.copy()
        for side in (labels > 0.0, labels < 0.0):
            weights[side] *= 0.5 * len(rows) / weights[side].sum()
        weighted = rows * weights[:, None]
        inverse = np.linalg.inv(rows.T @ weighted + RIDGE * np.eye(rows.shape[1]))
        coefficients = inverse @ (weighted.T @ labels)
        leverage = weights * np.einsum("ij,jk,ik->i", rows, inverse, rows, optimize=True)
        left_out = (rows @ coefficients - leverage * labels) / np.maximum(1.0 - leverage, 1e-9)
        return left_out, coefficients

    def _neighbour_shares(self, points: Any) -> FloatArray:
        """Return the share of the nearest rows that are of the test sample, were both samples equally large."""
        gram, candidates = self._pooled.gram, self._candidates
        n_found = min(N_NEIGHBOURS, len(candidates) - 1) + (points is None)
        landmarks = gram.take(candidates)
        if isinstance(gram.kernel, GaussianKernel | CosineKernel):
            among = [np.arange(gram.n_rows)] if points is None else []
            wanted = gram.take(among[0]).rows if among else gram.in_units(float64_rows(points, slice(None)))
            pair = to_float64(wanted), to_float64(landmarks.rows)
            if isinstance(gram.kernel, CosineKernel):
                pair = directions(pair[0]), directions(pair[1])
            _, nearest = nearest_neighbours(*pair, n_found)
        else:
            nearest = self._most_similar(points, landmarks, n_found)
        found = candidates[nearest]
        if points is None:  # the row itself goes, or else the last one
            itself = found == np.arange(len(found))[:, None]
            itself[~itself.any(axis=1), -1] = True
            found = found[~itself].reshape(len(found), -1)
        weight = self._weights.copy()
        for side in (slice(0, gram.n_test), slice(gram.n_test, None)):
            weight[side] /= weight[side].sum()
        new = (weight * (np.arange(len(weight)) < gram.n_test))[found].sum(axis=1)
        total = weight[found].sum(axis=1)
        shares: FloatArray = np.where(total > 0.0, new / np.where(total > 0.0, total, 1.0), 0.5)
        return shares

    def _most_similar(self, points: Any, landmarks: Landmarks, count: int) -> IntArray:
        gram = self._pooled.gram
        if points is None:
            blocks = [gram.block(rows, landmarks) for rows in gram.blocks(8 * landmarks.size)]
        else:
            rows = row_blocks(int(points.shape[0]), 8 * landmarks.size)
            blocks = [gram.against(points, block, landmarks) for block in rows]
        return np.concatenate([np.argsort(-block, axis=1, kind="stable")[:, :count] for block in blocks])


def _with_one(rows: FloatArray) -> FloatArray:
    return np.hstack([rows, np.ones((len(rows), 1))])
