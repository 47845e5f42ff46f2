"""Seasons: months, days of the week or hours that a passport tells apart, each with a profile of its own.

A sample of July is held against the reference of July: its distance is that to the centres of July, and it counts
where it lies beyond what July allows. The counts of all seasons still make one test: see `Alarm`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.record import Record
from shiftmetrics._core.validation import check_choice
from shiftmetrics.decisions.monitor.row_tests import Count, Readings, RowTest, distances_to

if TYPE_CHECKING:
    import pandas as pd

SeasonUnit: TypeAlias = Literal["month", "weekday", "hour"]
SEASON_UNITS: tuple[str, ...] = get_args(SeasonUnit)
LEAST_OF_SEASON = 40
"""Samples of the reference that a season needs: half of them set its centres, half are counted."""

_WORDS = {
    "month": "January February March April May June July August September October November December",
    "weekday": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "hour": " ".join(f"{hour}:00" for hour in range(24)),
}
NAMES = {unit: tuple(words.split()) for unit, words in _WORDS.items()}
"""What the seasons of a unit are called, from 0 on."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SeasonProfile(Record):
    """What a passport keeps of the samples of one season.

    Attributes
    ----------
    number : int
        Which season: 0 for January, Monday or midnight.
    n_reference : int
        Samples of the reference.
    centres : array of shape (n_centres, n_features)
        k-means centres of one half of them.
    tests : tuple of RowTest
        What is counted, with the counts of the other half.
    errors : Count or None
        Errors of the model on those that have a label.
    cells : array of int of shape (n_cells,)
        How many fall into each cell of the passport's columns.
    """

    number: int
    n_reference: int
    centres: FloatArray
    tests: tuple[RowTest, ...]
    errors: Count | None
    cells: IntArray


@dataclass(frozen=True, eq=False, kw_only=True)
class Seasons(Record):
    """The seasons of a passport.

    Attributes
    ----------
    unit : str
        "month", "weekday" or "hour".
    column : str
        The column of dates.
    profiles : tuple of SeasonProfile
        Those that the reference has.
    """

    unit: str
    column: str
    profiles: tuple[SeasonProfile, ...]

    def places(self, frame: pd.DataFrame) -> IntArray:
        """Return for each sample the place of its profile; -1 where there is none."""
        # One entry more than there are seasons: samples without a date have the number -1, which takes the last.
        known = np.full(len(NAMES[self.unit]) + 1, -1)
        for place, profile in enumerate(self.profiles):
            known[profile.number] = place
        found: IntArray = known[season_numbers(frame, self.column, self.unit, "batch")]
        return found

    def distances(self, places: IntArray, features: FloatArray) -> FloatArray:
        """Return how far each sample lies from the nearest centre of its season; NaN where it has none."""
        found = np.full(len(places), np.nan)
        for place, profile in enumerate(self.profiles):
            mine = places == place
            found[mine] = distances_to(features[mine], profile.centres)
        return found

    def count(self, places: IntArray, readings: Readings) -> IntArray:
        """Return hits and samples of each test in each season, of shape (n_seasons, n_tests, 2)."""
        found = np.zeros((len(self.profiles), len(self.profiles[0].tests), 2), dtype=np.int64)
        for place, profile in enumerate(self.profiles):
            mine = places == place
            own = {kind: values[mine] for kind, values in readings.items()}
            for number, test in enumerate(profile.tests):
                count = test.count(own)
                found[place, number] = count.hits, count.n
        return found

    def warnings(self, frame: pd.DataFrame) -> tuple[str, ...]:
        """Say which samples of a batch have no season to be held against."""
        numbers = season_numbers(frame, self.column, self.unit, "batch")
        known = [profile.number for profile in self.profiles]
        said = []
        unknown = numbers[(numbers >= 0) & ~np.isin(numbers, known)]
        if len(unknown):
            names = season_names(self.unit, np.unique(unknown).tolist())
            n = _samples(len(unknown))
            said.append(f"{n} of {names} not compared: the reference has none of that {self.unit}.")
        if (numbers < 0).any():
            n = _samples(int((numbers < 0).sum()))
            said.append(f"{n} without a date in `{self.column}` not compared: of no {self.unit}.")
        return tuple(said)

    def sentence(self) -> str:
        """Say what is compared with what."""
        names = season_names(self.unit, [profile.number for profile in self.profiles])
        return (
            f"Each sample is held against the same {self.unit} of the reference (`{self.column}`: {names}); "
            "samples of other dates are not compared."
        )


def season_numbers(frame: pd.DataFrame, column: str, unit: str, called: str) -> IntArray:
    """Return the season of each sample, from 0 on; -1 where the date is missing.

    Raises
    ------
    ValueError
        If the column is missing, or has no dates.
    """
    expected = f"a table with a column {column!r} of dates"
    if column not in frame:
        raise ArgumentValueError(called, expected, "none of that name")
    dates = frame[column]
    if dates.isna().all():
        return np.full(len(dates), -1)
    if dates.dtype.kind != "M":
        raise ArgumentValueError(called, expected, f"{column!r} of type {dates.dtype}")
    parts = dates.dt.day_of_week if unit == "weekday" else getattr(dates.dt, unit)
    found = parts.to_numpy(dtype=np.float64, na_value=np.nan)
    # Months count from 1, days of the week and hours from 0.
    first = 1.0 if unit == "month" else 0.0
    numbers: IntArray = np.nan_to_num(found - first, nan=-1.0).astype(np.int64)
    return numbers


def check_seasons(
    frame: pd.DataFrame, column: str | None, unit: str, dates: Sequence[str]
) -> IntArray:
    """Return the season of each sample of a reference.

    Parameters
    ----------
    frame : DataFrame
        The reference.
    column : str or None
        The column of dates.
    unit : str
        "month", "weekday" or "hour".
    dates : sequence of str
        The columns that are dates, for the remedy.

    Raises
    ------
    ValueError
        If there is no column of dates, all samples are of one season, or one has too few.
    """
    check_choice(unit, "season", SEASON_UNITS)
    if column is None or column not in dates:
        remedy = "The table has none, so that seasons cannot be told."
        if dates:
            remedy = f"Columns of dates are {', '.join(map(repr, dates))}."
        raise ArgumentValueError(
            "time", "a column of dates, for season", value=column, remedy=remedy
        )
    numbers = season_numbers(frame, column, unit, "reference")
    # Samples without a date are of no season, which is no reason to refuse the others.
    found, counts = np.unique(numbers[numbers >= 0], return_counts=True)
    if len(found) < 2:
        got = f"only {season_names(unit, found.tolist())}" if len(found) else "none"
        remedy = f"Leave season out: {column!r} tells no {unit}s apart."
        raise ArgumentValueError("season", "one that the reference has several of", got, remedy)
    # A season that the reference lacks is none of these: its samples are not compared later.
    few = found[counts < LEAST_OF_SEASON].tolist()
    if few:
        smallest = int(counts.min())
        got = f"{smallest} of {season_names(unit, [int(found[counts.argmin()])])}"
        if len(few) > 1:
            got += f", and too few of {len(few) - 1} more"
        remedy = "Give a longer reference, coarser seasons, or leave out the rows of those that are rare."
        expected = f"one of which the reference has at least {LEAST_OF_SEASON} rows each"
        raise ArgumentValueError("season", expected, got, remedy)
    return numbers


def season_names(unit: str, numbers: Iterable[int]) -> str:
    """Return the names of seasons, of several in a row the first and the last."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    names = NAMES[unit]
    words = []
    for run in runs:
        if len(run) > 2:
            words.append(f"{names[run[0]]} to {names[run[-1]]}")
        else:
            words += [names[number] for number in run]
    return ", ".join(words)


def _samples(n: int) -> str:
    return "1 sample" if n == 1 else f"{n:,} samples"


def matched_cells(cells: IntArray, n_now: IntArray) -> IntArray:
    """Return the cells of a reference that has the seasons of a batch in the same proportions.

    Seasons of which the reference has more are thinned, so that no count is larger than what was seen.

    Parameters
    ----------
    cells : array of int of shape (n_seasons, n_cells)
        Samples of the reference, by season and cell of one column: each row sums to those of the season.
    n_now : array of int of shape (n_seasons,)
        Samples of the batch, by season.
    """
    is_there = n_now > 0
    n_before = cells.sum(axis=1)[is_there]
    wanted = n_now[is_there] / n_now.sum()
    # The largest sample with these proportions.
    n_matched = float((n_before / wanted).min())
    # The part of each season that is kept.
    kept = wanted * n_matched / np.maximum(n_before, 1)
    return np.asarray((kept @ cells[is_there]).round(), dtype=np.int64)
