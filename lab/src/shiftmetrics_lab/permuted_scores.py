"""The score of novelty of some samples, and those of the same samples with permuted labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.blocks import one_blas_thread
from shiftmetrics.novelty.score.factor import Factor
from shiftmetrics.novelty.score.kernels import EPSILON
from shiftmetrics.novelty.score.spectrum import spectral_entropy

_EQUAL = 1e-12
"""Permutations of equal rows score the same up to this: they count as reaching the observed score."""


@dataclass(frozen=True, eq=False)
class PermutedScores:
    """The score of some rows, and those of the same rows with labels permuted."""

    score: float
    null: FloatArray
    n_significant: int
    mode_count: float

    @property
    def p_value(self) -> float:
        """The fraction of the permutations that score as much."""
        return (1 + int((self.null >= self.score - _EQUAL).sum())) / (1 + len(self.null))


def permuted_scores(
    factor: Factor, n_test: int, eta: float, n_permutations: int, rng: np.random.Generator
) -> PermutedScores:
    """Score the rows of a factor under their own labels and under random ones, which one factor serves."""
    values, n_rows = factor.values, len(factor.values)
    whole = values.T @ values

    def spectrum(rows: IntArray) -> FloatArray:
        part = values[rows].T @ values[rows]
        return _positive(
            np.linalg.eigvalsh(part / n_test - eta * (whole - part) / (n_rows - n_test))
        )

    with one_blas_thread():
        positive = spectrum(np.arange(n_test))
        covariance = values[:n_test].T @ values[:n_test] / n_test
        null = [spectrum(rng.permutation(n_rows)[:n_test]) for _ in range(n_permutations)]
    largest = max((float(part.max(initial=0.0)) for part in null), default=0.0)
    return PermutedScores(
        score=spectral_entropy(positive),
        null=np.array([spectral_entropy(part) for part in null]),
        n_significant=int((positive > largest + _EQUAL).sum()),
        mode_count=1.0 / float((covariance**2).sum()),
    )


def _positive(eigenvalues: Any) -> FloatArray:
    positive: FloatArray = eigenvalues[eigenvalues > EPSILON * len(eigenvalues)]
    return positive
