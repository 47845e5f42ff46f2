"""The spectrum of C_X - eta C_Y, its entropy, and the error bound of a truncated factor.

With coordinates f of the rows in an orthonormal basis, C_X is the weighted mean of f f' over the test sample and C_Y
over the reference, and the positive eigenvalues of their difference are the novelty of Zhang, Li and Farnia
(arXiv:2402.17287).
"""

from __future__ import annotations

import math

import numpy as np

from shiftmetrics._core import numerics
from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics.novelty.factor import Factor
from shiftmetrics.novelty.kernels import EPSILON

_COLUMNS = 512
"""So many columns at a time make matrix products that run at full speed, in blocks much smaller than the matrix."""

_SMALL = 512
"""Up to this size all eigenvectors are computed faster than a few."""


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
        first = (
            columns.start if factor.in_order else 0
        )  # above it a triangular factor has nothing in these columns
        rows = slice(max(first, n_test), None)
        block = _block_of_products(values, rows, columns, -eta * reference_weights[rows.start - n_test :])
        reference_square += _block_square(block, columns)
        if first < n_test:
            rows = slice(first, n_test)
            gained = _block_of_products(values, rows, columns, test_weights[rows])
            test_square += _block_square(gained, columns)
            block += gained
        matrix[: columns.stop, columns] = block
    return matrix.T, (1.0 / test_square, eta * eta / reference_square)


def entropy(eigenvalues: FloatArray) -> float:
    """Return sum of l log(S / l) over positive numbers l with sum S, in nats: 0 for none."""
    total = float(eigenvalues.sum())
    return total * max(0.0, numerics.entropy(eigenvalues / total)) if total > 0.0 else 0.0


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


def eigenvalues_and_vectors(
    matrix: FloatArray, n_largest: int | None, n_smallest: int = 0
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return all eigenvalues of a symmetric matrix, descending, and the vectors at both ends.

    Parameters
    ----------
    matrix : ndarray of shape (rank, rank)
        Symmetric; its lower triangle is read, and overwritten when the matrix is in Fortran order.
    n_largest : int or None
        How many eigenvectors of the largest eigenvalues, largest first; None for all.
    n_smallest : int, default 0
        How many of the smallest, smallest first.
    """
    size = len(matrix)
    if size == 0:
        return np.empty(0), np.empty((0, 0)), np.empty((0, 0))
    largest = size if n_largest is None else min(n_largest, size)
    smallest = min(n_smallest, size)
    if size <= _SMALL or 4 * max(largest, smallest) > size:
        eigenvalues, vectors = np.linalg.eigh(matrix)
        return eigenvalues[::-1].copy(), vectors[:, ::-1][:, :largest].copy(), vectors[:, :smallest].copy()
    return _few_vectors(matrix, largest, smallest)


def _few_vectors(
    matrix: FloatArray, n_largest: int, n_smallest: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Reduce to tridiagonal form once: all eigenvalues of it, and the vectors of both ends, mapped back."""
    from scipy.linalg import LinAlgError, eigh_tridiagonal, lapack

    size = len(matrix)
    work, _ = lapack.dsytrd_lwork(size, lower=1)
    reflectors, diagonal, beside, scales, _ = lapack.dsytrd(
        np.asfortranarray(matrix), lower=1, lwork=int(work), overwrite_a=1
    )
    eigenvalues, info = lapack.dsterf(diagonal, beside)
    if info:
        raise LinAlgError(f"The eigenvalues of a tridiagonal matrix of size {size} did not converge.")
    eigenvalues = np.asarray(eigenvalues)[::-1].copy()
    ranges = [(size - n_largest, size - 1), (0, n_smallest - 1)]
    ends = [
        eigh_tridiagonal(diagonal, beside, select="i", select_range=chosen, check_finite=False)[1]
        for chosen in ranges
        if chosen[0] <= chosen[1]
    ]
    if not ends:
        return eigenvalues, np.empty((size, 0)), np.empty((size, 0))
    vectors = np.hstack(ends)
    # The reflectors leave the first row alone and stand one row too low for dormqr: each column moves up.
    for column in range(size - 1):
        reflectors[:-1, column] = reflectors[1:, column]
    inner = np.asfortranarray(vectors[1:])
    _, work, _ = lapack.dormqr("L", "N", reflectors[:, : size - 1], scales, inner, -1)
    inner, _, _ = lapack.dormqr(
        "L", "N", reflectors[:, : size - 1], scales, inner, int(work[0]), overwrite_c=1
    )
    vectors[1:] = inner
    vectors = np.asarray(vectors, dtype=np.float64)
    return eigenvalues, vectors[:, :n_largest][:, ::-1].copy(), vectors[:, n_largest:].copy()


def _block_of_products(values: FloatArray, rows: slice, columns: slice, weights: FloatArray) -> FloatArray:
    """Return the sum of w f f' over ``rows``, its ``columns`` down to the last of them on the diagonal."""
    product: FloatArray = values[rows, : columns.stop].T @ (values[rows, columns] * weights[:, None])
    return product


def _block_square(block: FloatArray, columns: slice) -> float:
    """Return what a block of columns above the diagonal, and its mirror image, add to the squared Frobenius norm."""
    above, tile = block[: columns.start], block[columns.start :]
    return 2.0 * float(np.vdot(above, above)) + float(np.vdot(tile, tile))
