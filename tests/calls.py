"""Calls with all options as plain keywords, for tests that vary many of them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shiftmetrics import Computing
from shiftmetrics.novelty import (
    FourierMap,
    LandmarkMap,
    NoveltyResampling,
    NoveltyResult,
    kernel_entropic_novelty,
)
from shiftmetrics.novelty.maps import PointFunctions
from shiftmetrics.novelty.routes import solve

RESAMPLING = ("n_draws", "level", "paired", "groups", "rng")
COMPUTING = ("rtol", "memory_limit", "executor")
MAPS = {
    "fourier": (FourierMap, ("n_frequencies", "score_rows")),
    "landmarks": (LandmarkMap, ("n_landmarks",)),
}


def novelty(features: Any, reference: Any, **options: Any) -> NoveltyResult:
    """Return `kernel_entropic_novelty`, quickly; sizes of a map go to the route that has one."""
    options = {"n_draws": 59, **options}
    resampling, computing = (
        {name: options.pop(name) for name in names if name in options} for names in (RESAMPLING, COMPUTING)
    )
    sizes = {name: options.pop(name) for _, names in MAPS.values() for name in names if name in options}
    if options.get("method") in MAPS:
        kind, names = MAPS[options["method"]]
        chosen = {name: sizes[name] for name in names if name in sizes}
        options["method"] = kind(**chosen) if chosen else options["method"]
    return kernel_entropic_novelty(
        features,
        reference,
        resampling=NoveltyResampling(**resampling),
        computing=Computing(progress=False, **computing),
        **options,
    )


@dataclass(frozen=True)
class Eigenmode:
    """One eigenfunction u of C_X - eta C_Y, with u^2 at the rows of both samples."""

    eigenvalue: float
    frequency: float
    reference_frequency: float
    membership: np.ndarray
    reference_membership: np.ndarray
    functions: PointFunctions
    coefficients: np.ndarray

    def score(self, points: Any) -> np.ndarray:
        return self.functions.membership(points, self.coefficients)

    def top(self, k: int) -> np.ndarray:
        return np.argsort(-self.membership, kind="stable")[:k]

    def members(self) -> np.ndarray:
        return np.flatnonzero(self.membership >= 0.25)


def eigenmodes(result: NoveltyResult, count: int = 10) -> list[Eigenmode]:
    """Return the first eigenfunctions behind a score."""
    assert result.source is not None
    problem = result.source.problem
    solution = solve(problem, result.source.method, vectors=True)
    vectors = solution.vectors[:, :count]
    squares = np.minimum(np.square(solution.basis.values(vectors, executor=None)), 1.0)
    functions, coefficients = solution.basis.functions(vectors)
    test, reference = squares[: problem.gram.n_test], squares[problem.gram.n_test :]
    return [
        Eigenmode(
            float(solution.eigenvalues[i]),
            float(problem.test_weights @ test[:, i]),
            float(problem.reference_weights @ reference[:, i]),
            test[:, i],
            reference[:, i],
            functions,
            coefficients[:, i : i + 1],
        )
        for i in range(vectors.shape[1])
    ]


def both_ways(features: Any, reference: Any, **options: Any) -> NoveltyResult:
    """Return the novelty, with that of the reference against the sample beside it at any eta."""
    swapped = dict(options)
    names = ("sample_weight", "reference_weight")
    weights = [swapped.pop(name, None) for name in names]
    swapped.update(zip(names, weights[::-1], strict=True))
    result, other = novelty(features, reference, **options), novelty(reference, features, **swapped)
    return replace(
        result,
        reverse=other.value,
        reverse_error_bound=other.error_bound,
        reverse_eigenvalues=other.eigenvalues,
    )
