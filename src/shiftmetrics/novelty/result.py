"""The result of novelty: what is new and in which rows, the paper's score, and what scores new points."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.result import Interval, Result, Status, format_number
from shiftmetrics.novelty.maps import FeatureMap, Route
from shiftmetrics.novelty.modes import Mode, percent
from shiftmetrics.novelty.ranked_share import ranked_share
from shiftmetrics.novelty.routes import solve
from shiftmetrics.novelty.row_scores import RowScorer
from shiftmetrics.novelty.search import near_level
from shiftmetrics.novelty.solution import NoveltyProblem

_SHOWN = 3
"""Modes whose rows stand in the headline."""

_READ_BACK = "The result must come from a computation, got one read from a file. Compute the novelty again to {what}."


@dataclass(frozen=True, eq=False, kw_only=True)
class NoveltyResult(Drawn, Result):
    """What is new in a sample against a reference, and its novelty in nats.

    Attributes
    ----------
    share : float
        Share of the sample that is new, or in excess of the reference: about this much of it belongs to no kind of
        row that the reference has. 0 where nothing is shown to be new.
    share_interval : Interval
        A lower bound of the share, by members on halves of the rows that had no part in finding them; the upper end
        is 1, since rows that are new and unlike each other may go unseen.
    p_value, lost_p_value : float
        Share of the relabellings of the rows that show as much that is new, or lost. At eta > 1, on held-out rows, of
        "no kind is more than eta times as frequent".
    borderline : bool
        Whether another seed could turn a verdict.
    modes : tuple of Mode
        The kinds of rows that are new; empty where nothing is shown to be.
    lost_modes : tuple of Mode
        The kinds that the reference has and the sample lacks.
    lost_share : float
        Share of the reference that is lost.
    row_scores, reference_row_scores : ndarray of shape (n_rows,)
        How new each row looks, from 0 to 1: the mean of its ranks among the rows of both samples by membership, by a
        ridge classifier, and by the share of its neighbours that are of the sample. Computed on first access.
    n_resamples : int
        Relabellings behind the p-values.
    value : float
        Kernel entropic novelty in nats, from 0 to ``total * log(n_samples)``: the entropy of what is in excess. It
        rises with the number of new kinds, not with their share.
    error_bound : float
        Certificate of the factor, and rounding: up to rounding, the exact value lies between ``value`` and
        ``value + error_bound``.
    reverse, reverse_error_bound : float or None
        Novelty of the reference against the sample, at eta = 1. At another eta, swap the samples.
    total : float
        Sum S of the positive eigenvalues, from 0 to 1: all that is in excess of the reference, noise included.
    eigenvalues : ndarray
        Positive eigenvalues of C_X - eta C_Y, largest first.
    reverse_eigenvalues : ndarray or None
        Those of C_Y - C_X, at eta = 1.
    eta : float
        Multiplier of the reference.
    kernel : str
        Name of the kernel.
    bandwidth : float or None
        Bandwidth of the Gaussian kernel. Modes are looked for at half of it and twice it too.
    method : str
        The route to the score; ``settings["reason"]`` says why.
    rank : int
        Size of the eigenproblem.
    n_samples, n_reference : int
        Rows of the sample and of the reference.
    mode_count, reference_mode_count : float
        Effective number of modes of each sample at this bandwidth, ``1 / |C|_F^2``.
    value_rows : tuple of int or None
        Rows of both samples that ``value`` and what belongs to it are of, where all would take too long. What is new
        is counted in all rows.
    """

    measure = "novelty.kernel_entropic_novelty"
    title = "Kernel entropic novelty"
    higher_is_better = True
    unit = "nats"
    ranked_as = ("samples", "most novel", "more novel")

    status: Status
    share: float
    share_interval: Interval
    p_value: float
    lost_p_value: float
    lost_share: float
    n_resamples: int
    modes: tuple[Mode, ...]
    lost_modes: tuple[Mode, ...] = ()
    total: float
    eigenvalues: FloatArray
    eta: float
    kernel: str
    bandwidth: float | None
    method: str
    rank: int
    n_reference: int
    mode_count: float
    reference_mode_count: float
    reverse: float | None = None
    reverse_error_bound: float | None = None
    reverse_eigenvalues: FloatArray | None = None
    value_rows: tuple[int, int] | None = None
    source: tuple[NoveltyProblem, Route] | None = field(default=None, repr=False)
    scorer: RowScorer | None = field(default=None, repr=False)

    @property
    def borderline(self) -> bool:
        """Return whether another seed could turn a verdict."""
        return any(self._near_level)

    @property
    def _near_level(self) -> list[bool]:
        alpha = 1.0 - self.share_interval.confidence_level
        return [
            self.eta == 1.0 and near_level(p, self.n_resamples, alpha)
            for p in (self.p_value, self.lost_p_value)
        ]

    @property
    def row_scores(self) -> FloatArray:
        """Return how new each row of the sample looks, from 0 to 1."""
        return self._scorer("score rows").rows[: self.n_samples]

    @property
    def reference_row_scores(self) -> FloatArray:
        """Return how new each row of the reference looks, from 0 to 1."""
        return self._scorer("score rows").rows[self.n_samples :]

    def ranked(self, confidence_level: float) -> Result:
        """Return the share that is new, which a comparison ranks."""
        return ranked_share(self, confidence_level)

    @property
    def comparable(self) -> dict[str, tuple[Any, str]]:
        """Return what scores must share to be compared, each with what to do where they do not."""
        n_test, n_reference = self.value_rows or (self.n_samples, self.n_reference)
        return {
            "numbers of rows": (
                f"{n_test} and {n_reference}",
                "Novelty grows with the rows. Draw as many of each sample, features[rng.choice(len(features), n, "
                "replace=False)], or leave that to compare_novelty.",
            ),
            "kernel": (self.kernel, "Choose one kernel for all."),
            "bandwidth": (
                self.bandwidth,
                "Choose one for all: bandwidth=choose_bandwidth(pooled).value.",
            ),
            "eta": (self.eta, "Choose one for all."),
        }

    def named(self, names: Any, reference_names: Any) -> NoveltyResult:
        """Return the result with names for the rows of both samples in its headline; None for none.

        Parameters
        ----------
        names, reference_names : sequence of shape (n_rows,), or None
            Such as the index of a table, or names of files.
        """
        return replace(
            self,
            modes=tuple(mode.named(names) for mode in self.modes),
            lost_modes=tuple(mode.named(reference_names) for mode in self.lost_modes),
        )

    def score_rows(self, points: Any) -> FloatArray:
        """Score new rows as `row_scores` does those of the sample.

        Parameters
        ----------
        points : array of shape (n_points, n_columns)
            Features like those of the samples.

        Returns
        -------
        ndarray of shape (n_points,)
            From 0 to 1: the share of the rows of both samples that a row outranks, the mean of three ranks.

        Raises
        ------
        ValueError
            If the columns do not match, or the result was read back from a file, which holds no rows.
        """
        return self._scorer("score rows").at(points)

    def point_novelty(self, points: Any) -> FloatArray:
        """Return the paper's novelty of points: their membership in all positive eigenfunctions, from 0 to 1.

        Parameters
        ----------
        points : array of shape (n_points, n_columns)
            Features like those of the samples.

        Returns
        -------
        ndarray of shape (n_points,)

        Raises
        ------
        ValueError
            If the columns do not match, or the result was read back from a file, which holds no kernel.

        Notes
        -----
        The first call repeats the decomposition, for the eigenvectors this time.
        """
        basis, coefficients = self._eigenfunctions
        return basis.membership(points, coefficients)

    @cached_property
    def _eigenfunctions(self) -> tuple[FeatureMap, FloatArray]:
        if self.source is None:
            raise ValueError(_READ_BACK.format(what="score points"))
        solution = solve(*self.source, vectors=True)
        assert solution.basis is not None  # vectors are of a basis
        return solution.basis, solution.basis.coefficients(solution.vectors)

    def headline(self) -> str:
        """Return what is new and what is lost, in words."""
        new = _found("New", self.modes, self.share, "sample", self.p_value)
        lost = _found("Lost", self.lost_modes, self.lost_share, "reference", self.lost_p_value)
        times = "" if self.eta == 1.0 else f" more than {self.eta:g} times as frequent"
        if not new:
            new = f"No new kind{times} shown at this size (p = {self.p_value:.2g})."
        if not lost:
            lost = (
                "Lost: nothing."
                if self.modes
                else f"No lost kind either (p = {self.lost_p_value:.2g})."
            )
        near = [
            side for side, close in zip(("new", "lost"), self._near_level, strict=True) if close
        ]
        doubt = (
            f" Borderline: another seed could turn the verdict on what is {' and '.join(near)}."
            if near
            else ""
        )
        return f"{new} {lost}{doubt}"

    def notes(self) -> list[str]:
        """Return the sentences after the headline: the bound of the share, modes, the score, what to compare."""
        score = f"{self.title} {format_number(self.value)} nats"
        if self.value_rows is not None:
            score += f" on {self.value_rows[0]} and {self.value_rows[1]} rows drawn at random"
        if self.reverse is not None:
            score += f"; of the reference against the sample {format_number(self.reverse)} nats"
        sentences = [f"{score}."]
        if self.modes:
            confidence_level = f"{100.0 * self.share_interval.confidence_level:g} %"
            low = percent(self.share_interval.low)
            sentences.append(
                f"At least {low} of the sample is new (lower bound, {confidence_level}, from rows held out)."
            )
        if searched := self.settings.get("searched"):
            drawn = f"{searched[0]:,} and {searched[1]:,} rows drawn at random"
            sentences.append(f"Kinds were looked for among {drawn}, and counted in all rows.")
        several = max(len(self.modes), len(self.lost_modes)) > 1
        sentences += [str(mode) for mode in (*self.modes, *self.lost_modes)] if several else []
        common = super().notes()
        common[0] = common[0].replace("Higher is better", "Higher is more novel")
        return [
            *sentences,
            common[0],
            "Compare scores of equal sizes and bandwidths only.",
            *common[1:],
        ]

    def _scorer(self, what: str) -> RowScorer:
        if self.scorer is None:
            raise ValueError(_READ_BACK.format(what=what))
        return self.scorer


def _found(word: str, modes: tuple[Mode, ...], share: float, sample: str, p_value: float) -> str:
    """Say how much was found, in how many kinds and which rows; nothing where nothing was."""
    if not modes:
        return ""
    kinds = "one kind" if len(modes) == 1 else f"{len(modes)} kinds"
    rows = "; ".join(mode.in_words() for mode in modes[:_SHOWN])
    text = f"{word}: about {percent(share)} of the {sample}, {kinds} (p = {p_value:.2g}): {rows}"
    text += "; ..." if len(modes) > _SHOWN else ""
    return text if text.endswith("...") else f"{text}."
