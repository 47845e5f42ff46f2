"""Batches that come out of order: their dates lie before those of a batch that was counted earlier."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from shiftmetrics._core.record import Record

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class DateSpan(Record):
    """The first and the last day of one column of a batch: those of its parts together are those of the whole.

    Attributes
    ----------
    column : str
        Its name.
    first, last : str
        The days.
    """

    column: str
    first: str
    last: str


def spans_of(frame: pd.DataFrame, columns: Iterable[str]) -> tuple[DateSpan, ...]:
    """Return the days of each column of dates that has some."""
    found = []
    for name in columns:
        if name not in frame or frame[name].dtype.kind != "M":
            continue
        dates = frame[name].dropna()
        if len(dates):
            found.append(DateSpan(name, str(dates.min().date()), str(dates.max().date())))
    return tuple(found)


def united(one: Iterable[DateSpan], other: Iterable[DateSpan]) -> tuple[DateSpan, ...]:
    """Return the dates of two parts of a batch together, by column."""
    found = {each.column: each for each in one}
    for each in other:
        known = found.get(each.column, each)
        first, last = min(known.first, each.first), max(known.last, each.last)
        found[each.column] = replace(known, first=first, last=last)
    return tuple(found.values())


def latest_of(known: Iterable[DateSpan], batch: Iterable[DateSpan]) -> tuple[DateSpan, ...]:
    """Return the dates of the latest batch so far after one more, by column."""
    found = {each.column: each for each in known}
    for each in batch:
        if each.column not in found or each.first > found[each.column].first:
            found[each.column] = each
    return tuple(found.values())


def out_of_order(known: Iterable[DateSpan], batch: Iterable[DateSpan]) -> tuple[str, ...]:
    """Say in which columns the dates of a batch end before those of the latest batch so far begin."""
    latest = {each.column: each for each in known}
    return tuple(
        f"Out of order: this batch is earlier than one before it (`{each.column}`: until {each.last}, against "
        f"{latest[each.column].first} and later). The alarms hold all the same; since when a change is there, they "
        "do not tell."
        for each in batch
        if each.column in latest and each.last < latest[each.column].first
    )
