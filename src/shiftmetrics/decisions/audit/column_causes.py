"""Where a column changed, and by what: the level of another column that holds its change, and one map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shiftmetrics._core.arrays import BoolArray
from shiftmetrics._core.result import format_percent
from shiftmetrics.decisions.audit.column_changes import (
    COMPARED,
    ColumnChange,
    in_words,
    ks_effect,
    median_of,
    ordered_values,
)
from shiftmetrics.decisions.audit.column_maps import explaining_map
from shiftmetrics.tables.encoder.categories import level_codes, level_counts
from shiftmetrics.tables.encoder.roles import Column

if TYPE_CHECKING:
    import pandas as pd

_LEAST_INSIDE = 0.3
_TIMES = 4.0
"""How many times as large as elsewhere the effect must be at a level that holds the change."""
_LEAST_ROWS = 30
_MOST_LEVELS = 100
_EXPLAINED = 4
"""Changed columns that are explained, the largest effects first: no more are named."""


def with_causes(
    changes: Sequence[ColumnChange],
    columns: Sequence[Column],
    reference: pd.DataFrame,
    current: pd.DataFrame,
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
    """
    roles = {str(column.name): column for column in columns}
    categories = [column for column in columns if column.role == "category"]
    found = []
    n_left = _EXPLAINED
    for change in changes:
        column = roles[change.column]
        # The words of a text say themselves what happened.
        if not change.is_shown or n_left == 0 or column.role not in COMPARED:
            found.append(change)
            continue
        n_left -= 1
        sides = reference[column.name], current[column.name]
        cause = _at_one_level(column, categories, reference, current)
        if not cause:
            cause = explaining_map(column, *sides)
        found.append(replace(change, cause=cause))
    return tuple(found)


def _at_one_level(
    column: Column, categories: Sequence[Column], reference: pd.DataFrame, current: pd.DataFrame
) -> str:
    """Say at which level of another column a change lies, if elsewhere there is hardly any, and what explains it.

    Of the levels at which the column changed by at least .3 and elsewhere by less than a quarter of that, the one
    where it changed most beyond elsewhere is taken.
    """
    most = 0.0
    best = ""
    for other in categories:
        if other.name == column.name:
            continue
        codes, names = level_codes(reference[other.name])
        now_codes, now_names = level_codes(current[other.name])
        places = {name: place for place, name in enumerate(names)}
        for place, level in enumerate(list(now_names)[:_MOST_LEVELS]):
            now: BoolArray = now_codes == place
            before: BoolArray = codes == places.get(level, -1)
            if not _is_split(before, now):
                continue
            cells = reference[column.name][before], current[column.name][now]
            inside = _effect(column, *cells)
            if inside < _LEAST_INSIDE:
                continue
            outside = _effect(column, reference[column.name][~before], current[column.name][~now])
            if inside < _TIMES * outside or inside - outside <= most:
                continue
            most = inside - outside
            n = int(now.sum())
            best = f"where {other.name} = {level}: {_values(column, *cells)} ({n:,} samples, effect {inside:.2f})"
            if explained := explaining_map(column, *cells):
                best += f", {explained}"
            best += f"; elsewhere effect {outside:.2f}"
    return best


def _is_split(before: BoolArray, now: BoolArray) -> bool:
    """Return True if there are enough samples inside and outside, on both sides."""
    counts = [int(part.sum()) for part in (before, ~before, now, ~now)]
    return min(counts) >= _LEAST_ROWS


def _effect(column: Column, reference: pd.Series, current: pd.Series) -> float:
    """Return the largest difference of the distribution functions, or of the fractions of any set of levels."""
    if column.role == "category":
        counts = [level_counts(side) for side in (reference, current)]
        levels = counts[0].index.union(counts[1].index)
        rates = [(side.reindex(levels, fill_value=0) / side.sum()).to_numpy() for side in counts]
        return 0.5 * float(np.abs(rates[0] - rates[1]).sum())
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
