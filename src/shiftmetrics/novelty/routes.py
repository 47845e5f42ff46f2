"""The choice of a route to the spectrum, and the memory that each needs.

Exact: "dense", and "cosine" for that kernel. With an error bound: "cholesky" and "landmarks". For modes, while the
score is that of a part of the rows: "fourier". Each estimates its memory before it allocates, and is refused with the
figure and the alternative when it would not fit.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.blocks import cpu_count
from shiftmetrics._core.memory import check_memory
from shiftmetrics._core.validation import check_choice, describe
from shiftmetrics.novelty.factor import dense_factor, pivoted_factor
from shiftmetrics.novelty.gram import TILE_ROWS
from shiftmetrics.novelty.kernels import CosineKernel
from shiftmetrics.novelty.maps import (
    CosineFeatures,
    FeatureMap,
    FourierFeatures,
    LandmarkFeatures,
    PointFunctions,
    Route,
)
from shiftmetrics.novelty.options import FourierMap, LandmarkMap
from shiftmetrics.novelty.solution import (
    LANDMARK_RTOL,
    FactorMap,
    Problem,
    Solution,
    progress_bar,
    solve_in,
)
from shiftmetrics.novelty.spectrum import moments_bytes

Method = Literal["auto", "dense", "cholesky", "landmarks", "fourier", "cosine"]
METHODS: tuple[Method, ...] = ("auto", "dense", "cholesky", "landmarks", "fourier", "cosine")

DENSE_ROWS = 2560
"""Beyond it the dense route takes more than seconds, and is taken only when it is chosen by name."""

_PIVOTED_ROWS = 131_072
_QUICK_RANK = 512
_FEW_COLUMNS = 1024

_FEW_ROWS = 1024
"""So many rows are factored whole in less than a second."""

_DEFAULT_RANK = 4096
_LEAST_RANK = 256
_MAX_LANDMARKS = 1024
_PRODUCT = 2e11
"""Multiplications of a pass over all rows: some seconds."""

_PILOT_ROWS = 4096
"""Rows of each sample that landmarks are chosen from."""

_MOST_VALUES = 20
"""So many functions at most are evaluated at all rows at a time."""

_OVERHEAD = 64 << 20


def check_method(method: Any, kernel: Any) -> tuple[Method, dict[str, int]]:
    """Return the name of a route, and the sizes that the user set.

    Raises
    ------
    ValueError
        If the route is unknown, or does not serve the kernel.
    """
    sizes: dict[str, int] = {}
    if isinstance(method, FourierMap):
        sizes, method = vars(method), "fourier"
    elif isinstance(method, LandmarkMap):
        sizes, method = {"max_rank": method.n_landmarks}, "landmarks"
    name = check_choice(method, "method", METHODS)
    needed = {"fourier": "gaussian", "cosine": "cosine"}.get(name)
    if needed is not None and kernel != needed:
        got = kernel if isinstance(kernel, str) else "a function"
        expected = f"{needed!r} with method={name!r}"
        raise ValueError(describe("kernel", expected, repr(got), "Choose method='auto'."))
    return name, sizes


def solve(problem: Problem, method: Method, *, vectors: bool = False) -> Solution:
    """Find the spectrum by ``method``.

    Parameters
    ----------
    problem : Problem
        The samples.
    method : {"auto", "dense", "cholesky", "landmarks", "fourier", "cosine"}
        The route.
    vectors : bool, default False
        Whether to compute the eigenvectors of the positive eigenvalues; otherwise a score alone.

    Raises
    ------
    MemoryError
        If the route does not fit in the memory limit.
    """
    if method != "auto":
        solution = solve_in(_by_name(problem, method), problem, "chosen by name", vectors=vectors)
        return _with_score(problem, solution) if method == "fourier" and not vectors else solution
    basis, reason = _chosen(problem)
    if basis is not None:
        return solve_in(basis, problem, reason, vectors=vectors)
    part, solution = _of_part(problem)
    return replace(solution, reason=reason, scored=(part, solution))


@dataclass(eq=False)
class PointSource:
    """What scores new points: the problem, and all positive eigenfunctions once they are asked for."""

    problem: Problem
    method: Route

    def point_novelty(self, points: Any) -> FloatArray:
        """Return the sum of the squares of the positive eigenfunctions at points."""
        functions, coefficients = self._functions
        return functions.membership(points, coefficients)

    @cached_property
    def _functions(self) -> tuple[PointFunctions, FloatArray]:
        solution = solve(self.problem, self.method, vectors=True)
        return solution.basis.functions(solution.vectors)


def draw_rows(
    problem: Problem, size: int, rng: np.random.Generator
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Draw at most ``size`` rows of positive weight of each sample; the same rows of both where they are paired.

    Returns
    -------
    tuple
        Positions among the rows of both samples, test rows first, and the weights of the rows drawn of each sample,
        scaled to sum 1.
    """
    weights = (problem.test_weights, problem.reference_weights)
    rows = rows_of_weight(problem)
    drawn = [part if len(part) <= size else np.sort(rng.choice(part, size, replace=False)) for part in rows]
    if problem.paired:
        drawn[1] = drawn[0]
    shares = [side[part] / side[part].sum() for side, part in zip(weights, drawn, strict=True)]
    return np.concatenate([drawn[0], drawn[1] + len(weights[0])]), shares[0], shares[1]


def rows_of_weight(problem: Problem) -> list[IntArray]:
    """Return the rows of each sample that have weight; in both samples where they are paired."""
    having = [problem.test_weights > 0.0, problem.reference_weights > 0.0]
    if problem.paired:
        having = [having[0] & having[1]] * 2
    return [np.flatnonzero(part) for part in having]


def part_of(problem: Problem, size: int, rng: np.random.Generator) -> Problem:
    """Return a problem of at most ``size`` rows of each sample, drawn at random."""
    rows, test, reference = draw_rows(problem, size, rng)
    gram = problem.gram if len(rows) == problem.gram.n_rows else problem.gram.subset(rows)
    return replace(problem, gram=gram, test_weights=test, reference_weights=reference, max_rank=None)


def _by_name(problem: Problem, method: Method) -> FeatureMap:
    _refuse(problem, method)
    if method == "dense":
        return _dense(problem)
    if method == "cholesky":
        return _pivoted(problem, _rank_cap(problem, quarter=False))
    if method == "landmarks":
        return _landmarks(problem)
    if method == "cosine":
        return CosineFeatures(problem.gram)
    return _fourier(problem)


def _chosen(problem: Problem) -> tuple[FeatureMap | None, str]:
    """Choose the route that gives most for seconds of time, and say why; None where none serves all rows."""
    gram, limit = problem.gram, problem.memory_limit
    n_rows = gram.n_rows
    if isinstance(gram.kernel, CosineKernel):
        columns = int(gram.features.shape[1])
        if columns < n_rows and columns <= _FEW_COLUMNS and _needs(problem, "cosine") <= limit:
            return CosineFeatures(gram), f"the cosine kernel is exact in {columns} columns"
    fits = n_rows <= DENSE_ROWS and _needs(problem, "dense") <= limit
    if n_rows <= _FEW_ROWS and fits:
        return _dense(problem), f"{n_rows} rows are few enough to factor the whole matrix"
    if gram.sequential or n_rows > _PIVOTED_ROWS:
        landmarks = _landmarks(problem)
        what = f"{landmarks.size} landmarks leave out {landmarks.left_out:.1e} of a part of the {n_rows} rows"
        return (landmarks, what) if landmarks.left_out <= LANDMARK_RTOL else (None, what)
    cap = _rank_cap(problem, quarter=fits)
    basis = _pivoted(problem, cap if fits else min(cap, _QUICK_RANK))
    if basis.factor.converged and not basis.indefinite:
        return basis, f"{basis.size} pivots explain all {n_rows} rows to the tolerance"
    why = f"{basis.size} pivots were not enough"
    if basis.indefinite:
        why = "the kernel is not positive semidefinite"
    if not fits:
        return None, f"{why}, and method='dense' would take minutes for {n_rows} rows"
    return _dense(problem), f"{why}, and {n_rows} rows are few"


def _with_score(problem: Problem, solution: Solution) -> Solution:
    """Add the score of a random part of the rows."""
    part, scored = _of_part(problem)
    return replace(solution, scored=(part, scored), indefinite=solution.indefinite or scored.indefinite)


def _of_part(problem: Problem) -> tuple[Problem, Solution]:
    """Solve a random part of the rows by the dense route."""
    part = part_of(problem, problem.score_rows, problem.rng())
    return part, solve_in(_dense(part), part, "few enough rows to factor the whole matrix", vectors=False)


def _dense(problem: Problem) -> FactorMap:
    with progress_bar(problem.progress, None, "dense Cholesky"):
        return FactorMap(problem.gram, dense_factor(problem.gram, executor=problem.executor), "dense")


def _pivoted(problem: Problem, max_rank: int) -> FactorMap:
    """Factor the kernel matrix from at most ``max_rank`` of its columns."""
    with progress_bar(problem.progress, max_rank, "pivoted Cholesky") as bar:

        def report(rank: int, trace: float) -> None:
            bar.update(rank - bar.n)
            bar.set_postfix(residual=f"{trace:.1e}", refresh=False)

        factor = pivoted_factor(
            problem.gram,
            problem.row_weights,
            rtol=problem.rtol,
            max_rank=max_rank,
            executor=problem.executor,
            report=report,
        )
    return FactorMap(problem.gram, factor, "cholesky")


def _landmarks(problem: Problem) -> LandmarkFeatures:
    """Choose landmarks among a random part of the rows; as many as the time for all rows allows."""
    rows, test, reference = draw_rows(replace(problem, paired=False), _PILOT_ROWS, problem.rng())
    most = _landmark_rank(problem)
    if problem.max_rank is None:
        most = min(most, max(_LEAST_RANK, int((_PRODUCT / problem.gram.n_rows) ** 0.5)))
    return LandmarkFeatures(
        problem.gram,
        rows,
        np.concatenate([test, problem.eta * reference]),
        max_rank=most,
        rtol=problem.rtol,
        executor=problem.executor,
    )


def _fourier(problem: Problem) -> FourierFeatures:
    return FourierFeatures(problem.gram, problem.n_frequencies, problem.rng())


def _needs(problem: Problem, method: Method) -> int:
    """Estimate the peak memory of a route."""
    gram = problem.gram
    columns = int(gram.features.shape[1])
    if method == "dense":  # the factor, and the matrix of the eigenproblem
        tiles = 32 * TILE_ROWS * columns * cpu_count()
        return (20 if gram.trusted else 44) * gram.n_rows**2 + tiles + _OVERHEAD
    values = 24 * gram.n_rows * _MOST_VALUES
    if method == "cosine":
        return values + moments_bytes(columns, columns)
    if method == "fourier":
        return values + moments_bytes(2 * problem.n_frequencies, columns) + 160 * problem.score_rows**2
    rank = _landmark_rank(problem)
    return values + moments_bytes(rank, columns) + 32 * min(_PILOT_ROWS, gram.n_rows) * (rank + columns)


def _cholesky_bytes(n_rows: int, rank: int) -> int:
    """Estimate the peak memory of the pivoted route: the factor, and the moments or the eigenproblem."""
    return 8 * n_rows * rank + 48 * rank**2 + _OVERHEAD


def _refuse(problem: Problem, method: Method) -> None:
    """Raise a MemoryError for a route that would not fit; the pivoted one adapts its rank instead."""
    n_rows = problem.gram.n_rows
    if problem.gram.sequential and method in ("dense", "cholesky"):
        expected = f"'auto', 'landmarks', 'fourier' or 'cosine' for batches of {n_rows} rows"
        raise ValueError(describe("method", expected, repr(method), "Or pass all rows as one array."))
    if method == "cholesky":
        return
    what, remedy = {
        "dense": (f"{n_rows} rows", "Choose method='cholesky', take fewer rows, or raise memory_limit."),
        "landmarks": (
            f"{_landmark_rank(problem)} landmarks",
            "Take fewer, method=LandmarkMap(n), or raise memory_limit.",
        ),
        "fourier": (
            f"{problem.n_frequencies} frequencies and {problem.score_rows} rows for the score",
            "Take fewer, method=FourierMap(n_frequencies, score_rows), or raise memory_limit.",
        ),
        "cosine": (f"{n_rows} rows", "Choose method='landmarks', reduce the columns, or raise memory_limit."),
    }[method]
    check_memory(_needs(problem, method), problem.memory_limit, f"method={method!r} with {what}", remedy)


def _landmark_rank(problem: Problem) -> int:
    return min(_MAX_LANDMARKS if problem.max_rank is None else problem.max_rank, problem.gram.n_rows)


def _rank_cap(problem: Problem, *, quarter: bool) -> int:
    """Return the largest rank of the pivoted route: a quarter of the rows where the dense route fits too."""
    n_rows, limit = problem.gram.n_rows, problem.memory_limit
    cap = min(max(n_rows // 4, _LEAST_RANK) if quarter else _DEFAULT_RANK, n_rows)
    if _cholesky_bytes(n_rows, cap) <= limit:
        return cap
    least = min(_LEAST_RANK, n_rows)
    remedy = "Take fewer rows, choose method=LandmarkMap(n), or raise memory_limit."
    check_memory(_cholesky_bytes(n_rows, least), limit, f"method='cholesky' with {n_rows} rows", remedy)
    return bisect.bisect_right(range(cap), limit, key=lambda rank: _cholesky_bytes(n_rows, rank)) - 1
