"""The choice of a route to the spectrum, and the memory that each needs.

Exact: "dense", and "cosine" for that kernel. With an error bound: "landmarks". Each estimates its memory before it
allocates, and is refused with the figure and the alternative when it would not fit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.blocks import cpu_count
from shiftmetrics._core.exceptions import ArgumentValueError, Setting, Wording
from shiftmetrics._core.options import check_memory
from shiftmetrics._core.validation import check_choice
from shiftmetrics.novelty.score.basis import ColumnBasis, PivotBasis, Route, ScoreBasis
from shiftmetrics.novelty.score.factor import Factor, pivoted_factor
from shiftmetrics.novelty.score.gram import TILE_ROWS
from shiftmetrics.novelty.score.kernels import kernel_of
from shiftmetrics.novelty.score.solution import (
    LANDMARK_RTOL,
    NoveltyProblem,
    NoveltySolution,
    solve_dense,
    solve_in,
)
from shiftmetrics.novelty.score.spectrum import moments_bytes

Method = Literal["auto", "dense", "landmarks", "cosine"]
METHODS: tuple[Method, ...] = ("auto", "dense", "landmarks", "cosine")

DENSE_SECONDS = 10.0
"""Beyond it the dense route is taken only when it is chosen by name."""

_SECONDS = 2.6e-10
"""Times the cube of the rows: 4.4 seconds for 2,561 of full rank, on one of two cores."""

_FEW_COLUMNS = 1024

_FEW_ROWS = 1024
"""So many rows are factored whole in less than a second."""

_LEAST_RANK = 256
_MAX_LANDMARKS = 1024
_PRODUCT = 2e11
"""Multiplications of a pass over all rows: some seconds."""

_PILOT_ROWS = 4096
"""Rows of each sample that landmarks are chosen from."""

_SCORE_ROWS = 1000
"""Rows of each sample for a score where no route serves all rows."""

_OVERHEAD = 64 << 20
_REMEDY = "Take fewer rows, or raise memory_limit."


def check_method(method: Any, kernel: Any) -> Method:
    """Return the name of a route.

    Raises
    ------
    ValueError
        If the route is unknown, or does not serve the kernel.
    """
    name = check_choice(method, "method", METHODS)
    if name == "cosine" and not kernel_of(kernel).linear:
        got = kernel if isinstance(kernel, str) else "a function"
        expected = Wording("'cosine' with ", Setting("method", "cosine"))
        remedy = Wording("Choose ", Setting("method", "auto"), ".")
        raise ArgumentValueError("kernel", expected, value=got, remedy=remedy)
    return name


def solve(problem: NoveltyProblem, method: Method, *, vectors: bool = False) -> NoveltySolution:
    """Find the spectrum by ``method``.

    Parameters
    ----------
    problem : NoveltyProblem
        The samples.
    method : {"auto", "dense", "landmarks", "cosine"}
        The route.
    vectors : bool, default False
        Whether to compute the eigenvectors of the positive eigenvalues; otherwise a score alone.

    Raises
    ------
    MemoryError
        If the route does not fit in the memory limit.
    """
    reason = "chosen by name"
    basis = None
    if method == "auto":
        basis, reason, takes_part = _chosen(problem)
        if takes_part:
            problem = _part_of(problem, _SCORE_ROWS)
            _refuse(problem, "dense")
    else:
        _refuse(problem, method)
        if method == "cosine":
            basis = ColumnBasis(problem.gram)
        elif method == "landmarks":
            basis = _landmarks(problem, _landmark_rank(problem))[0]
    if basis is not None:
        return solve_in(basis, problem, reason, vectors=vectors)
    # None where the kernel matrix is singular, as by rows that are copies of each other.
    solution = solve_dense(problem, reason, vectors=vectors)
    if solution is not None:
        return solution
    # A singular matrix is factored with pivots, up to its rank; the sums of its moments take more memory.
    n_rows = problem.gram.n_rows
    what = f"method='dense' with {n_rows} rows, some of them copies of others,"
    check_memory(_singular_bytes(n_rows), problem.memory_limit, what, _REMEDY)
    factor = _pivoted(problem, n_rows, 0.0)
    basis = _pivot_basis(problem, problem, factor, "dense")
    return solve_in(basis, problem, reason, vectors=vectors)


def _part_of(problem: NoveltyProblem, size: int) -> NoveltyProblem:
    """Return a problem of at most ``size`` rows of weight of each sample, chosen at random; pairs together."""
    # Rows without weight are no part of a sample, and of pairs both need weight.
    rng, weights = problem.rng(), (problem.test_weights, problem.reference_weights)
    having = [side > 0.0 for side in weights]
    if problem.paired:
        having = [having[0] & having[1]] * 2
    rows = [np.flatnonzero(part) for part in having]
    chosen = [
        part if len(part) <= size else np.sort(rng.choice(part, size, replace=False))
        for part in rows
    ]
    if problem.paired:
        chosen[1] = chosen[0]
    test, reference = (
        side[part] / side[part].sum() for side, part in zip(weights, chosen, strict=True)
    )
    joined = np.concatenate([chosen[0], chosen[1] + problem.gram.n_test])
    # A part that is all there is needs no copy, unless chunks have to be read.
    whole = len(joined) == problem.gram.n_rows and not problem.gram.sequential
    gram = problem.gram if whole else problem.gram.subset(joined)
    return replace(problem, gram=gram, test_weights=test, reference_weights=reference)


def _chosen(problem: NoveltyProblem) -> tuple[ScoreBasis | None, str, bool]:
    """Choose the route that gives most for seconds of time.

    Returns
    -------
    tuple
        Its basis, None for the dense route; why; and whether a part of the rows has to do.
    """
    gram, limit, n_rows = problem.gram, problem.memory_limit, problem.gram.n_rows
    # 1. Columns, where they are fewer.
    if gram.kernel.linear:
        columns = int(gram.features.shape[1])
        if columns < n_rows and columns <= _FEW_COLUMNS and _needs(problem, "cosine") <= limit:
            return (
                ColumnBasis(gram),
                f"the {gram.kernel.name} kernel is exact in {columns} columns",
                False,
            )
    # 2. All of the matrix, where it is small.
    seconds = _SECONDS * n_rows**3
    fits = seconds <= DENSE_SECONDS and not gram.sequential and _needs(problem, "dense") <= limit
    if n_rows <= _FEW_ROWS and fits:
        return None, f"{n_rows} rows are few enough to factor the whole matrix", False
    if not fits and _needs(problem, "landmarks") > limit:
        return None, f"no route to the score of {n_rows} rows fits into the memory limit", True
    # 3. Landmarks, where they leave out little enough; otherwise all of the matrix, or that of a part of the rows.
    # Where the whole matrix is quick to factor, more landmarks than a quarter of the rows do not pay.
    most = max(n_rows // 4, _LEAST_RANK) if fits else _landmark_rank(problem)
    landmarks, factor = _landmarks(problem, most)
    left_out = float(factor.residual.mean())
    reason = f"{landmarks.size} landmarks leave out {left_out:.1e} of the {n_rows} rows, or of a part of them"
    if factor.converged or (left_out <= LANDMARK_RTOL and not fits):
        return landmarks, reason, False
    if fits:
        return None, f"{reason}, and so few rows are factored whole in seconds", False
    return None, f"{reason}, and method='dense' would take about {seconds:.0f} s", True


def _landmarks(problem: NoveltyProblem, most: int) -> tuple[PivotBasis, Factor]:
    """Choose landmarks among a random part of the rows, where there are many; return the factor of this part too."""
    part = _part_of(replace(problem, paired=False), _PILOT_ROWS)
    factor = _pivoted(part, most, problem.rtol)
    return _pivot_basis(problem, part, factor, "landmarks"), factor


def _pivoted(problem: NoveltyProblem, most: int, rtol: float) -> Factor:
    weights, executor = problem.row_weights, problem.executor
    return pivoted_factor(problem.gram, weights, rtol=rtol, max_rank=most, executor=executor)


def _pivot_basis(
    problem: NoveltyProblem, part: NoveltyProblem, factor: Factor, method: Route
) -> PivotBasis:
    """Return the basis of the pivots of the factor of a part of the rows."""
    known = factor if part.gram.n_rows == problem.gram.n_rows else None
    landmarks = part.gram.take(factor.pivots)
    return PivotBasis(problem.gram, method, landmarks, factor.values[factor.pivots], known)


def _needs(problem: NoveltyProblem, method: Method) -> int:
    """Estimate the peak memory of a route."""
    gram = problem.gram
    columns = int(gram.features.shape[1])
    if method == "dense":
        # The factor, and the matrix of the eigenproblem.
        tiles = 32 * TILE_ROWS * gram.n_rows * cpu_count()
        return 20 * gram.n_rows**2 + tiles + _OVERHEAD
    if method == "cosine":
        return moments_bytes(columns, columns)
    rank = _landmark_rank(problem)
    return moments_bytes(rank, columns) + 32 * min(_PILOT_ROWS, gram.n_rows) * (rank + columns)


def _singular_bytes(n_rows: int) -> int:
    """Estimate the peak memory of the dense route where the matrix is singular: six matrices, and blocks."""
    return 50 * n_rows**2 + _OVERHEAD


def _refuse(problem: NoveltyProblem, method: Method) -> None:
    """Raise an error for a route that would not fit."""
    n_rows = problem.gram.n_rows
    if problem.gram.sequential and method == "dense":
        expected = f"'auto', 'landmarks' or 'cosine' for batches of {n_rows} rows"
        raise ArgumentValueError(
            "method", expected, value=method, remedy="Or pass all rows as one array."
        )
    size = f"{_landmark_rank(problem)} landmarks" if method == "landmarks" else f"{n_rows} rows"
    check_memory(
        _needs(problem, method), problem.memory_limit, f"method={method!r} with {size}", _REMEDY
    )


def _landmark_rank(problem: NoveltyProblem) -> int:
    """Return the most landmarks: as many as the time for all rows allows."""
    n_rows = problem.gram.n_rows
    # The covariances of n rows in r coordinates take n r^2 multiplications.
    in_time = max(_LEAST_RANK, int((_PRODUCT / n_rows) ** 0.5))
    return min(_MAX_LANDMARKS, in_time, n_rows)
