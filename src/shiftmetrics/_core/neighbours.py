"""Euclidean distances between the rows of two samples, and nearest neighbours, by matrix products tile by tile.

Exact search by brute force: in the dimensions of embeddings no index beats a matrix product, and memory stays bounded
by the size of a tile.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from shiftmetrics._core.arrays import (
    Array,
    FloatArray,
    IntArray,
    float64_rows,
    namespace,
    to_float64,
)
from shiftmetrics._core.blocks import map_blocks, one_blas_thread, row_blocks

if TYPE_CHECKING:
    from concurrent.futures import Executor

# A tile of 512 x 4,096 distances takes 16 MiB.
TILE_ROWS = 512
TILE_POINTS = 4096
TILE_BYTES = 1 << 25

_CANCELLED = 1e-6
"""Fraction of the squared norms below which a product has lost its digits, and differences are taken."""


def pairwise_distances(rows: Array, points: Array) -> FloatArray:
    """Return the Euclidean distances of ``rows`` (a, d) to ``points`` (b, d), all float64: NumPy of shape (a, b).

    Equal rows are at distance exactly 0, and no value overflows that is itself finite.
    """
    xp = namespace(rows, points)
    center = xp.mean(points, axis=0)
    # Centred and scaled, so that no square overflows and products lose few digits.
    rows = rows - center
    points = points - center
    largest_row = float(xp.max(xp.abs(rows)))
    largest_point = float(xp.max(xp.abs(points)))
    unit = max(largest_row, largest_point)
    if unit == 0.0:
        return np.zeros((int(rows.shape[0]), int(points.shape[0])))
    rows = rows / unit
    points = points / unit
    row_norms = to_float64(xp.sum(rows * rows, axis=1))
    point_norms = to_float64(xp.sum(points * points, axis=1))
    # |x - y|^2 = |x|^2 + |y|^2 - 2 x'y: the product is one matrix product.
    squares = -2.0 * to_float64(rows @ points.T)
    sums = row_norms[:, None] + point_norms
    squares += sums
    close = squares < _CANCELLED * sums
    if close.any():
        # The difference has cancelled: take it entry by entry.
        near = to_float64(rows)
        far = to_float64(points)
        for row in np.flatnonzero(close.any(axis=1)):
            others = np.flatnonzero(close[row])
            differences = far[others] - near[row]
            squares[row, others] = (differences**2).sum(axis=1)
    distances: FloatArray = np.sqrt(squares, out=squares)
    with np.errstate(over="ignore"):  # beyond the largest float, all are equally far
        distances *= unit
    return distances


def distance_tiles(
    features: Array, rows: slice, reference: Array
) -> Iterator[tuple[slice, FloatArray]]:
    """Yield slices of ``reference`` with the distances of a block of ``features`` to them."""
    block = float64_rows(features, rows)
    size = _tile_rows(reference, TILE_POINTS)
    for tile in row_blocks(int(reference.shape[0]), 1, block_bytes=size):
        yield tile, pairwise_distances(block, float64_rows(reference, tile))


def distance_blocks(features: Array) -> list[slice]:
    """Cut a sample into the blocks of rows that `distance_tiles` works on."""
    return row_blocks(int(features.shape[0]), 1, block_bytes=_tile_rows(features, TILE_ROWS))


def _tile_rows(sample: Array, most: int) -> int:
    """Return how many rows of a sample make a tile: at most so many rows, and so many bytes."""
    row_bytes = 8 * max(1, int(sample.shape[1]))
    return max(1, min(most, TILE_BYTES // row_bytes))


def nearest_neighbours(
    features: Array,
    reference: Array,
    n_neighbours: int = 1,
    *,
    executor: Executor | None = None,
) -> tuple[FloatArray, IntArray]:
    """Find the nearest rows of ``reference`` to each row of ``features``.

    Parameters
    ----------
    features : array of shape (n_samples, n_columns)
        Finite.
    reference : array of shape (n_reference, n_columns)
        Of the same library, with at least ``n_neighbours`` rows.
    n_neighbours : int, default 1
        How many.
    executor : concurrent.futures.Executor, optional
        Where blocks of rows run. Default: a thread for each CPU.

    Returns
    -------
    distances, indices : ndarray of shape (n_samples, n_neighbours)
        Nearest first; the rows of ``reference``.
    """
    shape = (int(features.shape[0]), n_neighbours)
    distances = np.empty(shape)
    indices = np.empty(shape, dtype=np.int64)

    def search(rows: slice) -> None:
        best = np.empty((rows.stop - rows.start, 0))
        place = np.empty(best.shape, dtype=np.int64)
        # Only the nearest so far are kept from tile to tile.
        for tile, found in distance_tiles(features, rows, reference):
            positions = np.broadcast_to(np.arange(tile.start, tile.stop), found.shape)
            best = np.concatenate([best, found], axis=1)
            place = np.concatenate([place, positions], axis=1)
            if best.shape[1] > n_neighbours:
                kept = np.argpartition(best, n_neighbours - 1, axis=1)[:, :n_neighbours]
                best = np.take_along_axis(best, kept, axis=1)
                place = np.take_along_axis(place, kept, axis=1)
        # Ties go to the row that comes first.
        order = np.lexsort((place, best), axis=1)
        distances[rows] = np.take_along_axis(best, order, axis=1)
        indices[rows] = np.take_along_axis(place, order, axis=1)

    with one_blas_thread():
        for _ in map_blocks(search, distance_blocks(features), executor=executor):
            pass
    return distances, indices
