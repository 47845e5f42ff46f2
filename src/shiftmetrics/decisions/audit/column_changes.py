"""What changed in each column of two tables: one effect size, one adjusted p-value, and the change in words."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import format_number, format_percent
from shiftmetrics.decisions.audit.text_changes import text_change
from shiftmetrics.decisions.count_tables import holm, one_distribution, rare_together
from shiftmetrics.tables.encoder.categories import level_counts
from shiftmetrics.tables.encoder.parts import to_numbers
from shiftmetrics.tables.encoder.roles import Column

if TYPE_CHECKING:
    import pandas as pd

COMPARED = ("number", "category", "date")
"""Roles of the columns that are compared by themselves."""
_NAMED_LEVELS = 3
_REPLACED = 0.99
CHANGED_LEVEL = 0.01
"""Level at which columns are said to change, all of them together."""
_FEW_SAMPLES = 200


@dataclass(frozen=True, eq=False, kw_only=True)
class ColumnChange(Record):
    """How the values of one column differ between two samples.

    Attributes
    ----------
    column : str
        Its name.
    effect : float
        From 0 to 1: the largest difference of the two distribution functions (numbers, dates; Kolmogorov and
        Smirnov), of the fractions of any set of levels (categories; total variation, rare levels as one), or of the
        fractions of texts that hold a word or a phrase of two; or the
        change of the fraction that is missing, infinite, or written with blanks at its ends, or the difference of the
        times of day, where that is larger.
    p_value : float
        Of "both samples have one distribution", adjusted for the number of columns (Holm).
    missing : tuple of two floats
        Fraction of missing cells in the reference, and in the current sample.
    new_levels : tuple of str
        Categories that the reference lacks, the most frequent first.
    text : str
        The change in words, such as "median 38, was 44".
    cause : str
        Where it happened and what explains it, such as "where origin = LGA: ..."; empty where nothing short does.
    """

    column: str
    effect: float
    p_value: float
    missing: tuple[float, float]
    new_levels: tuple[str, ...] = ()
    text: str = ""
    cause: str = ""

    @property
    def is_shown(self) -> bool:
        """Whether the column is shown to have changed by itself."""
        return self.p_value <= CHANGED_LEVEL

    @property
    def is_replaced(self) -> bool:
        """Whether nearly every sample has a value that the reference lacks: a new code or unit, or a new world."""
        return self.is_shown and self.effect >= _REPLACED


def compared_columns(
    reference: pd.DataFrame,
    current: pd.DataFrame,
    columns: Sequence[Column],
    written: tuple[pd.DataFrame, pd.DataFrame] | None = None,
) -> tuple[ColumnChange, ...]:
    """Compare two samples column by column; the largest effect comes first.

    Ids and columns that are left out are passed over. Samples are taken as independent, within and across.

    Parameters
    ----------
    reference, current : DataFrame
        The two samples.
    columns : sequence of Column
        The columns and their roles, such as `TableEncoder.columns`.
    written : pair of DataFrame, optional
        The same cells as they are written: words with the blanks at their ends, which are no part of a level.
    """
    found = []
    for column in columns:
        # A column that is left out may stand in one sample alone.
        if column.role not in (*COMPARED, "text"):
            continue
        sides = reference[column.name], current[column.name]
        if column.role == "category":
            change = _levels_change(column, *sides)
        elif column.role == "text":
            change = _text_change(column, *sides)
        else:
            change = _numbers_change(column, *sides)
        if written is not None and column.role in ("category", "text"):
            change = with_blanks(change, [side[column.name] for side in written])
        found.append(change)
    # Many columns are asked at once: without this, one in twenty would "change" in any two samples.
    adjusted = holm(np.array([change.p_value for change in found]))
    changes = [
        replace(change, p_value=p_value)
        for change, p_value in zip(found, adjusted.tolist(), strict=True)
    ]
    return tuple(sorted(changes, key=lambda change: -change.effect))


def _text_change(column: Column, reference: pd.Series, current: pd.Series) -> ColumnChange:
    """Compare how many texts hold each word or phrase."""
    effect, p_value, text = text_change(reference, current)
    return ColumnChange(
        column=str(column.name),
        effect=effect,
        p_value=p_value,
        missing=(float(reference.isna().mean()), float(current.isna().mean())),
        text=text,
    )


def _numbers_change(column: Column, reference: pd.Series, current: pd.Series) -> ColumnChange:
    """Compare the distribution functions of numbers or dates, and how many cells are missing."""
    from scipy.stats import fisher_exact

    sizes = len(reference), len(current)
    gaps = [int(side.isna().sum()) for side in (reference, current)]
    missing = gaps[0] / sizes[0], gaps[1] / sizes[1]
    effect, p_value, text = 0.0, 1.0, ""
    sides = [ordered_values(column.role, side.dropna()) for side in (reference, current)]
    if all(len(side) for side in sides):
        test = _ks_test(*sides)
        effect = float(test.statistic)
        p_value = float(test.pvalue)
        text = _in_words(column.role, *sides)
    # More questions are asked of dates with times of day, and of a column with gaps, or infinite cells: whether they
    # are there. The smallest p-value counts as often as questions were asked, and the largest effect is told.
    p_values = [p_value]
    if column.role == "date" and all(len(side) for side in sides):
        times = [times_of_day(side) for side in sides]
        if any(side.any() for side in times):
            test = _ks_test(*times)
            p_values.append(float(test.pvalue))
            if test.statistic > effect:
                effect = float(test.statistic)
                medians = [clock_in_words(median_of(side)) for side in times]
                text = f"time of day: median {medians[1]}, was {medians[0]}"
    infinite = [int(infinite_cells(column.role, side).sum()) for side in (reference, current)]
    for word, counts in (("missing", gaps), ("infinite", infinite)):
        if not any(counts):
            continue
        rows = [[n, size - n] for n, size in zip(counts, sizes, strict=True)]
        p_values.append(float(fisher_exact(rows).pvalue))
        before, now = (n / size for n, size in zip(counts, sizes, strict=True))
        if abs(now - before) > effect:
            effect = abs(now - before)
            text = f"{word} in {format_percent(now)}, was {format_percent(before)}"
    p_value = min(1.0, len(p_values) * min(p_values))
    return ColumnChange(
        column=str(column.name),
        effect=effect,
        p_value=p_value,
        missing=missing,
        text=text,
    )


def _ks_test(one: FloatArray, other: FloatArray) -> Any:
    """Return statistic and p-value of the test of Kolmogorov and Smirnov."""
    from scipy.stats import ks_2samp

    # The exact distribution takes long for many samples, and its limit does not hold for few.
    method = "asymp"
    if max(len(one), len(other)) <= _FEW_SAMPLES:
        method = "exact"
    with warnings.catch_warnings():
        # Where the exact sum overflows, scipy takes the limit and warns; the answer holds as it is.
        warnings.simplefilter("ignore", RuntimeWarning)
        return ks_2samp(one, other, method=method)


def with_blanks(change: ColumnChange, written: Sequence[pd.Series]) -> ColumnChange:
    """Return a change of words with one question more: whether cells have blanks at their ends.

    Levels are compared without them. Who reads the file otherwise, such as a model, sees other levels.
    """
    from scipy.stats import fisher_exact

    if any(side.dtype.kind in "biufcmM" for side in written):
        return change
    counts = [_n_with_blanks(side) for side in written]
    if not any(counts):
        return change
    sizes = [len(side) for side in written]
    p_value = float(
        fisher_exact([[n, size - n] for n, size in zip(counts, sizes, strict=True)]).pvalue
    )
    p_value = min(1.0, 2.0 * min(p_value, change.p_value))
    before, now = (n / size for n, size in zip(counts, sizes, strict=True))
    if abs(now - before) <= change.effect:
        return replace(change, p_value=p_value)
    text = f"blanks at the ends of cells in {format_percent(now)}, was {format_percent(before)}"
    return replace(change, p_value=p_value, effect=abs(now - before), text=text)


def _n_with_blanks(cells: pd.Series) -> int:
    """Count the cells that begin or end with a blank, and hold more than blanks."""
    counts = cells.value_counts()
    found = 0
    for cell, n in zip(counts.index.tolist(), counts.tolist(), strict=True):
        if isinstance(cell, str) and cell.strip() not in ("", cell):
            found += n
    return found


def times_of_day(seconds: FloatArray) -> FloatArray:
    """Return the hours since midnight of times in seconds, sorted."""
    return np.sort(np.mod(seconds, 86_400.0) / 3_600.0)


def clock_in_words(hours: float) -> str:
    """Return hours since midnight as a clock shows them.

    Examples
    --------
    >>> clock_in_words(13.5), clock_in_words(23.999)
    ('13:30', '23:59')
    """
    minutes = int(60.0 * hours + 1e-6)
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def _in_words(role: str, reference: FloatArray, current: FloatArray) -> str:
    """Name both medians; where they are one, such as those of flags, both means."""
    name = "median"
    before = median_of(reference)
    now = median_of(current)
    if before == now:
        name = "mean"
        before = _mean(reference)
        now = _mean(current)
    return f"{name} {in_words(role, now)}, was {in_words(role, before)}"


def median_of(values: FloatArray) -> float:
    """Return the median: of halves, because the sum of the middle two may overflow; halving is exact."""
    return 2.0 * float(np.median(0.5 * values))


def _mean(values: FloatArray) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        found = float(values.mean())
    return found if math.isfinite(found) else float((values / len(values)).sum())


def ordered_values(role: str, values: pd.Series) -> FloatArray:
    """Return the values of a number or date without gaps, as numbers that can be ordered."""
    if role == "date":
        return np.asarray(values.to_numpy(dtype="datetime64[ns]").astype(np.int64) / 1e9)
    numbers = to_numbers(values)
    return numbers[np.isfinite(numbers)]


def ks_effect(one: FloatArray, other: FloatArray) -> float:
    """Return the largest difference of the distribution functions of two sorted samples."""
    values = np.concatenate([one, other])
    ranks = [np.searchsorted(side, values, side="right") / len(side) for side in (one, other)]
    return float(np.abs(ranks[0] - ranks[1]).max())


def infinite_cells(role: str, values: pd.Series) -> BoolArray:
    """Return which cells of a number are infinite: they are no gaps, and no numbers to order others by."""
    if role != "number" or values.dtype.kind in "iub":
        return np.zeros(len(values), dtype=bool)
    return values.notna().to_numpy() & ~np.isfinite(to_numbers(values))


def in_words(role: str, value: float) -> str:
    """Return what `ordered_values` made of a value as people write it: four digits, or a date."""
    if role == "date":
        return str(np.datetime64(int(value), "s").astype("datetime64[D]"))
    return format_number(value)


def _levels_change(column: Column, reference: pd.Series, current: pd.Series) -> ColumnChange:
    """Compare how frequent each level of a category is; missing cells are a level."""
    # One row of counts for each sample, one column for each level that either has.
    sides = [level_counts(reference), level_counts(current)]
    levels = np.union1d(sides[0].index.to_numpy(str), sides[1].index.to_numpy(str))
    table = np.stack([side.reindex(levels, fill_value=0).to_numpy() for side in sides])
    fractions = table / table.sum(axis=1, keepdims=True)
    apart = fractions[1] - fractions[0]
    # Half the sum of differences is the largest difference over all sets of cells.
    cells = rare_together(table)
    effect = 0.5 * float(np.abs(np.diff(cells / table.sum(axis=1, keepdims=True), axis=0)).sum())
    new = np.flatnonzero((table[0] == 0) & (levels != "missing"))
    new = new[np.argsort(-table[1, new], kind="stable")]
    words = []
    for place in np.argsort(-np.abs(apart), kind="stable")[:_NAMED_LEVELS]:
        if apart[place] != 0.0:
            before, now = map(format_percent, fractions[:, place].tolist())
            words.append(f"{levels[place]} {now}, was {before}")
    return ColumnChange(
        column=str(column.name),
        effect=effect,
        p_value=one_distribution(cells),
        missing=(float(reference.isna().mean()), float(current.isna().mean())),
        new_levels=tuple(levels[new].tolist()),
        text="; ".join(words),
    )
