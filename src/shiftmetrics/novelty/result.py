"""The result of novelty: what is new and in which samples, the paper's score, and what scores new points."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.confidence import normal_interval
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.result import Interval, Result, Status, format_number, format_percent
from shiftmetrics.novelty.modes.fraction_estimate import FractionEstimate
from shiftmetrics.novelty.modes.mode import Mode
from shiftmetrics.novelty.modes.row_scores import RowScorer
from shiftmetrics.novelty.result_parts import NoveltyChanges, NoveltyScore, NoveltyTest
from shiftmetrics.novelty.result_words import headline_of
from shiftmetrics.novelty.score.basis import Route, ScoreBasis
from shiftmetrics.novelty.score.routes import solve
from shiftmetrics.novelty.score.solution import NoveltyProblem

_LEAST_SAID = 0.005
"""A lower bound below this says nothing."""

_READ_BACK = "The result must come from a computation, got one read from a file. Compute the novelty again to {what}."


@dataclass(frozen=True, eq=False)
class NoveltySource:
    """What a result computes from on demand; files do not hold it."""

    problem: NoveltyProblem
    method: Route
    scorer: RowScorer
    estimate: FractionEstimate


@dataclass(frozen=True, eq=False, kw_only=True)
class NoveltyResult(Drawn, Result):
    """What is new in a sample against a reference, and its novelty in nats.

    Attributes
    ----------
    fraction : float
        Fraction of the sample that is new, or in excess of the reference: about this much of it belongs to no mode
        that the reference has, by cross-fitted scores. Members of modes may be fewer, where new samples are in no
        mode, or more, where some are ordinary. 0 where nothing is shown to be new, and where what differs is gradual
        or a group that is only more frequent. At eta > 1 the excess of the members.
    fraction_interval : Interval
        A lower bound of the fraction, by members named without the samples themselves; the upper end is 1, since
        samples that are new and unlike each other may go unseen.
    missing_fraction : float
        Fraction of the reference that is missing from the sample.
    new, missing : tuple of Mode
        The modes that are new, and those that the reference has and the sample lacks.
    changes : NoveltyChanges
        What is more or less frequent, or changed gradually: not new.
    score : NoveltyScore
        The spectrum, the kernel and the route behind ``value``.
    test : NoveltyTest
        The p-values, and the permutations behind them.
    value : float
        Kernel entropic novelty in nats, from 0 to ``score.total * log(n_samples)``: the entropy of what is in
        excess. It rises with the number of new modes, not with their fraction.
    error_bound : float
        Certificate of the factor, and rounding: up to rounding, the exact value lies between ``value`` and
        ``value + error_bound``.
    """

    measure = "novelty.kernel_entropic_novelty"
    title = "Kernel entropic novelty"
    higher_is_better = True
    unit = "nats"
    rule_field = "fraction_interval.low"
    ranked_as = ("samples", "most novel", "more novel")
    _renamed = MappingProxyType({"modes": "new"})

    status: Status
    fraction: float
    fraction_interval: Interval
    missing_fraction: float
    new: tuple[Mode, ...]
    missing: tuple[Mode, ...]
    changes: NoveltyChanges
    score: NoveltyScore
    test: NoveltyTest
    source: NoveltySource | None = field(default=None, repr=False)

    @property
    def above(self) -> tuple[str, ...]:
        """Warnings that stand above the verdict: the reference is later than the sample."""
        return self.changes.order_of_dates

    @property
    def p_value(self) -> float:
        """The fraction of the permutations that show as much that is new."""
        return self.test.p_value

    @property
    def n_reference(self) -> int:
        """The number of samples in the reference."""
        return self.test.sizes[1]

    @property
    def borderline(self) -> bool:
        """Whether another seed could change a verdict."""
        return bool(self.near_level)

    @property
    def near_level(self) -> list[str]:
        """The sides, "new" and "missing", whose verdict another seed could change."""
        if self.score.eta > 1.0:
            return []
        p_values = {"new": self.test.p_value, "missing": self.test.missing_p_value}
        return [side for side, p_value in p_values.items() if self.test.is_near(p_value)]

    @property
    def row_scores(self) -> FloatArray:
        """How new each sample looks, from 0 to 1, computed on first access.

        The mean of its ranks among both samples by membership, by a ridge classifier, and by the fraction of its
        neighbours that are of the sample.
        """
        return self._source("score samples").scorer.rows[: self.n_samples]

    @property
    def reference_row_scores(self) -> FloatArray:
        """How new each sample of the reference looks, from 0 to 1."""
        return self._source("score samples").scorer.rows[self.n_samples :]

    @property
    def comparable(self) -> dict[str, tuple[Any, str]]:
        """Return what must be equal in scores to be compared, each with what to do where it is not."""
        return {
            "numbers of rows": (
                " and ".join(map(str, self.score.sizes)),
                "Novelty grows with the rows. Take as many of each sample, features[rng.choice(len(features), n, "
                "replace=False)], or leave that to compare_novelty.",
            ),
            "kernel": (self.score.kernel, "Choose one kernel for all."),
            "bandwidth": (
                self.score.bandwidth,
                "Choose one for all: bandwidth=choose_bandwidth(pooled).value.",
            ),
            "eta": (self.score.eta, "Choose one for all."),
        }

    @property
    def secondary_metrics(self) -> dict[str, Any]:
        """Return figures that a table shows beside the value."""
        return {
            "p_value": self.test.p_value,
            "missing_p_value": self.test.missing_p_value,
            "fraction_low": self.fraction_interval.low,
        }

    def status_of(self, field: str) -> Status | None:
        """Return the status that a field depends on: that of the score is of no concern to what is new."""
        of_score = field.startswith(("value", "error_bound", "score", "status"))
        return self.status if of_score else None

    def named(self, names: Any, reference_names: Any) -> NoveltyResult:
        """Return the result with names for the samples of both sides in its headline; None for none.

        Parameters
        ----------
        names, reference_names : sequence of shape (n_rows,), or None
            Such as the index of a table, or names of files.
        """
        first = () if names is None else tuple(str(names[row]) for row in self.test.first_rows)

        def renamed(modes: tuple[Mode, ...]) -> tuple[Mode, ...]:
            return tuple(mode.named(reference_names if mode.missing else names) for mode in modes)

        return replace(
            self,
            new=renamed(self.new),
            missing=renamed(self.missing),
            changes=replace(self.changes, modes=renamed(self.changes.modes)),
            test=replace(self.test, first_names=first),
        )

    def score_rows(self, points: Any) -> FloatArray:
        """Score new samples as `row_scores` does those of the sample.

        Parameters
        ----------
        points : array of shape (n_points, n_columns)
            Features like those of the samples.

        Returns
        -------
        ndarray of shape (n_points,)
            From 0 to 1: the fraction of both samples that a point outranks, the mean of three ranks.

        Raises
        ------
        ValueError
            If the columns do not match, or the result was read back from a file, which holds no samples.
        """
        return self._source("score samples").scorer.at(points)

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
        basis, vectors = self._eigenfunctions
        return basis.membership(points, vectors)

    @cached_property
    def _eigenfunctions(self) -> tuple[ScoreBasis, FloatArray]:
        source = self._source("score points")
        solution = solve(source.problem, source.method, vectors=True)
        assert solution.basis is not None  # vectors are of a basis
        return solution.basis, solution.vectors

    def _source(self, what: str) -> NoveltySource:
        if self.source is None:
            raise ValueError(_READ_BACK.format(what=what))
        return self.source

    # --- what a comparison ranks ------------------------------------------------------------------

    def ranked(self, confidence_level: float) -> NoveltyResult:
        """Return the result with the fraction that is new as its value: nothing is ranked by the entropy."""
        own = float(np.linalg.norm(self.influence))
        other = float(np.linalg.norm(self.reference_influence))
        error = math.hypot(own, other)
        interval = normal_interval(
            self.fraction, error, confidence_level, "influence of samples", least=0.0
        )
        return replace(self, value=self.fraction, error_bound=0.0, interval=interval)

    @property
    def influence(self) -> FloatArray:
        """What each sample adds to the error of the fraction (a - b) / (1 - b), where a and b count as new."""
        if self.fraction == 0.0:
            return np.zeros(self.n_samples)
        return self._source("tell the error of the fraction").estimate.influences()[0]

    @property
    def reference_influence(self) -> FloatArray:
        """What each sample of the reference adds to the error of the fraction."""
        if self.fraction == 0.0:
            return np.zeros(self.n_reference)
        return self._source("tell the error of the fraction").estimate.influences()[1]

    # --- in words ---------------------------------------------------------------------------------

    def headline(self) -> str:
        """Return what is new, what is missing, and what else changed, in words."""
        return headline_of(self)

    def notes(self) -> list[str]:
        """Return the sentences after the headline: the bound of the fraction, what was read, and modes."""
        sentences = []
        low = self.fraction_interval.low
        if low >= _LEAST_SAID:
            confidence = f"{100.0 * self.fraction_interval.confidence_level:g} %"
            sentences.append(
                f"At least {format_percent(low)} of the sample is new (lower bound, {confidence}, from cross-fitted "
                "scores); on 162 samples with withheld groups the bound held, and where something was seen the "
                "fraction was off by 6 points on average."
            )
        if not self.new:
            least = self.test.smallest_mode
            sentences.append(
                f"No mode of fewer than about {least} samples can be seen at this size."
            )
        sentences += self.settings.get("encoding") or []
        if max(len(self.new), len(self.missing)) > 1:
            sentences += [str(mode) for mode in (*self.new, *self.missing)]
        # What the headline says is not said again.
        said = [f"Warning: {warning}" for warning in self.test.dependence]
        return [*sentences, *(part for part in super().notes() if part not in said)]

    def details(self) -> list[str]:
        """Return the score in both directions, what it may be compared with, and the sentences of every measure."""
        score = f"{self.title} {format_number(self.value)} nats"
        sizes = self.score.sizes
        if sizes != self.test.sizes:
            score += f" on {sizes[0]} and {sizes[1]} samples chosen at random"
        if self.score.reverse is not None:
            reverse = format_number(self.score.reverse)
            score += f"; of the reference against the sample {reverse} nats"
        sentences = [f"{score}."]
        if searched := self.settings.get("searched"):
            chosen = f"{searched[0]:,} and {searched[1]:,} samples chosen at random"
            sentences.append(f"Modes were searched for in {chosen}, and counted in all.")
        common = super().details()
        common[0] = common[0].replace("Higher is better", "Higher is more novel")
        sentences += [common[0], "Compare scores of equal sizes and bandwidths only.", *common[1:]]
        return sentences
