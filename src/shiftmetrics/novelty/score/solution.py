"""From two weighted samples under one kernel to the spectrum of the difference of their kernel covariances.

With how the computation ended, and what to know beside its score: narrow bandwidths and few rows.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.result import Status
from shiftmetrics.novelty.score.basis import PivotBasis, Route, ScoreBasis
from shiftmetrics.novelty.score.factor import Factor
from shiftmetrics.novelty.score.gram import Gram
from shiftmetrics.novelty.score.spectrum import (
    eigenvalues_and_vectors,
    entropy_slack,
    moments_of,
    rounding,
    spectral_entropy,
    truncation,
)

LANDMARK_RTOL = 1e-4
"""Landmarks count as enough when they leave out at most this fraction of the trace (or rtol, where that is more)."""

_ROWS_PER_MODE = 20
_CONSTANT = 1.05


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
    """The spectrum of C_X - eta C_Y in a basis.

    Attributes
    ----------
    problem : NoveltyProblem
        The samples: a random part of the rows where all would take too long.
    method, rank : str, int
        The route, and the size of the eigenproblem.
    basis : ScoreBasis or None
        The coordinates that the vectors are of; without vectors it gives its memory back.
    reason : str
        Why this route was taken.
    eigenvalues : ndarray of shape (rank,)
        Descending.
    vectors : ndarray of shape (rank, k)
        Of the positive eigenvalues that stand out from rounding, where they were asked for.
    mode_counts : tuple of float
        1 / |C|_F^2 of the test sample and of the reference.
    truncated : tuple of float
        How much the truncation may have taken off the sum of the positive eigenvalues, and of the negative ones.
    rounding, cutoff : float
        Sum of the rounding errors, and the size up to which an eigenvalue is one of the eigensolver.
    converged : bool
        Whether the route reached its tolerance.
    """

    problem: NoveltyProblem
    method: Route
    rank: int
    basis: ScoreBasis | None
    reason: str
    eigenvalues: FloatArray
    vectors: FloatArray
    mode_counts: tuple[float, float]
    truncated: tuple[float, float]
    rounding: float
    cutoff: float
    converged: bool

    def score(self, *, reverse: bool = False) -> tuple[float, float, FloatArray]:
        """Return the entropy of the positive eigenvalues, its error bound, and these eigenvalues.

        Parameters
        ----------
        reverse : bool, default False
            Whether to score the reference against the sample, at eta = 1.
        """
        eigenvalues = self.eigenvalues
        weights = self.problem.test_weights
        if reverse:
            eigenvalues = -eigenvalues[::-1]
            weights = self.problem.reference_weights
        positive = eigenvalues[eigenvalues > self.cutoff]
        # The sum never exceeds the trace of the sample's own covariance, 1.
        left = max(0.0, 1.0 - float(positive.sum()))
        # Of the two bounds that of the sign that is asked for: of the positive eigenvalues, or of the negative ones.
        truncated = min(self.truncated[reverse], left)
        dropped = float(eigenvalues[(eigenvalues > 0.0) & (eigenvalues <= self.cutoff)].sum())
        # No more eigenvalues are positive than rows of the sample have weight.
        slack = entropy_slack(truncated + dropped + self.rounding, int(np.count_nonzero(weights)))
        return spectral_entropy(positive), slack, positive


def solve_in(
    basis: ScoreBasis, problem: NoveltyProblem, reason: str, *, vectors: bool
) -> NoveltySolution:
    """Solve the eigenproblem in a basis, with an error bound for what it leaves out.

    Parameters
    ----------
    basis : ScoreBasis
        Coordinates of the rows of both samples.
    problem : NoveltyProblem
        The samples.
    reason : str
        Why this route was taken.
    vectors : bool
        Whether to compute the eigenvectors.
    """
    eta, executor = problem.eta, problem.executor
    test = moments_of(basis, problem.test_weights, of_test=True, executor=executor)
    reference = moments_of(basis, problem.reference_weights, of_test=False, executor=executor)
    # The fraction of the trace that lies outside the basis.
    left_out = (test.residual + eta * reference.residual) / (1.0 + eta)
    return _solution(
        basis,
        problem,
        reason,
        test.products - eta * reference.products,
        vectors=vectors,
        mode_counts=(test.mode_count, reference.mode_count),
        truncated=(truncation(test, reference, eta), truncation(reference, test, eta)),
        converged=left_out <= max(problem.rtol, LANDMARK_RTOL),
    )


def solve_dense(problem: NoveltyProblem, reason: str, *, vectors: bool) -> NoveltySolution | None:
    """Solve the eigenproblem of all rows; None where the kernel matrix is singular.

    With the kernel matrix K = L L' and D = diag(+w, .. , -eta w), L' D L has the spectrum of C_X - eta C_Y, and
    column-major LAPACK finds it in place of D.
    """
    from scipy.linalg import lapack

    gram = problem.gram
    matrix = gram.dense(executor=problem.executor)
    counts = _mode_count(matrix, problem, of_test=True), _mode_count(matrix, problem, of_test=False)
    # The lower triangle in C order is the upper one in Fortran order.
    # K = L L' in place; a matrix that is singular up to rounding has no such factor.
    upper, info = lapack.dpotrf(matrix.T, lower=0, clean=1, overwrite_a=1)
    del matrix
    if info != 0:
        return None
    signed = np.concatenate([problem.test_weights, -problem.eta * problem.reference_weights])
    reduced, _ = lapack.dsygst(np.diag(signed).T, upper, itype=2, lower=0, overwrite_a=1)
    rows = np.arange(gram.n_rows)
    factor = Factor(upper.T, np.zeros(gram.n_rows), rows, converged=True)
    return _solution(
        PivotBasis(gram, "dense", gram.take(rows), factor.values, factor),
        problem,
        reason,
        reduced,
        vectors=vectors,
        mode_counts=counts,
        truncated=(0.0, 0.0),
        converged=True,
    )


def _solution(
    basis: ScoreBasis,
    problem: NoveltyProblem,
    reason: str,
    matrix: FloatArray,
    *,
    vectors: bool,
    mode_counts: tuple[float, float],
    truncated: tuple[float, float],
    converged: bool,
) -> NoveltySolution:
    """Return the spectrum of a matrix, of which the upper triangle counts."""
    sizes = (problem.gram.n_test, problem.gram.n_reference)
    errors = rounding(basis.diagonal, *sizes, problem.eta, basis.entry_error)
    eigenvalues, columns = eigenvalues_and_vectors(matrix, vectors=vectors)
    return NoveltySolution(
        problem=problem,
        method=basis.method,
        rank=basis.size,
        basis=basis if vectors else None,
        reason=reason,
        eigenvalues=eigenvalues,
        # Where nothing is novel the eigenvectors of rounding errors would be taken for modes.
        vectors=columns[:, : int((eigenvalues > errors[1]).sum())],
        mode_counts=mode_counts,
        truncated=truncated,
        rounding=errors[0],
        cutoff=errors[2],
        converged=converged,
    )


def _mode_count(matrix: FloatArray, problem: NoveltyProblem, *, of_test: bool) -> float:
    """Return 1 / |C|_F^2 of a sample from the lower triangle of the kernel matrix: |C|^2 = sum w_i w_j k_ij^2."""
    n_test = problem.gram.n_test
    weights = problem.test_weights if of_test else problem.reference_weights
    rows = slice(0, n_test) if of_test else slice(n_test, None)
    among = matrix[rows, rows]
    # The other triangle adds the same again, but for the diagonal, whose entries are 1.
    lower = float(np.einsum("i,ij,ij,j->", weights, among, among, weights))
    return 1.0 / (2.0 * lower - float(weights @ weights))


def status_of_solution(solution: NoveltySolution, n_rows: int) -> Status:
    """Return how a route ended on ``n_rows`` rows of both samples."""
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
            f"The score is that of {sizes[0]} rows of the sample and {sizes[1]} of the reference, chosen at random: "
            "compare it only with scores of as many rows. What is new was counted in all rows."
        )
    remedy = ""
    if problem.gram.kernel.bandwidth is not None:
        remedy = ", or widen the bandwidth"
    weights = (part.test_weights, part.reference_weights)
    names = ("features", "reference")
    for name, count, weight in zip(names, solution.mode_counts, weights, strict=True):
        # Uneven weights make a sample as noisy as one of so many rows.
        n_effective = 1.0 / float(weight @ weight)
        if count * _ROWS_PER_MODE > n_effective:
            found.append(
                f"{name} has few rows, {n_effective:.3g} by their weights, for {count:.3g} modes: much of the score "
                f"is sampling noise, and near one mode a row nothing else. Take more rows{remedy}."
            )
    if max(solution.mode_counts) < _CONSTANT and total < _CONSTANT - 1.0:
        found.append("All rows are nearly alike under this kernel, and novelty near 0.")
    return tuple(found)
