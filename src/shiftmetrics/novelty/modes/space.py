"""The space that modes are looked for in: coordinates of the samples at several widths of the kernel.

Samples are projected on the largest eigenvectors of the kernel matrix of some of them, the landmarks (Nystrom); where
there are few samples all are landmarks.
"""

from __future__ import annotations

import itertools
from concurrent.futures import Executor
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray, float64_rows
from shiftmetrics._core.blocks import map_blocks, one_blas_thread, row_blocks
from shiftmetrics.novelty.score.basis import Function, LandmarkBasis, at_relative_width
from shiftmetrics.novelty.score.gram import Gram

RANK = 120
"""Most coordinates of a sample at one width."""

LANDMARKS = 1000
"""At most: 2,000 of 2,000 samples take four times as long, and find no more."""

COORDINATE_BYTES = 1 << 28
"""Coordinates of so many bytes, where memory allows: of more samples, some are chosen at random."""

WIDTHS = (0.5, 1.0, 2.0)
"""Times the bandwidth."""

_MATRIX_BYTES = 128
"""For each pair of landmarks: the kernel matrix at all widths, and what makes it."""

_TILE_ROWS = 2048
_NEGLIGIBLE = 1e-8


def most_rows(n_columns: int, memory_limit: int) -> int:
    """Return how many rows of both samples are held with their coordinates."""
    return min(COORDINATE_BYTES, memory_limit // 4) // (8 * (len(WIDTHS) * RANK + n_columns))


def thinned(rows: IntArray, most: int) -> IntArray:
    """Return evenly spaced rows, at most ``most`` of them."""
    return rows[:: len(rows) // most + 1]


class SearchSpace:
    """Coordinates of the rows of two samples at each width.

    Parameters
    ----------
    gram : Gram
        The joint kernel matrix of the rows.
    rng : Generator
        Draws the landmarks.
    memory_limit : int
        Bytes to stay within: of the matrix of the landmarks.
    executor : concurrent.futures.Executor, optional
        Threads that compute blocks of rows.

    Attributes
    ----------
    basis : LandmarkBasis
        The landmarks, and what makes coordinates.
    coordinates : list of ndarray of shape (n_rows, rank)
        At each width.
    """

    def __init__(
        self,
        gram: Gram,
        *,
        rng: np.random.Generator,
        memory_limit: int,
        executor: Executor | None = None,
    ) -> None:
        self.gram = gram
        self._executor = executor
        n_rows = gram.n_rows
        # 1. Landmarks: all rows, or as many at random as there is memory for.
        most = min(LANDMARKS, max(RANK, int((memory_limit / _MATRIX_BYTES) ** 0.5)))
        rows = np.arange(n_rows)
        if n_rows > most:
            rows = np.sort(rng.choice(n_rows, most, replace=False))
        # More coordinates than a third of the rows would fit their noise.
        rank = max(1, min(RANK, n_rows // 3, len(rows) - 2))
        widths = (1.0,) if gram.kernel.bandwidth is None else WIDTHS
        # 2. Their kernel matrix at each width, which follows from that at the bandwidth, gives the projections.
        among = gram.among(rows)

        def project(place: slice) -> FloatArray:
            return _projection(at_relative_width(gram.kernel, among, widths[place.start]), rank)

        each = [slice(number, number + 1) for number in range(len(widths))]
        with one_blas_thread():
            projections = tuple(map_blocks(project, each, executor=executor))
        # 3. One pass over all rows gives their coordinates.
        self._each = each
        self.basis = LandmarkBasis(gram.take(rows), gram.kernel, projections, widths)
        self.coordinates = self._evaluated(gram, list(enumerate(projections)))

    @property
    def middle(self) -> int:
        """The number of the width that is the bandwidth itself."""
        return len(self.basis.widths) // 2

    def sums(self, units: IntArray, weights: FloatArray, n_units: int) -> list[FloatArray]:
        """Return for each width the lower triangles of the sums of w f f' over the rows of each unit.

        Parameters
        ----------
        units : ndarray of shape (n_rows,)
            The unit of each row, -1 for none.
        weights : ndarray of shape (n_rows,)
            The weight w of each row.
        n_units : int
            How many units there are.

        Returns
        -------
        list of ndarray of shape (n_units, rank (rank + 1) / 2)
        """
        # Rows of one unit side by side, so that each unit is one matrix product.
        counted = np.flatnonzero(units >= 0)
        counted = counted[np.argsort(units[counted], kind="stable")]
        # Unit u has the counted rows from bounds[u] to bounds[u + 1].
        bounds = np.searchsorted(units[counted], np.arange(n_units + 1))

        def add(place: slice) -> FloatArray:
            coordinates = self.coordinates[place.start]
            triangle = np.tril_indices(coordinates.shape[1])
            sums = np.zeros((n_units, len(triangle[0])))
            for number, (start, stop) in enumerate(itertools.pairwise(bounds)):
                here = counted[start:stop]
                # The root of the weight on either side of the product makes the sum of w f f'.
                roots = np.sqrt(weights[here])
                part = coordinates[here] * roots[:, None]
                sums[number] = (part.T @ part)[triangle]
            return sums

        with one_blas_thread():
            return list(map_blocks(add, self._each, executor=self._executor))

    def values(self, width: int, directions: FloatArray) -> FloatArray:
        """Return functions at all rows: their coordinates at a width times ``directions``, (n_rows, k)."""
        return np.asarray(self.coordinates[width] @ directions)

    def values_in(self, gram: Gram, functions: list[Function]) -> list[FloatArray]:
        """Return functions of the coordinates at all rows of a kernel matrix, which may be that of more rows."""
        if gram is self.gram:
            return [self.values(*function) for function in functions]
        return self._evaluated(gram, self._of_similarities(functions))

    def values_at(self, points: Any, functions: list[Function]) -> list[FloatArray]:
        """Return functions of the coordinates at new points."""
        gram, landmarks = self.gram, self.basis.landmarks
        array = gram.check_points(points)
        coefficients = self._of_similarities(functions)
        parts = []
        for rows in row_blocks(int(array.shape[0]), 1, block_bytes=_TILE_ROWS):
            block = gram.in_units(float64_rows(array, rows))
            similarities = gram.kernel(block, landmarks)
            parts.append(self.basis.evaluate(similarities, coefficients))
        return [np.concatenate(blocks) for blocks in zip(*parts, strict=True)]

    def _of_similarities(self, functions: list[Function]) -> list[Function]:
        """Return functions of the coordinates as functions of the similarities to the landmarks."""
        return [(width, self.basis.projections[width] @ part) for width, part in functions]

    def _evaluated(self, gram: Gram, functions: list[Function]) -> list[FloatArray]:
        """Return functions of the similarities of all rows to the landmarks."""
        found = [np.empty((gram.n_rows, part.shape[1])) for _, part in functions]
        # What is mapped goes to the workers of Dask: it must not hold this object, which holds coordinates.
        basis = self.basis

        def evaluate(rows: slice) -> list[FloatArray]:
            return basis.evaluate(gram.block(rows, basis.landmarks), functions)

        tiles = gram.blocks(1, block_bytes=_TILE_ROWS)
        with one_blas_thread():
            parts = map_blocks(evaluate, tiles, executor=self._executor)
            for tile, part in zip(tiles, parts, strict=True):
                for whole, block in zip(found, part, strict=True):
                    whole[tile] = block
        return found


def _projection(matrix: FloatArray, rank: int) -> FloatArray:
    """Return what turns similarities to the landmarks into coordinates: eigenvectors over roots of eigenvalues."""
    from scipy.linalg import eigh

    eigenvalues, vectors = eigh(matrix, subset_by_index=(len(matrix) - rank, len(matrix) - 1))
    # Directions of the least eigenvalues are rounding: divided by their roots they would be noise of size 1.
    kept = eigenvalues > _NEGLIGIBLE * eigenvalues.max()
    projection: FloatArray = vectors[:, kept] / np.sqrt(eigenvalues[kept])
    return projection
