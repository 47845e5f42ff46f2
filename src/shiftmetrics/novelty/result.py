"""The result of novelty: the score, its spectrum and modes, and what scores new points."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.record import StatusEnum as Status
from shiftmetrics._core.result import Interval, Result, format_number
from shiftmetrics.novelty.calibration import Null
from shiftmetrics.novelty.modes import Mode
from shiftmetrics.novelty.problem import Problem, Solution
from shiftmetrics.novelty.routes import solve

_NOTHING = 1e-9
"""A sum of the eigenvalues below this is rounding: nothing is novel."""


class NoveltyStatus(Status):
    """How the computation of novelty ended."""

    EXACT = ("exact", True, "All rows were factored: the value is exact up to rounding.")
    CERTIFIED = (
        "certified",
        True,
        "The factor reached its tolerance: the error bound covers what it leaves out.",
    )
    RANK_LIMITED = (
        "rank_limited",
        False,
        "The rank limit came before the tolerance: the value is a lower bound, and the error bound says how much may "
        "be missing. Raise max_rank, widen the bandwidth, take fewer rows, or choose method='dense'.",
    )
    SAMPLED = (
        "sampled",
        True,
        "The score is exact for a random part of the rows; the eigenvalues and modes are those of all rows.",
    )
    NOT_CONVERGED = (
        "not_converged",
        False,
        "Some eigenvalues did not reach their tolerance: eigenvalue_error_bound says how far they may be. Ask for "
        "fewer modes, raise rtol, or choose another method.",
    )
    INDEFINITE = (
        "indefinite",
        False,
        "The kernel is not positive semidefinite, so novelty is not defined for it: the value is that of the nearest "
        "kernel that is. Use a positive semidefinite kernel, such as 'gaussian'.",
    )


def status_of(solution: Solution, n_rows: int) -> NoveltyStatus:
    """Return how a route ended on ``n_rows`` rows of both samples."""
    if solution.indefinite:
        return NoveltyStatus.INDEFINITE
    if not solution.converged:
        return NoveltyStatus.NOT_CONVERGED if solution.method == "krylov" else NoveltyStatus.RANK_LIMITED
    if solution.scored is not None:
        part, scored = solution.scored
        return NoveltyStatus.SAMPLED if part.gram.n_rows < n_rows else status_of(scored, n_rows)
    return NoveltyStatus.EXACT if solution.method in ("dense", "cosine") else NoveltyStatus.CERTIFIED


@dataclass(eq=False)
class PointSource:
    """What scores new points: the problem, and all positive modes once they are known."""

    problem: Problem | None
    solution: Solution

    def point_novelty(self, points: Any) -> FloatArray:
        """Return the membership of points in all positive modes together."""
        if self.problem is not None and not self.solution.complete:
            self.solution = solve(self.problem, self.solution.method, n_modes=0, complete=True)
        values = self.solution.functions.evaluate(points, self.solution.coefficients)
        novelty: FloatArray = np.minimum(np.einsum("ij,ij->i", values, values), 1.0)
        return novelty


@dataclass(frozen=True, eq=False, kw_only=True)
class NoveltyResult(Drawn, Result):
    """Novelty of a sample against a reference.

    Attributes
    ----------
    value : float
        Kernel entropic novelty in nats, from 0 to ``total * log(n_samples)``: higher is more novel.
    error_bound : float
        Certificate of the factor, and rounding: up to rounding, the exact value lies between ``value`` and
        ``value + error_bound``.
    reverse : float or None
        Novelty of the reference against the sample: at eta = 1, or when asked for.
    reverse_error_bound : float or None
        Its error bound.
    total : float
        Sum S of the positive eigenvalues, from 0 to 1: the weight of all that is in excess of the reference.
    eigenvalues : ndarray
        Positive eigenvalues of C_X - eta C_Y, largest first: the excess weights of the modes.
    reverse_eigenvalues : ndarray or None
        Those of C_Y - eta C_X.
    modes : tuple of Mode
        The first modes: those that are significant by ``n_significant`` are rotated, unless ``rotation="none"``.
    lost_modes : tuple of Mode
        The first modes that the reference has in excess: at eta = 1, or when ``reverse`` was asked for. None by the
        route "krylov", which finds them with the samples swapped.
    eta : float
        Multiplier of the reference.
    kernel : str
        Name of the kernel.
    bandwidth : float or None
        Bandwidth of the Gaussian kernel.
    method : str
        The route that was taken; ``settings["reason"]`` says why.
    rank : int
        Size of the eigenproblem.
    n_samples, n_reference : int
        Rows of the sample and of the reference.
    mode_count, reference_mode_count : float
        Effective number of modes of each sample at this bandwidth, ``1 / |C|_F^2``.
    score_rows : tuple of int or None
        Rows of both samples that ``value``, ``reverse`` and ``total`` are of, where the route gives no score of all.
    n_frequencies : int or None
        Random frequencies that ``eigenvalues`` and ``modes`` come from.
    eigenvalue_error_bound : float or None
        How far an eigenvalue may be from an exact one, where the route finds the first ones only.
    null, reverse_null : Null or None
        What relabelled rows score, for ``value`` and for ``reverse``; None with ``n_permutations=0``.
    total_interval, top_interval : Interval or None
        Of ``total`` and of the first eigenvalue, where ``interval`` was asked for.
    resampled : ndarray of shape (n_resamples,) or None
        The score in each subsample, moved and scaled to spread around ``value`` as samples of these sizes would;
        draws of results with one seed are of the same rows.
    """

    measure: ClassVar[str] = "novelty.kernel_entropic_novelty"
    title: ClassVar[str] = "Kernel entropic novelty"
    unit: ClassVar[str] = "nats"
    higher_is_better: ClassVar[bool] = True
    ranked_as: ClassVar[tuple[str, str, str]] = ("samples", "most novel", "more novel")

    reverse: float | None
    reverse_error_bound: float | None
    total: float
    eigenvalues: FloatArray
    reverse_eigenvalues: FloatArray | None
    modes: tuple[Mode, ...]
    eta: float
    kernel: str
    bandwidth: float | None
    method: str
    rank: int
    n_reference: int
    mode_count: float
    reference_mode_count: float
    status: NoveltyStatus
    score_rows: tuple[int, int] | None = None
    n_frequencies: int | None = None
    eigenvalue_error_bound: float | None = None
    null: Null | None = None
    reverse_null: Null | None = None
    lost_modes: tuple[Mode, ...] = ()
    total_interval: Interval | None = None
    top_interval: Interval | None = None
    resampled: FloatArray | None = None
    source: PointSource | None = field(default=None, repr=False)

    @property
    def excess(self) -> float | None:
        """Return how far the score lies above that of relabelled rows, in nats; None without a null.

        Where the null is of a part of the rows, so is the score that it is taken from.
        """
        return None if self.null is None else self.null.excess

    @property
    def p_value(self) -> float | None:
        """Return the share of labellings that score at least as much; None without a null.

        It tests whether both samples are of one distribution.
        """
        return None if self.null is None else self.null.p_value

    @property
    def n_significant(self) -> int | None:
        """Return how many eigenvalues lie above the largest of any relabelling; None without a null."""
        return None if self.null is None else self.null.significant(self.eigenvalues)

    @property
    def significant_total(self) -> float | None:
        """Return the sum of the significant eigenvalues: the share of the sample in modes that are no noise."""
        count = self.n_significant
        return None if count is None else float(self.eigenvalues[:count].sum())

    @property
    def effective_modes(self) -> float:
        """Return how many equal modes would score the same: exp(value / total), or 0 without novelty."""
        return math.exp(self.value / self.total) if self.total > _NOTHING else 0.0

    @property
    def comparable(self) -> dict[str, tuple[Any, str]]:
        """Return what scores must share to be compared, each with what to do where they do not."""
        n_test, n_reference = self.score_rows or (self.n_samples, self.n_reference)
        rows = f"{n_test} and {n_reference}"
        return {
            "numbers of rows": (
                rows,
                "Novelty grows with the rows. Draw as many of each sample, features[rng.choice(len(features), n, "
                "replace=False)], or leave that to compare_novelty.",
            ),
            "kernel": (self.kernel, "Choose one kernel for all."),
            "bandwidth": (self.bandwidth, "Choose one for all: bandwidth=variance_bandwidth(pooled).value."),
            "eta": (self.eta, "Choose one for all."),
        }

    def point_novelty(self, points: Any) -> FloatArray:
        """Return how novel each point is: its membership in all novel modes together, from 0 to 1.

        Its mean over the test sample minus eta times its mean over the reference is the sum of ``eigenvalues``: that
        is ``total``, unless the score is of a part of the rows. By the route "krylov" only the modes that were found
        count.

        Parameters
        ----------
        points : array of shape (n_points, n_columns)
            Features like those of the samples; for a precomputed kernel, similarities to all rows of both.

        Returns
        -------
        ndarray of shape (n_points,)

        Raises
        ------
        ValueError
            If the columns do not match, or the result was read back from a file, which holds no kernel.

        Notes
        -----
        With many rows and no low rank, the first call repeats the decomposition, for all eigenvectors this time.
        """
        if self.source is None:
            raise ValueError(
                "The result must come from a computation, got one read from a file. Compute the novelty again to "
                "score points."
            )
        return self.source.point_novelty(points)

    @property
    def _relabelled_part(self) -> bool:
        """Whether the null is of a part of the rows, so that its score is not that of the result."""
        null = self.null
        return null is not None and null.n_test + null.n_reference < self.n_samples + self.n_reference

    @property
    def kept_note(self) -> str:
        """Return a sentence where modes are of the rows that a stream kept, else nothing."""
        kept = self.settings.get("kept_rows")
        if kept is None or max(self.n_samples, self.n_reference) <= kept:
            return ""
        return (
            f"Members and exemplars of modes are among the rows that were kept, at most {kept} of each sample; their "
            "frequencies are those of all rows."
        )

    def headline(self) -> str:
        """Return one sentence with the value and what it means."""
        score = f"{format_number(self.value)} nats"
        if self.score_rows is not None:
            score += f" on {self.score_rows[0]} and {self.score_rows[1]} rows drawn at random"
        if self.n_frequencies is not None:
            score += f" (modes of all rows by {self.n_frequencies} random frequencies)"
        times = "" if self.eta == 1.0 else f" taken {self.eta:g} times"
        if not self.total > _NOTHING:
            return f"{self.title}: {score}: nothing in the test sample is in excess of the reference{times}."
        if self.null is None or self.n_significant is None:
            return (
                f"{self.title}: {score}: {_percent(self.total)} of the test sample is in excess of the "
                f"reference{times}, spread like {self.effective_modes:.3g} equal modes."
            )
        null = self.null
        rows = "rows swapped within pairs" if null.paired else "relabelled rows"
        part = f", which score {format_number(null.mean)} +- {format_number(null.spread)}"
        if self._relabelled_part:
            part = f", {format_number(null.observed)} against {format_number(null.mean)} +- "
            part += f"{format_number(null.spread)} on {null.n_test} and {null.n_reference} rows"
        text = (
            f"{self.title}: {format_number(null.excess)} nats in excess of {rows}{part} "
            f"(p = {null.p_value:.2g}); the score is {score}."
        )
        if not self.n_significant:
            return f"{text} No mode stands out from {rows}."
        modes = "mode stands" if self.n_significant == 1 else "modes stand"
        return (
            f"{text} {self.n_significant} {modes} out: {_percent(self.significant_total or 0.0)} of the test "
            f"sample is in excess of the reference{times} there."
        )

    def notes(self) -> list[str]:
        """Return the sentences after the headline: the other direction, the first mode, what to compare with."""
        sentences = []
        if self.reverse is not None:
            text = f"The reference against the test sample: {format_number(self.reverse)} nats"
            if self.reverse_null is not None:
                null = self.reverse_null
                text += (
                    f", {format_number(null.excess)} in excess of relabelled rows (p = {null.p_value:.2g})"
                )
            sentences.append(f"{text}.")
        if self.modes and (self.n_significant is None or self.n_significant):
            sentences.append(str(self.modes[0]))
        if self.lost_modes and self.lost_modes[0].significant:
            sentences.append(str(self.lost_modes[0]))
        if (self.n_significant or 0) > len(self.modes) > 0:
            sentences.append(
                f"{self.n_significant} modes are significant and {len(self.modes)} described: raise n_modes."
            )
        if self.modes and self.kept_note:
            sentences.append(self.kept_note)
        if self.null is not None and self._relabelled_part:
            sentences.append(
                f"Relabelled were {self.null.n_test} and {self.null.n_reference} rows drawn at random: fewer rows "
                "have larger eigenvalues by chance, so modes that stand out from them stand out from all rows too."
            )
        common = super().notes()
        common[0] = common[0].replace("Higher is better", "Higher is more novel")
        sentences.append(common[0])
        if self.null is None:
            sentences.append(
                "Two samples of one distribution score more than 0: set n_permutations to see how much."
            )
        elif self.eta > 1.0 and self.n_significant:
            sentences.append(
                "Relabelled rows tell whether the samples differ, not whether a mode is more than "
                f"{self.eta:g} times as frequent: confirm_modes tests that on held-out rows."
            )
        sentences.append("Compare scores of equal sizes and bandwidths only.")
        if self.interval is not None:
            common[1] += " It is for the expected score of samples of these sizes."
        return sentences + common[1:]


def _percent(share: float) -> str:
    return f"{100.0 * share:.1f} %"
