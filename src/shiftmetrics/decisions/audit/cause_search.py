"""The search for a cause: at most two conditions on columns, or one and a span of time, where something changed.

Each column is cut into cells, and what is asked of a rule, such as how the values of another column are distributed
where it holds, is a sum over cells: all ranges of a column cost one count of the samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.special import xlogy

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.decisions.audit.cause_cells import CauseCondition, CutColumn, TimeSpan
from shiftmetrics.decisions.audit.mode_rules import RuleCondition

if TYPE_CHECKING:
    import pandas as pd

_MOST_FIRST = 6
"""Conditions, the best ones of as many columns, beside which a second one is looked for."""
_LEAST_NATS = 3.0
"""By how much a condition must raise the worth beyond the logarithm of the number of choices."""
_LEAST_RISE = 0.1
"""Part of the worth without a condition by which it must raise it."""
_ROUNDS = 2
"""Rounds in which each condition is chosen again beside the other one, among fine ranges."""


@dataclass(frozen=True)
class CauseRule:
    """Conditions that hold together, at most one of them a span of time.

    Attributes
    ----------
    of_columns : tuple of RuleCondition
        The conditions on columns.
    span : TimeSpan or None
        When they hold, if not always.
    """

    of_columns: tuple[RuleCondition, ...] = ()
    span: TimeSpan | None = None

    @property
    def conditions(self) -> tuple[CauseCondition, ...]:
        """All of them."""
        return self.of_columns if self.span is None else (*self.of_columns, self.span)

    def and_also(self, condition: CauseCondition) -> CauseRule:
        """Return the rule with one more condition."""
        if isinstance(condition, TimeSpan):
            return CauseRule(self.of_columns, condition)
        return CauseRule((*self.of_columns, condition), self.span)

    def without(self, condition: CauseCondition) -> CauseRule:
        """Return the rule without one of its conditions."""
        rest = tuple(each for each in self.of_columns if each != condition)
        return CauseRule(rest, None if self.span == condition else self.span)

    def is_met_by(self, frame: pd.DataFrame) -> BoolArray:
        """Return which samples of a table meet the conditions on columns; their time is not asked."""
        met: BoolArray = np.ones(len(frame), dtype=bool)
        for condition in self.of_columns:
            met &= condition.is_met(frame[condition.column.name])
        return met

    @property
    def text(self) -> str:
        """In words, such as "origin = LGA since 2024-10-16", "age at least 40 and job = cook"."""
        words = [" and ".join(each.text for each in self.of_columns)]
        if self.span is not None:
            words.append(self.span.text)
        return " ".join(word for word in words if word)


@dataclass(frozen=True, eq=False)
class SplitCounts:
    """How many samples of each bin meet some rules, and how many do not.

    Attributes
    ----------
    inside : tuple of arrays of shape (n_rules, n_bins)
        Of each side, those that meet the rule.
    outside : tuple of tuples of arrays
        Those that do not, each part with all sides: there at another time, where the rule has a span, and elsewhere.
    """

    inside: tuple[FloatArray, ...]
    outside: tuple[tuple[FloatArray, ...], ...]


def likelihood_gain(sides: Sequence[FloatArray]) -> FloatArray:
    """Return by how much two distributions are likelier than one, for each row of counts of both sides."""
    # Half of the G statistic of the table of two sides by bins.
    pooled = sides[0] + sides[1]
    gain = xlogy(pooled.sum(axis=1), pooled.sum(axis=1)) - xlogy(pooled, pooled).sum(axis=1)
    for side in sides:
        gain = gain + xlogy(side, side).sum(axis=1) - xlogy(side.sum(axis=1), side.sum(axis=1))
    return np.asarray(gain)


class CauseQuestion(Protocol):
    """What is asked of a rule; the current side is the last one."""

    @property
    def bins(self) -> Sequence[IntArray]:
        """Return the bin of each sample, side by side."""

    @property
    def n_bins(self) -> int:
        """Return how many bins there are."""

    @property
    def without_rule(self) -> float:
        """Return what it is worth to say that all samples changed in one way."""

    def worth(self, counts: SplitCounts) -> FloatArray:
        """Return how well each rule says where something changed, in nats; minus infinity where it cannot be said."""


@dataclass(frozen=True, eq=False)
class CauseSearch:
    """A search for a rule.

    Attributes
    ----------
    cuts : sequence of CutColumn
        The columns, cut into cells.
    question : CauseQuestion
        What is asked.
    """

    cuts: Sequence[CutColumn]
    question: CauseQuestion

    def best_rule(self) -> CauseRule | None:
        """Return the rule that is worth most: of two conditions only where the second adds more than choice explains.

        A heuristic: a second condition is looked for beside the best ones of six columns, not among all pairs. Two
        conditions that show nothing alone are not found.
        """
        firsts = []
        for cut in self.cuts:
            found = self._best_on(cut, CauseRule())
            if found is not None:
                firsts.append(found)
        firsts.sort(key=lambda each: -each[0])
        if not firsts:
            return None
        n_choices = sum(len(cut.choices(is_fine=False)) for cut in self.cuts)
        by_choice = _LEAST_NATS + float(np.log(n_choices))
        one = self._refined(CauseRule().and_also(firsts[0][1]))
        worth = self._worth(one)
        best: CauseRule | None = one
        # What changed everywhere needs no rule: almost all samples are hardly less than all of them.
        enough = (1.0 + _LEAST_RISE) * self.question.without_rule + by_choice
        most = worth + max(_LEAST_RISE * worth, by_choice)
        # No single condition is enough. A pair may still be, but its second condition has been chosen as well.
        if worth < enough:
            most = enough + by_choice
            best = None
        for _, first in firsts[:_MOST_FIRST]:
            rule = CauseRule().and_also(first)
            second = self._best_second(rule)
            if second is None:
                continue
            two = self._refined(rule.and_also(second))
            value = self._worth(two)
            if value > most:
                most = value
                best = two
        return best

    def _best_second(self, rule: CauseRule) -> CauseCondition | None:
        """Return the condition on another column that is worth most beside a rule."""
        taken = [self._cut_of(condition) for condition in rule.conditions]
        best = None
        highest = 0.0
        for cut in self.cuts:
            if cut in taken:
                continue
            found = self._best_on(cut, rule)
            if found is not None and found[0] > highest:
                highest, best = found
        return best

    def _refined(self, rule: CauseRule) -> CauseRule:
        """Return a rule whose conditions are chosen again, each beside the other one, among fine ranges."""
        worth = self._worth(rule)
        for _ in range(_ROUNDS):
            before = rule
            for condition in rule.conditions:
                rest = rule.without(condition)
                found = self._best_on(self._cut_of(condition), rest, is_fine=True)
                if found is not None and found[0] > worth:
                    worth = found[0]
                    rule = rest.and_also(found[1])
            if rule == before:
                break
        return rule

    def _best_on(
        self, cut: CutColumn, rule: CauseRule, *, is_fine: bool = False
    ) -> tuple[float, CauseCondition] | None:
        """Return the best condition on a column beside a rule, with what both are worth; None where none is."""
        choices = cut.choices(is_fine=is_fine)
        worth = self._worths(cut, rule, choices)
        together = cut.together(worth)
        if len(together):
            choices = np.concatenate([choices, together])
            worth = np.concatenate([worth, self._worths(cut, rule, together)])
        best = int(np.argmax(worth))
        if worth[best] <= 0.0:
            return None
        return float(worth[best]), cut.condition(choices[best])

    def _worth(self, rule: CauseRule) -> float:
        """Return what a rule is worth."""
        last = rule.conditions[-1]
        cut = self._cut_of(last)
        return float(self._worths(cut, rule.without(last), cut.cells_of(last)[None, :])[0])

    def _cut_of(self, condition: CauseCondition) -> CutColumn:
        """Return the column of a condition."""
        for cut in self.cuts:
            if cut.is_time == isinstance(condition, TimeSpan) and (
                cut.is_time or cut.column == getattr(condition, "column", None)
            ):
                return cut
        raise KeyError(condition)

    def _worths(self, cut: CutColumn, rule: CauseRule, choices: FloatArray) -> FloatArray:
        """Return what a rule is worth with each of some choices of cells of one more column."""
        # All choices at once: the counts of the cells of this column by bins, times the choices as
        # zeros and ones.
        met = [self._is_met(rule, side) for side in range(len(self.question.bins))]
        if cut.is_time:
            return self.question.worth(self._by_time(cut, met, choices))
        known = range(len(met) - 1)
        inside = [choices @ self._table(cut, met[side], side) for side in known]
        in_span = self._in_span(rule)
        inside.append(choices @ self._table(cut, met[-1] & in_span, -1))
        elsewhere = [self._all(side) - part for side, part in enumerate(inside)]
        parts = [tuple(elsewhere)]
        if rule.span is not None:
            # The reference has no such times: all its samples that meet the rest are what was there before.
            at_other_times = choices @ self._table(cut, met[-1] & ~in_span, -1)
            parts = [
                (*inside[:-1], at_other_times),
                (*elsewhere[:-1], elsewhere[-1] - at_other_times),
            ]
        return self.question.worth(SplitCounts(tuple(inside), tuple(parts)))

    def _by_time(
        self, cut: CutColumn, met: Sequence[BoolArray], choices: FloatArray
    ) -> SplitCounts:
        """Count the samples that meet a rule in spans of time, there at other times, and elsewhere."""
        n_bins = self.question.n_bins
        shape = (len(choices), n_bins)
        there = []
        for bins, is_met in zip(self.question.bins, met, strict=True):
            counts = np.bincount(bins[is_met], minlength=n_bins).astype(np.float64)
            there.append(np.broadcast_to(counts, shape))
        now = choices @ self._table(cut, met[-1], -1)
        elsewhere = tuple(self._all(side) - part for side, part in enumerate(there))
        return SplitCounts((*there[:-1], now), ((*there[:-1], there[-1] - now), elsewhere))

    def _all(self, side: int) -> FloatArray:
        """Count all samples of a side, by bins."""
        counts = np.bincount(self.question.bins[side], minlength=self.question.n_bins)
        return counts.astype(np.float64)

    def _is_met(self, rule: CauseRule, side: int) -> BoolArray:
        """Return which samples of a side meet the conditions on columns."""
        met: BoolArray = np.ones(len(self.question.bins[side]), dtype=bool)
        for condition in rule.of_columns:
            cut = self._cut_of(condition)
            met &= cut.cells_of(condition)[cut.codes[side]] > 0.0
        return met

    def _in_span(self, rule: CauseRule) -> BoolArray:
        """Return which samples of the current side fall into the span of a rule."""
        if rule.span is None:
            return np.ones(len(self.question.bins[-1]), dtype=bool)
        return rule.span.is_met_by(self._cut_of(rule.span).codes[-1])

    def _table(self, cut: CutColumn, is_met: BoolArray, side: int) -> FloatArray:
        """Count the samples of each cell, by bins."""
        n_bins = self.question.n_bins
        codes = cut.codes[side][is_met] * n_bins + self.question.bins[side][is_met]
        counts = np.bincount(codes, minlength=cut.n_cells * n_bins)
        return counts.reshape(cut.n_cells, n_bins).astype(np.float64)
