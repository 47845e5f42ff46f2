"""The spectrum of C_X - eta C_Y, its entropy, and the certificate of a truncated factor.

With coordinates f of the rows in an orthonormal basis, C_X is the weighted mean of f f' over the test sample and C_Y
over the reference, and the positive eigenvalues of their difference are the novelty of Zhang, Li and Farnia
(arXiv:2402.17287).
"""

from __future__ import annotations

import math
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.blocks import BLOCK_BYTES, map_reduce
from shiftmetrics._core.statistics import Statistic
from shiftmetrics._core.threads import one_blas_thread
from shiftmetrics.novelty.factor import Factor
from shiftmetrics.novelty.kernels import EPSILON

_SMALL = 512


@dataclass(frozen=True, eq=False)
class SecondMoment(Statistic):
    """Sums over rows of one sample: enough for its kernel covariance in the span of a factor."""

    weight: float
    """Sum of the weights w."""
    products: FloatArray
    """Sum of w f f', of shape (rank, rank)."""

    @property
    def covariance(self) -> FloatArray:
        """Return the mean of f f': the kernel covariance of the sample in the span."""
        return self.products / self.weight


@dataclass(frozen=True, eq=False)
class Remainder(Statistic):
    """Sums over rows of one sample of what a factor leaves out: enough for the certificate."""

    weight: float
    """Sum of the weights w."""
    residual: float
    """Sum of w e, where e = 1 - |f|^2 is the part of a row outside the span."""
    spread: float
    """Sum of w sqrt(e (1 - e))."""


def second_moment(values: FloatArray, weights: FloatArray) -> SecondMoment:
    """Return the statistic of rows with coordinates ``values`` (n_rows, rank) and ``weights`` (n_rows,)."""
    half = values * np.sqrt(weights)[:, None]
    return SecondMoment(weight=float(weights.sum()), products=half.T @ half)


def remainder(residual: FloatArray, weights: FloatArray) -> Remainder:
    """Return the statistic of rows at squared distance ``residual`` (n_rows,) from the span."""
    return Remainder(
        weight=float(weights.sum()),
        residual=float(weights @ residual),
        spread=float(weights @ np.sqrt(residual * (1.0 - residual))),
    )


def sample_moment(
    factor: Factor, rows: slice, weights: FloatArray, *, executor: Executor | None = None
) -> SecondMoment:
    """Add up the statistic of one sample, the ``rows`` of ``factor``, block by block."""
    rank = max(1, factor.rank)
    # A block has several times as many rows as a statistic, or adding the statistics would take longest.
    size = max(BLOCK_BYTES // (8 * rank), 4 * rank)
    blocks = [slice(i, min(i + size, rows.stop)) for i in range(rows.start, rows.stop, size)]

    def statistic(block: slice) -> SecondMoment:
        return second_moment(factor.values[block], weights[block])

    if len(blocks) == 1:
        return statistic(blocks[0])
    with one_blas_thread():
        return map_reduce(statistic, blocks, executor=executor)


def difference(
    factor: Factor, n_test: int, test_weights: FloatArray, reference_weights: FloatArray, eta: float
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

    Returns
    -------
    tuple
        The lower triangle of the matrix, in Fortran order, and the mode counts ``1 / |C|_F^2`` of both samples.
    """
    if factor.in_order:
        return _triangular_difference(factor.values, n_test, test_weights, reference_weights, eta)
    matrix = _weighted_products(factor.values[n_test:], reference_weights)
    reference_square = _square(matrix)
    matrix *= -eta
    test = _weighted_products(factor.values[:n_test], test_weights)
    matrix += test
    return matrix, (1.0 / _square(test), 1.0 / reference_square)


def eigenvalues_and_vectors(matrix: FloatArray, n_vectors: int | None) -> tuple[FloatArray, FloatArray]:
    """Return all eigenvalues of a symmetric matrix, descending, and the vectors of the largest ones.

    Parameters
    ----------
    matrix : ndarray of shape (rank, rank)
        Symmetric; its lower triangle is read, and overwritten when the matrix is in Fortran order.
    n_vectors : int or None
        How many eigenvectors; None for all.

    Returns
    -------
    tuple
        Eigenvalues of shape (rank,) and vectors of shape (rank, n_vectors).
    """
    size = len(matrix)
    if size == 0:
        return np.empty(0), np.empty((0, 0))
    wanted = size if n_vectors is None else min(n_vectors, size)
    if size <= _SMALL or 4 * wanted > size:
        eigenvalues, vectors = np.linalg.eigh(matrix)
        return eigenvalues[::-1].copy(), vectors[:, ::-1][:, :wanted].copy()
    return _few_vectors(matrix, wanted)


def entropy(eigenvalues: FloatArray) -> float:
    """Return sum of l log(S / l) over positive numbers l with sum S, in nats: 0 for none."""
    total = float(eigenvalues.sum())
    if not total > 0.0:
        return 0.0
    return max(0.0, float(eigenvalues @ (math.log(total) - np.log(eigenvalues))))


def entropy_slack(change: float, count: int) -> float:
    """Bound how far `entropy` moves when ``count`` positive numbers of sum at most 1 move by ``change`` in all.

    The entropy grows with each number, and -x log x is subadditive: numbers that add up to ``change`` add at most
    ``change log(count / change)``, and S log S at most ``change``. It never leaves ``[0, log count]``.
    """
    most = math.log(count) if count > 1 else 0.0
    if not change > 0.0:
        return 0.0
    return min(most, change * (most + 1.0 - math.log(min(change, 1.0))))


def truncation(gained: Remainder, lost: Remainder, eta: float) -> float:
    """Bound how much a truncated factor takes off the sum of the positive eigenvalues (it never adds to them).

    The off-diagonal block of Lambda is a mean of products of rank one, |f| |rest| each, and the block outside the
    span is at most the residual of the test sample.
    """
    return (gained.spread + gained.residual) / gained.weight + eta * lost.spread / lost.weight


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


def _weighted_products(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the lower triangle of the sum of w f f', in Fortran order, by rank updates of one matrix."""
    from scipy.linalg import blas

    rank = values.shape[1]
    products = np.zeros((rank, rank), order="F")
    size = max(1, 4 * BLOCK_BYTES // (8 * max(1, rank)), 256)
    for start in range(0, len(values), size):
        half = values[start : start + size] * np.sqrt(weights[start : start + size])[:, None]
        products = blas.dsyrk(1.0, half.T, beta=1.0, c=products, lower=1, overwrite_c=1)
    return products


def _triangular_difference(
    values: FloatArray, n_test: int, test_weights: FloatArray, reference_weights: FloatArray, eta: float
) -> tuple[FloatArray, tuple[float, float]]:
    """Return what `difference` does for a lower triangular factor, at half the work.

    Its first rows, of the test sample, have nothing to the right of the diagonal, so C_X is L' L of a triangle. The
    other rows are a rectangle beside a triangle.
    """
    from scipy.linalg import blas, lapack

    def triangle(rows: slice, weights: FloatArray) -> FloatArray:
        scaled = values[rows, rows] * np.sqrt(weights)[:, None]
        return np.asarray(scaled.T)  # upper, and column by column, as LAPACK wants it

    matrix = np.zeros((len(values), len(values)), order="F")
    upper, _ = lapack.dlauum(triangle(slice(0, n_test), test_weights), lower=0, overwrite_c=1)
    test_square = _square(upper.T)
    corner = matrix[:n_test, :n_test]
    corner += upper.T
    del upper
    beside = (values[n_test:, :n_test] * np.sqrt(reference_weights)[:, None]).T
    lower = blas.dsyrk(1.0, beside, lower=1)
    reference_square = _square(lower)
    lower *= eta
    corner -= lower
    del lower
    upper = triangle(slice(n_test, len(values)), reference_weights)
    across = blas.dtrmm(1.0, upper, beside, side=1, lower=0, trans_a=1, overwrite_b=1)
    reference_square += 2.0 * float(np.einsum("ij,ij->", across, across))
    np.multiply(across.T, -eta, out=matrix[n_test:, :n_test])
    del across, beside
    upper, _ = lapack.dlauum(upper, lower=0, overwrite_c=1)
    reference_square += _square(upper.T)
    np.multiply(upper.T, -eta, out=matrix[n_test:, n_test:])
    return matrix, (1.0 / test_square, 1.0 / reference_square)


def _square(lower: FloatArray) -> float:
    """Return the squared Frobenius norm of a symmetric matrix of which the lower triangle is stored."""
    diagonal = np.diagonal(lower)
    return 2.0 * float(np.einsum("ij,ij->", lower, lower)) - float(diagonal @ diagonal)


def _few_vectors(matrix: FloatArray, wanted: int) -> tuple[FloatArray, FloatArray]:
    """Reduce to tridiagonal form once: all eigenvalues of it, and the vectors of the largest, mapped back."""
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
    if not wanted:
        return eigenvalues, np.empty((size, 0))
    _, vectors = eigh_tridiagonal(
        diagonal, beside, select="i", select_range=(size - wanted, size - 1), check_finite=False
    )
    # The reflectors leave the first row alone and stand one row too low for dormqr: each column moves up.
    for column in range(size - 1):
        reflectors[:-1, column] = reflectors[1:, column]
    inner = np.asfortranarray(vectors[1:])
    _, work, _ = lapack.dormqr("L", "N", reflectors[:, : size - 1], scales, inner, -1)
    inner, _, _ = lapack.dormqr(
        "L", "N", reflectors[:, : size - 1], scales, inner, int(work[0]), overwrite_c=1
    )
    vectors[1:] = inner
    return eigenvalues, np.asarray(vectors, dtype=np.float64)[:, ::-1].copy()
