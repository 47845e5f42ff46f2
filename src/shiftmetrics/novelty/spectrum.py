"""Kernel covariances, the spectrum of C_X - eta C_Y, its entropy, and its rounding errors.

With coordinates f of the rows in an orthonormal basis, C_X is the weighted mean of f f' over the test sample and C_Y
over the reference, and the positive eigenvalues of their difference are the novelty of Zhang, Li and Farnia
(arXiv:2402.17287).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core import arrays
from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.blocks import map_blocks, one_blas_thread, row_blocks
from shiftmetrics.novelty.factor import Factor
from shiftmetrics.novelty.kernels import EPSILON

Coordinates = tuple[FloatArray, FloatArray | None]
"""Coordinates of rows, (n_rows, size), and 1 - |f|^2 of each, None where it is 0."""

SUM_BYTES = 32 << 20
"""Coordinates of so many bytes are computed at a time, by threads, and added by one product."""

_TILE_BYTES = 1 << 19
_INDEFINITE = 1e-6
"""1 - |f|^2 below minus this shows that the kernel is not positive semidefinite."""

_COLUMNS = 512
"""So many columns at a time make matrix products that run at full speed, in blocks much smaller than the matrix."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over the rows of one sample, with weights w that sum to 1: its kernel covariance, and what is left out."""

    products: FloatArray
    """Lower triangle of the sum of w f f', of shape (size, size), in Fortran order."""
    residual: float = 0.0
    """Sum of w e, where e = 1 - |f|^2 is the part of a row outside the span."""
    spread: float = 0.0
    """Sum of w sqrt(e (1 - e))."""
    contradicted: bool = False
    """Whether a row has a squared length of more than 1, which a positive semidefinite kernel does not allow."""

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            self.products + other.products,
            self.residual + other.residual,
            self.spread + other.spread,
            self.contradicted or other.contradicted,
        )

    @property
    def mode_count(self) -> float:
        """Return 1 / |C|_F^2, the effective number of modes of the sample."""
        lower = self.products
        diagonal = np.diagonal(lower)
        square = 2.0 * float(np.einsum("ij,ij->", lower, lower)) - float(diagonal @ diagonal)
        return 1.0 / square if square > 0.0 else 1.0


def moments_of(
    coordinates: Callable[[slice, FloatArray], Coordinates],
    weights: FloatArray,
    blocks: list[slice],
    size: int,
    *,
    noise: float = 0.0,
    in_order: bool = False,
    executor: Executor | None = None,
) -> Moments:
    """Add up the moments of the rows of one sample; the result does not depend on the number of threads.

    Parameters
    ----------
    coordinates : callable
        Maps a slice of rows to their coordinates, which it writes to an array.
    weights : ndarray of shape (n_rows,)
        Weight of each row of ``blocks``, counted from the start of the first.
    blocks : list of slice
        Blocks of about `SUM_BYTES`, one after the other.
    size : int
        How many coordinates a row has.
    noise : float, default 0.0
        Rounding error of 1 - |f|^2.
    in_order : bool, default False
        Whether rows must be taken in order, in one thread.
    executor : concurrent.futures.Executor, optional
        Threads that compute coordinates.
    """
    products = np.zeros((size, size), order="F")
    residual = spread = 0.0
    contradicted = False
    first = blocks[0].start
    buffer = np.empty((max(block.stop - block.start for block in blocks), size))
    for block in blocks:
        n_rows, start = block.stop - block.start, block.start

        def place(tile: slice, start: int = start) -> Coordinates:
            return coordinates(slice(start + tile.start, start + tile.stop), buffer[tile])

        tiles = row_blocks(n_rows, 8 * size, block_bytes=_TILE_BYTES)
        with one_blas_thread():
            parts = list(
                map(place, tiles) if in_order else map_blocks(place, tiles, executor=executor)
            )
        fraction = weights[start - first : block.stop - first]
        products = _add_rank_update(products, buffer[:n_rows], fraction)
        if parts[0][1] is not None:
            outside = np.concatenate([np.asarray(part) for _, part in parts])
            contradicted = contradicted or bool((outside < -_INDEFINITE).any())
            outside = np.clip(np.maximum(outside, 0.0) + noise, 0.0, 1.0)
            residual += float(fraction @ outside)
            spread += float(fraction @ np.sqrt(outside * (1.0 - outside)))
    return Moments(products, residual, spread, contradicted)


def moments_bytes(size: int, n_columns: int) -> int:
    """Estimate the peak memory of the moments under a feature map and of the eigenproblem that follows."""
    return 48 * size**2 + 4 * SUM_BYTES + 16 * size * n_columns


def difference(
    factor: Factor,
    n_test: int,
    test_weights: FloatArray,
    reference_weights: FloatArray,
    eta: float,
    *,
    overwrite: bool = False,
) -> tuple[FloatArray, tuple[float, float]]:
    """Return C_X - eta C_Y of a factor as large as the sample, with one matrix of that size beside it.

    Parameters
    ----------
    factor : Factor
        Of the test rows, then the reference rows.
    n_test : int
        Number of test rows.
    test_weights, reference_weights : ndarray
        Weights of the rows of each sample, summing to 1.
    eta : float
        Multiplier of the reference.
    overwrite : bool, default False
        Whether a triangular factor, which is of no more use then, may give its place to the result.

    Returns
    -------
    tuple
        The lower triangle of the matrix, in Fortran order, and the mode counts ``1 / |C|_F^2`` of both samples.
    """
    values = factor.values
    # In C order, so that what is the lower triangle in Fortran order stands above the diagonal: where a triangular
    # factor has room for it, since no later block reads the diagonal tile that is lost.
    matrix = values if overwrite and factor.in_order else np.zeros((factor.rank, factor.rank))
    test_square = reference_square = 0.0
    for columns in row_blocks(factor.rank, 1, block_bytes=_COLUMNS):
        # Above this row a triangular factor has nothing in these columns.
        first = columns.start if factor.in_order else 0
        rows = slice(max(first, n_test), None)
        block = _block_of_products(
            values, rows, columns, -eta * reference_weights[rows.start - n_test :]
        )
        reference_square += _block_square(block, columns)
        if first < n_test:
            rows = slice(first, n_test)
            own = _block_of_products(values, rows, columns, test_weights[rows])
            test_square += _block_square(own, columns)
            block += own
        matrix[: columns.stop, columns] = block
    return matrix.T, (1.0 / test_square, eta * eta / reference_square)


def entropy(eigenvalues: FloatArray) -> float:
    """Return sum of l log(S / l) over positive numbers l with sum S, in nats: 0 for none."""
    total = float(eigenvalues.sum())
    return total * max(0.0, arrays.entropy(eigenvalues / total)) if total > 0.0 else 0.0


def entropy_slack(change: float, count: int) -> float:
    """Bound how far `entropy` moves when ``count`` positive numbers of sum at most 1 move by ``change`` in all.

    The entropy grows with each number, and -x log x is subadditive: numbers that add up to ``change`` add at most
    ``change log(count / change)``, and S log S at most ``change``. It never leaves ``[0, log count]``.
    """
    most = math.log(count) if count > 1 else 0.0
    if not change > 0.0:
        return 0.0
    return min(most, change * (most + 1.0 - math.log(min(change, 1.0))))


def rounding(
    diagonal: FloatArray, n_test: int, n_reference: int, eta: float, entry_error: float
) -> tuple[float, float, float]:
    """Estimate the rounding errors of the eigenvalues, from the kernel to the eigensolver.

    An error of the kernel is divided by the pivot of its column, so near-duplicates among the pivots make it larger.

    Parameters
    ----------
    diagonal : ndarray of shape (rank,)
        Diagonal of the triangle of the pivots.
    n_test, n_reference : int
        Rows of each sample.
    eta : float
        Multiplier of the reference.
    entry_error : float
        Error of one entry of the kernel matrix.

    Returns
    -------
    tuple of float
        The sum of the errors of all eigenvalues, the typical error of one, and the part of the eigensolver in it.
    """
    row = (entry_error + 4.0 * EPSILON) * math.sqrt(float(np.sum(1.0 / diagonal**2)))
    solver = 4.0 * EPSILON * math.sqrt(n_test + n_reference)
    total = 2.0 * row + solver * math.sqrt(len(diagonal))
    # In one eigenvalue the errors of the rows average out, and the typical error counts, not the largest.
    each = row / 12.0 / math.sqrt(min(n_test, n_reference)) + solver
    return (1.0 + eta) * total, (1.0 + eta) * each, (1.0 + eta) * solver


def eigenvalues_and_vectors(matrix: FloatArray, *, vectors: bool) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues of a symmetric matrix, descending, and the eigenvectors, none unless asked for.

    Parameters
    ----------
    matrix : ndarray of shape (rank, rank)
        Symmetric; its lower triangle is read, and overwritten when the matrix is in Fortran order.
    vectors : bool
        Whether to compute the eigenvectors. The eigenvalues are the same to the last digit with them.
    """
    from scipy.linalg import eigvalsh

    columns = np.linalg.eigh(matrix)[1][:, ::-1] if vectors else np.empty((len(matrix), 0))
    if not len(matrix):
        return np.empty(0), columns
    return np.asarray(eigvalsh(matrix, overwrite_a=True, check_finite=False))[::-1].copy(), columns


def _block_of_products(
    values: FloatArray, rows: slice, columns: slice, weights: FloatArray
) -> FloatArray:
    """Return the sum of w f f' over ``rows``, its ``columns`` down to the last of them on the diagonal."""
    product: FloatArray = values[rows, : columns.stop].T @ (
        values[rows, columns] * weights[:, None]
    )
    return product


def _block_square(block: FloatArray, columns: slice) -> float:
    """Return what a block of columns above the diagonal, and its mirror image, add to the squared Frobenius norm."""
    above, tile = block[: columns.start], block[columns.start :]
    return 2.0 * float(np.vdot(above, above)) + float(np.vdot(tile, tile))


def _add_rank_update(products: FloatArray, values: FloatArray, weights: FloatArray) -> FloatArray:
    """Add the sum of w f f' of a block, of which only the lower triangle is computed; ``values`` are scaled."""
    from scipy.linalg import blas

    if not values.shape[1]:
        return products
    weight = float(weights[0])
    if weights.min() != weights.max():
        values *= np.sqrt(weights)[:, None]
        weight = 1.0
    updated: FloatArray = blas.dsyrk(weight, values.T, beta=1.0, c=products, lower=1, overwrite_c=1)
    return updated
