"""How a computation of novelty ended, and what to know beside its score: narrow bandwidths, few rows, pairs."""

from __future__ import annotations

import numpy as np

from shiftmetrics._core.status import Status
from shiftmetrics.novelty.kernels import GaussianKernel
from shiftmetrics.novelty.solution import Problem, Solution

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
    "The score is exact for a random part of the rows; what is new was counted in all rows.",
)
INDEFINITE = Status(
    "indefinite",
    "The kernel is not positive semidefinite, so novelty is not defined for it: the value is that of the nearest "
    "kernel that is.",
    "Use a positive semidefinite kernel, such as 'gaussian'.",
    ok=False,
)


def status_of(solution: Solution, n_rows: int) -> Status:
    """Return how a route ended on ``n_rows`` rows of both samples."""
    if solution.indefinite:
        return INDEFINITE
    if not solution.converged:
        return RANK_LIMITED
    if solution.problem.gram.n_rows < n_rows:
        return SAMPLED
    return EXACT if solution.method in ("dense", "cosine") else CERTIFIED


def cautions(problem: Problem, solution: Solution, total: float) -> tuple[str, ...]:
    """Return the warnings of a result.

    Parameters
    ----------
    problem : Problem
        The samples.
    solution : Solution
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
    if problem.gram.scale is not None:
        text = "The kernel is not 1 between a row and itself: it was divided by the roots of its diagonal."
        found.append(text)
    gaussian = isinstance(problem.gram.kernel, GaussianKernel)  # no other kernel has a bandwidth
    place = "At this bandwidth" if gaussian else "With this kernel"
    weights = (part.test_weights, part.reference_weights)
    for name, count, n_rows, share in zip(
        ("features", "reference"), solution.mode_counts, sizes, weights, strict=True
    ):
        # Uneven weights make a sample as noisy as one of so many rows.
        n_effective = 1.0 / float(share @ share)
        uneven = n_effective < _EVEN * n_rows
        by_weights = f", as good as {n_effective:.3g} by their weights" if uneven else ""
        if count > _IDENTITY * n_effective:
            found.append(
                f"{place} nearly every row of {name} is a mode of its own ({count:.3g} modes, {n_rows} "
                f"rows{by_weights}): the score is mostly log(n_samples)."
                + (" Widen the bandwidth." if gaussian else "")
            )
        elif count * _ROWS_PER_MODE > n_effective:
            found.append(
                f"{name} has few rows, {n_rows}{by_weights}, for its {count:.3g} modes {place.lower()}: much "
                f"of the score is sampling noise. Take more rows{', or widen the bandwidth' if gaussian else ''}."
            )
    if max(solution.mode_counts) < _CONSTANT and total < _CONSTANT - 1.0:
        remedy = " Narrow the bandwidth." if gaussian else ""
        found.append(f"{place} all rows are nearly alike, and novelty near 0.{remedy}")
    if not problem.paired and _look_paired(problem):
        found.append(
            "Row i of features is far more like row i of reference than like another: where rows come in pairs, "
            "relabelled rows differ more than the true samples, and no p-value is right. Pass "
            "resampling=NoveltyResampling(paired=True)."
        )
    return tuple(found)


def _look_paired(problem: Problem) -> bool:
    """Tell whether rows at the same place are alike far more often than rows at different places."""
    gram = problem.gram
    if gram.n_test != gram.n_reference or gram.n_test < _LEAST_PAIRS:
        return False
    rows = np.unique(np.linspace(0, gram.n_test - 1, _PAIRS).astype(np.int64))
    both = np.concatenate([rows, rows + gram.n_test])
    similarities = gram.among(both)[: len(rows), len(rows) :]
    # Chance puts the partner first in one row of all.
    closest = np.diagonal(similarities) > np.sort(similarities, axis=1)[:, -2]
    return bool(np.mean(closest) > _LOOK_PAIRED)
