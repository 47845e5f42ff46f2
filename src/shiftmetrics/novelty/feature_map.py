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

    def check_points(self, points: Any, argument: str = "points") -> Array:
        """Return rows as an array that the map takes, or raise."""

    def coordinates(self, points: Array, rows: slice) -> Coordinates:
        """Return the coordinates of a block of ``points``."""


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
    coordinates: Callable[[slice], Coordinates],
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
        Maps a slice of rows to their coordinates, in any array library.
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
    for block in blocks:
        tiles = [
            slice(block.start + tile.start, block.start + tile.stop)
            for tile in row_blocks(block.stop - block.start, 8 * size, block_bytes=_TILE_BYTES)
        ]
        with one_blas_thread():
            parts = list(map_blocks(coordinates, tiles, executor=executor))
        share = weights[block.start - first : block.stop - first]
        products = _add_products(products, [values for values, _ in parts], share)
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
        lambda rows: feature_map.coordinates(points, rows),
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

        def values(rows: slice) -> FloatArray:
            coordinates = self.feature_map.coordinates(array, rows)[0]
            if isinstance(coordinates, np.ndarray):
                return np.asarray(coordinates @ coefficients)
            xp = namespace(coordinates)
            there = xp.asarray(coefficients, device=getattr(coordinates, "device", None))
            return to_float64(coordinates @ there)

        with one_blas_thread():
            return np.concatenate(list(map_blocks(values, blocks)))


def _add_products(products: Any, parts: list[Array], weights: FloatArray) -> Any:
    """Add the sum of w f f' of a block: by a rank update in NumPy, by a matrix product on other devices."""
    if isinstance(parts[0], np.ndarray):
        from scipy.linalg import blas

        half = parts[0] if len(parts) == 1 else np.concatenate(parts)
        if weights.min() != 1.0 or weights.max() != 1.0:
            half = half * np.sqrt(weights)[:, None]
        size = half.shape[1]
        if not size:
            return np.zeros((0, 0), order="F")
        if products is None:
            products = np.zeros((size, size), order="F")
        return blas.dsyrk(1.0, half.T, beta=1.0, c=products, lower=1, overwrite_c=1)
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
