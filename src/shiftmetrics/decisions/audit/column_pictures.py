"""What a column looked like before and after: the fraction of each side, and of its earlier and later part, by cells.

The cells are the same for all sides: the values where there are few, else intervals of one width between the outer
hundredths of both samples, of which the first and the last take what lies beyond; the most frequent levels of a
category, with all others together. Gaps are counted apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import format_number
from shiftmetrics.decisions.audit.column_changes import COMPARED, ColumnChange, ordered_values
from shiftmetrics.decisions.audit.timeline import Periods
from shiftmetrics.tables.encoder.categories import level_names
from shiftmetrics.tables.encoder.roles import Column

if TYPE_CHECKING:
    import pandas as pd

MOST_PICTURES = 6
"""Columns that are shown, the largest change first."""
N_INTERVALS = 16
"""Intervals of a column of many numbers; of at most so many distinct values each has a cell."""
MOST_LEVELS = 7
"""Levels of a category that have a cell of their own."""
OUTER = 0.01
"""Fraction of the values at each end that the intervals do not reach out to."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ColumnPicture(Record):
    """How many samples of each side fall into the cells of a column.

    Attributes
    ----------
    column, text : str
        Its name, and its change in words.
    sides : tuple of str
        "reference" and "current"; with times the current sample in two: "until 2024-10-15" and "from 2024-10-16".
    sizes : ndarray of shape (n_sides,)
        All samples of each side.
    cells : tuple of str
        The names of values and levels; empty for intervals.
    edges : ndarray of shape (n_intervals + 1,)
        Of intervals: numbers, or seconds since 1970 of dates; empty for values and levels.
    counts : ndarray of shape (n_sides, n_cells)
        Samples of each side in each cell or interval.
    missing : ndarray of shape (n_sides,)
        Samples of each side without a value.
    is_date : bool
        Whether edges are dates.
    """

    column: str
    text: str
    sides: tuple[str, ...]
    sizes: IntArray
    cells: tuple[str, ...]
    edges: FloatArray
    counts: IntArray
    missing: IntArray
    is_date: bool = False

    @property
    def fractions(self) -> FloatArray:
        """Fraction of all samples of each side that is in each cell."""
        return np.asarray(self.counts / np.maximum(self.sizes, 1)[:, None])

    @property
    def missing_fractions(self) -> FloatArray:
        """Fraction of all samples of each side without a value."""
        return np.asarray(self.missing / np.maximum(self.sizes, 1))


def column_pictures(
    changes: Sequence[ColumnChange],
    columns: Sequence[Column],
    reference: pd.DataFrame,
    current: pd.DataFrame,
    periods: Periods | None = None,
) -> tuple[ColumnPicture, ...]:
    """Return pictures of the first columns that are shown to have changed; of texts there are none.

    Parameters
    ----------
    changes : sequence of ColumnChange
        The largest first.
    columns : sequence of Column
        The columns and their roles.
    reference, current : DataFrame
        The two samples.
    periods : Periods, optional
        When the current samples were taken: they are then shown in two parts of as many periods.
    """
    roles = {str(column.name): column for column in columns}
    parts = {"current": np.ones(len(current), dtype=bool)}
    if periods is not None and len(periods.labels) > 1:
        parts = _halves(periods)
    found: list[ColumnPicture] = []
    for change in changes:
        column = roles[change.column]
        if not change.is_shown or column.role not in COMPARED or len(found) == MOST_PICTURES:
            continue
        now = current[column.name]
        sides = {"reference": reference[column.name]}
        sides |= {name: now[rows] for name, rows in parts.items()}
        found.append(_picture(change, column.role, sides))
    return tuple(found)


def _halves(periods: Periods) -> dict[str, BoolArray]:
    """Return the samples of the first and of the second half of the periods; those without a time are in neither."""
    middle = len(periods.labels) // 2
    place = periods.of_sample
    return {
        f"until {periods.labels[middle - 1]}": (place >= 0) & (place < middle),
        f"from {periods.labels[middle]}": place >= middle,
    }


def _picture(change: ColumnChange, role: str, sides: dict[str, pd.Series]) -> ColumnPicture:
    """Count one column."""
    cells: tuple[str, ...] = ()
    edges = np.empty(0)
    if role == "category":
        cells, counts = _of_levels(list(sides.values()))
    else:
        values = [ordered_values(role, side.dropna()) for side in sides.values()]
        cells, edges, counts = _of_numbers(values, role)
    return ColumnPicture(
        column=change.column,
        text=change.text,
        sides=tuple(sides),
        sizes=np.array([len(side) for side in sides.values()], dtype=np.int64),
        cells=cells,
        edges=edges,
        counts=counts,
        missing=np.array([side.isna().sum() for side in sides.values()], dtype=np.int64),
        is_date=role == "date",
    )


def _of_levels(sides: Sequence[pd.Series]) -> tuple[tuple[str, ...], IntArray]:
    """Count levels: those that are most frequent on some side, then all others together."""
    counted = []
    for side in sides:
        names, counts = np.unique(level_names(side.dropna()).astype(str), return_counts=True)
        counted.append(dict(zip(names.tolist(), counts.tolist(), strict=True)))
    # A level counts by its largest fraction, so that one that came or went is shown.
    highest: dict[str, float] = {}
    for side, counts_of in zip(sides, counted, strict=True):
        for name, count in counts_of.items():
            highest[name] = max(highest.get(name, 0.0), count / len(side))
    order = sorted(highest, key=lambda name: (-highest[name], name))
    # A single level beyond the limit takes no more room than "1 others" would.
    most = MOST_LEVELS + 1 if len(order) == MOST_LEVELS + 1 else MOST_LEVELS
    shown = order[:most]
    rows = [[counts_of.get(name, 0) for name in shown] for counts_of in counted]
    if len(order) > most:
        rows = [
            [*row, sum(counts_of.values()) - sum(row)]
            for row, counts_of in zip(rows, counted, strict=True)
        ]
        shown = [*shown, f"{len(order) - most} others"]
    return tuple(shown), np.array(rows, dtype=np.int64)


def _of_numbers(
    sides: Sequence[FloatArray], role: str
) -> tuple[tuple[str, ...], FloatArray, IntArray]:
    """Count values where there are few, else intervals."""
    both = np.concatenate(sides)
    distinct = np.unique(both)
    if len(distinct) == 0:
        return (), np.empty(0), np.zeros((len(sides), 0), dtype=np.int64)
    if len(distinct) <= N_INTERVALS and role == "number":
        places = [np.searchsorted(distinct, side) for side in sides]
        counts = [np.bincount(place, minlength=len(distinct)) for place in places]
        return (
            tuple(format_number(value) for value in distinct.tolist()),
            np.empty(0),
            np.array(counts),
        )
    # The outer hundredths of each side, so that a small side that lies elsewhere is not cut off.
    ends = [np.quantile(side, [OUTER, 1.0 - OUTER]) for side in sides if len(side)]
    low = min(float(end[0]) for end in ends)
    high = max(float(end[1]) for end in ends)
    if not low < high:
        low, high = float(distinct[0]), float(distinct[-1])
    edges = np.linspace(low, high, N_INTERVALS + 1)
    # What lies beyond is in the first and the last interval.
    counts = [np.histogram(np.clip(side, low, high), edges)[0] for side in sides]
    return (), edges, np.array(counts, dtype=np.int64)
