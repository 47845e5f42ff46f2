"""The kernel matrix of two samples taken together, computed block by block.

Rows 0 to n - 1 are the test sample, rows n to n + m - 1 the reference.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import (
    Array,
    BoolArray,
    FloatArray,
    IntArray,
    float64_rows,
    is_in_chunks,
    is_table,
    namespace,
    take_rows,
    to_float64,
)
from shiftmetrics._core.blocks import BLOCK_BYTES, map_blocks, one_blas_thread, row_blocks
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.placement import placed
from shiftmetrics._core.validation import check_matrix, check_same_library
from shiftmetrics.novelty.score.kernels import Kernel
from shiftmetrics.tables.encoder import TableEncoder

TILE_ROWS = 256
_PROBES = 256
"""Samples on which a user's kernel is examined."""


class Gram:
    """The joint kernel matrix of two arrays, block by block.

    Attributes
    ----------
    n_test, n_reference : int
        Rows of each sample.
    entry_error : float
        Bound on the rounding error of one entry.
    sequential : bool
        Whether rows are read part by part, so that blocks should be taken in order.
    units : ndarray of shape (n_columns,) or None
        Each column is divided by its unit, in both samples and in new points.
    encoder : TableEncoder or None
        What made the columns of tables with words, dates or gaps.
    """

    def __init__(
        self,
        features: Array,
        reference: Array,
        kernel: Kernel,
        units: FloatArray | None = None,
        encoder: TableEncoder | None = None,
    ) -> None:
        self.features = features
        self.reference = reference
        self.units = units
        self.encoder = encoder
        self.n_test = int(features.shape[0])
        self.n_reference = int(reference.shape[0])
        self.sequential = is_in_chunks(features) or is_in_chunks(reference)
        center = None
        if kernel.bandwidth is not None:
            center = self._center()
        # From the center, differences of large numbers lose fewer digits.
        self.kernel = kernel.fitted(center, self._probes)
        self.entry_error = self.kernel.entry_error(self._spread(center))

    @property
    def n_rows(self) -> int:
        """Return the rows of both samples."""
        return self.n_test + self.n_reference

    @property
    def in_test(self) -> BoolArray:
        """Return whether each row is of the test sample."""
        return np.arange(self.n_rows) < self.n_test

    def take(self, indices: IntArray) -> Array:
        """Return the rows at ``indices`` as float64, in `units`."""
        indices = np.asarray(indices, dtype=np.int64)
        # Each sample gives its rows; then they go back to the order that was asked for.
        test = indices < self.n_test
        parts = [
            rows_at(self.features, indices[test]),
            rows_at(self.reference, indices[~test] - self.n_test),
        ]
        joined = namespace(*parts).concat(parts, axis=0)
        order = np.argsort(~test, kind="stable")
        place = np.argsort(order)
        return self.in_units(rows_at(joined, place))

    def subset(self, indices: IntArray) -> Gram:
        """Return the kernel matrix of the rows at ``indices``, in order: those of the test sample come first."""
        indices = np.asarray(indices, dtype=np.int64)
        test = indices[indices < self.n_test]
        base = indices[indices >= self.n_test] - self.n_test
        parts = rows_at(self.features, test), rows_at(self.reference, base)
        return Gram(*parts, self.kernel, self.units, self.encoder)

    def with_kernel(self, kernel: Kernel) -> Gram:
        """Return the matrix of the same rows under another kernel."""
        return Gram(self.features, self.reference, kernel, self.units, self.encoder)

    def rows(self, rows: slice) -> Array:
        """Return ``rows``, which lie within one sample, as float64, in `units`."""
        if rows.start < self.n_test:
            return self.in_units(float64_rows(self.features, rows))
        of_reference = slice(rows.start - self.n_test, rows.stop - self.n_test)
        return self.in_units(float64_rows(self.reference, of_reference))

    def in_units(self, rows: Array) -> Array:
        """Return rows or new points with each column divided by its unit."""
        if self.units is None:
            return rows
        return rows / namespace(rows).asarray(self.units, device=getattr(rows, "device", None))

    def in_words(self, rows: Array) -> FloatArray:
        """Return rows that were taken with values that a person would say."""
        values = to_float64(rows)
        if self.units is not None:
            values = values * self.units
        return values if self.encoder is None else self.encoder.decoded(values)

    def block(self, rows: slice, landmarks: Array) -> FloatArray:
        """Return the similarities of ``rows``, which lie within one sample, to rows that were taken."""
        return self.kernel(self.rows(rows), landmarks)

    def blocks(self, row_bytes: int, *, block_bytes: int = BLOCK_BYTES) -> list[slice]:
        """Cut the rows into blocks of at most ``block_bytes``, none of which crosses from one sample to the other."""
        size = max(1, block_bytes // max(1, row_bytes))
        edges = list(range(0, self.n_test, size))
        edges += range(self.n_test, self.n_rows, size)
        edges.append(self.n_rows)
        blocks = [slice(start, stop) for start, stop in itertools.pairwise(edges)]
        return self.placed(blocks)

    def placed(self, blocks: list[slice]) -> list[slice]:
        """Return blocks, none of which crosses from one sample to the other, that are mapped where their rows are."""
        return placed(blocks, (self.features,), (self.reference,))

    def among(self, indices: IntArray) -> FloatArray:
        """Return the symmetric matrix of the similarities among the rows at ``indices``."""
        landmarks = self.take(indices)
        matrix = self.kernel(landmarks, landmarks)
        # Rounding differs above and below the diagonal, and a factor takes both to be equal.
        matrix = 0.5 * (matrix + matrix.T)
        np.fill_diagonal(matrix, 1.0)
        return matrix

    def dense(self, *, executor: Executor | None = None) -> FloatArray:
        """Return the lower triangle of the whole matrix, in C order."""
        matrix = np.zeros((self.n_rows, self.n_rows))
        rows = self.take(np.arange(self.n_rows))

        def fill(block: slice) -> None:
            # Up to the diagonal only: the other triangle is the same.
            similarities = self.kernel(rows[block, ...], rows[: block.stop, ...])
            matrix[block, : block.stop] = np.tril(similarities, block.start)

        # The longest rows first, so that no thread is left alone with one of them.
        blocks = row_blocks(self.n_rows, 1, block_bytes=TILE_ROWS)[::-1]
        with one_blas_thread():
            for _ in map_blocks(fill, blocks, executor=executor):
                pass
        np.fill_diagonal(matrix, 1.0)
        return matrix

    def check_points(self, points: Any) -> Array:
        """Return new points of the width and array library of the features."""
        if self.encoder is not None and is_table(points):
            points = self.encoder.transform(points, "points")
        array = check_matrix(points, "points")
        n_columns = int(self.features.shape[1])
        if array.shape[1] != n_columns:
            raise ArgumentValueError("points", f"of {n_columns} columns", f"{array.shape[1]}")
        if not self.sequential:
            check_same_library(array, self.features, "points", "features")
        self.kernel.check(array, "points")
        return array

    def _each_block(self, function: Callable[[Array], Any]) -> list[Any]:
        blocks = self.blocks(8 * int(self.features.shape[1]))
        return list(map_blocks(lambda rows: function(self.rows(rows)), blocks))

    def _probes(self) -> Array:
        """Return a few rows of both samples."""
        count = min(_PROBES, self.n_rows)
        rows = np.linspace(0, self.n_rows - 1, count).astype(np.int64)
        return self.take(np.unique(rows))

    def _center(self) -> FloatArray | None:
        """Return the mean row, or None when it overflows."""

        def added(block: Array) -> FloatArray:
            with np.errstate(over="ignore", invalid="ignore"):
                return to_float64(namespace(block).sum(block, axis=0))

        total = sum(self._each_block(added))
        center: FloatArray = np.asarray(total) / self.n_rows
        return center if np.isfinite(center).all() else None

    def _spread(self, center: FloatArray | None) -> float:
        """Return the largest squared distance of a row from the center; infinite where that overflows."""
        if center is None:
            return float("inf")

        def furthest(block: Array) -> float:
            with np.errstate(over="ignore"):
                squares = (to_float64(block) - center) ** 2
                return float(squares.sum(axis=1).max())

        return float(max(self._each_block(furthest)))


def rows_at(array: Array, indices: IntArray) -> Array:
    """Return the rows at ``indices`` of an array of any library, or of batches, as float64."""
    return float64_rows(take_rows(array, indices), slice(None))
