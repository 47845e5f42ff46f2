"""From two weighted samples under one kernel to the spectrum of the difference of their kernel covariances."""

from __future__ import annotations

import math
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.blocks import map_reduce
from shiftmetrics.novelty.gram import Gram
from shiftmetrics.novelty.maps import FactorMap, FeatureMap, Route
from shiftmetrics.novelty.spectrum import (
    SUM_BYTES,
    Moments,
    difference,
    eigenvalues_and_vectors,
    entropy,
    entropy_slack,
    moments_of,
    rounding,
)

LANDMARK_RTOL = 1e-4
"""Landmarks count as enough when they leave out at most this share of the trace (or rtol, where that is more)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem:
    """Two weighted samples under one kernel, and how to compute."""

    gram: Gram
    test_weights: FloatArray
    """Weights of the test rows, summing to 1."""
    reference_weights: FloatArray
    eta: float
    rtol: float
    memory_limit: int
    max_rank: int | None = None
    """Most landmarks."""
    paired: bool = False
    """Whether row i of both samples belong together: random parts then hold both or none."""
    seed: int = 0
    """Draws landmarks and the rows of the score."""
    executor: Executor | None = None

    @property
    def row_weights(self) -> FloatArray:
        """Return s^2 of both samples: 1/n for test rows and eta/m for reference rows."""
        return np.concatenate([self.test_weights, self.eta * self.reference_weights])

    def rng(self) -> np.random.Generator:
        """Return a generator that starts from the seed."""
        return np.random.default_rng(self.seed)


@dataclass(frozen=True, eq=False, kw_only=True)
class Solution:
    """The spectrum of C_X - eta C_Y in the basis of a feature map.

    Attributes
    ----------
    problem : Problem
        The samples: a random part of the rows where all would take too long.
    method, rank : str, int
        The route, and the size of the eigenproblem.
    basis : FeatureMap or None
        The coordinates that the vectors are of; without vectors it gives its memory back.
    reason : str
        Why this route was taken.
    eigenvalues : ndarray of shape (rank,)
        Descending.
    vectors : ndarray of shape (rank, k)
        Of the positive eigenvalues that stand out from rounding, where they were asked for.
    mode_counts : tuple of float
        1 / |C|_F^2 of the test sample and of the reference.
    truncated, reverse_truncated : float
        How much the truncation may have taken off the sum of the positive eigenvalues, in either direction.
    rounding, cutoff : float
        Sum of the rounding errors, and the size up to which an eigenvalue is one of the eigensolver.
    converged, indefinite : bool
        Whether the route reached its tolerance, and whether the kernel was found not to be positive semidefinite.
    """

    problem: Problem
    method: Route
    rank: int
    basis: FeatureMap | None
    reason: str
    eigenvalues: FloatArray
    vectors: FloatArray
    mode_counts: tuple[float, float]
    truncated: float
    reverse_truncated: float
    rounding: float
    cutoff: float
    converged: bool
    indefinite: bool

    def score(self, *, reverse: bool = False) -> tuple[float, float, FloatArray]:
        """Return the entropy of the positive eigenvalues, its error bound, and these eigenvalues.

        Parameters
        ----------
        reverse : bool, default False
            Whether to score the reference against the sample, at eta = 1.
        """
        eigenvalues, truncated = self.eigenvalues, self.truncated
        if reverse:
            eigenvalues, truncated = -eigenvalues[::-1], self.reverse_truncated
        positive = eigenvalues[eigenvalues > self.cutoff]
        if self.indefinite:
            return entropy(positive), math.inf, positive
        # The sum never exceeds the trace of the sample's own covariance, 1.
        truncated = min(truncated, max(0.0, 1.0 - float(positive.sum())))
        dropped = float(eigenvalues[(eigenvalues > 0.0) & (eigenvalues <= self.cutoff)].sum())
        # No more eigenvalues are positive than rows of the sample have weight.
        weights = self.problem.reference_weights if reverse else self.problem.test_weights
        slack = entropy_slack(truncated + dropped + self.rounding, int(np.count_nonzero(weights)))
        return entropy(positive), slack, positive


def solve_in(basis: FeatureMap, problem: Problem, reason: str, *, vectors: bool) -> Solution:
    """Solve the eigenproblem in the basis of a feature map.

    Parameters
    ----------
    basis : FeatureMap
        Coordinates of the rows of both samples.
    problem : Problem
        The samples.
    reason : str
        Why this route was taken.
    vectors : bool
        Whether to compute the eigenvectors.
    """
    gram, eta = problem.gram, problem.eta
    dense = isinstance(basis, FactorMap) and basis.method == "dense"
    errors = rounding(basis.diagonal, gram.n_test, gram.n_reference, eta, basis.entry_error)
    if isinstance(basis, FactorMap) and dense:
        weights = problem.test_weights, problem.reference_weights
        matrix, counts = difference(basis.factor, gram.n_test, *weights, eta, overwrite=not vectors)
        test, reference = _left_out(basis.factor.residual, problem)
    else:
        test, reference = _moments(basis, problem)
        counts = test.mode_count, reference.mode_count
        matrix = test.products - eta * reference.products
    eigenvalues, columns = eigenvalues_and_vectors(matrix, vectors=vectors)
    left_out = (test.residual + eta * reference.residual) / (1.0 + eta)
    enough = left_out <= max(problem.rtol, LANDMARK_RTOL)
    return Solution(
        problem=problem,
        method=basis.method,
        rank=basis.size,
        basis=basis if vectors else None,
        reason=reason,
        eigenvalues=eigenvalues,
        # Where nothing is novel the eigenvectors of rounding errors would be taken for modes.
        vectors=columns[:, : int((eigenvalues > errors[1]).sum())],
        mode_counts=counts,
        truncated=truncation(test, reference, eta),
        reverse_truncated=truncation(reference, test, eta),
        rounding=errors[0],
        cutoff=errors[2],
        converged=enough,
        indefinite=basis.indefinite or test.contradicted or reference.contradicted,
    )


def truncation(gained: Moments, lost: Moments, eta: float) -> float:
    """Bound how much a truncated factor takes off the sum of the positive eigenvalues (it never adds to them).

    The off-diagonal block of Lambda is a mean of products of rank one, |f| |rest| each, and the block outside the
    span is at most the residual of the test sample.
    """
    return gained.spread + gained.residual + eta * lost.spread


def _moments(basis: FeatureMap, problem: Problem) -> tuple[Moments, Moments]:
    """Add up both samples."""
    gram = problem.gram
    blocks = gram.blocks(8 * basis.size, block_bytes=SUM_BYTES)
    test, reference = (
        _moments_of_side(
            basis,
            weights,
            [rows for rows in blocks if (rows.start < gram.n_test) == of_test],
            problem.executor,
        )
        for weights, of_test in ((problem.test_weights, True), (problem.reference_weights, False))
    )
    return test, reference


def _moments_of_side(
    basis: FeatureMap,
    weights: FloatArray,
    blocks: list[slice],
    executor: Executor | None,
) -> Moments:
    """Add up one sample: by threads, or, of Dask, on the workers, which send back one sum for each partition."""
    gram = basis.gram
    options: dict[str, Any] = {"noise": basis.noise, "in_order": gram.sequential}
    if not gram.on_workers:
        return moments_of(basis.coordinates, weights, blocks, basis.size, executor=executor, **options)
    first, equal = blocks[0].start, weights.min() == weights.max()
    sent = weights[:1] if equal else weights

    def kernel(rows: slice) -> Moments:
        count = rows.stop - rows.start
        here = np.repeat(sent, count) if equal else sent[rows.start - first : rows.stop - first]
        return moments_of(basis.coordinates, here, [rows], basis.size, **options)

    return map_reduce(kernel, gram.placed(blocks))


def _left_out(residual: FloatArray, problem: Problem) -> tuple[Moments, Moments]:
    """Return the moments of a dense factor without the products: what a singular matrix leaves out."""
    spread = np.sqrt(residual * (1.0 - residual))
    n_test, nothing = problem.gram.n_test, np.empty((0, 0))
    test, reference = (
        Moments(nothing, float(weights @ residual[rows]), float(weights @ spread[rows]))
        for weights, rows in (
            (problem.test_weights, slice(0, n_test)),
            (problem.reference_weights, slice(n_test, None)),
        )
    )
    return test, reference


def progress_bar(progress: bool, title: str, total: int | None = None) -> Any:
    """Return a progress bar that shows after two seconds of work."""
    from tqdm import tqdm

    return tqdm(total=total, desc=title, delay=2.0, disable=not progress or None, leave=False)
