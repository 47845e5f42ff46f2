"""From two weighted samples under one kernel to the spectrum of the difference of their kernel covariances.

With how the computation ended, and what to know beside its score: narrow bandwidths, few rows, pairs.
"""

from __future__ import annotations

import math
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.blocks import map_reduce
from shiftmetrics._core.result import Status
from shiftmetrics.novelty.basis import FactorMap, FeatureMap, Route
from shiftmetrics.novelty.gram import Gram
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
"""Landmarks count as enough when they leave out at most this fraction of the trace (or rtol, where that is more)."""

_IDENTITY = 0.5
_ROWS_PER_MODE = 20
_CONSTANT = 1.05
_EVEN = 0.95

_PAIRS = 200
_LEAST_PAIRS = 20
_LOOK_PAIRED = 0.9


EXACT = Status("exact", "All rows were factored: the value is exact up to rounding.")
CERTIFIED = Status(
    "certified", "The factor reached its tolerance: the error bound covers what it leaves out."
)
RANK_LIMITED = Status(
    "rank_limited",
    "The rank limit came before the tolerance: the value is a lower bound, and the error bound says how much may be "
    "missing.",
    "Take fewer rows or more landmarks, or choose method='dense'.",
    ok=False,
)
SAMPLED = Status(
    "sampled",
    "The score is exact for a random part of the rows, and no bound covers that of all rows; what is new was counted "
    "in all.",
    "Choose method='dense' or 'landmarks' for the score of all rows.",
    ok=False,
)
INDEFINITE = Status(
    "indefinite",
    "The kernel is not positive semidefinite, so novelty is not defined for it: the value is that of the nearest "
    "kernel that is.",
    "Use a positive semidefinite kernel, such as 'gaussian'.",
    ok=False,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class NoveltyProblem:
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
class NoveltySolution:
    """The spectrum of C_X - eta C_Y in the basis of a feature map.

    Attributes
    ----------
    problem : NoveltyProblem
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

    problem: NoveltyProblem
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


def solve_in(
    basis: FeatureMap, problem: NoveltyProblem, reason: str, *, vectors: bool
) -> NoveltySolution:
    """Solve the eigenproblem in the basis of a feature map.

    Parameters
    ----------
    basis : FeatureMap
        Coordinates of the rows of both samples.
    problem : NoveltyProblem
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
    return NoveltySolution(
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


def truncation(own: Moments, other: Moments, eta: float) -> float:
    """Bound how much a truncated factor takes off the sum of the positive eigenvalues (it never adds to them).

    The off-diagonal block of Lambda is a mean of products of rank one, |f| |rest| each, and the block outside the
    span is at most the residual of the test sample.
    """
    return own.spread + own.residual + eta * other.spread


def _moments(basis: FeatureMap, problem: NoveltyProblem) -> tuple[Moments, Moments]:
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
        return moments_of(
            basis.coordinates, weights, blocks, basis.size, executor=executor, **options
        )
    first, equal = blocks[0].start, weights.min() == weights.max()
    sent = weights[:1] if equal else weights

    def kernel(rows: slice) -> Moments:
        count = rows.stop - rows.start
        here = np.repeat(sent, count) if equal else sent[rows.start - first : rows.stop - first]
        return moments_of(basis.coordinates, here, [rows], basis.size, **options)

    return map_reduce(kernel, gram.placed(blocks))


def _left_out(residual: FloatArray, problem: NoveltyProblem) -> tuple[Moments, Moments]:
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


def status_of(solution: NoveltySolution, n_rows: int) -> Status:
    """Return how a route ended on ``n_rows`` rows of both samples."""
    if solution.indefinite:
        return INDEFINITE
    if not solution.converged:
        return RANK_LIMITED
    if solution.problem.gram.n_rows < n_rows:
        return SAMPLED
    return EXACT if solution.method in ("dense", "cosine") else CERTIFIED


def cautions(problem: NoveltyProblem, solution: NoveltySolution, total: float) -> tuple[str, ...]:
    """Return the warnings of a result.

    Parameters
    ----------
    problem : NoveltyProblem
        The samples.
    solution : NoveltySolution
        Their spectrum, or that of a part of the rows.
    total : float
        Sum of the positive eigenvalues.
    """
    part = solution.problem
    sizes = (part.gram.n_test, part.gram.n_reference)
    found = []
    if part.gram.n_rows < problem.gram.n_rows:
        found.append(
            f"The score is that of {sizes[0]} rows of the sample and {sizes[1]} of the reference, drawn at random: "
            "compare it only with scores of as many rows. What is new was counted in all rows."
        )
    has_width = problem.gram.kernel.bandwidth is not None
    place = "At this bandwidth" if has_width else "With this kernel"
    weights = (part.test_weights, part.reference_weights)
    for name, count, n_rows, weight in zip(
        ("features", "reference"), solution.mode_counts, sizes, weights, strict=True
    ):
        # Uneven weights make a sample as noisy as one of so many rows.
        n_effective = 1.0 / float(weight @ weight)
        uneven = n_effective < _EVEN * n_rows
        by_weights = f", as good as {n_effective:.3g} by their weights" if uneven else ""
        if count > _IDENTITY * n_effective:
            found.append(
                f"{place} nearly every row of {name} is a mode of its own ({count:.3g} modes, {n_rows} "
                f"rows{by_weights}): the score is mostly log(n_samples)."
                + (" Widen the bandwidth." if has_width else "")
            )
        elif count * _ROWS_PER_MODE > n_effective:
            found.append(
                f"{name} has few rows, {n_rows}{by_weights}, for its {count:.3g} modes {place.lower()}: much "
                f"of the score is sampling noise. Take more rows{', or widen the bandwidth' if has_width else ''}."
            )
    if max(solution.mode_counts) < _CONSTANT and total < _CONSTANT - 1.0:
        remedy = " Narrow the bandwidth." if has_width else ""
        found.append(f"{place} all rows are nearly alike, and novelty near 0.{remedy}")
    if not problem.paired and _look_paired(problem):
        found.append(
            "Row i of features is far more like row i of reference than like another: where rows come in pairs, "
            "permuted samples differ more than the true ones, and no p-value is right. Pass "
            "resampling=NoveltyResampling(paired=True)."
        )
    return tuple(found)


def _look_paired(problem: NoveltyProblem) -> bool:
    """Return whether rows at the same place are alike far more often than rows at different places."""
    gram = problem.gram
    if gram.n_test != gram.n_reference or gram.n_test < _LEAST_PAIRS:
        return False
    rows = np.unique(np.linspace(0, gram.n_test - 1, _PAIRS).astype(np.int64))
    both = np.concatenate([rows, rows + gram.n_test])
    similarities = gram.among(both)[: len(rows), len(rows) :]
    # Chance puts the partner first in one row of all.
    closest = np.diagonal(similarities) > np.sort(similarities, axis=1)[:, -2]
    return bool(np.mean(closest) > _LOOK_PAIRED)
