"""Which of three numbers is the day: by what fits, by the order of the file, by even days, or by the other files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics.tables.cell_words import ColumnCells
from shiftmetrics.tables.column_kinds import DateOrder
from shiftmetrics.tables.date_words import DateWords

_FEWEST_DAYS = 3
_NEAR = np.timedelta64(31, "D")
_WORDS = {"day": "day first", "month": "month first", "year": "year first"}


@dataclass(frozen=True, eq=False)
class ChosenOrders:
    """The order of the words of each file, or why there is none.

    Attributes
    ----------
    orders : dict of int to order
        For each file that has words.
    order : order or None
        The one that was decided by evidence or by the user, for a later file.
    notes : list of str
    problem : str
    """

    orders: dict[int, DateOrder]
    order: DateOrder | None = None
    notes: list[str] = field(default_factory=list)
    problem: str = ""


def chosen_orders(
    name: str,
    columns: Sequence[ColumnCells],
    words: Mapping[int, DateWords],
    asked: DateOrder | None,
) -> ChosenOrders:
    """Return the order of each file's dates.

    Parameters
    ----------
    name : str
        The column.
    columns : sequence of ColumnCells
        It in each file.
    words : mapping of int to DateWords
        What was read from the words of a file, by its place.
    asked : order or None
        What the user says of dates with two readings.
    """
    remedy = f"Write them as 2024-01-31, or leave the column out: --exclude {name}."
    for place, read in words.items():
        if read.is_clash:
            got = f"some with the day first and some with the month first in {columns[place].where}"
            sentence = f"column {name!r} must be of dates in one order, got {got}. {remedy}"
            return ChosenOrders({}, problem=sentence)
    # 1. Words that tell by themselves: a number above 12, or by their form.
    orders: dict[int, DateOrder] = {}
    open_places = []
    for place, read in words.items():
        if len(read.clocks) == 1:
            orders[place] = read.orders[0]
        else:
            open_places.append(place)
    proofs = {orders[place] for place in orders if words[place].is_proved}
    if not open_places:
        proof = proofs.pop() if len(proofs) == 1 else None
        return ChosenOrders(orders, proof)
    # 2. What the others do not tell: by the user, or by evidence of the file itself, or by another file.
    notes = []
    chosen: dict[int, DateOrder] = {}
    for place in open_places:
        read = words[place]
        own = None
        if asked in read.clocks:
            own = asked
        if own is None:
            own = _by_the_file(columns[place], read)
        if own is not None:
            chosen[place] = own
    # Another file's order is taken last, and only if all others have the same.
    theirs = proofs | set(chosen.values())
    for place in open_places:
        read = words[place]
        if place not in chosen:
            found = _by_days(read, columns, words, orders, place)
            if found is None and len(theirs) == 1:
                found = next(iter(theirs))
            if found is not None and found in read.clocks:
                chosen[place] = found
    decided = proofs | set(chosen.values())
    if len(chosen) < len(open_places) or (len(decided) > 1 and asked is None):
        return ChosenOrders({}, problem=_question(name, columns, words, open_places))
    for place, order in chosen.items():
        if asked is None:
            notes.append(f"Read `{name}` of {columns[place].where} with the {_WORDS[order]}.")
    return ChosenOrders({**orders, **chosen}, next(iter(decided)), notes)


def _question(
    name: str, columns: Sequence[ColumnCells], words: Mapping[int, DateWords], places: Sequence[int]
) -> str:
    """Word both readings, with the option for each."""
    column = columns[places[0]]
    read = words[places[0]]
    said = []
    for order, clock in read.clocks.items():
        days = clock[~np.isnat(clock)].astype("datetime64[D]")
        said.append(f"--date-order {order}: {days.min()} to {days.max()}")
    example = column.known[0]
    return (
        f"column {name!r} must be of dates with one reading, got such as {example!r} in {column.where}. "
        f"{'; '.join(said)}; or leave it out: --exclude {name}."
    )


def _by_the_file(column: ColumnCells, read: DateWords) -> DateOrder | None:
    """Return the order in which the rows are sorted, or in which the days are even; None if not exactly one."""
    places = {word: place for place, word in enumerate(column.known)}
    index = np.array([places.get(word, -1) for word in column.distinct] + [-1], dtype=np.int64)
    rows = index[column.codes]
    rows = rows[rows >= 0]
    # Heuristics: rows are often written in the order of time, or at equal distances.
    for test in (_is_sorted, _is_even):
        passing = [order for order, clock in read.clocks.items() if test(clock[rows])]
        # Rows sorted as words are in the order of time if the month is read first, whatever they mean.
        if passing == ["month"] and test is _is_sorted and _is_sorted_as_words(column):
            continue
        if len(passing) == 1:
            return passing[0]
    return None


def _is_sorted_as_words(column: ColumnCells) -> bool:
    words = np.array([str(word) for word in column.distinct] + [""])[column.codes]
    words = words[words != ""]
    return bool((words[1:] >= words[:-1]).all() or (words[1:] <= words[:-1]).all())


def _is_sorted(clock: npt.NDArray[Any]) -> bool:
    clock = clock[~np.isnat(clock)]
    if len(np.unique(clock)) < _FEWEST_DAYS:
        return False
    steps = np.diff(clock.astype(np.int64))
    return bool((steps >= 0).all() or (steps <= 0).all())


def _is_even(clock: npt.NDArray[Any]) -> bool:
    """Return True for days at equal distances, and for the first days of months in a row."""
    days = np.unique(clock[~np.isnat(clock)].astype("datetime64[D]"))
    if len(days) < _FEWEST_DAYS:
        return False
    steps = np.diff(days.astype(np.int64))
    if (steps == steps[0]).all():
        return True
    months = days.astype("datetime64[M]")
    is_first = (months.astype("datetime64[D]") == days).all()
    return bool(is_first and (np.diff(months.astype(np.int64)) == 1).all())


def _by_days(
    read: DateWords,
    columns: Sequence[ColumnCells],
    words: Mapping[int, DateWords],
    orders: Mapping[int, DateOrder],
    own_place: int,
) -> DateOrder | None:
    """Return the one order whose days lie in the time of the other files, where the other order's do not."""
    others = [words[place].clocks[orders[place]] for place in orders if place != own_place]
    for column in columns:
        if column.type == "date" and column.values.dtype.kind == "M":
            values = column.values
            if getattr(values.dtype, "tz", None) is not None:
                values = values.dt.tz_localize(None)
            others.append(values.to_numpy().astype("datetime64[us]"))
    if not others:
        return None
    known = np.concatenate(others)
    known = known[~np.isnat(known)]
    if not known.size:
        return None
    # Files of months in a row do not overlap, but lie side by side.
    first = known.min() - _NEAR
    last = known.max() + _NEAR
    inside = {}
    for order, clock in read.clocks.items():
        days = clock[~np.isnat(clock)]
        inside[order] = float(((days >= first) & (days <= last)).mean())
    fitting = [order for order, fraction in inside.items() if fraction == 1.0]
    failing = [order for order, fraction in inside.items() if fraction < 0.5]
    if len(fitting) == 1 and len(failing) == len(inside) - 1:
        return fitting[0]
    return None
