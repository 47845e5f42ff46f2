"""The choice of a route to the spectrum, and the memory that each needs.

Exact: "dense", and "cosine" for that kernel. With an error bound: "landmarks". Each estimates its memory before it
allocates, and is refused with the figure and the alternative when it would not fit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.blocks import cpu_count
from shiftmetrics._core.options import check_memory
from shiftmetrics._core.validation import check_choice, describe
from shiftmetrics.novelty.basis import ColumnFeatures, FactorMap, FeatureMap, LandmarkFeatures
from shiftmetrics.novelty.factor import Factor, dense_factor, pivoted_factor
from shiftmetrics.novelty.gram import TILE_ROWS
from shiftmetrics.novelty.options import LandmarkMap
from shiftmetrics.novelty.solution import LANDMARK_RTOL, NoveltyProblem, NoveltySolution, solve_in
from shiftmetrics.novelty.spectrum import moments_bytes

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
_REMEDY = "Take fewer rows, choose fewer landmarks by method=LandmarkMap(n), or raise memory_limit."


def check_method(method: Any, kernel: Any) -> tuple[Method, int | None]:
    """Return the name of a route, and the most landmarks where the user set them.

    Raises
    ------
    ValueError
        If the route is unknown, or does not serve the kernel.
    """
    if isinstance(method, LandmarkMap):
        return "landmarks", method.n_landmarks
    name = check_choice(method, "method", METHODS)
    if name == "cosine" != kernel:
        got = kernel if isinstance(kernel, str) else "a function"
        expected = "'cosine' with method='cosine'"
        raise ValueError(describe("kernel", expected, value=got, remedy="Choose method='auto'."))
    return name, None


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
    if method != "auto":
        return solve_in(_by_name(problem, method), problem, "chosen by name", vectors=vectors)
    basis, reason = _chosen(problem)
    if basis is None:
        problem = _part_of(problem, _SCORE_ROWS)
        _refuse(problem, "dense")
        basis = _dense(problem)
    return solve_in(basis, problem, reason, vectors=vectors)


def _part_of(problem: NoveltyProblem, size: int) -> NoveltyProblem:
    """Return a problem of at most ``size`` rows of weight of each sample, drawn at random; pairs together."""
    rng, weights = problem.rng(), (problem.test_weights, problem.reference_weights)
    having = [side > 0.0 for side in weights]
    if problem.paired:
        having = [having[0] & having[1]] * 2
    rows = [np.flatnonzero(part) for part in having]
    drawn = [
        part if len(part) <= size else np.sort(rng.choice(part, size, replace=False))
        for part in rows
    ]
    if problem.paired:
        drawn[1] = drawn[0]
    test, reference = (
        side[part] / side[part].sum() for side, part in zip(weights, drawn, strict=True)
    )
    joined = np.concatenate([drawn[0], drawn[1] + problem.gram.n_test])
    whole = len(joined) == problem.gram.n_rows and not problem.gram.sequential
    gram = problem.gram if whole else problem.gram.subset(joined)
    return replace(
        problem, gram=gram, test_weights=test, reference_weights=reference, max_rank=None
    )


def _by_name(problem: NoveltyProblem, method: Method) -> FeatureMap:
    _refuse(problem, method)
    if method == "dense":
        return _dense(problem)
    if method == "cosine":
        return ColumnFeatures(problem.gram)
    return _landmarks(problem, _landmark_rank(problem))[0]


def _chosen(problem: NoveltyProblem) -> tuple[FeatureMap | None, str]:
    """Choose the route that gives most for seconds of time, and say why; None where none serves all rows."""
    gram, limit, n_rows = problem.gram, problem.memory_limit, problem.gram.n_rows
    if gram.kernel.linear:
        columns = int(gram.features.shape[1])
        if columns < n_rows and columns <= _FEW_COLUMNS and _needs(problem, "cosine") <= limit:
            return ColumnFeatures(gram), f"the cosine kernel is exact in {columns} columns"
    seconds = _SECONDS * n_rows**3
    fits = seconds <= DENSE_SECONDS and not gram.sequential and _needs(problem, "dense") <= limit
    if n_rows <= _FEW_ROWS and fits:
        return _dense(problem), f"{n_rows} rows are few enough to factor the whole matrix"
    most = max(n_rows // 4, _LEAST_RANK) if fits else _landmark_rank(problem)
    if not fits and _needs(problem, "landmarks") > limit:
        return None, f"no route to the score of {n_rows} rows fits into the memory limit"
    landmarks, factor = _landmarks(problem, most)
    left_out = float(factor.residual.mean())
    reason = f"{landmarks.size} landmarks leave out {left_out:.1e} of the {n_rows} rows, or of a part of them"
    if factor.converged and not factor.indefinite:
        return landmarks, reason
    if fits:
        return _dense(problem), f"{reason}, and so few rows are factored whole in seconds"
    if left_out <= LANDMARK_RTOL and not factor.indefinite:
        return landmarks, reason
    return None, f"{reason}, and method='dense' would take about {seconds:.0f} s"


def _dense(problem: NoveltyProblem) -> FactorMap:
    return FactorMap(problem.gram, dense_factor(problem.gram, executor=problem.executor), "dense")


def _landmarks(problem: NoveltyProblem, most: int) -> tuple[FeatureMap, Factor]:
    """Choose landmarks among a random part of the rows, where there are many; return the factor of this part too."""
    part = _part_of(replace(problem, paired=False), _PILOT_ROWS)
    factor = pivoted_factor(
        part.gram, part.row_weights, rtol=problem.rtol, max_rank=most, executor=problem.executor
    )
    if part.gram.n_rows == problem.gram.n_rows:
        return FactorMap(part.gram, factor, "landmarks"), factor
    return LandmarkFeatures(problem.gram, part.gram, factor), factor


def _needs(problem: NoveltyProblem, method: Method) -> int:
    """Estimate the peak memory of a route."""
    gram = problem.gram
    columns = int(gram.features.shape[1])
    if method == "dense":  # the factor, and the matrix of the eigenproblem
        tiles = 32 * TILE_ROWS * columns * cpu_count()
        return (20 if gram.trusted else 44) * gram.n_rows**2 + tiles + _OVERHEAD
    if method == "cosine":
        return moments_bytes(columns, columns)
    rank = _landmark_rank(problem)
    return moments_bytes(rank, columns) + 32 * min(_PILOT_ROWS, gram.n_rows) * (rank + columns)


def _refuse(problem: NoveltyProblem, method: Method) -> None:
    """Raise an error for a route that would not fit."""
    n_rows = problem.gram.n_rows
    if problem.gram.sequential and method == "dense":
        expected = f"'auto', 'landmarks' or 'cosine' for batches of {n_rows} rows"
        raise ValueError(
            describe("method", expected, value=method, remedy="Or pass all rows as one array.")
        )
    size = f"{_landmark_rank(problem)} landmarks" if method == "landmarks" else f"{n_rows} rows"
    check_memory(
        _needs(problem, method), problem.memory_limit, f"method={method!r} with {size}", _REMEDY
    )


def _landmark_rank(problem: NoveltyProblem) -> int:
    """Return the most landmarks: those that the user set, or as many as the time for all rows allows."""
    n_rows, most = problem.gram.n_rows, problem.max_rank
    if most is None:
        most = min(_MAX_LANDMARKS, max(_LEAST_RANK, int((_PRODUCT / n_rows) ** 0.5)))
    return min(most, n_rows)
