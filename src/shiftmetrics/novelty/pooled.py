"""Coordinates of the rows of both samples at several widths of the kernel: what new kinds are looked for in.

Rows are projected on the largest eigenvectors of the kernel matrix of some rows, the landmarks (Nystrom). Of few rows
all are landmarks, and the coordinates are kept; of many they are computed block by block in each pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.blocks import map_blocks, one_blas_thread, row_blocks
from shiftmetrics.novelty.gram import Gram

RANK = 120
"""Most coordinates of a row at one width."""

MOST_LANDMARKS = 2000
FEWER_LANDMARKS = 1000
"""Of more than `MANY_ROWS` rows, where each pass compares all rows with the landmarks."""

MANY_ROWS = 20_000
WIDTHS = (0.5, 1.0, 2.0)
"""Times the bandwidth."""

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
    keep_bytes : int
        Coordinates that take no more are kept.
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
        keep_bytes: int,
        executor: Executor | None = None,
    ) -> None:
        self.gram, self.widths, self._cosine_width, self._executor = gram, widths, cosine_width, executor
        n_rows = gram.n_rows
        most = MOST_LANDMARKS if n_rows <= MANY_ROWS else FEWER_LANDMARKS
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
        if 8 * n_rows * sum(part.shape[1] for part in self.projections) <= keep_bytes:
            parts = [coordinates for _, coordinates in self._passed()]
            self._kept = [np.concatenate(part) for part in zip(*parts, strict=True)]

    @property
    def in_memory(self) -> bool:
        """Whether the coordinates are kept."""
        return self._kept is not None

    def like(self, gram: Gram, *, rng: np.random.Generator, keep_bytes: int) -> Pooled:
        """Return the coordinates of other rows at the same widths."""
        options = {"cosine_width": self._cosine_width, "executor": self._executor}
        return Pooled(gram, self.widths, rng=rng, keep_bytes=keep_bytes, **options)  # type: ignore[arg-type]

    def sums(self, units: IntArray, weights: FloatArray, n_units: int, rows: BoolArray) -> list[FloatArray]:
        """Return for each width the sum of w f f' over the rows of each unit: (n_units, rank, rank).

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
        """
        sums = [np.zeros((n_units, part.shape[1], part.shape[1])) for part in self.projections]
        for chunk, coordinates in self._passed(rows):
            here = np.flatnonzero(rows[chunk])
            here = here[np.argsort(units[chunk][here], kind="stable")]
            unit, first = np.unique(units[chunk][here], return_index=True)
            bounds = np.append(first, len(here))
            roots = np.sqrt(weights[chunk][here])[:, None]

            def add(place: slice, here: IntArray = here, roots: FloatArray = roots) -> None:
                ordered = coordinates[place.start][here] * roots  # noqa: B023 (used before the next chunk)
                total = sums[place.start]
                for number, start, stop in zip(unit, bounds[:-1], bounds[1:], strict=True):  # noqa: B023
                    part = ordered[start:stop]
                    total[number] += part.T @ part

            with one_blas_thread():
                widths = [slice(width, width + 1) for width in range(len(sums))]
                for _ in map_blocks(add, widths, executor=self._executor):
                    pass
        return sums

    def values(self, width: int, directions: FloatArray) -> FloatArray:
        """Return functions at all rows: their coordinates at a width times ``directions``, (n_rows, k)."""
        if self._kept is not None:
            return np.asarray(self._kept[width] @ directions)
        coefficients = self.projections[width] @ directions
        found = np.empty((self.gram.n_rows, directions.shape[1]))
        for chunk in self._chunks():
            found[chunk] = np.concatenate(
                self._mapped(lambda rows: self._similar(rows, width) @ coefficients, chunk)
            )
        return found

    def at(self, points: Any, width: int, directions: FloatArray) -> FloatArray:
        """Return the same functions at new points, that `Gram.check_points` takes."""
        array = self.gram.check_points(points)
        coefficients = self.projections[width] @ directions

        def evaluate(rows: slice) -> FloatArray:
            block = self.gram.against(array, rows, self.landmarks)
            return np.asarray(self._at_widths(block, [width])[0] @ coefficients)

        blocks = row_blocks(int(array.shape[0]), 1, block_bytes=_TILE_ROWS)
        with one_blas_thread():
            return np.concatenate([np.empty((0, directions.shape[1])), *map_blocks(evaluate, blocks)])

    def coordinates(self, width: int) -> FloatArray:
        """Return the coordinates of all rows at one width."""
        return self.values(width, np.eye(self.projections[width].shape[1]))

    def _passed(self, needed: BoolArray | None = None) -> Iterator[tuple[slice, list[FloatArray]]]:
        """Yield chunks of rows with their coordinates at each width, but those without a row that is needed."""
        for chunk in self._chunks():
            if needed is not None and not needed[chunk].any():
                continue
            if self._kept is not None:
                yield chunk, [part[chunk] for part in self._kept]
                continue
            parts = self._mapped(self._coordinates, chunk)
            yield chunk, [np.concatenate(part) for part in zip(*parts, strict=True)]

    def _chunks(self) -> list[slice]:
        return self.gram.blocks(1, block_bytes=_CHUNK_ROWS)

    def _mapped(self, function: Any, chunk: slice) -> list[Any]:
        """Map tiles of a chunk, where their rows are."""
        tiles = [
            slice(chunk.start + tile.start, chunk.start + tile.stop)
            for tile in row_blocks(chunk.stop - chunk.start, 1, block_bytes=_TILE_ROWS)
        ]
        with one_blas_thread():
            return list(map_blocks(function, self.gram.placed(tiles), executor=self._executor))

    def _coordinates(self, rows: slice) -> list[FloatArray]:
        blocks = self._at_widths(self.gram.block(rows, self.landmarks), range(len(self.widths)))
        return [block @ part for block, part in zip(blocks, self.projections, strict=True)]

    def _similar(self, rows: slice, width: int) -> FloatArray:
        return self._at_widths(self.gram.block(rows, self.landmarks), [width])[0]

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
