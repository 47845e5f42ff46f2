"""Coordinates of the rows of both samples at several widths of the kernel: what new kinds are looked for in.

Rows are projected on the largest eigenvectors of the kernel matrix of some rows, the landmarks (Nystrom); of few rows
all are landmarks. The coordinates are kept where memory allows; else they are computed block by block in each pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.blocks import map_blocks, one_blas_thread
from shiftmetrics.novelty.gram import Gram

RANK = 120
"""Most coordinates of a row at one width."""

LANDMARKS = 1000
"""At most: 2,000 of 2,000 rows take four times as long, and find no more."""

KEEP_BYTES = 1 << 29
"""Coordinates of so many bytes are kept, where memory allows."""

WIDTHS = (0.5, 1.0, 2.0)
"""Times the bandwidth."""

_MATRIX_BYTES = 128
"""For each pair of landmarks: the kernel matrix at all widths, and what makes it."""

_CHUNK_ROWS = 16_384
_TILE_ROWS = 2048
_NEGLIGIBLE = 1e-8
_TOLERANCE = 1e-6
_WHOLE = 600
"""Up to so many landmarks all is found by a direct method, which is as fast."""


class Pooled:
    """Coordinates of the rows of two samples at each width.

    Parameters
    ----------
    gram : Gram
        The joint kernel matrix.
    widths : sequence of float
        Widths relative to that of the kernel; (1.0,) for a kernel that has none.
    cosine_width : float or None
        Turns cosines into the Gaussian kernel of this bandwidth between rows of length 1.
    rng : Generator
        Draws the landmarks.
    memory_limit : int
        Bytes to stay within: of the matrix of the landmarks, and of coordinates that are kept.
    executor : concurrent.futures.Executor, optional
        Threads that compute blocks of rows.
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
        self.gram, self.widths, self._cosine_width, self._executor = gram, widths, cosine_width, executor
        n_rows = gram.n_rows
        most = min(LANDMARKS, max(RANK, int((memory_limit / _MATRIX_BYTES) ** 0.5)))
        rows = np.arange(n_rows) if n_rows <= most else np.sort(rng.choice(n_rows, most, replace=False))
        self.landmarks = gram.take(rows)
        rank = max(1, min(RANK, n_rows // 3, len(rows) - 2))
        matrices = self._at_widths(gram.among(rows), range(len(widths)))
        with one_blas_thread():
            self.projections = list(
                map_blocks(
                    lambda place: _projection(matrices[place.start], rank),
                    [slice(width, width + 1) for width in range(len(widths))],
                    executor=executor,
                )
            )
        self._kept: list[FloatArray] | None = None
        if 8 * n_rows * sum(part.shape[1] for part in self.projections) <= min(KEEP_BYTES, memory_limit // 4):
            kept = [np.empty((n_rows, part.shape[1])) for part in self.projections]
            for chunk, coordinates in self.passed():
                for whole, part in zip(kept, coordinates, strict=True):
                    whole[chunk] = part
            self._kept = kept

    def like(self, gram: Gram, *, rng: np.random.Generator) -> Pooled:
        """Return the coordinates of other rows at the same widths."""
        return Pooled(
            gram, self.widths, cosine_width=self._cosine_width, rng=rng, memory_limit=2 * KEEP_BYTES,
            executor=self._executor,
        )  # fmt: skip

    def sums(self, units: IntArray, weights: FloatArray, n_units: int, rows: BoolArray) -> list[FloatArray]:
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
        triangles = [np.tril_indices(part.shape[1]) for part in self.projections]
        sums = [np.zeros((n_units, len(triangle[0]))) for triangle in triangles]
        for chunk, coordinates in self.passed(needed=rows):
            here = np.flatnonzero(rows[chunk])
            here = here[np.argsort(units[chunk][here], kind="stable")]
            unit, first = np.unique(units[chunk][here], return_index=True)
            bounds = np.append(first, len(here))
            roots = np.sqrt(weights[chunk][here])[:, None]

            def add(place: slice, here: IntArray = here, roots: FloatArray = roots) -> None:
                ordered = coordinates[place.start][here] * roots  # noqa: B023 (used before the next chunk)
                total, triangle = sums[place.start], triangles[place.start]
                for number, start, stop in zip(unit, bounds[:-1], bounds[1:], strict=True):  # noqa: B023
                    part = ordered[start:stop]
                    total[number] += (part.T @ part)[triangle]

            with one_blas_thread():
                widths = [slice(width, width + 1) for width in range(len(sums))]
                for _ in map_blocks(add, widths, executor=self._executor):
                    pass
        return sums

    def values(self, width: int, directions: FloatArray, points: Any = None) -> FloatArray:
        """Return functions at all rows, or new points: coordinates at a width times ``directions``, (n_rows, k)."""
        if points is None and self._kept is not None:
            return np.asarray(self._kept[width] @ directions)
        gram, coefficients = self.gram, self.projections[width] @ directions
        array = None if points is None else gram.check_points(points)

        def evaluate(rows: slice) -> FloatArray:
            block = (
                gram.block(rows, self.landmarks)
                if array is None
                else gram.against(array, rows, self.landmarks)
            )
            return np.asarray(self._at_widths(block, [width])[0] @ coefficients)

        if array is not None:
            with one_blas_thread():
                parts = map_blocks(evaluate, _tiles(slice(0, int(array.shape[0]))))
                return np.concatenate([np.empty((0, directions.shape[1])), *parts])
        found = np.empty((gram.n_rows, directions.shape[1]))
        for chunk in self._chunks():
            found[chunk] = np.concatenate(self._mapped(evaluate, chunk))
        return found

    def passed(
        self, widths: Sequence[int] | None = None, needed: BoolArray | None = None
    ) -> Iterator[tuple[slice, list[FloatArray]]]:
        """Yield chunks of rows with their coordinates at some widths, but those without a row that is needed."""
        wanted = range(len(self.widths)) if widths is None else widths

        def coordinates(rows: slice) -> list[FloatArray]:
            blocks = self._at_widths(self.gram.block(rows, self.landmarks), wanted)
            return [block @ self.projections[width] for block, width in zip(blocks, wanted, strict=True)]

        for chunk in self._chunks():
            if needed is not None and not needed[chunk].any():
                continue
            if self._kept is not None:
                yield chunk, [self._kept[width][chunk] for width in wanted]
                continue
            parts = self._mapped(coordinates, chunk)
            yield chunk, [np.concatenate(part) for part in zip(*parts, strict=True)]

    def _chunks(self) -> list[slice]:
        return self.gram.blocks(1, block_bytes=_CHUNK_ROWS)

    def _mapped(self, function: Any, chunk: slice) -> list[Any]:
        """Map tiles of a chunk, where their rows are."""
        with one_blas_thread():
            return list(map_blocks(function, self.gram.placed(_tiles(chunk)), executor=self._executor))

    def _at_widths(self, similarities: FloatArray, wanted: Any) -> list[FloatArray]:
        """Return similarities at some of the widths: a Gaussian kernel of another width is a power of the first."""
        if self._cosine_width is not None:
            similarities = np.exp((similarities - 1.0) / self._cosine_width**2)
        powers = {
            0.5: lambda k: np.square(np.square(k)),
            1.0: lambda k: k,
            2.0: lambda k: np.sqrt(np.sqrt(k)),
        }
        return [powers[self.widths[width]](similarities) for width in wanted]


def _tiles(chunk: slice) -> list[slice]:
    """Cut a chunk into tiles."""
    starts = range(chunk.start, chunk.stop, _TILE_ROWS)
    return [slice(start, min(start + _TILE_ROWS, chunk.stop)) for start in starts]


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
