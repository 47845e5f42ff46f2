"""Words that are dates and times: in ISO's form, with the day or the month first, or with names of months."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import BoolArray, FloatArray
from shiftmetrics.tables.cell_words import WordList
from shiftmetrics.tables.column_kinds import DateOrder

_ZONE = r"(?:\s?(?P<zone>Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?))?"
_CLOCK = (
    r"(?:(?:\s*T\s*|,?\s+)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:[.,]\d+)?))?"
    rf"\s?(?P<half>[AaPp][Mm])?{_ZONE})?"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<month>[Jj]an(?:uary)?|[Ff]eb(?:ruary)?|[Mm]ar(?:ch)?|[Aa]pr(?:il)?|[Mm]ay|[Jj]une?|[Jj]uly?"
    r"|[Aa]ug(?:ust)?|[Ss]ept?(?:ember)?|[Oo]ct(?:ober)?|[Nn]ov(?:ember)?|[Dd]ec(?:ember)?"
    r"|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)"
)
_WEEKDAY = r"(?:[A-Z][a-z]{2,8},?\s+)?"

_ISO = rf"(?P<year>\d{{4}})(?P<mark>[-/.])(?P<month>\d{{1,2}})(?P=mark)(?P<day>\d{{1,2}}){_CLOCK}"
_ISO_PACKED = (
    r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})"
    rf"T(?P<hour>\d{{2}})(?P<minute>\d{{2}})(?P<second>\d{{2}})?{_ZONE}"
)
_ISO_MONTH = r"(?P<year>(?:19|20)\d{2})-(?P<month>0[1-9]|1[0-2])"
_DAY_NAMED = (
    rf"{_WEEKDAY}(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)?[-\s/]*{_MONTH}\.?[-\s,/]+"
    rf"(?P<year>\d{{4}}|\d{{2}}){_CLOCK}"
)
_MONTH_NAMED = rf"{_WEEKDAY}{_MONTH}\.?[-\s]+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?[-\s]+(?P<year>\d{{4}}){_CLOCK}"
_CTIME = (
    rf"[A-Z][a-z]{{2}}\s+{_MONTH}\s+(?P<day>\d{{1,2}})\s+(?P<hour>\d{{2}}):(?P<minute>\d{{2}}):(?P<second>\d{{2}})"
    r"(?:\s+(?P<zone>UTC|GMT))?\s+(?P<year>\d{4})"
)
_THREE = rf"(?P<first>\d{{1,2}})(?P<mark>[-/. ])(?P<second_part>\d{{1,2}})(?P=mark)(?P<third>\d{{4}}|\d{{2}}){_CLOCK}"
_FORMS = tuple(
    map(re.compile, (_ISO, _THREE, _DAY_NAMED, _MONTH_NAMED, _ISO_PACKED, _CTIME, _ISO_MONTH))
)

_FAST_ISO = (
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?: ?(?:Z|[+-]\d\d(?::?\d\d)?))?)?"
)

ORDERS: dict[DateOrder, tuple[int, int, int]] = {
    "day": (2, 1, 0),
    "month": (2, 0, 1),
    "year": (0, 1, 2),
}
"""Of three parts: the places of year, month and day."""

_MOST_INVALID = 0.01
"""Fraction of words with a day that no calendar has, up to which they are errors among dates."""


@dataclass(frozen=True, eq=False)
class DateWords:
    """Words as dates.

    Attributes
    ----------
    clocks : mapping of order to array
        The clock as written, datetime64[us] with NaT for impossible dates, one for each order that fits; more than
        one where the words do not tell.
    offsets : array
        Minutes east of Greenwich, NaN without a zone.
    is_clash : bool
        Whether some words have a first part above 12 and others a second: no order fits all.
    is_proved : bool
        Whether the words of three numbers show their order.
    """

    clocks: dict[DateOrder, npt.NDArray[Any]]
    offsets: FloatArray
    is_clash: bool = False
    is_proved: bool = False

    @property
    def orders(self) -> list[DateOrder]:
        """The orders that fit and give different dates."""
        return list(self.clocks)


def date_words(words: Sequence[str]) -> DateWords | None:
    """Return words as dates, or None where a word is none."""
    lines = WordList(words)
    if not any(re.search(r"\d", word) for word in lines.head[:20]):
        return None
    if not all(_match(word) for word in lines.head):
        return None
    if lines.all_have(_FAST_ISO):
        return _iso_dates(list(words))
    return _dates_of_parts(list(words))


def _match(word: str) -> re.Match[str] | None:
    text = word.strip()
    for form in _FORMS:
        found = form.fullmatch(text)
        if found is not None:
            return found
    return None


def _iso_dates(words: list[str]) -> DateWords | None:
    """Read ISO's own form with the parser of pandas; what it cannot hold is read by its parts."""
    import pandas as pd

    text = pd.Series(words, dtype=object)
    zones = np.zeros(len(words), dtype=bool)
    if any(":" in word for word in words[:1_000]) or ":" in words[-1]:
        zone = text.str.extract(r":\d\d(?:\.\d+)? ?(Z|[+-]\d\d(?::?\d\d)?)$")[0]
        zones = zone.notna().to_numpy()
    offsets = np.full(len(words), np.nan)
    if zones.any():
        codes, distinct = pd.factorize(zone)
        minutes = np.array([*(_minutes(mark) for mark in distinct), np.nan])
        offsets = minutes[codes]
        text = text.str.replace(r" ?(?:Z|[+-]\d\d(?::?\d\d)?)$", "", regex=True).where(zones, text)
    read = pd.to_datetime(text, format="ISO8601", errors="coerce")
    clock = read.to_numpy().astype("datetime64[us]")
    # No date, or one beyond what pandas holds, such as 0001-01-01: by its parts it is told from a word.
    lost = np.flatnonzero(np.isnat(clock))
    if lost.size:
        others = _dates_of_parts([words[place] for place in lost])
        if others is None and lost.size > _MOST_INVALID * len(words):
            return None
    return DateWords({"year": clock}, offsets)


def _dates_of_parts(words: list[str]) -> DateWords | None:
    """Read each word by its parts, then try the orders of three numbers."""
    n = len(words)
    parts = np.zeros((n, 3))
    is_three = np.zeros(n, dtype=bool)
    short_year = np.zeros(n, dtype=bool)
    seconds = np.zeros(n)
    offsets = np.full(n, np.nan)
    for place, word in enumerate(words):
        found = _match(word)
        if found is None:
            return None
        group = found.groupdict()
        # Which number is the day, all words decide together: until then they stay in their order.
        if "third" in group:
            is_three[place] = True
            short_year[place] = len(group["third"]) == 2
            if (
                short_year[place]
                and group["mark"] in ". "
                and len(group["first"] + group["second_part"]) < 4
            ):
                return None  # 1.2.10 is a version
            parts[place] = [int(group[part]) for part in ("first", "second_part", "third")]
        else:
            # A month alone, such as 2024-05, stands for its first day.
            parts[place] = [
                _year(group["year"]),
                _month(group["month"]),
                int(group.get("day") or 1),
            ]
        seconds[place] = _seconds_of(group)
        if group.get("zone"):
            offsets[place] = _minutes(group["zone"])
    if not is_three.any():
        clock = _clock(parts, seconds)
        invalid = np.isnat(clock) & ~_is_sentinel(parts)
        if invalid.sum() > _MOST_INVALID * n:
            return None
        return DateWords({"year": clock}, offsets)
    return _ordered(parts, is_three, short_year, seconds, offsets)


def _ordered(
    parts: FloatArray,
    is_three: BoolArray,
    short_year: BoolArray,
    seconds: FloatArray,
    offsets: FloatArray,
) -> DateWords | None:
    """Try the orders of three numbers; orders that give the same dates are one."""
    three = parts[is_three]
    orders: list[DateOrder] = ["day", "month"]
    # A year of four digits stands last here, since the forms of ISO are read before; one of two digits may be first.
    if short_year[is_three].all():
        orders.append("year")
    fits = {}
    for order in orders:
        month, day = (three[:, place] for place in ORDERS[order][1:])
        fits[order] = bool((month <= 12).all() and (day <= 31).all() and (month >= 0).all())
    if not fits["day"] and not fits["month"] and not fits.get("year"):
        # Each word fits one of two orders, and no order fits all of them: the file mixes both.
        small = (three[:, 0] <= 31) & (three[:, 1] <= 31) & (three[:, :2].min(axis=1) <= 12)
        if not small.all():
            return None
        return DateWords({}, offsets, is_clash=True)
    clocks: dict[DateOrder, npt.NDArray[Any]] = {}
    for order in orders:
        if not fits[order]:
            continue
        arranged = parts.copy()
        arranged[is_three] = three[:, list(ORDERS[order])]
        years = arranged[:, 0]
        arranged[:, 0] = np.where(is_three & short_year, _full_years(years), years)
        clock = _clock(arranged, seconds)
        # An order that makes more than a few impossible days is none; 31/02 alone is an error of
        # the data.
        invalid = np.isnat(clock) & ~_is_sentinel(arranged)
        if invalid.sum() > _MOST_INVALID * len(clock):
            continue
        if not any(np.array_equal(clock, other, equal_nan=True) for other in clocks.values()):
            clocks[order] = clock
    if not clocks:
        return None
    return DateWords(clocks, offsets, is_proved=len(clocks) == 1)


def _clock(parts: FloatArray, seconds: FloatArray) -> npt.NDArray[Any]:
    """Return years, months and days as datetime64[us]; NaT where the calendar has no such day."""
    year, month, day = parts.T.astype(np.int64)
    is_valid = (
        (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31) & ~np.isnan(seconds) & (year >= 1)
    )
    months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + (day - 1)
    # The 31st of a shorter month lies in the next one.
    is_valid &= days.astype("datetime64[M]") == months
    micro = np.round(np.nan_to_num(seconds) * 1e6).astype(np.int64)
    clock = days.astype("datetime64[us]") + micro.astype("timedelta64[us]")
    clock[~is_valid] = np.datetime64("NaT", "us")
    return np.asarray(clock)


def _is_sentinel(parts: FloatArray) -> BoolArray:
    """Return True for the days of zeros that databases write for "none"."""
    return np.asarray(
        (parts[:, 1] == 0) | (parts[:, 2] == 0) | (parts[:, 0] <= 1) | (parts[:, 0] >= 9999)
    )


def _year(text: str) -> float:
    year = float(text)
    return float(_full_years(np.array([year]))[0]) if len(text) == 2 else year


def _full_years(years: FloatArray) -> FloatArray:
    """Return years of two digits with their century, as POSIX has it."""
    return np.where(years < 69, years + 2000, years + 1900)


def _month(text: str) -> int:
    return int(text) if text.isdigit() else _MONTHS.index(text[:3].lower()) + 1


def _minutes(zone: str) -> float:
    """Return the minutes east of Greenwich."""
    if zone in ("Z", "UTC", "GMT"):
        return 0.0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return float(-minutes if zone[0] == "-" else minutes)


def _seconds_of(group: dict[str, str | None]) -> float:
    """Return the seconds of the day, NaN for a clock that shows none."""
    hour = int(group.get("hour") or 0)
    minute = int(group.get("minute") or 0)
    second = float((group.get("second") or "0").replace(",", "."))
    if hour > 23 or minute > 59 or second >= 61.0:
        return np.nan
    half = (group.get("half") or "").lower()
    if half:
        hour = hour % 12 + 12 * (half == "pm")
    return 3600.0 * hour + 60.0 * minute + second
