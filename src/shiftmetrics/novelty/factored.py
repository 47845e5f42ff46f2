"""Routes by a factor of the joint kernel matrix: whole, or from a few of its columns."""

from __future__ import annotations

import bisect

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.blocks import cpu_count
from shiftmetrics.novelty.eigensolver import eigenvalues_and_vectors, torch_eigenvalues, torch_eigh
from shiftmetrics.novelty.factor import Factor, dense_factor, pivoted_factor
from shiftmetrics.novelty.gram import TILE_ROWS, FeatureGram
from shiftmetrics.novelty.krylov import top_modes
from shiftmetrics.novelty.modes import KernelFunctions
from shiftmetrics.novelty.problem import Problem, Route, Solution, progress_bar
from shiftmetrics.novelty.spectrum import (
    difference,
    remainder,
    rounding,
    sample_moment,
    truncation,
)

EAGER_RANK = 1024
"""Up to this rank all eigenvectors are found at once; beyond it only those of the modes, the others on demand."""

_OVERHEAD = 64 << 20


def dense_bytes(problem: Problem) -> int:
    """Estimate the peak memory of the dense route: the factor, and the matrix of the eigenproblem."""
    gram = problem.gram
    columns = int(gram.features.shape[1]) if isinstance(gram, FeatureGram) else 0
    tiles = 32 * TILE_ROWS * columns * cpu_count()
    copy = 8 if problem.eigensolver == "torch" else 0
    return ((20 if gram.trusted else 44) + copy) * gram.n_rows**2 + tiles + _OVERHEAD


def cholesky_bytes(n_rows: int, rank: int) -> int:
    """Estimate the peak memory of the pivoted route: the factor, then the sums of a sample or the eigenproblem.

    Threads add up blocks of four times as many rows as columns, each with a copy that is weighted.
    """
    blocks = n_rows // (4 * max(1, rank)) + 1
    sums = 16 + 32 * min(blocks, cpu_count()) + 8 * min(blocks, 4 * cpu_count())
    return 8 * n_rows * rank + max(40, sums) * rank**2 + _OVERHEAD


def cholesky_rank(n_rows: int, memory: int) -> int:
    """Return the largest rank of the pivoted route that fits in ``memory`` bytes."""
    fits = bisect.bisect_right(range(n_rows + 1), memory, key=lambda rank: cholesky_bytes(n_rows, rank))
    return max(0, fits - 1)


def dense(problem: Problem) -> Factor:
    """Factor the whole kernel matrix."""
    with progress_bar(problem.progress, None, "dense Cholesky"):
        return dense_factor(problem.gram, executor=problem.executor)


def pivoted(problem: Problem, cap: int) -> Factor:
    """Factor the kernel matrix from at most ``cap`` of its columns."""
    with progress_bar(problem.progress, cap, "pivoted Cholesky") as bar:

        def report(rank: int, trace: float) -> None:
            bar.update(rank - bar.n)
            bar.set_postfix(residual=f"{trace:.1e}", refresh=False)

        return pivoted_factor(
            problem.gram,
            problem.row_weights,
            rtol=problem.rtol,
            max_rank=cap,
            executor=problem.executor,
            report=report,
        )


def by_factor(
    problem: Problem, factor: Factor, name: Route, reason: str, n_modes: int, reverse: bool, complete: bool
) -> Solution:
    """Solve in the span of a factor; all eigenvectors of a large one are found only when ``complete``."""
    from scipy.linalg import solve_triangular

    gram, eta = problem.gram, problem.eta
    rank = factor.rank
    complete = complete or rank <= EAGER_RANK
    with progress_bar(problem.progress, None, "eigenvalues"):
        errors = rounding(factor.diagonal, gram.n_test, gram.n_reference, eta, gram.entry_error)
        covariances = _covariances(problem, factor) if name == "cholesky" else None
        # A score alone needs the factor once only.
        alone = not (complete or n_modes or problem.n_lost or (reverse and eta != 1.0))
        matrix, mode_counts = _difference(problem, factor, covariances, eta, overwrite=alone)
        eigenvalues, vectors = _eigenvalues_and_vectors(
            problem, factor, matrix, None if complete else n_modes, _signed_weights(problem)
        )
        del matrix
        reverse_eigenvalues, lost = _reversed(problem, factor, covariances, eigenvalues, vectors, reverse)
        # Where nothing is novel the eigenvectors of rounding errors would be taken for modes.
        vectors = vectors[:, : int((eigenvalues > errors[1]).sum())]
        if reverse_eigenvalues is not None:
            lost = lost[:, : int((reverse_eigenvalues > errors[1]).sum())]
        values = factor.values @ vectors[:, :n_modes]
        triangle = factor.triangle
        # u(t) = f(t).w with the coordinates f(t) that solve triangle f(t) = k(pivots, t).
        coefficients, lost_coefficients = (
            solve_triangular(triangle, part, lower=True, trans="T") if part.size else part
            for part in (vectors, lost)
        )
    test = remainder(factor.residual[: gram.n_test], problem.test_weights)
    reference = remainder(factor.residual[gram.n_test :], problem.reference_weights)
    return Solution(
        method=name,
        reason=reason,
        rank=rank,
        eigenvalues=eigenvalues,
        reverse_eigenvalues=reverse_eigenvalues,
        values=values,
        coefficients=coefficients,
        functions=KernelFunctions(gram, gram.take(factor.pivots)),
        complete=complete,
        mode_counts=mode_counts,
        lost=truncation(test, reference, eta),
        reverse_lost=truncation(reference, test, eta),
        rounding=errors[0],
        cutoff=errors[2],
        converged=factor.converged,
        indefinite=factor.indefinite,
        lost_values=factor.values @ lost,
        lost_coefficients=lost_coefficients,
    )


def _reversed(
    problem: Problem,
    factor: Factor,
    covariances: tuple[FloatArray, FloatArray] | None,
    eigenvalues: FloatArray,
    vectors: FloatArray,
    reverse: bool,
) -> tuple[FloatArray | None, FloatArray]:
    """Return the eigenvalues of C_Y - eta C_X, where they are known or wanted, and the first vectors."""
    eta, n_lost = problem.eta, problem.n_lost
    if eta == 1.0:
        if len(eigenvalues) == vectors.shape[1] or not n_lost:
            return -eigenvalues[::-1], vectors[:, ::-1][:, :n_lost]
        weights = -_signed_weights(problem)
        top = top_modes(
            lambda block: factor.values @ (factor.values.T @ block), weights, n_lost, rng=problem.rng()
        )
        return -eigenvalues[::-1], factor.values.T @ top.coefficients
    if not reverse:
        return None, np.empty((factor.rank, 0))
    # C_Y - eta C_X = -eta (C_X - C_Y / eta)
    matrix, _ = _difference(problem, factor, covariances, 1.0 / eta)
    matrix *= -eta
    weights = np.concatenate([-eta * problem.test_weights, problem.reference_weights])
    return _eigenvalues_and_vectors(problem, factor, matrix, n_lost, weights)


def _signed_weights(problem: Problem) -> FloatArray:
    """Return the weights of all rows in C_X - eta C_Y."""
    return np.concatenate([problem.test_weights, -problem.eta * problem.reference_weights])


def _eigenvalues_and_vectors(
    problem: Problem, factor: Factor, matrix: FloatArray, n_vectors: int | None, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return all eigenvalues of a difference of covariances, and the vectors of the largest (None: of all).

    ``matrix`` is the difference in the factor's span, and ``weights`` what the rows have in it.
    """
    if problem.eigensolver == "scipy":
        return eigenvalues_and_vectors(matrix, n_vectors)
    if n_vectors is None or not factor.rank:
        return torch_eigh(matrix)
    if not n_vectors:
        return torch_eigenvalues(matrix), np.empty((factor.rank, 0))
    # All vectors would take several times as long as all values: Krylov finds the few that are wanted.
    top = top_modes(
        lambda block: factor.values @ (factor.values.T @ block), weights, n_vectors, rng=problem.rng()
    )
    if not top.converged:
        return torch_eigh(matrix)
    return torch_eigenvalues(matrix), factor.values.T @ top.coefficients


def _covariances(problem: Problem, factor: Factor) -> tuple[FloatArray, FloatArray]:
    """Return C_X and C_Y in the span of a factor of low rank."""
    n_test, n_rows = problem.gram.n_test, problem.gram.n_rows
    weights = np.concatenate([problem.test_weights, problem.reference_weights])
    samples = (slice(0, n_test), slice(n_test, n_rows))
    test, reference = (sample_moment(factor, rows, weights, executor=problem.executor) for rows in samples)
    return test.covariance, reference.covariance


def _difference(
    problem: Problem,
    factor: Factor,
    covariances: tuple[FloatArray, FloatArray] | None,
    eta: float,
    *,
    overwrite: bool = False,
) -> tuple[FloatArray, tuple[float, float]]:
    """Return C_X - eta C_Y and the mode counts of both samples."""
    if covariances is None:
        n_test, weights = problem.gram.n_test, (problem.test_weights, problem.reference_weights)
        return difference(factor, n_test, *weights, eta, overwrite=overwrite)
    test, reference = covariances
    return test - eta * reference, (_mode_count(test), _mode_count(reference))


def _mode_count(covariance: FloatArray) -> float:
    square = float(np.einsum("ij,ij->", covariance, covariance))
    return 1.0 / square if square > 0.0 else 1.0
