"""Routes to the spectrum: dense Cholesky, pivoted Cholesky, and the choice between them.

Each route estimates its memory before it allocates, and is refused in words when it would not fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.memory import check_memory, format_bytes
from shiftmetrics.novelty.factor import Factor, dense_factor, pivoted_factor
from shiftmetrics.novelty.gram import Gram
from shiftmetrics.novelty.modes import KernelFunctions
from shiftmetrics.novelty.spectrum import (
    difference,
    eigenvalues_and_vectors,
    remainder,
    rounding,
    sample_moment,
    truncation,
)

Method = Literal["auto", "dense", "cholesky"]
Route = Literal["dense", "cholesky"]

_FEW_ROWS = 1024
"""So many rows are factored whole in less than a second."""

_DENSE_ROWS = 16_384
"""Beyond it the dense route takes many minutes, and is taken only when asked for."""

_DEFAULT_RANK = 4096
_LEAST_RANK = 256

_EAGER_RANK = 1024
"""Up to this rank all eigenvectors are found at once; beyond it only those of the modes, the others on demand."""

_OVERHEAD = 64 << 20


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem:
    """Two weighted samples under one kernel, and how hard to try."""

    gram: Gram
    test_weights: FloatArray
    """Weights of the test rows, summing to 1."""
    reference_weights: FloatArray
    eta: float
    rtol: float
    max_rank: int | None
    memory_limit: int
    executor: Executor | None = field(default=None)
    progress: bool = True

    @property
    def row_weights(self) -> FloatArray:
        """Return s^2 of both samples: 1/n for test rows and eta/m for reference rows."""
        return np.concatenate([self.test_weights, self.eta * self.reference_weights])


@dataclass(frozen=True, eq=False, kw_only=True)
class Solution:
    """The spectrum by one of the routes.

    Attributes
    ----------
    method, reason : str
        The route, and why it was taken.
    rank : int
        Size of the eigenproblem.
    eigenvalues : ndarray of shape (rank,)
        Of C_X - eta C_Y, descending.
    reverse_eigenvalues : ndarray of shape (rank,) or None
        Of C_Y - eta C_X, descending.
    values : ndarray of shape (n_rows, k)
        The first eigenfunctions at the rows of both samples.
    coefficients : ndarray of shape (rank, k)
        Their coefficients in ``functions``: those of all positive modes when ``complete``, else of the first ones.
    mode_counts : tuple of float
        1 / |C|_F^2 of the test sample and of the reference.
    lost, reverse_lost : float
        How much the truncation may have taken off the sum of the positive eigenvalues.
    rounding, cutoff : float
        Sum of the rounding errors, and the size up to which an eigenvalue is one of the eigensolver. Eigenfunctions
        are kept for eigenvalues that stand out from the errors of the factor too.
    """

    method: Route
    reason: str
    rank: int
    eigenvalues: FloatArray
    reverse_eigenvalues: FloatArray | None
    values: FloatArray
    coefficients: FloatArray
    functions: KernelFunctions
    complete: bool
    mode_counts: tuple[float, float]
    lost: float
    reverse_lost: float
    rounding: float
    cutoff: float
    converged: bool
    indefinite: bool


def solve(
    problem: Problem, method: Method, *, n_modes: int, reverse: bool = False, complete: bool = False
) -> Solution:
    """Find the spectrum by ``method``.

    Parameters
    ----------
    problem : Problem
        The samples.
    method : {"auto", "dense", "cholesky"}
        The route.
    n_modes : int
        How many eigenfunctions to evaluate at the rows.
    reverse : bool, default False
        Whether the spectrum of C_Y - eta C_X is wanted too; at eta = 1 it comes for nothing.
    complete : bool, default False
        Whether the coefficients of all positive modes are wanted, however many.

    Raises
    ------
    MemoryError
        If the route does not fit in the memory limit.
    """
    factor, name, reason = _factor(problem, method)
    return _spectrum(problem, factor, name, reason, n_modes, reverse, complete)


def dense_bytes(n_rows: int, trusted: bool) -> int:
    """Estimate the peak memory of the dense route: the factor, and the matrix of the eigenproblem."""
    return (20 if trusted else 44) * n_rows**2 + _OVERHEAD


def cholesky_bytes(n_rows: int, rank: int) -> int:
    """Estimate the peak memory of the pivoted route."""
    return 8 * n_rows * rank + 40 * rank**2 + _OVERHEAD


def _factor(problem: Problem, method: Method) -> tuple[Factor, Route, str]:
    gram = problem.gram
    n_rows = gram.n_rows
    needed = dense_bytes(n_rows, gram.trusted)
    if method == "dense":
        check_memory(
            needed,
            problem.memory_limit,
            f"method='dense' with {n_rows} rows",
            "Choose method='cholesky', take fewer rows, or raise memory_limit.",
        )
        return _dense(problem), "dense", "asked for"
    if method == "auto" and n_rows <= _FEW_ROWS and needed <= problem.memory_limit:
        return _dense(problem), "dense", f"{n_rows} rows are few enough to factor the whole matrix"
    fits = needed <= problem.memory_limit and n_rows <= _DENSE_ROWS
    cap = _rank_cap(problem, quarter=method == "auto" and fits)
    factor = _pivoted(problem, cap)
    if method == "cholesky":
        return factor, "cholesky", "asked for"
    if factor.converged and not factor.indefinite:
        return factor, "cholesky", f"{factor.rank} pivots explain all {n_rows} rows to the tolerance"
    found = (
        "the kernel is not positive semidefinite"
        if factor.indefinite
        else f"{factor.rank} pivots were not enough"
    )
    if fits:
        del factor
        return _dense(problem), "dense", f"{found}, and {n_rows} rows fit in memory"
    return (
        factor,
        "cholesky",
        f"{found}, but the dense route would need {format_bytes(needed)} for {n_rows} rows",
    )


def _rank_cap(problem: Problem, *, quarter: bool) -> int:
    """Return the largest rank of the pivoted route."""
    n_rows = problem.gram.n_rows
    if problem.max_rank is not None:
        cap = min(problem.max_rank, n_rows)
        check_memory(
            cholesky_bytes(n_rows, cap),
            problem.memory_limit,
            f"max_rank={cap} with {n_rows} rows",
            "Lower max_rank, or raise memory_limit.",
        )
        return cap
    cap = min(max(n_rows // 4, _LEAST_RANK) if quarter else _DEFAULT_RANK, n_rows)
    if cholesky_bytes(n_rows, cap) > problem.memory_limit:
        # 8 N r + 40 r^2 = limit, solved for r.
        room = max(0, problem.memory_limit - _OVERHEAD)
        cap = int(room / (4 * n_rows + np.sqrt(16.0 * n_rows**2 + 40.0 * room)))
        check_memory(
            cholesky_bytes(n_rows, min(_LEAST_RANK, n_rows)) if cap < min(_LEAST_RANK, n_rows) else 0,
            problem.memory_limit,
            f"method='cholesky' with {n_rows} rows",
            "Take fewer rows, set a lower max_rank, or raise memory_limit.",
        )
    return cap


def _dense(problem: Problem) -> Factor:
    with _bar(problem.progress, None, "dense Cholesky"):
        return dense_factor(problem.gram, executor=problem.executor)


def _pivoted(problem: Problem, cap: int) -> Factor:
    with _bar(problem.progress, cap, "pivoted Cholesky") as bar:

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


def _spectrum(
    problem: Problem, factor: Factor, name: Route, reason: str, n_modes: int, reverse: bool, complete: bool
) -> Solution:
    from scipy.linalg import solve_triangular

    gram, eta = problem.gram, problem.eta
    rank = factor.rank
    complete = complete or rank <= _EAGER_RANK
    with _bar(problem.progress, None, "eigenvalues"):
        covariances = _covariances(problem, factor) if name == "cholesky" else None
        matrix, mode_counts = _difference(problem, factor, covariances, eta)
        eigenvalues, vectors = eigenvalues_and_vectors(matrix, None if complete else n_modes)
        reverse_eigenvalues = -eigenvalues[::-1] if eta == 1.0 else None
        if reverse and eta != 1.0:
            # C_Y - eta C_X = -eta (C_X - C_Y / eta)
            matrix, _ = _difference(problem, factor, covariances, 1.0 / eta)
            reverse_eigenvalues = -eta * eigenvalues_and_vectors(matrix, 0)[0][::-1]
        triangle = factor.triangle
        errors = rounding(np.diagonal(triangle), gram.n_test, gram.n_reference, eta, gram.entry_error)
        # Where nothing is novel the eigenvectors of rounding errors would be taken for modes.
        vectors = vectors[:, : int((eigenvalues > errors[1]).sum())]
        values = factor.values @ vectors[:, :n_modes]
        # u(t) = f(t).w with the coordinates f(t) that solve triangle f(t) = k(pivots, t).
        coefficients = solve_triangular(triangle, vectors, lower=True, trans="T") if rank else vectors
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
    )


def _covariances(problem: Problem, factor: Factor) -> tuple[FloatArray, FloatArray]:
    """Return C_X and C_Y in the span of a factor of low rank."""
    n_test, n_rows = problem.gram.n_test, problem.gram.n_rows
    weights = np.concatenate([problem.test_weights, problem.reference_weights])
    samples = (slice(0, n_test), slice(n_test, n_rows))
    test, reference = (sample_moment(factor, rows, weights, executor=problem.executor) for rows in samples)
    return test.covariance, reference.covariance


def _difference(
    problem: Problem, factor: Factor, covariances: tuple[FloatArray, FloatArray] | None, eta: float
) -> tuple[FloatArray, tuple[float, float]]:
    """Return C_X - eta C_Y and the mode counts of both samples."""
    if covariances is None:
        return difference(factor, problem.gram.n_test, problem.test_weights, problem.reference_weights, eta)
    test, reference = covariances
    return test - eta * reference, (_mode_count(test), _mode_count(reference))


def _mode_count(covariance: FloatArray) -> float:
    square = float(np.einsum("ij,ij->", covariance, covariance))
    return 1.0 / square if square > 0.0 else 1.0


@contextmanager
def _bar(progress: bool, total: int | None, title: str) -> Iterator[Any]:
    """Show a progress bar, after two seconds of work."""
    from tqdm import tqdm

    with tqdm(total=total, desc=title, delay=2.0, disable=not progress, leave=False) as bar:
        yield bar
