"""Dates of one column in all files: order of day and month, zones and impossible days, decided jointly."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.tables.cell_words import ColumnCells
from shiftmetrics.tables.column_kinds import DateOrder
from shiftmetrics.tables.date_orders import chosen_orders
from shiftmetrics.tables.date_words import DateWords, date_words

Clock = npt.NDArray[Any]

_TIME_NAME = re.compile(
    r"(^|[_\W])(time|timestamp|ts|date|datetime|epoch|at|when|unix|utc|created|updated)([_\W]?(s|ms|us|ns|sec|secs|seconds|millis))?$"
    r"|[a-z](Time|Timestamp|Date|At)$",
    re.I,
)
_UNITS = (
    ("seconds", 1e0, 1e6),
    ("milliseconds", 1e3, 1e3),
    ("microseconds", 1e6, 1e0),
    ("nanoseconds", 1e9, 1e-3),
)
"""Units of Unix times: how many there are in a second, and microseconds in each."""
_FIRST_UNIX = 631_152_000.0
_LAST_UNIX = 4_102_444_800.0
"""1990 and 2100: integers of another size are no Unix times."""
_ALIKE = 30.0
"""Times of two files spread alike where the one's span is less than so many times the other's."""
_FIRST_DATE = np.datetime64("1678-01-01", "us")
_LAST_DATE = np.datetime64("2262-01-01", "us")
_NO_DATE = np.datetime64("NaT", "us")  # NumPy is about to refuse moments without a unit


@dataclass(frozen=True, eq=False)
class DateColumns:
    """The dates of one column in all files.

    Attributes
    ----------
    clocks : list of array or None
        datetime64[ns] for each row of each file; None for a file without a cell.
    order : {"day", "month", "year"} or None
        What the words have first, where that was to be decided.
    notes : list of str
    problem : str
        Why there is no one reading; then ``clocks`` is empty.
    """

    clocks: list[Clock | None]
    order: DateOrder | None = None
    notes: list[str] = field(default_factory=list)
    problem: str = ""


@dataclass(eq=False)
class _DatesOfTable:
    """One file while it is read: clock and offset of each row."""

    where: str
    clock: Clock
    offsets: FloatArray
    n_impossible: int = 0
    example: str = ""


def date_columns(
    name: str,
    columns: Sequence[ColumnCells],
    date_order: DateOrder | None = None,
    *,
    is_date: bool = False,
) -> DateColumns | None:
    """Return a column as dates in all files, or None where a file has a cell that is none.

    Parameters
    ----------
    name : str
        The column.
    columns : sequence of ColumnCells
        It in each file.
    date_order : {"day", "month", "year"}, optional
        The order of dates with two readings. Default: by evidence.
    is_date : bool
        Whether other files have decided that it is one.
    """
    filled = [column for column in columns if column.has_cells]
    if not filled or any(column.type in ("boolean", "list") for column in filled):
        return None
    words: dict[int, DateWords] = {}
    for place, column in enumerate(columns):
        if column.has_cells and column.is_words:
            read = None if column.type == "level" else date_words(column.known)
            if read is None and not _are_numbers(column):
                return None
            if read is not None:
                words[place] = read
    numbers = [
        column
        for column in filled
        if column.type in ("integer", "number") or _is_unix_words(column, words, columns)
    ]
    has_dates = is_date or bool(words) or any(column.type == "date" for column in filled)
    # Numbers alone are times only where the name of the column says so.
    if numbers and not has_dates and not _TIME_NAME.search(str(name)):
        return None
    # 1. The order of words of three numbers.
    found = chosen_orders(name, columns, words, date_order)
    if found.problem:
        # Where numbers beside the words are no times, the column is none of dates, and has no problem.
        known = all(_unix_unit(column) for column in numbers)
        return DateColumns([], problem=found.problem) if known else None
    # 2. The clock of each row: of dates first, since they tell the unit of numbers beside them.
    notes = list(found.notes)
    sides: list[_DatesOfTable | None] = [None] * len(columns)
    for place, column in enumerate(columns):
        if place in words:
            sides[place] = _side_of_words(column, words[place], found.orders[place])
        elif column.has_cells and column.type == "date":
            sides[place] = _side_of_dates(column)
    span = _span([side for side in sides if side is not None])
    units = []
    for place, column in enumerate(columns):
        if column.has_cells and sides[place] is None:
            unit = _unix_unit(column, span)
            if unit is None:
                return None
            units.append((column.where, unit[0]))
            sides[place] = _side_of_numbers(column, unit)
    notes += _unix_note(name, units)
    notes += _to_common_zone(name, [side for side in sides if side is not None])
    clocks = [None if side is None else _possible(name, side, notes) for side in sides]
    return DateColumns(clocks, found.order, notes)


def _is_unix_words(
    column: ColumnCells, words: dict[int, DateWords], columns: Sequence[ColumnCells]
) -> bool:
    place = next(place for place, other in enumerate(columns) if other is column)
    return column.is_words and place not in words


def _unix_unit(
    column: ColumnCells, span: tuple[float, float] | None = None
) -> tuple[str, float, float] | None:
    """Return the unit in which all numbers of a column are times between 1990 and 2100.

    Where other files have dates there, as `span` in seconds, numbers may be older: they are times in the unit in
    which they spread about as far. Units are a factor of 1,000 apart, so that at most one does.
    """
    if not _are_numbers(column):
        return None
    values = _numbers(column)
    values = values[np.isfinite(values)]
    if values.size == 0:
        return None
    low, high = values.min(), values.max()
    for unit in _UNITS:
        if low >= _FIRST_UNIX * unit[1] and high <= _LAST_UNIX * unit[1]:
            return unit
    if span is None or span[1] <= span[0]:
        return None
    room = span[1] - span[0]
    for unit in _UNITS:
        is_inside = low >= (span[0] - room) * unit[1] and high <= (span[1] + room) * unit[1]
        if is_inside and 1 / _ALIKE < (high - low) / (room * unit[1]) < _ALIKE:
            return unit
    return None


def _are_numbers(column: ColumnCells) -> bool:
    try:
        _numbers(column)
    except (ValueError, TypeError):
        return False
    return True


def _span(sides: Sequence[_DatesOfTable]) -> tuple[float, float] | None:
    """Return the first and the last moment of dates, in seconds since 1970."""
    moments = [side.clock[~np.isnat(side.clock)] for side in sides]
    moments = [part for part in moments if part.size]
    if not moments:
        return None
    micro = np.concatenate(moments).astype(np.int64)
    return float(micro.min()) / 1e6, float(micro.max()) / 1e6


def _numbers(column: ColumnCells) -> FloatArray:
    """Return the numbers of a column: of the rows, or of the known words."""
    if column.is_words:
        return np.array([float(word) for word in column.known], dtype=np.float64)
    import pandas as pd

    return pd.to_numeric(column.values, errors="raise").to_numpy(dtype=np.float64, na_value=np.nan)


def _side_of_words(column: ColumnCells, read: DateWords, order: DateOrder) -> _DatesOfTable:
    places = {word: place for place, word in enumerate(column.known)}
    # A word that is no known one has the place -1, which takes the missing date that is appended.
    index = np.array([places.get(word, -1) for word in column.distinct], dtype=np.int64)
    clock = np.append(read.clocks[order], _NO_DATE)[index]
    offsets = np.append(read.offsets, np.nan)[index]
    is_none = np.isnat(clock) & (index >= 0)
    example = ""
    if is_none.any():
        example = column.distinct[int(np.flatnonzero(is_none)[0])]
    return _DatesOfTable(
        column.where,
        column.spread(clock, _NO_DATE),
        column.spread(offsets, np.nan),
        n_impossible=int(column.counts[is_none].sum()),
        example=example,
    )


def _side_of_dates(column: ColumnCells) -> _DatesOfTable:
    """Read typed dates; a zone becomes an offset beside the clock on its wall."""
    import pandas as pd

    values = column.values
    if not pd.api.types.is_datetime64_any_dtype(values.dtype):
        return _side_of_objects(column)
    offsets = np.full(len(values), np.nan)
    # Dates that pyarrow stores keep their zone in another attribute.
    zone = getattr(values.dtype, "tz", None) or getattr(
        getattr(values.dtype, "pyarrow_dtype", None), "tz", None
    )
    wall = values
    if zone is not None:
        # Clocks stay as they were written until it is known whether the files share a zone.
        values = values.astype("datetime64[us, UTC]").dt.tz_convert(zone)
        wall = values.dt.tz_localize(None)
        apart = wall - values.dt.tz_convert("UTC").dt.tz_localize(None)
        offsets = apart.dt.total_seconds().to_numpy(dtype=np.float64) / 60.0
    clock = (
        wall.to_numpy(dtype="datetime64[us]")
        if wall.dtype.kind == "M"
        else wall.astype("datetime64[us]").to_numpy()
    )
    return _DatesOfTable(column.where, clock, offsets)


def _side_of_objects(column: ColumnCells) -> _DatesOfTable:
    """Read objects of dates and times, which may lie outside of what pandas holds."""
    n = len(column.values)
    clock = np.full(n, _NO_DATE)
    offsets = np.full(n, np.nan)
    is_known = column.values.notna().to_numpy()
    for place in np.flatnonzero(is_known):
        value = column.values.iloc[place]
        offset = value.utcoffset() if hasattr(value, "utcoffset") else None
        if offset is not None:
            offsets[place] = offset.total_seconds() / 60.0
            value = value.replace(tzinfo=None)
        clock[place] = np.datetime64(value, "us")
    return _DatesOfTable(column.where, clock, offsets)


def _side_of_numbers(column: ColumnCells, unit: tuple[str, float, float]) -> _DatesOfTable:
    values = _numbers(column)
    # In microseconds: at today's date a float64 is exact to 0.25 of them, and to 256 nanoseconds.
    micro = np.where(np.isfinite(values), np.nan_to_num(values) * unit[2], 0.0).round()
    clock = micro.astype(np.int64).astype("datetime64[us]")
    clock[~np.isfinite(values)] = _NO_DATE
    if column.is_words:
        places = {word: place for place, word in enumerate(column.known)}
        index = np.array([places.get(word, -1) for word in column.distinct], dtype=np.int64)
        clock = np.append(clock, _NO_DATE)[index]
        clock = column.spread(clock, _NO_DATE)
    return _DatesOfTable(column.where, clock, np.zeros(len(clock)))


def _unix_note(name: str, units: Sequence[tuple[str, str]]) -> list[str]:
    if not units:
        return []
    said = [f"{unit} in {where}" for where, unit in units]
    return [f"Read `{name}` as Unix times: {', '.join(said)}."]


def _to_common_zone(name: str, sides: Sequence[_DatesOfTable]) -> list[str]:
    """Leave clocks as they were written, unless the files' zones cannot be one zone: then all become UTC.

    A zone with a summer time has two offsets an hour apart. Two files of one zone, one of the winter and one of the
    summer, have other offsets but no moment in common.
    """
    known = [side for side in sides if np.isfinite(side.offsets).any()]
    sets = [set(np.unique(side.offsets[np.isfinite(side.offsets)])) for side in known]
    if len(known) < 2:
        return []
    largest = max(sets, key=len)
    # One file has all offsets: they may be those of one zone.
    if all(part <= largest for part in sets):
        return []
    offsets = set().union(*sets)
    if max(offsets) - min(offsets) <= 60.0 and not _overlap(known):
        return []
    for side in known:
        shift = np.nan_to_num(side.offsets).astype(np.int64).astype("timedelta64[m]")
        side.clock = side.clock - shift.astype("timedelta64[us]")
    return [f"`{name}` has several zones of time: read in UTC."]


def _overlap(sides: Sequence[_DatesOfTable]) -> bool:
    """Return True where two files have moments in common."""
    spans = []
    for side in sides:
        moments = side.clock[~np.isnat(side.clock)]
        if moments.size:
            spans.append((moments.min(), moments.max()))
    spans.sort()
    return any(spans[place + 1][0] <= spans[place][1] for place in range(len(spans) - 1))


def _possible(name: str, side: _DatesOfTable, notes: list[str]) -> Clock:
    """Return dates as datetime64[ns], without those that stand for "none": they are missing, with a note."""
    is_outside = (side.clock < _FIRST_DATE) | (side.clock >= _LAST_DATE)
    clock = side.clock.copy()
    n_impossible = side.n_impossible + int(is_outside.sum())
    if n_impossible:
        example = str(clock[is_outside][0])[:10] if is_outside.any() else side.example
        cells = "cell" if n_impossible == 1 else "cells"
        notes.append(
            f"Counted {n_impossible:,} {cells} of `{name}` in {side.where} as missing: "
            f"impossible dates, such as {example}."
        )
        clock[is_outside] = _NO_DATE
    return clock.astype("datetime64[ns]")
