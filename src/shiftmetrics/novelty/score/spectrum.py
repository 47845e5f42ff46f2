"""Kernel covariances, the spectrum of C_X - eta C_Y, its entropy, and its rounding errors.

With coordinates f of the rows in an orthonormal basis, C_X is the weighted mean of f f' over the test sample and C_Y
over the reference, and the positive eigenvalues of their difference are the novelty of Zhang, Li and Farnia
(arXiv:2402.17287).
"""

from __future__ import annotations

import math
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core import arrays
from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.blocks import Statistic, cpu_count, map_reduce, one_blas_thread
from shiftmetrics.novelty.score.basis import ScoreBasis
from shiftmetrics.novelty.score.kernels import EPSILON

_BLOCK_BYTES = 8 << 20
"""Coordinates of so many bytes make one product."""


@dataclass(frozen=True, eq=False)
class Moments(Statistic):
    """Sums over the rows of one sample, with weights w that sum to 1: its kernel covariance, and what is left out."""

    products: FloatArray
    """The sum of w f f', of shape (size, size)."""
    residual: float
    """Sum of w e, where e = 1 - |f|^2 is the part of a row outside the span."""
    spread: float
    """Sum of w sqrt(e (1 - e))."""

    @property
    def mode_count(self) -> float:
        """Return 1 / |C|_F^2, the effective number of modes of the sample."""
        square = float(np.einsum("ij,ij->", self.products, self.products))
        return 1.0 / square if square > 0.0 else 1.0


def moments_of(
    basis: ScoreBasis, weights: FloatArray, *, of_test: bool, executor: Executor | None = None
) -> Moments:
    """Add up the moments of the rows of one sample; the result does not depend on the number of threads.

    Parameters
    ----------
    basis : ScoreBasis
        Coordinates of the rows.
    weights : ndarray of shape (n_rows,)
        Weights of the rows of that sample, summing to 1.
    of_test : bool
        Whether it is the test sample.
    executor : concurrent.futures.Executor, optional
        Threads; rows in partitions of Dask are added up on its workers.
    """
    gram = basis.gram
    first = 0 if of_test else gram.n_test
    blocks = gram.blocks(8 * basis.size, block_bytes=_BLOCK_BYTES)
    blocks = gram.placed([rows for rows in blocks if (rows.start < gram.n_test) == of_test])
    # Equal weights are sent to workers as one number.
    sent = weights[:1] if weights.min() == weights.max() else weights

    def kernel(rows: slice) -> Moments:
        values, outside = basis.coordinates(rows)
        fractions = sent if len(sent) == 1 else sent[rows.start - first : rows.stop - first]
        scaled = values * np.sqrt(fractions)[:, None]
        products = scaled.T @ scaled
        if outside is None:
            return Moments(products, 0.0, 0.0)
        residual = fractions * outside
        spread = fractions * np.sqrt(outside * (1.0 - outside))
        return Moments(products, float(residual.sum()), float(spread.sum()))

    with one_blas_thread():
        return map_reduce(kernel, blocks, executor=executor)


def moments_bytes(size: int, n_columns: int) -> int:
    """Estimate the peak memory of the moments in a basis and of the eigenproblem that follows."""
    # Four sums for each thread may wait to be added; six matrices are those of the eigenproblem.
    n_matrices = 4 * cpu_count() + 6
    blocks = 4 * cpu_count() * _BLOCK_BYTES
    return 8 * n_matrices * size**2 + blocks + 16 * size * n_columns


def spectral_entropy(eigenvalues: FloatArray) -> float:
    """Return sum of l log(S / l) over positive numbers l with sum S, in nats: 0 for none."""
    total = float(eigenvalues.sum())
    if not total > 0.0:
        return 0.0
    return total * max(0.0, arrays.entropy(eigenvalues / total))


def entropy_slack(change: float, count: int) -> float:
    """Bound the change of `spectral_entropy` when ``count`` positive numbers, of sum at most 1, change by ``change``.

    The entropy grows with each number, and -x log x is subadditive: numbers that add up to ``change`` add at most
    ``change log(count / change)``, and S log S at most ``change``. It never leaves ``[0, log count]``.
    """
    if not change > 0.0:
        return 0.0
    most = math.log(max(count, 1))
    return min(most, change * (most + 1.0 - math.log(min(change, 1.0))))


def truncation(own: Moments, other: Moments, eta: float) -> float:
    """Bound how much a truncated factor takes off the sum of the positive eigenvalues (it never adds to them).

    The off-diagonal block of Lambda is a mean of products of rank one, |f| |rest| each, and the block outside the
    span is at most the residual of the test sample.
    """
    return own.spread + own.residual + eta * other.spread


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
    # A row of the inverse triangle has about this length.
    length = math.sqrt(float(np.sum(1.0 / diagonal**2)))
    row = (entry_error + 4.0 * EPSILON) * length
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
        Symmetric; its upper triangle is read, and overwritten when the matrix is in Fortran order.
    vectors : bool
        Whether to compute the eigenvectors. The eigenvalues are the same to the last digit with them.
    """
    from scipy.linalg import eigvalsh

    columns = np.empty((len(matrix), 0))
    if not len(matrix):
        return np.empty(0), columns
    if vectors:
        # First, because the eigenvalues overwrite the matrix. These come from one solver, with vectors and without
        # them.
        columns = np.linalg.eigh(matrix, UPLO="U")[1][:, ::-1]
    ascending = eigvalsh(matrix, lower=False, overwrite_a=True, check_finite=False)
    return np.asarray(ascending)[::-1].copy(), columns
