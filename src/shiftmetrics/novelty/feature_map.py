"""Feature maps: coordinates of a row that do not depend on the other rows, so that sums over rows merge.

With coordinates f of the rows in an orthonormal basis, a kernel is nearly the product of two f, and the kernel
covariance of a sample is the mean of f f': one pass over the rows, in any order, in shards or as a stream. Maps
differ in the basis: landmarks, random frequencies, or, for the cosine kernel, the columns themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, namespace, to_float64
from shiftmetrics._core.blocks import map_blocks, row_blocks
from shiftmetrics._core.threads import one_blas_thread
from shiftmetrics.novelty.kernels import Kernel
from shiftmetrics.novelty.spectrum import Remainder

Coordinates = tuple[Array, FloatArray | None]
"""Coordinates of rows, (n_rows, size), and 1 - |f|^2 of each, None where it is 0."""

SUM_BYTES = 32 << 20
"""Coordinates of so many bytes are made at a time, by threads, and added by one product."""

_TILE_BYTES = 1 << 19
_INDEFINITE = 1e-6
"""1 - |f|^2 below minus this shows that the kernel is not positive semidefinite."""


class FeatureMap(Protocol):
    """What every map is: a size, and coordinates of any rows."""

    @property
    def size(self) -> int:
        """How many coordinates a row has."""

    @property
    def kernel(self) -> Kernel:
        """The kernel that products of coordinates give."""

    def same_as(self, other: Any) -> bool:
        """Tell whether ``other`` gives all rows the same coordinates, so that sums under both may be added."""

    def check_points(self, points: Any, argument: str = "points") -> Array:
        """Return rows as an array that the map takes, or raise."""

    def coordinates(self, points: Array, rows: slice, out: FloatArray | None = None) -> Coordinates:
        """Return the coordinates of a block of ``points``; in NumPy they are written to ``out`` if given."""


@dataclass(frozen=True, eq=False)
class MappedSums(Remainder):
    """Sums over rows of one sample under a feature map: enough for its kernel covariance and the certificate."""

    products: FloatArray
    """Lower triangle of the sum of w f f', of shape (size, size)."""
    count: float
    """Number of rows."""
    contradictions: float
    """Rows with more than 1 of squared length, which a positive semidefinite kernel does not allow."""

    @property
    def covariance(self) -> FloatArray:
        """Return the lower triangle of the mean of f f'."""
        return np.asfortranarray(self.products / self.weight)

    @property
    def mode_count(self) -> float:
        """Return 1 / |C|_F^2, the effective number of modes of the sample."""
        lower = self.products / self.weight
        diagonal = np.diagonal(lower)
        square = 2.0 * float(np.einsum("ij,ij->", lower, lower)) - float(diagonal @ diagonal)
        return 1.0 / square if square > 0.0 else 1.0


def map_sums(
    coordinates: Callable[[slice, FloatArray], Coordinates],
    weights: FloatArray,
    blocks: Sequence[slice],
    size: int,
    *,
    noise: float = 0.0,
    executor: Executor | None = None,
    report: Callable[[int], None] | None = None,
) -> MappedSums:
    """Add up the statistic of rows, block by block; the result does not depend on the number of threads.

    Parameters
    ----------
    coordinates : callable
        Maps a slice of rows to their coordinates, in any array library, and writes them to an array if in NumPy.
    weights : ndarray of shape (n_rows,)
        Weight of each row that ``blocks`` name, counted from the start of the first block.
    blocks : sequence of slice
        Blocks of about `SUM_BYTES`, one after the other.
    size : int
        How many coordinates a row has.
    noise : float, default 0.0
        Rounding error of 1 - |f|^2.
    executor : concurrent.futures.Executor, optional
        Where coordinates are computed.
    report : callable, optional
        Called with the number of rows after each block.
    """
    products: Any = None
    totals = np.zeros(5)  # weight, residual, spread, count, contradictions
    first = blocks[0].start if blocks else 0
    buffer = np.empty((max((block.stop - block.start for block in blocks), default=0), size))
    for block in blocks:
        start = block.start

        def place(tile: slice, start: int = start) -> Coordinates:
            return coordinates(slice(start + tile.start, start + tile.stop), buffer[tile])

        n_rows = block.stop - start
        with one_blas_thread():
            tiles = row_blocks(n_rows, 8 * size, block_bytes=_TILE_BYTES)
            parts = list(map_blocks(place, tiles, executor=executor))
        share = weights[start - first : block.stop - first]
        if isinstance(parts[0][0], np.ndarray):
            products = _add_rank_update(products, buffer[:n_rows], share)
        else:
            products = _add_product(products, [values for values, _ in parts], share)
        totals += _remainders(parts, share, noise)
        if report is not None:
            report(block.stop - block.start)
    sums = np.zeros((size, size), order="F") if products is None else products
    if not isinstance(sums, np.ndarray):
        sums = np.tril(to_float64(sums))
    weight, residual, spread, count, contradictions = (float(total) for total in totals)
    return MappedSums(
        weight=weight,
        residual=residual,
        spread=spread,
        products=sums,
        count=count,
        contradictions=contradictions,
    )


def sums_of(
    feature_map: FeatureMap,
    points: Array,
    weights: FloatArray,
    *,
    noise: float = 0.0,
    executor: Executor | None = None,
    report: Callable[[int], None] | None = None,
) -> MappedSums:
    """Add up the statistic of checked ``points`` under a feature map."""
    blocks = row_blocks(int(points.shape[0]), 8 * feature_map.size, block_bytes=SUM_BYTES)
    return map_sums(
        lambda rows, out: feature_map.coordinates(points, rows, out),
        weights,
        blocks,
        feature_map.size,
        noise=noise,
        executor=executor,
        report=report,
    )


def sums_bytes(size: int, n_columns: int) -> int:
    """Estimate the peak memory of sums under a feature map and of the eigenproblem that follows."""
    return 48 * size**2 + 4 * SUM_BYTES + 16 * size * n_columns


@dataclass(frozen=True, eq=False)
class MapFunctions:
    """Functions of a point t: weighted sums of its coordinates."""

    feature_map: FeatureMap

    def evaluate(self, points: Any, coefficients: FloatArray) -> FloatArray:
        """Return the value of each function, a column of ``coefficients``, at each point: shape (n_points, k)."""
        array = self.feature_map.check_points(points)
        blocks = row_blocks(int(array.shape[0]), 8 * self.feature_map.size)
        if (
            not coefficients.flags.writeable
        ):  # those of a frozen mode: torch warns of arrays that are read-only
            coefficients = coefficients.copy()

        def values(rows: slice) -> FloatArray:
            coordinates = self.feature_map.coordinates(array, rows)[0]
            if isinstance(coordinates, np.ndarray):
                return np.asarray(coordinates @ coefficients)
            xp = namespace(coordinates)
            there = xp.asarray(coefficients, device=getattr(coordinates, "device", None))
            return to_float64(coordinates @ there)

        with one_blas_thread():
            return np.concatenate(list(map_blocks(values, blocks)))


def _add_rank_update(products: FloatArray | None, values: FloatArray, weights: FloatArray) -> FloatArray:
    """Add the sum of w f f' of a block, of which only the lower triangle is computed; ``values`` are scaled."""
    from scipy.linalg import blas

    size = values.shape[1]
    if products is None:
        products = np.zeros((size, size), order="F")
    if not size:
        return products
    weight = float(weights[0])
    if weights.min() != weights.max():
        values *= np.sqrt(weights)[:, None]
        weight = 1.0
    updated: FloatArray = blas.dsyrk(weight, values.T, beta=1.0, c=products, lower=1, overwrite_c=1)
    return updated


def _add_product(products: Any, parts: list[Array], weights: FloatArray) -> Any:
    """Add the sum of w f f' of a block by a matrix product, on whatever device the coordinates live."""
    xp = namespace(parts[0])
    half = xp.concat(parts, axis=0)
    half = half * xp.asarray(np.sqrt(weights)[:, None], device=getattr(half, "device", None))
    added = half.T @ half
    return added if products is None else products + added


def _remainders(parts: list[Coordinates], weights: FloatArray, noise: float) -> FloatArray:
    totals = np.zeros(5)
    totals[0], totals[3] = weights.sum(), len(weights)
    if parts[0][1] is None:
        return totals
    outside = np.concatenate([np.asarray(part) for _, part in parts])
    totals[4] = np.count_nonzero(outside < -_INDEFINITE)
    outside = np.clip(np.maximum(outside, 0.0) + noise, 0.0, 1.0)
    totals[1] = weights @ outside
    totals[2] = weights @ np.sqrt(outside * (1.0 - outside))
    return totals
