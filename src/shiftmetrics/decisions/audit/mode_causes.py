"""Where a mode lies: the rule of at most two conditions on other columns that holds for most of it and few others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.result import format_percent
from shiftmetrics.decisions.audit.cause_cells import TimeSpan, cut_columns
from shiftmetrics.decisions.audit.cause_search import CauseSearch, SplitCounts, likelihood_gain
from shiftmetrics.decisions.audit.column_causes import choosing_rows
from shiftmetrics.decisions.audit.column_changes import COMPARED
from shiftmetrics.decisions.audit.new_modes import TableMode
from shiftmetrics.decisions.audit.timeline import Periods
from shiftmetrics.decisions.count_tables import one_distribution
from shiftmetrics.tables.encoder.roles import Column

if TYPE_CHECKING:
    import pandas as pd

_MOST = 0.9
"""Fraction of the members of a mode that a rule must hold for; of those held out, a little less will do."""
_MOST_HELD_OUT = 0.8
_TIMES = 5.0
"""How many times as often as for other samples a rule must hold for members."""
_LEAST_MEMBERS = 30
_LEVEL = 0.001
"""Level at which samples that had no part in the choice must show it."""


def with_cause(
    mode: TableMode, columns: Sequence[Column], sample: pd.DataFrame, periods: Periods | None
) -> TableMode:
    """Return a new mode with where it lies, where a short rule on other columns says so.

    The columns by which the mode was found take no part: they tell its samples by definition. Samples are counted
    from the date on from which the mode is there, if it has one.

    Parameters
    ----------
    mode : TableMode
        A new mode, with its date.
    columns : sequence of Column
        The columns and their roles.
    sample : DataFrame
        The current sample.
    periods : Periods or None
        When its samples were taken.
    """
    others = [
        column
        for column in columns
        if column.role in COMPARED and str(column.name) not in mode.defined_by
    ]
    since, rows = _rows_of_dates(mode, len(sample), periods)
    is_member = mode.is_member(len(sample))[rows]
    frame = sample.iloc[rows]
    if not others or min(is_member.sum(), (~is_member).sum()) < _LEAST_MEMBERS:
        return mode
    is_choosing = choosing_rows(len(rows), np.random.default_rng(0))
    question = _MemberQuestion((is_member[is_choosing].astype(np.int64),))
    cuts = cut_columns(others, [frame[is_choosing]], least=_LEAST_MEMBERS // 2)
    rule = CauseSearch(cuts, question).best_rule()
    if rule is None:
        return mode
    met = rule.is_met_by(frame)
    table = _table(met, is_member)
    held_out = _table(met[~is_choosing], is_member[~is_choosing])
    # The rule was chosen by half of the samples: it has to hold in all of them, and in the other
    # half by itself, where it must show at the level as well.
    if not (_holds(table, _MOST) and _holds(held_out, _MOST_HELD_OUT)):
        return mode
    if one_distribution(held_out) > _LEVEL:
        return mode
    rate = format_percent(table[1, 1] / table[1].sum())
    other_counts, member_counts = _met_in_words(table)
    held_out_others, held_out_members = _met_in_words(held_out)
    text = (
        f"{rate} of it where {rule.text}: {member_counts} samples, {other_counts} others{since} "
        f"(held out: {held_out_members}, {held_out_others})"
    )
    return replace(mode, cause=text)


def _rows_of_dates(mode: TableMode, n: int, periods: Periods | None) -> tuple[str, IntArray]:
    """Return the samples of the time of a mode, and that time in words; all samples where it has none."""
    change = mode.change
    if periods is None or change is None or not change.is_shown:
        return "", np.arange(n)
    # Where the first or the last period is not said, the mode is there from the start, or to the end.
    first = periods.labels.index(change.first) if change.first else 0
    last = periods.labels.index(change.last) if change.last else len(periods.labels) - 1
    span = TimeSpan(periods.labels, first, last)
    return f" {span.text}", np.flatnonzero(span.is_met_by(periods.of_sample))


def _table(met: BoolArray, is_member: BoolArray) -> IntArray:
    """Count others and members, in rows, that do not meet a rule and that do."""
    codes = 2 * is_member.astype(np.int64) + met
    return np.bincount(codes, minlength=4).reshape(2, 2)


def _met_in_words(table: IntArray) -> list[str]:
    """Say how many of all others, and of all members, meet a rule."""
    return [f"{n:,} of {total:,}" for n, total in zip(table[:, 1], table.sum(axis=1), strict=True)]


def _holds(table: IntArray, most: float) -> bool:
    """Return True if a rule holds for most members, and several times as often as for others."""
    others, members = table[:, 1] / np.maximum(table.sum(axis=1), 1)
    return bool(members >= most and members >= _TIMES * others)


@dataclass(frozen=True, eq=False)
class _MemberQuestion:
    """The question where the members of a mode are, while elsewhere there are none."""

    bins: tuple[IntArray, ...]
    n_bins: int = 2

    @property
    def without_rule(self) -> float:
        """Return 0: one rate is what is there without a rule."""
        return 0.0

    def worth(self, counts: SplitCounts) -> FloatArray:
        """Return the gain in likelihood of two rates of members over one, where the rule has the higher one."""
        inside = counts.inside[0]
        outside = counts.outside[0][0]
        gain = likelihood_gain((inside, outside))
        sizes = inside.sum(axis=1), outside.sum(axis=1)
        is_higher = inside[:, 1] * sizes[1] > outside[:, 1] * sizes[0]
        return np.where(is_higher, gain, -np.inf)
