"""Coordinates of the rows of both samples at several widths of the kernel: what new kinds are looked for in.

Rows are projected on the largest eigenvectors of the kernel matrix of some rows, the landmarks (Nystrom); of few rows
all are landmarks.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from concurrent.futures import Executor
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.blocks import map_blocks, one_blas_thread, row_blocks
from shiftmetrics.novelty.gram import Gram

RANK = 120
"""Most coordinates of a row at one width."""

LANDMARKS = 1000
"""At most: 2,000 of 2,000 rows take four times as long, and find no more."""

COORDINATE_BYTES = 1 << 28
"""Coordinates of so many bytes, where memory allows: of more rows, some are drawn."""

WIDTHS = (0.5, 1.0, 2.0)
"""Times the bandwidth."""

Function = tuple[int, FloatArray]
"""A width, and what coordinates at it are multiplied by: (rank, k)."""

_MATRIX_BYTES = 128
"""For each pair of landmarks: the kernel matrix at all widths, and what makes it."""

_CHUNK_ROWS = 16_384
_TILE_ROWS = 2048
_NEGLIGIBLE = 1e-8
_TOLERANCE = 1e-6
_WHOLE = 600
"""Up to so many landmarks all is found by a direct method, which is as fast."""


def most_rows(n_columns: int, memory_limit: int) -> int:
    """Return how many rows of both samples are held with their coordinates."""
    return min(COORDINATE_BYTES, memory_limit // 4) // (8 * (len(WIDTHS) * RANK + n_columns))


class Pooled:
    """Coordinates of the rows of two samples at each width.

    Parameters
    ----------
    gram : Gram
        The joint kernel matrix of the rows.
    widths : sequence of float
        Widths relative to that of the kernel; (1.0,) for a kernel that has none.
    cosine_width : float or None
        Turns cosines into the Gaussian kernel of this bandwidth between rows of length 1.
    rng : Generator
        Draws the landmarks.
    memory_limit : int
        Bytes to stay within: of the matrix of the landmarks.
    executor : concurrent.futures.Executor, optional
        Threads that compute blocks of rows.

    Attributes
    ----------
    coordinates : list of ndarray of shape (n_rows, rank)
        At each width.
    """

    def __init__(
        self,
        gram: Gram,
        widths: tuple[float, ...],
        *,
        cosine_width: float | None,
        rng: np.random.Generator,
        memory_limit: int,
        executor: Executor | None = None,
    ) -> None:
        self.gram, self.widths, self._cosine_width, self._executor = (
            gram,
            widths,
            cosine_width,
            executor,
        )
        n_rows = gram.n_rows
        most = min(LANDMARKS, max(RANK, int((memory_limit / _MATRIX_BYTES) ** 0.5)))
        rows = (
            np.arange(n_rows)
            if n_rows <= most
            else np.sort(rng.choice(n_rows, most, replace=False))
        )
        self.landmarks = gram.take(rows)
        rank = max(1, min(RANK, n_rows // 3, len(rows) - 2))
        matrices = _at_widths(gram.among(rows), widths, cosine_width)
        with one_blas_thread():
            self.projections = list(
                map_blocks(
                    lambda place: _projection(matrices[place.start], rank),
                    self._each,
                    executor=executor,
                )
            )
        self.coordinates = self._passed(gram, list(enumerate(self.projections)))

    def like(self, gram: Gram, *, rng: np.random.Generator) -> Pooled:
        """Return the coordinates of other rows at the same widths."""
        return Pooled(
            gram, self.widths, cosine_width=self._cosine_width, rng=rng, memory_limit=COORDINATE_BYTES,
            executor=self._executor,
        )  # fmt: skip

    def sums(
        self, units: IntArray, weights: FloatArray, n_units: int, rows: BoolArray
    ) -> list[FloatArray]:
        """Return for each width the lower triangles of the sums of w f f' over the rows of each unit.

        Parameters
        ----------
        units : ndarray of shape (n_rows,)
            The unit of each row.
        weights : ndarray of shape (n_rows,)
            The weight w of each row.
        n_units : int
            How many units there are.
        rows : ndarray of shape (n_rows,)
            The rows that count.

        Returns
        -------
        list of ndarray of shape (n_units, rank (rank + 1) / 2)
        """
        counted = np.flatnonzero(rows)
        counted = counted[np.argsort(units[counted], kind="stable")]
        bounds = np.searchsorted(units[counted], np.arange(n_units + 1))

        def add(place: slice) -> FloatArray:
            coordinates = self.coordinates[place.start]
            triangle = np.tril_indices(coordinates.shape[1])
            sums = np.zeros((n_units, len(triangle[0])))
            for number, (start, stop) in enumerate(itertools.pairwise(bounds)):
                here = counted[start:stop]
                part = coordinates[here] * np.sqrt(weights[here])[:, None]
                sums[number] = (part.T @ part)[triangle]
            return sums

        with one_blas_thread():
            return list(map_blocks(add, self._each, executor=self._executor))

    def values(self, width: int, directions: FloatArray) -> FloatArray:
        """Return functions at all rows: their coordinates at a width times ``directions``, (n_rows, k)."""
        return np.asarray(self.coordinates[width] @ directions)

    def values_in(self, gram: Gram, functions: list[Function]) -> list[FloatArray]:
        """Return functions at all rows of a kernel matrix, which may be that of more rows."""
        if gram is self.gram:
            return [self.values(*function) for function in functions]
        return self._passed(
            gram, [(width, self.projections[width] @ part) for width, part in functions]
        )

    def values_at(self, points: Any, width: int, directions: FloatArray) -> FloatArray:
        """Return functions at new points."""
        array, coefficients = self.gram.check_points(points), self.projections[width] @ directions
        found = np.empty((int(array.shape[0]), directions.shape[1]))
        for rows in row_blocks(len(found), 1, block_bytes=_TILE_ROWS):
            similarities = self.gram.against(array, rows, self.landmarks)
            similar = _at_widths(similarities, [self.widths[width]], self._cosine_width)[0]
            found[rows] = similar @ coefficients
        return found

    def _passed(self, gram: Gram, functions: list[Function]) -> list[FloatArray]:
        """Return similarities of all rows to the landmarks, each at a width and times coefficients."""
        found = [np.empty((gram.n_rows, part.shape[1])) for _, part in functions]
        numbers = sorted({width for width, _ in functions})
        widths = [self.widths[number] for number in numbers]
        # What is mapped goes to the workers of Dask: it must not hold this object, which holds coordinates.
        landmarks, cosine_width = self.landmarks, self._cosine_width

        def evaluate(rows: slice) -> list[FloatArray]:
            similar = dict(
                zip(
                    numbers,
                    _at_widths(gram.block(rows, landmarks), widths, cosine_width),
                    strict=True,
                )
            )
            return [similar[width] @ part for width, part in functions]

        with one_blas_thread():
            for chunk in gram.blocks(1, block_bytes=_CHUNK_ROWS):
                starts = range(chunk.start, chunk.stop, _TILE_ROWS)
                tiles = [slice(start, min(start + _TILE_ROWS, chunk.stop)) for start in starts]
                parts = map_blocks(evaluate, gram.placed(tiles), executor=self._executor)
                for tile, part in zip(tiles, parts, strict=True):
                    for whole, block in zip(found, part, strict=True):
                        whole[tile] = block
        return found

    @property
    def _each(self) -> list[slice]:
        """The widths, as blocks that threads take."""
        return [slice(width, width + 1) for width in range(len(self.widths))]


def _at_widths(
    similarities: FloatArray, widths: Iterable[float], cosine_width: float | None
) -> list[FloatArray]:
    """Return similarities at some widths: a Gaussian kernel of another width is a power of the first."""
    if cosine_width is not None:
        similarities = np.exp((similarities - 1.0) / cosine_width**2)
    powers = {
        0.5: lambda k: np.square(np.square(k)),
        1.0: lambda k: k,
        2.0: lambda k: np.sqrt(np.sqrt(k)),
    }
    return [powers[width](similarities) for width in widths]


def _projection(matrix: FloatArray, rank: int) -> FloatArray:
    """Return what turns similarities to the landmarks into coordinates: eigenvectors over roots of eigenvalues."""
    from scipy.linalg import eigh
    from scipy.sparse.linalg import eigsh

    if len(matrix) <= _WHOLE:
        eigenvalues, vectors = eigh(matrix, subset_by_index=(len(matrix) - rank, len(matrix) - 1))
    else:
        start = np.random.default_rng(0).normal(size=len(matrix))
        eigenvalues, vectors = eigsh(matrix, k=rank, which="LA", v0=start, tol=_TOLERANCE)
    kept = eigenvalues > _NEGLIGIBLE * eigenvalues.max()
    projection: FloatArray = vectors[:, kept] / np.sqrt(eigenvalues[kept])
    return projection
