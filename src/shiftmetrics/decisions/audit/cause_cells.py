"""Columns cut into cells, levels or ranges between quantiles, of which the conditions of a cause are made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.decisions.audit.mode_rules import OrderedCells, RuleCondition
from shiftmetrics.decisions.audit.timeline import Periods
from shiftmetrics.tables.encoder.roles import Column

if TYPE_CHECKING:
    import pandas as pd

_FINE = 96
"""Cells of a column of numbers or dates."""
_COARSE = 12
"""Ends between which a range is looked for at first."""
_MOST_LEVELS = 100
_MOST_TOGETHER = 3
"""Levels of one condition, at most."""


@dataclass(frozen=True)
class TimeSpan:
    """A condition on the time of the current samples.

    Attributes
    ----------
    labels : tuple of str
        Names of all periods, in order.
    first, last : int
        Places of the first and the last period of the span.
    """

    labels: tuple[str, ...]
    first: int
    last: int

    @property
    def text(self) -> str:
        """In words, such as "since 2024-10-16"."""
        first = self.labels[self.first]
        last = self.labels[self.last]
        if self.last == len(self.labels) - 1:
            return f"since {first}"
        if self.first == 0:
            return f"until {last}"
        return f"in {first}" if first == last else f"from {first} to {last}"

    def is_met_by(self, places: IntArray) -> BoolArray:
        """Return which of some places of periods lie in the span."""
        return np.asarray((places >= self.first) & (places <= self.last))


CauseCondition = RuleCondition | TimeSpan


@dataclass(frozen=True, eq=False)
class CutColumn:
    """A column cut into cells: ranges first, then levels, then one for all that no condition names.

    Attributes
    ----------
    column : Column
        The column and its role.
    codes : tuple of arrays of int
        The cell of each sample, side by side; of the times, those of the current side alone.
    lows, highs : arrays
        Ends of the ranges that begin, or end, with each of the first cells; of the times, the places of periods.
    names : tuple of str
        Levels that have a cell, such as "missing".
    labels : tuple of str
        Names of the periods, of the times.
    """

    column: Column
    codes: tuple[IntArray, ...]
    lows: FloatArray
    highs: FloatArray
    names: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    @property
    def n_cells(self) -> int:
        """How many cells there are."""
        return len(self.lows) + len(self.names) + 1

    @property
    def is_time(self) -> bool:
        """Whether the cells are periods of the current samples, which the reference does not have."""
        return bool(self.labels)

    def choices(self, *, is_fine: bool) -> FloatArray:
        """Return which cells each condition takes, in rows: ranges between few ends, or between all."""
        n = len(self.lows)
        most = n if is_fine or self.is_time else _COARSE
        return _cells_of_choices(n, most, len(self.names))

    def together(self, worth: FloatArray) -> FloatArray:
        """Return the two and the three levels that are worth most alone, as one condition each, but never all."""
        if len(self.lows):
            return np.empty((0, self.n_cells))
        order = np.argsort(-worth, kind="stable")
        order = order[np.isfinite(worth[order])][:_MOST_TOGETHER]
        found = np.zeros((max(len(order) - 1, 0), self.n_cells))
        for place in range(len(found)):
            found[place, order[: place + 2]] = 1.0
        has_others = any(np.any(codes == self.n_cells - 1) for codes in self.codes)
        most = len(self.names) - (not has_others)  # all levels that are there would say nothing
        return found[: max(most - 1, 0)]

    def condition(self, cells: FloatArray) -> CauseCondition:
        """Return the condition that takes some cells."""
        taken = np.flatnonzero(cells)
        n = len(self.lows)
        if self.is_time:
            return TimeSpan(self.labels, int(taken[0]), int(taken[-1]))
        if taken[0] >= n:
            return RuleCondition(
                self.column, levels=tuple(sorted(self.names[k - n] for k in taken))
            )
        low = float(self.lows[taken[0]])
        return RuleCondition(self.column, low=low, high=float(self.highs[taken[-1]]))

    def cells_of(self, condition: CauseCondition) -> FloatArray:
        """Return the cells that a condition on this column takes."""
        cells = np.zeros(self.n_cells)
        n = len(self.lows)
        if isinstance(condition, TimeSpan):
            cells[condition.first : condition.last + 1] = 1.0
        elif condition.levels:
            cells[[n + self.names.index(level) for level in condition.levels]] = 1.0
        else:
            cells[:n] = (self.lows >= condition.low) & (self.highs <= condition.high)
        return cells


def cut_columns(
    columns: Sequence[Column],
    frames: Sequence[pd.DataFrame],
    periods: Periods | None = None,
    *,
    least: int,
) -> list[CutColumn]:
    """Cut columns into cells, in one way for all sides; those with nothing to choose are left out.

    Parameters
    ----------
    columns : sequence of Column
        Categories, numbers and dates.
    frames : sequence of DataFrame
        The sides, the current one last.
    periods : Periods, optional
        When the samples of the last side were taken.
    least : int
        Samples of the last side that a level needs.
    """
    cuts = []
    for column in columns:
        sides = [OrderedCells.of(column.role, frame[column.name]) for frame in frames]
        cuts.append(
            _levels(column, sides, least) if column.role == "category" else _ranges(column, sides)
        )
    if periods is not None:
        n = len(periods.labels)
        places = np.arange(n, dtype=np.float64)
        # Samples without a time are in no span.
        codes = np.where(periods.of_sample < 0, n, periods.of_sample)
        cuts.append(CutColumn(Column("", "date"), (codes,), places, places, labels=periods.labels))
    return [cut for cut in cuts if len(cut.choices(is_fine=False))]


def _levels(column: Column, sides: Sequence[OrderedCells], least: int) -> CutColumn:
    """Cut a category: the levels that are frequent enough in the last side, and all others."""
    counts = sides[-1].counts()
    levels = sorted(counts, key=lambda level: (-counts[level], level))
    levels = [level for level in levels if counts[level] >= least][:_MOST_LEVELS]
    places = {level: place for place, level in enumerate(levels)}
    codes = []
    for side in sides:
        place_of = [places.get(name, len(levels)) for name in side.names.tolist()]
        codes.append(np.array(place_of, dtype=np.int64)[side.values])
    no_ends = np.empty(0)
    return CutColumn(column, tuple(codes), no_ends, no_ends, tuple(levels))


def _ranges(column: Column, sides: Sequence[OrderedCells]) -> CutColumn:
    """Cut a number or a date at quantiles of all sides together; missing cells are a level."""
    values = np.concatenate([side.finite() for side in sides])
    distinct, counts = np.unique(values, return_counts=True)
    lows = np.empty(0)
    highs = np.empty(0)
    if len(distinct) > 1:
        # The values at which an equal part of the samples is reached.
        reached = np.cumsum(counts)
        wanted = np.arange(1, _FINE) / _FINE * len(values)
        tops = np.unique(np.searchsorted(reached, wanted))
        tops = tops[tops < len(distinct) - 1]
        # A range ends at a short number from its last value on, and begins at one up to its first value.
        ends = [
            _short_ends(column.role, below, above)
            for below, above in zip(
                distinct[tops].tolist(), distinct[tops + 1].tolist(), strict=True
            )
        ]
        lows = np.array([-np.inf, *(low for _, low in ends)])
        highs = np.array([*(high for high, _ in ends), np.inf])
    n = len(lows)
    is_missing = [np.isnan(side.values) for side in sides]
    names = ("missing",) if any(each.any() for each in is_missing) else ()
    codes = []
    for side, gaps in zip(sides, is_missing, strict=True):
        places = np.searchsorted(highs[:-1], side.values, side="left")
        codes.append(np.where(gaps, n, places).astype(np.int64))
    return CutColumn(column, tuple(codes), lows, highs, names)


@lru_cache(maxsize=64)
def _cells_of_choices(n_ranges: int, most: int, n_levels: int) -> FloatArray:
    """Return all ranges but the whole one, between about ``most`` ends, then each level."""
    ends = np.unique(np.round(np.linspace(0, n_ranges, min(n_ranges, most) + 1)).astype(np.int64))
    first, last = np.triu_indices(len(ends), k=1)
    lows = ends[first][:, None]
    highs = ends[last][:, None]
    cells = np.arange(n_ranges)
    ranges = ((cells >= lows) & (cells < highs))[(highs - lows < n_ranges)[:, 0]]
    found = np.zeros((len(ranges) + n_levels, n_ranges + n_levels + 1))
    found[: len(ranges), :n_ranges] = ranges
    found[len(ranges) :, n_ranges:-1] = np.eye(n_levels)
    # It is kept for all columns with as many cells: nobody may write into it.
    found.flags.writeable = False
    return found


def _short_ends(role: str, below: float, above: float) -> tuple[float, float]:
    """Return an end from one value on and a beginning up to the next value, both as short numbers."""
    gap = above - below
    if role == "date" or not math.isfinite(gap):
        return below, above
    most = math.ceil(-math.log10(gap))
    for digits in (most - 1, most, most + 1):
        scale = 10.0**digits
        if (
            not 0.0 < scale < math.inf
            or not math.isfinite(above * scale)
            or not math.isfinite(below * scale)
        ):
            break
        high = round(math.ceil(below * scale) / scale, digits) + 0.0
        low = round(math.floor(above * scale) / scale, digits) + 0.0
        if below <= high < above and below < low <= above:
            return high, low
    return below, above
