"""When samples were taken: the dates of a reference against those of what is said to have come since."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shiftmetrics._core.record import Record

if TYPE_CHECKING:
    import pandas as pd

    from shiftmetrics.tables.column_kinds import TypedTables


@dataclass(frozen=True, eq=False)
class DateRange(Record):
    """The dates of one column of a sample, but for a few at the ends.

    Attributes
    ----------
    column : str
        Its name.
    early, late : str
        The 25 % and the 99 % quantile, as days.
    """

    column: str
    early: str
    late: str


def date_ranges(frame: pd.DataFrame, columns: Iterable[str]) -> tuple[DateRange, ...]:
    """Return the range of each column of dates that has some."""
    found = []
    for name in columns:
        dates = frame[name].dropna()
        if len(dates):
            early, late = (_day(dates.quantile(part)) for part in (0.25, 0.99))
            found.append(DateRange(name, early, late))
    return tuple(found)


def _day(time: Any) -> str:
    return str(time.date())


def in_wrong_order(
    reference: Iterable[DateRange], current: Iterable[DateRange], called: str
) -> tuple[str, ...]:
    """Return a warning for each column whose dates in the reference come after those of what came since.

    Parameters
    ----------
    reference, current : iterable of DateRange
        Of both samples.
    called : str
        What the later one is called, such as "the current sample".
    """
    later = {each.column: each for each in current}
    warnings = []
    for before in reference:
        now = later.get(before.column)
        if now is not None and before.early > now.late:
            warnings.append(
                f"The dates of the reference are later than those of {called} (`{before.column}`: "
                f"{before.early} and later, against {now.late} and earlier). Are the two exchanged?"
            )
    return tuple(warnings)


def order_of_samples(typed: TypedTables, called: str) -> tuple[str, ...]:
    """Return the warnings of `in_wrong_order` for a reference and what came since, in this order.

    Parameters
    ----------
    typed : TypedTables
        Both samples, with the kinds of their columns.
    called : str
        What the later one is called.
    """
    dates = [name for name, kind in typed.kinds.items() if kind.kind == "date"]
    before, since = (
        date_ranges(frame, [name for name in dates if name in frame]) for frame in typed.frames
    )
    return in_wrong_order(before, since, called)
