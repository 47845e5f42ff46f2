"""A kernel matrix that the user computed, as two blocks of rows: those of the test sample, those of the reference."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, IntArray, to_numpy
from shiftmetrics._core.validation import check_matrix, describe
from shiftmetrics.novelty.gram import TILE_ROWS, Gram, Landmarks
from shiftmetrics.novelty.kernels import EPSILON


class PrecomputedGram(Gram):
    """A kernel matrix that the user computed.

    Parameters
    ----------
    features : array of shape (n, n + m)
        Similarities of the test rows to the test rows, then to the reference rows.
    reference : array of shape (m, n + m)
        Similarities of the reference rows to the same.
    """

    def __init__(self, features: Array, reference: Array) -> None:
        self.features = to_numpy(features)
        self.reference = to_numpy(reference)
        self.n_test, self.n_reference = int(self.features.shape[0]), int(self.reference.shape[0])
        self.trusted = False
        for name, part in (("features", self.features), ("reference", self.reference)):
            if part.shape[1] != self.n_rows:
                raise ValueError(
                    describe(
                        name,
                        f"of {self.n_rows} columns with kernel='precomputed' (similarities to the {self.n_test} rows "
                        f"of features, then to the {self.n_reference} of reference)",
                        f"{part.shape[1]} columns",
                    )
                )
        dtype = np.result_type(self.features, self.reference)
        self.entry_error = 4.0 * (float(np.finfo(dtype).eps) if dtype.kind == "f" else EPSILON)
        self._check_symmetry()
        diagonal = [np.diagonal(self.features), np.diagonal(self.reference, offset=self.n_test)]
        self._normalise(np.concatenate(diagonal).astype(np.float64))

    def take(self, indices: IntArray) -> Landmarks:
        """Return the positions at ``indices`` as landmarks."""
        indices = np.asarray(indices, dtype=np.int64)
        return Landmarks(indices, None if self.scale is None else self.scale[indices])

    def subset(self, indices: IntArray) -> PrecomputedGram:
        """Return the kernel matrix of the rows at ``indices``, in order: those of the test sample come first."""
        indices = np.asarray(indices, dtype=np.int64)
        test = indices < self.n_test
        features = self.features[np.ix_(indices[test], indices)]
        return PrecomputedGram(features, self.reference[np.ix_(indices[~test] - self.n_test, indices)])

    def check_points(self, points: Any, argument: str = "points") -> Array:
        """Return similarities of new points to all rows of both samples."""
        array = check_matrix(points, argument)
        if array.shape[1] != self.n_rows:
            raise ValueError(
                describe(
                    argument,
                    f"of {self.n_rows} columns with kernel='precomputed' (similarities to the rows of features, then "
                    "of reference)",
                    f"{array.shape[1]} columns",
                )
            )
        return to_numpy(array)

    def against(self, points: Array, rows: slice, landmarks: Landmarks) -> FloatArray:
        """Return the similarities of a block of new ``points``, whose own diagonal is taken to be 1."""
        similarities = np.asarray(points[rows][:, landmarks.rows], dtype=np.float64)
        return similarities if landmarks.scale is None else similarities * landmarks.scale

    def _similarities(self, rows: slice, landmarks: Landmarks) -> FloatArray:
        return np.asarray(self._rows(rows)[:, landmarks.rows], dtype=np.float64)

    def _among(self, landmarks: Landmarks, indices: IntArray) -> FloatArray:
        test = indices < self.n_test
        matrix = np.empty((len(indices), len(indices)))
        matrix[test] = self.features[np.ix_(indices[test], indices)]
        matrix[~test] = self.reference[np.ix_(indices[~test] - self.n_test, indices)]
        return 0.5 * (matrix + matrix.T)

    def _rows(self, rows: slice) -> Any:
        if rows.start < self.n_test:
            return self.features[rows]
        return self.reference[rows.start - self.n_test : rows.stop - self.n_test]

    def _check_symmetry(self) -> None:
        for tile in self.blocks(8, block_bytes=8 * TILE_ROWS):
            for other in self.blocks(8, block_bytes=8 * TILE_ROWS):
                if other.start <= tile.start:
                    first, second = self._rows(tile)[:, other], self._rows(other)[:, tile].T
                    with np.errstate(over="ignore"):
                        gap = np.abs(first.astype(np.float64) - second)
                    scale = max(1.0, float(np.abs(first).max()))
                    if gap.max() > max(1e-8, 64.0 * self.entry_error) * scale:
                        row, column = np.unravel_index(int(gap.argmax()), gap.shape)
                        raise ValueError(
                            describe(
                                "features and reference",
                                "two blocks of rows of one symmetric matrix with kernel='precomputed'",
                                f"entries ({row + tile.start}, {column + other.start}) and their mirror image "
                                f"that differ by {gap.max():.2g}",
                            )
                        )
