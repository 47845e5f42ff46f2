"""The batches that a monitor has counted, as its history keeps them, for a page that shows them all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import IntArray
from shiftmetrics._core.record import Record
from shiftmetrics.decisions.monitor.alarm import Alarm
from shiftmetrics.decisions.monitor.order import DateSpan
from shiftmetrics.decisions.monitor.passport import BatchCounts
from shiftmetrics.decisions.monitor.row_tests import Count

MOST_SHOWN = 500
"""Last batches that a result holds; the file of the history holds all."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CountedBatch(Record):
    """One batch as it was counted.

    Attributes
    ----------
    number : int
        1 for the first batch.
    time : str
        When it was counted, in ISO 8601 and UTC.
    rows : tuple of Count
        Of each test of the samples, in the order of the passport.
    errors : Count
        Of labelled errors.
    verdict : str
        What the monitor said after it.
    acknowledged : tuple of str
        The notes with which alarms were started again before it.
    seasons : array of int of shape (n_seasons, n_tests + 1, 2)
        Hits and samples by season, of each test and at last of the errors; empty where there are no seasons.
    """

    number: int
    time: str
    rows: tuple[Count, ...]
    errors: Count
    verdict: str
    acknowledged: tuple[str, ...] = ()
    seasons: IntArray = field(default_factory=lambda: np.zeros((0, 0, 2), dtype=np.int64))

    @classmethod
    def of_line(cls, entry: Mapping[str, Any]) -> CountedBatch:
        """Return the batch of a line of the history."""
        counts = counts_of_line(entry)
        return cls(
            number=entry["sequence"],
            time=entry["time"],
            rows=counts.rows,
            errors=counts.errors,
            verdict=entry["verdict"],
            acknowledged=tuple(entry.get("acknowledged", ())),
            seasons=counts.seasons,
        )

    def allowed(self, alarm: Alarm, place: int | None) -> float:
        """Return the rate that an alarm allows in this batch: with seasons, by how many samples it has of each.

        Parameters
        ----------
        alarm : Alarm
            One of the alarms of the state.
        place : int or None
            Its place among the tests of the samples; None for errors.
        """
        if not self.seasons.size:
            return alarm.allowed
        n = self.seasons[:, -1 if place is None else place, 1]
        return float(n @ alarm.limits / n.sum()) if n.any() else np.nan

    @property
    def n_samples(self) -> int:
        """How many samples it has; without tests of the samples, how many labels."""
        return BatchCounts(self.rows, self.errors).n_samples


def counts_of_line(entry: Mapping[str, Any]) -> BatchCounts:
    """Return the counts of a line of the history; an older one has none of columns."""
    rows = tuple(Count(hits, n) for hits, n in entry["rows"])
    columns = np.array(entry.get("columns", ()), dtype=np.int64)
    dates = tuple(DateSpan(*each) for each in entry.get("dates", ()))
    errors = Count(*entry["errors"])
    counts = BatchCounts(rows, errors, digest=entry["digest"], columns=columns, dates=dates)
    seasons = entry.get("seasons", ())
    return replace(counts, seasons=np.array(seasons, dtype=np.int64)) if seasons else counts
