"""From the sums of two samples under a feature map to a solution: by a route over all rows, or by a stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.novelty.eigensolver import eigenvalues_and_vectors
from shiftmetrics.novelty.feature_map import MappedSums
from shiftmetrics.novelty.problem import Problem, Solution
from shiftmetrics.novelty.spectrum import rounding, truncation

LANDMARK_RTOL = 1e-4
"""Landmarks count as enough when they leave out at most this share of the trace (or rtol, where that is more)."""


@dataclass(frozen=True, eq=False)
class MappedSpectrum:
    """The eigenproblem of two samples in the coordinates of a feature map."""

    eigenvalues: FloatArray
    vectors: FloatArray
    reverse_eigenvalues: FloatArray | None
    rounding: float
    cutoff: float
    lost: float
    reverse_lost: float
    lost_vectors: FloatArray


def mapped_spectrum(
    test: MappedSums,
    reference: MappedSums,
    eta: float,
    reverse: bool,
    *,
    diagonal: FloatArray,
    entry_error: float,
    n_vectors: int | None = None,
    n_lost: int = 0,
) -> MappedSpectrum:
    """Return the spectrum of two samples from their sums.

    Parameters
    ----------
    test, reference : MappedSums
        Sums of both samples under one map.
    eta : float
        Multiplier of the reference.
    reverse : bool
        Whether the spectrum of C_Y - eta C_X is wanted at eta other than 1.
    diagonal : ndarray
        Lengths that similarities were divided by; ones for a map that does not divide.
    entry_error : float
        Rounding error of one similarity.
    n_vectors : int, optional
        How many eigenvectors. Default: all of positive eigenvalues.
    n_lost : int, default 0
        How many of C_Y - eta C_X.
    """
    lower = test.covariance
    lower -= eta * reference.covariance
    eigenvalues, vectors = eigenvalues_and_vectors(lower, n_vectors)
    reverse_eigenvalues = -eigenvalues[::-1] if eta == 1.0 else None
    lost_vectors = vectors[:, ::-1][:, :n_lost]
    if (reverse and eta != 1.0) or (n_lost and vectors.shape[1] < len(eigenvalues)):
        lower = reference.covariance
        lower -= eta * test.covariance
        reverse_eigenvalues, lost_vectors = eigenvalues_and_vectors(lower, n_lost)
    errors = rounding(diagonal, int(test.count), int(reference.count), eta, entry_error)
    n_positive = 0 if reverse_eigenvalues is None else int((reverse_eigenvalues > errors[1]).sum())
    return MappedSpectrum(
        eigenvalues=eigenvalues,
        vectors=vectors[:, : int((eigenvalues > errors[1]).sum())],
        reverse_eigenvalues=reverse_eigenvalues,
        rounding=errors[0],
        cutoff=errors[2],
        lost=truncation(test, reference, eta),
        reverse_lost=truncation(reference, test, eta),
        lost_vectors=lost_vectors[:, :n_positive],
    )


def mapped_solution(
    problem: Problem,
    sums: tuple[MappedSums, MappedSums],
    spectrum: MappedSpectrum,
    *,
    indefinite: bool = False,
    **found: Any,
) -> Solution:
    """Return a solution of the sums of both samples, their spectrum, and whatever else was ``found``."""
    test, reference = (side.residual / side.weight for side in sums)
    left_out = (test + problem.eta * reference) / (1.0 + problem.eta)
    return Solution(
        rank=len(sums[0].products),
        eigenvalues=spectrum.eigenvalues,
        reverse_eigenvalues=spectrum.reverse_eigenvalues,
        mode_counts=(sums[0].mode_count, sums[1].mode_count),
        lost=spectrum.lost,
        reverse_lost=spectrum.reverse_lost,
        rounding=spectrum.rounding,
        cutoff=spectrum.cutoff,
        converged=left_out <= max(problem.rtol, LANDMARK_RTOL),
        indefinite=indefinite or any(side.contradictions > 0.0 for side in sums),
        **found,
    )
