"""The choice of a route to the spectrum, and what each needs.

Exact: "dense", and "cosine" for that kernel. With a certificate: "cholesky" and "landmarks". For modes, while the
score is that of a part of the rows: "krylov" and "fourier". Each estimates its memory before it allocates, and is
refused in words when it would not fit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from shiftmetrics._core.memory import check_memory, format_bytes
from shiftmetrics._core.validation import describe
from shiftmetrics.novelty.factored import (
    by_factor,
    cholesky_bytes,
    cholesky_rank,
    dense,
    dense_bytes,
    pivoted,
)
from shiftmetrics.novelty.feature_map import sums_bytes
from shiftmetrics.novelty.gram import FeatureGram
from shiftmetrics.novelty.kernels import CosineKernel, GaussianKernel
from shiftmetrics.novelty.krylov import KernelProduct, krylov_bytes, top_modes
from shiftmetrics.novelty.landmarks import MAX_RANK, PILOT_ROWS
from shiftmetrics.novelty.mapped import by_columns, by_frequencies, by_landmarks, choose_landmarks
from shiftmetrics.novelty.modes import KernelFunctions
from shiftmetrics.novelty.problem import Method, Problem, Solution, progress_bar
from shiftmetrics.novelty.spectrum import rounding
from shiftmetrics.novelty.subsample import draw_both

_FEW_ROWS = 1024
"""So many rows are factored whole in less than a second."""

_DENSE_ROWS = 16_384
"""Beyond it the dense route takes many minutes, and is taken only when asked for."""

_DEFAULT_RANK = 4096
_LEAST_RANK = 256

_VACUOUS = 0.1
"""Landmarks that leave out more than this share of the trace have a certificate that says little."""


def check_method(method: Method, kernel: Any) -> None:
    """Raise a ValueError for a route that does not serve a kernel."""
    needed = {"fourier": "gaussian", "cosine": "cosine"}.get(method)
    if needed is not None and kernel != needed:
        got = kernel if isinstance(kernel, str) else "a function"
        raise ValueError(
            describe("kernel", f"{needed!r} with method={method!r}", repr(got), "Choose method='auto'.")
        )


def solve(
    problem: Problem, method: Method, *, n_modes: int, reverse: bool = False, complete: bool = False
) -> Solution:
    """Find the spectrum by ``method``.

    Parameters
    ----------
    problem : Problem
        The samples.
    method : {"auto", "dense", "cholesky", "landmarks", "krylov", "fourier", "cosine"}
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
    if method == "auto":
        return _chosen(problem, n_modes, reverse, complete)
    _refuse(problem, method, n_modes)
    if method == "dense":
        return by_factor(problem, dense(problem), "dense", "asked for", n_modes, reverse, complete)
    if method == "cholesky":
        factor = pivoted(problem, _rank_cap(problem, quarter=False))
        return by_factor(problem, factor, "cholesky", "asked for", n_modes, reverse, complete)
    if method == "landmarks":
        landmarks = choose_landmarks(problem, _landmark_rank(problem))
        return by_landmarks(problem, landmarks, "asked for", n_modes, reverse)
    if method == "cosine":
        return by_columns(problem, "asked for", n_modes, reverse)
    if method == "fourier":
        solution = by_frequencies(problem, "asked for", n_modes, complete=complete)
    else:
        solution = _by_krylov(problem, n_modes)
    return solution if complete else _with_score(problem, solution, reverse)


def sampling_warnings(solution: Solution, n_frequencies: int, n_rows: int) -> list[str]:
    """Return what must be said beside a score that does not come from the eigenvalues of all ``n_rows`` rows."""
    if solution.scored is None:
        return []
    found = []
    gram = solution.scored[0].gram
    if gram.n_rows < n_rows:
        found.append(
            f"The score is that of {gram.n_test} rows of the sample and {gram.n_reference} of the reference, drawn "
            "at random: compare it only with scores of as many rows. The eigenvalues and modes are of all rows."
        )
    if solution.method == "fourier":
        found.append(
            f"The eigenvalues and modes come from {n_frequencies} random frequencies: the first ones are right "
            "within a few percent. The many small ones are cut short, so no score should be made of them."
        )
    return found


def _chosen(problem: Problem, n_modes: int, reverse: bool, complete: bool) -> Solution:
    """Choose the route that gives most for the memory and for minutes of time, and say why."""
    gram = problem.gram
    n_rows = gram.n_rows
    kernel = getattr(gram, "kernel", None)
    if isinstance(gram, FeatureGram) and isinstance(kernel, CosineKernel):
        columns = int(gram.features.shape[1])
        if columns < n_rows and _needs(problem, "cosine", n_modes) <= problem.memory_limit:
            return by_columns(problem, f"the cosine kernel is exact in {columns} columns", n_modes, reverse)
    needed = dense_bytes(problem)
    if n_rows <= _FEW_ROWS and needed <= problem.memory_limit:
        reason = f"{n_rows} rows are few enough to factor the whole matrix"
        return by_factor(problem, dense(problem), "dense", reason, n_modes, reverse, complete)
    if n_rows > _DENSE_ROWS and _needs(problem, "landmarks", n_modes) <= problem.memory_limit:
        return _chosen_for_many(problem, n_modes, reverse, complete)
    fits = needed <= problem.memory_limit and n_rows <= _DENSE_ROWS
    factor = pivoted(problem, _rank_cap(problem, quarter=fits))
    reason = f"{factor.rank} pivots explain all {n_rows} rows to the tolerance"
    if not factor.converged or factor.indefinite:
        found = (
            "the kernel is not positive semidefinite"
            if factor.indefinite
            else f"{factor.rank} pivots were not enough"
        )
        if fits:
            del factor
            reason = f"{found}, and {n_rows} rows fit in memory"
            return by_factor(problem, dense(problem), "dense", reason, n_modes, reverse, complete)
        reason = f"{found}, but the dense route would need {format_bytes(needed)} for {n_rows} rows"
    return by_factor(problem, factor, "cholesky", reason, n_modes, reverse, complete)


def _chosen_for_many(problem: Problem, n_modes: int, reverse: bool, complete: bool) -> Solution:
    """Choose for more rows than the dense route can take: landmarks of a part of them tell what will do."""
    n_rows = problem.gram.n_rows
    landmarks = choose_landmarks(problem, _landmark_rank(problem))
    found = f"{landmarks.size} landmarks leave out {landmarks.left_out:.1e} of a part of the {n_rows} rows"
    rank = min(2 * landmarks.size, _DEFAULT_RANK, n_rows)
    if landmarks.size < _landmark_rank(problem) and cholesky_bytes(n_rows, rank) <= problem.memory_limit:
        factor = pivoted(problem, rank)
        if factor.converged:
            reason = f"{factor.rank} pivots explain all {n_rows} rows to the tolerance"
            return by_factor(problem, factor, "cholesky", reason, n_modes, reverse, complete)
        del factor
    kernel = getattr(problem.gram, "kernel", None)
    if (
        landmarks.left_out > _VACUOUS
        and isinstance(kernel, GaussianKernel)
        and _needs(problem, "fourier", n_modes) <= problem.memory_limit
    ):
        reason = f"{found}: too much for a certificate that says something"
        solution = by_frequencies(problem, reason, n_modes, complete=complete)
        return solution if complete else _with_score(problem, solution, reverse)
    reason = f"{found}, and the dense route would need {format_bytes(dense_bytes(problem))}"
    return by_landmarks(problem, landmarks, reason, n_modes, reverse)


def _by_krylov(problem: Problem, n_modes: int) -> Solution:
    """Find the first modes from products with the whole kernel matrix."""
    gram = problem.gram
    wanted = max(1, n_modes)
    stored = krylov_bytes(gram.n_rows, wanted, stored=True) <= problem.memory_limit
    weights = np.concatenate([problem.test_weights, -problem.eta * problem.reference_weights])
    with progress_bar(problem.progress, None, "block Krylov") as bar:

        def report(bound: float) -> None:
            bar.update()
            bar.set_postfix(bound=f"{bound:.1e}", refresh=False)

        product = KernelProduct(gram, stored=stored, executor=problem.executor)
        top = top_modes(
            product,
            weights,
            wanted,
            tolerance=max(problem.rtol, 1e-10),
            trusted=gram.trusted,
            rng=problem.rng(),
            report=report,
        )
        counts = product.mode_counts(problem.test_weights, problem.reference_weights)
    errors = rounding(np.ones(1), gram.n_test, gram.n_reference, problem.eta, gram.entry_error)
    positive = int((top.eigenvalues > errors[1] + top.bounds).sum())
    return Solution(
        method="krylov",
        reason="asked for" + ("" if stored else "; the kernel matrix is made anew for each product"),
        rank=len(top.eigenvalues),
        eigenvalues=top.eigenvalues[:positive],
        reverse_eigenvalues=None,
        values=top.values[:, : min(positive, n_modes)],
        coefficients=top.coefficients[:, :positive],
        functions=KernelFunctions(gram, gram.take(np.arange(gram.n_rows))),
        complete=True,
        mode_counts=counts,
        rounding=errors[0],
        cutoff=errors[2],
        converged=top.converged,
        indefinite=top.indefinite or product.contradicted,
        bound=float(top.bounds.max(initial=0.0)) + errors[1],
    )


def _with_score(problem: Problem, solution: Solution, reverse: bool) -> Solution:
    """Add an exact route on a random part of the rows, for the score."""
    rows, test, reference = draw_both(
        problem.test_weights,
        problem.reference_weights,
        problem.score_rows,
        problem.rng(),
        paired=problem.paired,
    )
    part = replace(
        problem,
        gram=problem.gram.subset(rows),
        test_weights=test,
        reference_weights=reference,
        max_rank=None,
    )
    scored = _chosen(part, 0, reverse, complete=False)
    indefinite = solution.indefinite or scored.indefinite
    return replace(solution, scored=(part, scored), indefinite=indefinite)


def _needs(problem: Problem, method: Method, n_modes: int) -> int:
    """Estimate the peak memory of a route."""
    gram = problem.gram
    columns = int(gram.features.shape[1]) if isinstance(gram, FeatureGram) else 1
    values = 24 * gram.n_rows * n_modes
    if method == "dense":
        return dense_bytes(problem)
    if method == "cosine":
        return values + sums_bytes(columns, columns)
    if method == "fourier":
        return values + sums_bytes(2 * problem.n_frequencies, columns) + 160 * problem.score_rows**2
    if method == "krylov":
        return krylov_bytes(gram.n_rows, max(1, n_modes), stored=False) + 160 * problem.score_rows**2
    rank = _landmark_rank(problem)
    return values + sums_bytes(rank, columns) + 32 * min(PILOT_ROWS, gram.n_rows) * (rank + columns)


def _refuse(problem: Problem, method: Method, n_modes: int) -> None:
    """Raise a MemoryError in words for a route that would not fit; the pivoted one adapts its rank instead."""
    if method == "cholesky":
        return
    n_rows = problem.gram.n_rows
    what, remedy = {
        "dense": (f"{n_rows} rows", "Choose method='cholesky', take fewer rows, or raise memory_limit."),
        "landmarks": (
            f"max_rank={_landmark_rank(problem)}",
            "Lower max_rank or n_modes, or raise memory_limit.",
        ),
        "krylov": (f"{n_rows} rows", "Lower n_modes or score_rows, or raise memory_limit."),
        "fourier": (
            f"n_frequencies={problem.n_frequencies} and score_rows={problem.score_rows}",
            "Lower them or n_modes, or raise memory_limit.",
        ),
        "cosine": (f"{n_rows} rows", "Choose method='landmarks', reduce the columns, or raise memory_limit."),
    }[method]
    check_memory(
        _needs(problem, method, n_modes), problem.memory_limit, f"method={method!r} with {what}", remedy
    )


def _landmark_rank(problem: Problem) -> int:
    return min(MAX_RANK if problem.max_rank is None else problem.max_rank, problem.gram.n_rows)


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
        cap = cholesky_rank(n_rows, problem.memory_limit)
        check_memory(
            cholesky_bytes(n_rows, min(_LEAST_RANK, n_rows)) if cap < min(_LEAST_RANK, n_rows) else 0,
            problem.memory_limit,
            f"method='cholesky' with {n_rows} rows",
            "Take fewer rows, set a lower max_rank, or raise memory_limit.",
        )
    return cap
