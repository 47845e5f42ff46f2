"""Where a column changed, and by what: the rule of at most two conditions that holds its change, and one map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.result import format_percent
from shiftmetrics.decisions.audit.cause_cells import CutColumn, cut_columns
from shiftmetrics.decisions.audit.cause_search import (
    CauseRule,
    CauseSearch,
    SplitCounts,
    likelihood_gain,
)
from shiftmetrics.decisions.audit.column_changes import (
    COMPARED,
    ColumnChange,
    in_words,
    ks_effect,
    median_of,
    ordered_values,
)
from shiftmetrics.decisions.audit.column_maps import explaining_map
from shiftmetrics.decisions.audit.mode_rules import OrderedCells
from shiftmetrics.decisions.audit.timeline import Periods
from shiftmetrics.decisions.count_tables import one_distribution, rare_together
from shiftmetrics.tables.encoder.categories import level_codes, level_counts
from shiftmetrics.tables.encoder.roles import Column

if TYPE_CHECKING:
    import pandas as pd

_LEAST_INSIDE = 0.3
_TIMES = 4.0
"""How many times as large as elsewhere the effect must be where a rule holds."""
_LEAST_ROWS = 30
_HELD_OUT_LEVEL = 0.001
"""Level at which rows that had no part in the choice must differ where the rule holds."""
_EXPLAINED = 4
"""Changed columns that are explained, the largest effects first: no more are named."""
_MOST_CHOOSING = 10_000
"""Samples of each side that choose rules: a half, and no more than so many."""
_BINS = 12
"""Ranges, or levels, by which the values of a changed column are counted while rules are tried."""


def with_causes(
    changes: Sequence[ColumnChange],
    columns: Sequence[Column],
    reference: pd.DataFrame,
    current: pd.DataFrame,
    periods: Periods | None = None,
) -> tuple[ColumnChange, ...]:
    """Return changes of columns, those that are shown with where they happened and what explains them.

    Parameters
    ----------
    changes : sequence of ColumnChange
        Of `compared_columns`.
    columns : sequence of Column
        The columns and their roles.
    reference, current : DataFrame
        The two samples.
    periods : Periods, optional
        When the current samples were taken.
    """
    roles = {str(column.name): column for column in columns}
    compared = [column for column in columns if column.role in COMPARED]
    search = None
    found = []
    n_left = _EXPLAINED
    for change in changes:
        column = roles[change.column]
        # The words of a text say themselves what happened.
        if not change.is_shown or n_left == 0 or column.role not in COMPARED:
            found.append(change)
            continue
        n_left -= 1
        if search is None:
            search = _PlaceSearch.of(compared, reference, current, periods)
        cause = search.place_of(column)
        if not cause:
            cause = explaining_map(column, reference[column.name], current[column.name])
        found.append(replace(change, cause=cause))
    return tuple(found)


def choosing_rows(n: int, rng: np.random.Generator) -> BoolArray:
    """Return which of n samples choose rules: a random half, and at most 10,000; the others are held out."""
    is_choosing: BoolArray = np.zeros(n, dtype=bool)
    is_choosing[rng.permutation(n)[: min((n + 1) // 2, _MOST_CHOOSING)]] = True
    return is_choosing


@dataclass(frozen=True, eq=False)
class _PlaceSearch:
    """Both samples, of which one part chooses rules and the other one confirms them."""

    sides: tuple[pd.DataFrame, pd.DataFrame]
    choosing: tuple[BoolArray, BoolArray]
    periods: Periods | None
    cuts: Sequence[CutColumn]

    @classmethod
    def of(
        cls,
        columns: Sequence[Column],
        reference: pd.DataFrame,
        current: pd.DataFrame,
        periods: Periods | None,
    ) -> _PlaceSearch:
        """Cut all columns into cells."""
        rng = np.random.default_rng(0)
        sides = reference, current
        choosing = choosing_rows(len(reference), rng), choosing_rows(len(current), rng)
        frames = [side[is_in] for side, is_in in zip(sides, choosing, strict=True)]
        of_some = None
        if periods is not None and len(periods.labels) > 1:
            of_some = replace(periods, of_sample=periods.of_sample[choosing[1]])
        cuts = cut_columns(columns, frames, of_some, least=_LEAST_ROWS // 2)
        return cls(sides, choosing, periods, cuts)

    def place_of(self, column: Column) -> str:
        """Say where a change lies, if elsewhere there is hardly any, and what explains it there."""
        cells = [side[column.name] for side in self.sides]
        parts = [each[is_in] for each, is_in in zip(cells, self.choosing, strict=True)]
        cuts = [cut for cut in self.cuts if cut.column != column]
        rule = CauseSearch(cuts, _ChangeQuestion.of(column, *parts)).best_rule()
        if rule is None:
            return ""
        there, in_span = self._met(rule)
        met = there[0], there[1] & in_span
        inside = _effect(column, *_of_rows(cells, met))
        # Elsewhere, and there at another time.
        others = [_effect_of_many(column, *_of_rows(cells, (~there[0], ~there[1])))]
        others.append(_effect_of_many(column, *_of_rows(cells, (there[0], there[1] & ~in_span))))
        outside = max(others)
        if inside < _LEAST_INSIDE or inside < _TIMES * outside:
            return ""
        held_out = [is_met & ~is_in for is_met, is_in in zip(met, self.choosing, strict=True)]
        if min(int(each.sum()) for each in held_out) < _LEAST_ROWS // 3:
            return ""
        # Effects are those of all samples; the p-value is of those that had no part in the choice
        # of the rule.
        confirming = _of_rows(cells, held_out)
        if _p_value(column, *confirming) > _HELD_OUT_LEVEL:
            return ""
        where = f"where {rule.text}" if rule.of_columns else rule.text
        inner = _of_rows(cells, met)
        n = int(met[1].sum())
        effects = f"effect {inside:.2f}, held out {_effect(column, *confirming):.2f}"
        words = f"{where}: {_values(column, *inner)} ({n:,} samples, {effects})"
        if explained := explaining_map(column, *inner):
            words += f", {explained}"
        elsewhere = "elsewhere" if rule.span is None else "otherwise"
        return f"{words}; {elsewhere} effect {outside:.2f}"

    def _met(self, rule: CauseRule) -> tuple[list[BoolArray], BoolArray]:
        """Return which samples of each side meet the conditions on columns, and which current ones the span."""
        there = [rule.is_met_by(side) for side in self.sides]
        in_span: BoolArray = np.ones(len(self.sides[1]), dtype=bool)
        if rule.span is not None and self.periods is not None:
            in_span = rule.span.is_met_by(self.periods.of_sample)
        return there, in_span


def _of_rows(cells: Sequence[pd.Series], met: Sequence[BoolArray]) -> tuple[pd.Series, pd.Series]:
    return cells[0][met[0]], cells[1][met[1]]


@dataclass(frozen=True, eq=False)
class _ChangeQuestion:
    """The question where the values of a column differ between the samples, while elsewhere they do not."""

    bins: tuple[IntArray, ...]
    n_bins: int

    @classmethod
    def of(
        cls, column: Column, reference: pd.Series, current: pd.Series, n_bins: int = _BINS
    ) -> _ChangeQuestion:
        """Put the values into a few ranges, or levels."""
        sides = reference, current
        if column.role == "category":
            counts = level_counts(reference).add(level_counts(current), fill_value=0)
            counts = counts.sort_index().sort_values(ascending=False, kind="stable")
            levels = counts.index[:n_bins].to_numpy(str)
            place_of_level = {level: place for place, level in enumerate(levels.tolist())}
            bins = []
            for side in sides:
                codes, names = level_codes(side)
                place_of = [place_of_level.get(name, n_bins) for name in names]
                bins.append(np.array(place_of, dtype=np.int64)[codes])
            return cls(tuple(bins), n_bins + 1)
        known = [ordered_values(column.role, side.dropna()) for side in sides]
        values = np.concatenate(known)
        inner = np.linspace(0.0, 1.0, n_bins + 1)[1:-1]
        edges = np.quantile(values, inner) if len(values) else np.empty(0)
        bins = []
        for side in sides:
            # Infinite cells go with missing ones.
            places = np.full(len(side), n_bins, dtype=np.int64)
            cells = OrderedCells.of(column.role, side).values
            is_known = np.isfinite(cells)
            places[is_known] = np.searchsorted(edges, cells[is_known], side="left")
            bins.append(places)
        return cls(tuple(bins), n_bins + 1)

    @property
    def without_rule(self) -> float:
        """Return the gain in likelihood of two distributions over one, of all samples."""
        counts = [
            np.bincount(bins, minlength=self.n_bins)[None, :].astype(np.float64)
            for bins in self.bins
        ]
        return float(likelihood_gain(counts)[0])

    def worth(self, counts: SplitCounts) -> FloatArray:
        """Return the gain in likelihood of two distributions over one where a rule holds, less that elsewhere."""
        worth = likelihood_gain(counts.inside)
        for part in counts.outside:
            worth = worth - likelihood_gain(part)
        least = np.minimum(*(side.sum(axis=1) for side in counts.inside))
        rest = np.sum([part[1].sum(axis=1) for part in counts.outside], axis=0)
        is_enough = np.minimum(least, rest) >= _LEAST_ROWS // 2
        return np.where(is_enough, worth, -np.inf)


def _effect_of_many(column: Column, reference: pd.Series, current: pd.Series) -> float:
    """Return the effect among samples that are enough to tell; 0 of fewer."""
    return (
        _effect(column, reference, current)
        if min(len(reference), len(current)) >= _LEAST_ROWS
        else 0.0
    )


def _p_value(column: Column, reference: pd.Series, current: pd.Series) -> float:
    """Return the p-value of one distribution of two small parts, with missing cells as a level."""
    # Ranges are few enough for the smaller part to have some samples in each.
    n_bins = max(2, min(_BINS, len(reference) // 8, len(current) // 8))
    question = _ChangeQuestion.of(column, reference, current, n_bins)
    table = np.stack([np.bincount(bins, minlength=question.n_bins) for bins in question.bins])
    return one_distribution(rare_together(table))


def _effect(column: Column, reference: pd.Series, current: pd.Series) -> float:
    """Return the largest difference of the distribution functions, or of the fractions of any set of levels."""
    if column.role == "category":
        counts = [level_counts(side) for side in (reference, current)]
        levels = counts[0].index.union(counts[1].index)
        table = np.stack([side.reindex(levels, fill_value=0).to_numpy() for side in counts])
        cells = rare_together(table) / table.sum(axis=1, keepdims=True)
        return 0.5 * float(np.abs(cells[0] - cells[1]).sum())
    gaps = abs(float(reference.isna().mean()) - float(current.isna().mean()))
    sides = [np.sort(ordered_values(column.role, side.dropna())) for side in (reference, current)]
    if not all(len(side) for side in sides):
        return gaps
    return max(gaps, ks_effect(*sides))


def _values(column: Column, reference: pd.Series, current: pd.Series) -> str:
    """Name what is there now and what was: medians, the most frequent level, or gaps."""
    if column.role == "category":
        counts = level_counts(current)
        level = str(counts.index[0])
        was = float(level_counts(reference).get(level, 0)) / len(reference)
        now = float(counts.iloc[0]) / len(current)
        return f"{level} {format_percent(now)}, was {format_percent(was)}"
    sides = [ordered_values(column.role, side.dropna()) for side in (current, reference)]
    if not all(len(side) for side in sides):
        gaps = [format_percent(float(side.isna().mean())) for side in (current, reference)]
        return f"missing in {gaps[0]}, was {gaps[1]}"
    medians = [in_words(column.role, median_of(side)) for side in sides]
    return f"median {medians[0]}, was {medians[1]}"
