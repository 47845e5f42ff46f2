"""Calls with all options as plain keywords, for tests that vary many of them."""

from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np

from shiftmetrics import Computing
from shiftmetrics.novelty import NoveltyResampling, NoveltyResult, kernel_entropic_novelty
from shiftmetrics.novelty.score import routes
from shiftmetrics.novelty.score.basis import ScoreBasis
from shiftmetrics.novelty.score.routes import solve

RESAMPLING = ("n_resamples", "confidence_level", "paired", "groups", "rng")
COMPUTING = ("rtol", "memory_limit", "executor")


def novelty(features: Any, reference: Any, **options: Any) -> NoveltyResult:
    """Return `kernel_entropic_novelty`, quickly; the number of landmarks goes to the route that has them."""
    options = {"n_resamples": 59, **options}
    resampling, computing = (
        {name: options.pop(name) for name in names if name in options}
        for names in (RESAMPLING, COMPUTING)
    )
    n_landmarks = options.pop("n_landmarks", None)
    most = routes._MAX_LANDMARKS if n_landmarks is None else n_landmarks
    with mock.patch.object(routes, "_MAX_LANDMARKS", most):
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
    basis: ScoreBasis
    vectors: np.ndarray

    def score(self, points: Any) -> np.ndarray:
        return self.basis.membership(points, self.vectors)

    def top(self, k: int) -> np.ndarray:
        return np.argsort(-self.membership, kind="stable")[:k]

    def members(self) -> np.ndarray:
        return np.flatnonzero(self.membership >= 0.25)


def eigenmodes(result: NoveltyResult, count: int = 10) -> list[Eigenmode]:
    """Return the first eigenfunctions behind a score."""
    assert result.source is not None
    problem, method = result.source.problem, result.source.method
    solution = solve(problem, method, vectors=True)
    vectors = solution.vectors[:, :count]
    sides = slice(0, problem.gram.n_test), slice(problem.gram.n_test, problem.gram.n_rows)
    test, reference = (
        np.minimum(np.square(solution.basis.coordinates(side)[0] @ vectors), 1.0) for side in sides
    )
    return [
        Eigenmode(
            float(solution.eigenvalues[i]),
            float(problem.test_weights @ test[:, i]),
            float(problem.reference_weights @ reference[:, i]),
            test[:, i],
            reference[:, i],
            solution.basis,
            vectors[:, i : i + 1],
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
    score = replace(
        result.score,
        reverse=other.value,
        reverse_error_bound=other.error_bound,
        reverse_eigenvalues=other.score.eigenvalues,
    )
    return replace(result, score=score)
