"""Factors of the joint kernel matrix, K = F F' + residual: coordinates of every row in the span of a few.

Two ways to one: Cholesky of the whole matrix, and pivoted Cholesky that never forms it. Neither adds anything to the
diagonal: a matrix that is singular is factored with pivots, up to its rank.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.blocks import map_blocks, one_blas_thread, row_blocks
from shiftmetrics.novelty.gram import Gram
from shiftmetrics.novelty.kernels import EPSILON

_CANDIDATES = 512
_BLOCK_PIVOTS = 128
_KEEP = 0.01
"""A candidate becomes a pivot while its residual is at least this fraction of the largest at the start of the
round."""

_INDEFINITE = 1e-6
"""A residual diagonal below minus this shows that the kernel is not positive semidefinite."""

_PAIRS = 4096
_COLUMNS = 512


@dataclass(frozen=True, eq=False)
class Factor:
    """Coordinates of the rows of both samples in an orthonormal basis of the span of the pivots.

    Attributes
    ----------
    values : ndarray of shape (n_rows, rank)
        F. The kernel matrix is ``values @ values.T`` plus a positive semidefinite residual.
    residual : ndarray of shape (n_rows,)
        Diagonal of the residual, in [0, 1], rounding included: 0 at the pivots.
    pivots : ndarray of shape (rank,)
        The rows that span the basis; ``values[pivots]`` is lower triangular.
    in_order : bool
        Whether the pivots are the rows in their order, so that ``values`` is lower triangular.
    converged : bool
        Whether the residual is as small as was asked for.
    indefinite : bool
        Whether the kernel was found not to be positive semidefinite.
    """

    values: FloatArray
    residual: FloatArray
    pivots: IntArray
    in_order: bool = False
    converged: bool = True
    indefinite: bool = False

    @property
    def rank(self) -> int:
        """Return the number of pivots."""
        return int(self.values.shape[1])

    @property
    def diagonal(self) -> FloatArray:
        """Return the diagonal of `triangle`."""
        return self.values[self.pivots, np.arange(self.rank)]

    @property
    def triangle(self) -> FloatArray:
        """Return the coordinates of the pivots: a lower triangular matrix of shape (rank, rank)."""
        return self.values if self.in_order else self.values[self.pivots]


def dense_factor(gram: Gram, *, executor: Executor | None = None) -> Factor:
    """Factor the whole kernel matrix; with pivots when it is singular.

    A kernel that is not positive semidefinite is replaced by its nearest one that is (negative eigenvalues set to 0),
    scaled back to a unit diagonal.
    """
    from scipy.linalg import lapack

    matrix = gram.dense(executor=executor)
    # Column-major LAPACK sees the lower triangle in C order as the upper one.
    _, info = lapack.dpotrf(matrix.T, lower=0, clean=1, overwrite_a=1)
    if info == 0:
        n_rows = gram.n_rows
        return Factor(
            values=matrix, residual=np.zeros(n_rows), pivots=np.arange(n_rows), in_order=True
        )
    del matrix
    matrix = gram.dense(symmetric=True, executor=executor)
    indefinite = False
    if not gram.trusted:
        matrix, indefinite = _nearest_semidefinite(matrix, gram.entry_error)
    upper, order, rank, _ = lapack.dpstrf(
        matrix.T, tol=residual_noise(gram), lower=0, overwrite_a=1
    )
    order = np.asarray(order, dtype=np.int64) - 1
    values = np.asarray(upper).T[:, :rank]
    for columns in row_blocks(
        rank, 1, block_bytes=_COLUMNS
    ):  # in place, the rows back in their order
        values[order, columns] = np.tril(values[:, columns], -columns.start)
    residual = _residual(gram, values, order[:rank])
    return Factor(values=values, residual=residual, pivots=order[:rank], indefinite=indefinite)


def pivoted_factor(
    gram: Gram,
    weights: FloatArray,
    *,
    rtol: float,
    max_rank: int,
    executor: Executor | None = None,
) -> Factor:
    """Factor the kernel matrix from a few of its columns, those of the rows that are explained least.

    In rounds: rows drawn in proportion to their weighted residual are the candidates, the greedy choice among them
    gives the pivots of the round, and all rows are updated at once by matrix products.

    Parameters
    ----------
    gram : Gram
        The kernel matrix.
    weights : ndarray of shape (n_rows,)
        Weight of each row in the residual trace, summing to the trace.
    rtol : float
        Stop when the weighted residual trace falls below ``rtol`` times the trace.
    max_rank : int
        Stop at so many pivots.
    executor : concurrent.futures.Executor, optional
        Where blocks of rows are updated.

    Returns
    -------
    Factor
    """
    n_rows = gram.n_rows
    max_rank = min(max_rank, n_rows)
    # Columns side by side in memory: those that are never reached are never touched, so they cost nothing.
    values = np.empty((n_rows, max_rank), order="F")
    residual = np.ones(n_rows)
    pivots = np.empty(0, dtype=np.int64)
    # Which rows are candidates decides speed, not the result, so the seed is fixed.
    rng = np.random.default_rng(0)
    noise = residual_noise(gram)
    target = max(rtol, noise) * float(weights.sum())
    indefinite = False
    while True:
        rank = len(pivots)
        pending = np.where(residual > noise, weights * residual, 0.0)
        trace = float(pending.sum())
        if trace <= target or rank == max_rank or indefinite:
            break
        candidates = _candidates(pending, rng)
        chosen, triangle = _choose(
            gram,
            candidates,
            values[candidates, :rank],
            weights,
            min(_BLOCK_PIVOTS, max_rank - rank),
            target / n_rows,
        )
        if not len(chosen):  # nothing but rounding is left in these rows
            residual[candidates] = 0.0
            continue
        _update(gram, values, residual, pivots, chosen, triangle, executor)
        pivots = np.concatenate([pivots, chosen])
        indefinite = bool(residual.min() < -_INDEFINITE)
        residual[chosen] = 0.0
        np.maximum(residual, 0.0, out=residual)
    values = values[:, : len(pivots)]
    if not gram.trusted and not indefinite:
        indefinite = _contradicted(gram, values, residual, rng)
    if indefinite:  # rows longer than 1 are scaled back to the diagonal of the kernel
        values /= np.maximum(np.sqrt(np.einsum("ij,ij->i", values, values)), 1.0)[:, None]
    converged = trace <= target
    residual += noise
    residual[pivots] = 0.0
    return Factor(
        values=values,
        residual=np.minimum(residual, 1.0),
        pivots=pivots,
        converged=converged,
        indefinite=indefinite,
    )


def _candidates(pending: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw rows without replacement in proportion to what is pending: the smallest of exponential clocks."""
    left = np.flatnonzero(pending)
    if len(left) <= _CANDIDATES:
        return left
    clocks = rng.exponential(size=len(left)) / pending[left]
    return np.sort(left[np.argpartition(clocks, _CANDIDATES)[:_CANDIDATES]])


def _choose(
    gram: Gram,
    candidates: IntArray,
    values: FloatArray,
    weights: FloatArray,
    most: int,
    negligible: float,
) -> tuple[IntArray, FloatArray]:
    """Choose pivots among the candidates greedily: pivoted Cholesky of their residual matrix.

    Returns
    -------
    tuple
        The rows chosen, and the Cholesky factor of their residual matrix.
    """
    matrix = gram.among(candidates) - values @ values.T
    diagonal = np.diagonal(matrix).copy()
    scaled = weights[candidates] * diagonal
    least = max(_KEEP * float(scaled.max()), negligible)
    columns = np.zeros((len(candidates), most))
    chosen: list[int] = []
    for step in range(most):
        best = int(scaled.argmax())
        if (scaled[best] <= least and chosen) or diagonal[best] <= 0.0:
            break
        column = (matrix[:, best] - columns[:, :step] @ columns[best, :step]) / np.sqrt(
            diagonal[best]
        )
        columns[:, step] = column
        diagonal -= column * column
        diagonal[best] = 0.0
        chosen.append(best)
        scaled = weights[candidates] * diagonal
        scaled[chosen] = 0.0
    return candidates[chosen], np.tril(columns[chosen, : len(chosen)])


def _update(
    gram: Gram,
    values: FloatArray,
    residual: FloatArray,
    pivots: IntArray,
    chosen: IntArray,
    triangle: FloatArray,
    executor: Executor | None,
) -> None:
    """Append the coordinates along the new pivots to all rows, and take them off the residual."""
    from scipy.linalg import solve_triangular

    rank = len(pivots)
    landmarks = gram.take(chosen)
    new = slice(rank, rank + len(chosen))
    inverse = solve_triangular(triangle, np.eye(len(chosen)), lower=True).T
    known = values[chosen, :rank].T.copy()

    def extend(rows: slice) -> None:
        block = gram.block(rows, landmarks)
        block -= values[rows, :rank] @ known
        block = block @ inverse
        values[rows, new] = block
        residual[rows] -= np.einsum("ij,ij->i", block, block)

    with one_blas_thread():
        for _ in map_blocks(extend, gram.blocks(8 * (new.stop + len(chosen))), executor=executor):
            pass
    values[chosen, new] = triangle
    values[pivots, new] = 0.0  # explained before, up to rounding


def _nearest_semidefinite(matrix: FloatArray, entry_error: float) -> tuple[FloatArray, bool]:
    """Set negative eigenvalues to 0 and scale to a unit diagonal; tell whether any was beyond rounding."""
    eigenvalues, vectors = np.linalg.eigh(matrix)
    rounding = len(matrix) * max(entry_error, 16.0 * EPSILON)
    if eigenvalues[0] >= -max(rounding, 1e-12 * eigenvalues[-1]):
        return matrix, False
    half = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
    half /= np.maximum(np.sqrt((half * half).sum(axis=1, keepdims=True)), np.finfo(np.float64).tiny)
    nearest: FloatArray = np.matmul(half, half.T)
    return nearest, True


def _contradicted(
    gram: Gram, values: FloatArray, residual: FloatArray, rng: np.random.Generator
) -> bool:
    """Tell whether some pair of rows is further from its product than a semidefinite residual allows."""
    rows = np.unique(rng.integers(gram.n_rows, size=_PAIRS // 64))
    gap = np.abs(gram.among(rows) - values[rows] @ values[rows].T)
    np.fill_diagonal(gap, 0.0)
    allowed = np.sqrt(residual[rows, None] * residual[rows])
    return bool((gap - allowed).max() > max(_INDEFINITE, 64.0 * gram.entry_error))


def _residual(gram: Gram, values: FloatArray, pivots: IntArray) -> FloatArray:
    residual = 1.0 - np.einsum("ij,ij->i", values, values)
    residual = np.clip(residual, 0.0, 1.0) + residual_noise(gram)
    residual[pivots] = 0.0
    return np.asarray(np.minimum(residual, 1.0), dtype=np.float64)


def residual_noise(gram: Gram) -> float:
    """Return the size of a residual that is nothing but rounding."""
    return 8.0 * EPSILON + 2.0 * gram.entry_error
