"""Routes by feature maps: landmarks, random frequencies, columns. One pass over the rows, whatever their number."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, namespace, to_float64
from shiftmetrics._core.blocks import map_blocks
from shiftmetrics._core.threads import one_blas_thread
from shiftmetrics.novelty.cosine import CosineMap
from shiftmetrics.novelty.factored import EAGER_RANK
from shiftmetrics.novelty.feature_map import (
    SUM_BYTES,
    Coordinates,
    FeatureMap,
    MapFunctions,
    map_sums,
)
from shiftmetrics.novelty.fourier import FourierMap
from shiftmetrics.novelty.gram import FeatureGram
from shiftmetrics.novelty.kernels import EPSILON, GaussianKernel
from shiftmetrics.novelty.landmarks import PILOT_ROWS, LandmarkMap
from shiftmetrics.novelty.mapped_solution import mapped_solution, mapped_spectrum
from shiftmetrics.novelty.modes import KernelFunctions
from shiftmetrics.novelty.problem import PointFunctions, Problem, Route, Solution, progress_bar
from shiftmetrics.novelty.subsample import draw_both


def choose_landmarks(problem: Problem, max_rank: int) -> LandmarkMap:
    """Choose landmarks among a random part of the rows."""
    rows, test, reference = draw_both(
        problem.test_weights, problem.reference_weights, PILOT_ROWS, problem.rng()
    )
    return LandmarkMap.among(
        problem.gram,
        rows,
        test,
        reference,
        eta=problem.eta,
        max_rank=max_rank,
        rtol=problem.rtol,
        executor=problem.executor,
    )


def by_landmarks(
    problem: Problem, landmarks: LandmarkMap, reason: str, n_modes: int, reverse: bool
) -> Solution:
    """Solve in the span of the landmarks, with the certificate of all rows."""
    gram = problem.gram

    def coordinates(rows: slice, out: FloatArray) -> Coordinates:
        return landmarks.placed(gram.block(rows, landmarks.landmarks), out)

    return _solve(
        problem,
        "landmarks",
        reason,
        coordinates,
        lambda rows: landmarks.within_bounds(gram.block(rows, landmarks.landmarks)),
        KernelFunctions(gram, landmarks.landmarks),
        n_modes,
        reverse,
        diagonal=landmarks.diagonal,
        whitening=landmarks.whitening,
        noise=landmarks.noise,
        indefinite=landmarks.indefinite,
    )


def by_frequencies(problem: Problem, reason: str, n_modes: int, *, complete: bool) -> Solution:
    """Solve in the span of random frequencies: modes, and no score; those of all modes only when ``complete``."""
    gram = cast(FeatureGram, problem.gram)
    kernel = cast(GaussianKernel, gram.kernel)
    feature_map = FourierMap.draw(
        int(gram.features.shape[1]),
        bandwidth=kernel.bandwidth,
        n_frequencies=problem.n_frequencies,
        rng=problem.rng(),
        center=kernel.center,
    )
    return _by_map(problem, "fourier", reason, feature_map, n_modes, False, complete=complete)


def by_columns(problem: Problem, reason: str, n_modes: int, reverse: bool) -> Solution:
    """Solve the cosine kernel in the space of the columns: exact."""
    gram = cast(FeatureGram, problem.gram)
    return _by_map(problem, "cosine", reason, CosineMap(int(gram.features.shape[1])), n_modes, reverse)


def _by_map(
    problem: Problem,
    method: Route,
    reason: str,
    feature_map: FeatureMap,
    n_modes: int,
    reverse: bool,
    *,
    complete: bool = True,
) -> Solution:
    gram = cast(FeatureGram, problem.gram)

    def coordinates(rows: slice, out: FloatArray | None = None) -> Coordinates:
        if rows.start < gram.n_test:
            return feature_map.coordinates(gram.features, rows, out)
        there = slice(rows.start - gram.n_test, rows.stop - gram.n_test)
        return feature_map.coordinates(gram.reference, there, out)

    return _solve(
        problem,
        method,
        reason,
        coordinates,
        lambda rows: coordinates(rows)[0],
        MapFunctions(feature_map),
        n_modes,
        reverse,
        diagonal=np.ones(feature_map.size),
        complete=complete or feature_map.size <= EAGER_RANK,
    )


def _solve(
    problem: Problem,
    method: Route,
    reason: str,
    coordinates: Callable[[slice, FloatArray], Coordinates],
    basis: Callable[[slice], Array],
    functions: PointFunctions,
    n_modes: int,
    reverse: bool,
    *,
    diagonal: FloatArray,
    whitening: FloatArray | None = None,
    noise: float = 0.0,
    indefinite: bool = False,
    complete: bool = True,
) -> Solution:
    """Add up both samples, solve, and evaluate the first eigenfunctions at the rows, whose ``basis`` is given."""
    gram, size = problem.gram, len(diagonal)
    blocks = gram.blocks(8 * size, block_bytes=SUM_BYTES)
    with progress_bar(problem.progress, gram.n_rows, f"novelty by {method}") as bar:
        sums = [
            map_sums(
                coordinates,
                weights,
                [rows for rows in blocks if (rows.start < gram.n_test) == test],
                size,
                noise=noise,
                executor=problem.executor,
                report=bar.update,
            )
            for weights, test in ((problem.test_weights, True), (problem.reference_weights, False))
        ]
    entry_error = gram.entry_error if method == "landmarks" else 8.0 * EPSILON
    with progress_bar(problem.progress, None, "eigenvalues"):
        spectrum = mapped_spectrum(
            sums[0],
            sums[1],
            problem.eta,
            reverse,
            diagonal=diagonal,
            entry_error=entry_error,
            n_vectors=None if complete else n_modes,
            n_lost=problem.n_lost,
        )
    coefficients, lost_coefficients = (
        part if whitening is None else whitening @ part for part in (spectrum.vectors, spectrum.lost_vectors)
    )
    shown = min(n_modes, coefficients.shape[1])
    values = _values(problem, basis, np.hstack([coefficients[:, :shown], lost_coefficients]))
    return mapped_solution(
        problem,
        (sums[0], sums[1]),
        spectrum,
        indefinite=indefinite,
        method=method,
        reason=reason,
        values=values[:, :shown],
        coefficients=coefficients,
        functions=functions,
        complete=complete,
        lost_values=values[:, shown:],
        lost_coefficients=lost_coefficients,
    )


def _values(problem: Problem, basis: Callable[[slice], Array], coefficients: FloatArray) -> FloatArray:
    """Return the values of functions at the rows of both samples."""

    def values(rows: slice) -> FloatArray:
        block = basis(rows)
        if isinstance(block, np.ndarray):
            return np.asarray(block @ coefficients)
        there = namespace(block).asarray(coefficients, device=getattr(block, "device", None))
        return to_float64(block @ there)

    if not coefficients.shape[1]:
        return np.empty((problem.gram.n_rows, 0))
    with one_blas_thread():
        blocks = problem.gram.blocks(8 * len(coefficients))
        parts = list(map_blocks(values, blocks, executor=problem.executor))
    return np.clip(np.concatenate(parts), -1.0, 1.0)  # no unit function is more than 1 where k(t, t) is 1
