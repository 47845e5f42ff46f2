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
from shiftmetrics._core.blocks import BLOCK_BYTES, map_reduce, row_blocks
from shiftmetrics._core.statistics import Statistic
from shiftmetrics._core.threads import one_blas_thread
from shiftmetrics.novelty.factor import Factor
from shiftmetrics.novelty.kernels import EPSILON

_COLUMNS = 512
"""So many columns at a time make matrix products that run at full speed, in blocks much smaller than the matrix."""


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


def _block_of_products(values: FloatArray, rows: slice, columns: slice, weights: FloatArray) -> FloatArray:
    """Return the sum of w f f' over ``rows``, its ``columns`` down to the last of them on the diagonal."""
    product: FloatArray = values[rows, : columns.stop].T @ (values[rows, columns] * weights[:, None])
    return product


def _block_square(block: FloatArray, columns: slice) -> float:
    """Return what a block of columns above the diagonal, and its mirror image, add to the squared Frobenius norm."""
    above, tile = block[: columns.start], block[columns.start :]
    return 2.0 * float(np.vdot(above, above)) + float(np.vdot(tile, tile))
