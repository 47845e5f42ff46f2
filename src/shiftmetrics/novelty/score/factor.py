"""Pivoted Cholesky factors of the joint kernel matrix, K = F F' + residual, which never form the matrix.

Row i of F holds the coordinates of row i in an orthonormal basis of the span of a few rows, the pivots. Nothing is
added to the diagonal: a matrix that is singular is factored up to its rank.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.blocks import map_blocks, one_blas_thread
from shiftmetrics.novelty.score.gram import Gram
from shiftmetrics.novelty.score.kernels import EPSILON, refuse_indefinite

# A round looks at so many rows, and takes so many of them as pivots at most.
_CANDIDATES = 512
_BLOCK_PIVOTS = 128
_KEEP = 0.01
"""A candidate becomes a pivot while its residual is at least this fraction of the largest at the start of the
round."""

INDEFINITE = 1e-6
"""A residual diagonal below minus this shows that the kernel is not positive semidefinite."""


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
    converged : bool
        Whether the residual is as small as was asked for.
    """

    values: FloatArray
    residual: FloatArray
    pivots: IntArray
    converged: bool

    @property
    def rank(self) -> int:
        """Return the number of pivots."""
        return int(self.values.shape[1])


def pivoted_factor(
    gram: Gram,
    weights: FloatArray,
    *,
    rtol: float,
    max_rank: int,
    executor: Executor | None = None,
) -> Factor:
    """Factor the kernel matrix from a few of its columns, those of the rows that are explained least.

    In rounds: rows sampled in proportion to their weighted residual are the candidates, the greedy choice among them
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

    Raises
    ------
    ValueError
        If a row turns out to be longer than 1, which no positive semidefinite kernel allows.
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
    # No tolerance below the noise could be reached: what is left then is rounding.
    target = max(rtol, noise) * float(weights.sum())
    while True:
        rank = len(pivots)
        pending = np.where(residual > noise, weights * residual, 0.0)
        trace = float(pending.sum())
        if trace <= target or rank == max_rank:
            break
        # 1. Candidates, and the best of them.
        candidates = _candidates(pending, rng)
        most = min(_BLOCK_PIVOTS, max_rank - rank)
        known = values[candidates, :rank]
        chosen, triangle = _choose(gram, candidates, known, weights, most, target / n_rows)
        if not len(chosen):
            # Nothing but rounding is left in these rows.
            residual[candidates] = 0.0
            continue
        # 2. All rows along the new pivots.
        _update(gram, values, residual, pivots, chosen, triangle, executor)
        pivots = np.concatenate([pivots, chosen])
        if residual.min() < -INDEFINITE:
            refuse_indefinite("one that contradicts itself")
        residual[chosen] = 0.0
        np.maximum(residual, 0.0, out=residual)
    residual += noise
    residual[pivots] = 0.0
    return Factor(
        values=values[:, : len(pivots)],
        residual=np.minimum(residual, 1.0),
        pivots=pivots,
        converged=trace <= target,
    )


def residual_noise(gram: Gram) -> float:
    """Return the size of a residual that is nothing but rounding."""
    return 8.0 * EPSILON + 2.0 * gram.entry_error


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
    # If every row is below its part of the target, the whole residual is below it: no more pivots are needed.
    least = max(_KEEP * float(scaled.max()), negligible)
    columns = np.zeros((len(candidates), most))
    chosen: list[int] = []
    for step in range(most):
        best = int(scaled.argmax())
        if (scaled[best] <= least and chosen) or diagonal[best] <= 0.0:
            break
        # What the pivots before leave of this column, scaled to a unit vector.
        column = matrix[:, best] - columns[:, :step] @ columns[best, :step]
        column /= np.sqrt(diagonal[best])
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
        # What the pivots before leave of the similarities to the new ones, in the basis that the new ones span.
        block -= values[rows, :rank] @ known
        block = block @ inverse
        values[rows, new] = block
        residual[rows] -= np.einsum("ij,ij->i", block, block)

    blocks = gram.blocks(8 * (new.stop + len(chosen)))
    with one_blas_thread():
        for _ in map_blocks(extend, blocks, executor=executor):
            pass
    values[chosen, new] = triangle
    # The pivots before are explained already, up to rounding.
    values[pivots, new] = 0.0
