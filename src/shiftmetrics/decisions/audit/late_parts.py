"""Late parts of a sample: the last half, quarter and eighth by its times, and which columns time itself decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray
from shiftmetrics.decisions.audit.column_changes import ordered_values
from shiftmetrics.decisions.audit.timeline import Periods
from shiftmetrics.tables.encoder.categories import level_codes
from shiftmetrics.tables.encoder.roles import Column

if TYPE_CHECKING:
    import pandas as pd

FRACTIONS = (1 / 2, 1 / 4, 1 / 8)
LEAST_LATE = 20
"""Samples of a part, below which it is too small to show anything."""
_LIKE_TIME = 0.9
"""Rank correlation with time, or fraction of a period's samples with its usual level, from which time decides."""
_LEAST_IN_PERIOD = 5


@dataclass(frozen=True, eq=False)
class LatePart:
    """The samples from a date on.

    Attributes
    ----------
    since : str
        The period that it begins with.
    is_late : array of bool of shape (n_samples,)
        Which samples belong to it. Those without a time do not.
    """

    since: str
    is_late: BoolArray


def late_parts(periods: Periods) -> list[LatePart]:
    """Return the parts whose sizes are nearest to a half, a quarter and an eighth, each once.

    Periods stay whole: rows of one day are all late, or none of them is.
    """
    counts = periods.counts()
    total = int(counts.sum())
    after = total - np.cumsum(counts)
    starts: list[int] = []
    for fraction in FRACTIONS:
        start = int(np.argmin(np.abs(after - fraction * total))) + 1
        is_part = start < len(counts) and LEAST_LATE <= after[start - 1] <= total - LEAST_LATE
        if is_part and start not in starts:
            starts.append(start)
    # The period that is named has samples: after a gap it is the first one that does.
    filled = np.flatnonzero(counts)
    return [
        LatePart(periods.labels[int(filled[filled >= start][0])], periods.of_sample >= start)
        for start in starts
    ]


def decided_by_time(columns: Sequence[Column], sample: pd.DataFrame, periods: Periods) -> list[Any]:
    """Return the columns that differ between late and early samples whatever happens.

    Those are dates, numbers that grow or fall with time, such as counters, and categories that each period has one
    of, such as the month. Dates go whatever they hold; that others are left out by chance, where time and columns are
    independent, is next to impossible, so that the permutation test of the rest stays exact.
    """
    return [column.name for column in columns if _is_decided(column, sample, periods)]


def _is_decided(column: Column, sample: pd.DataFrame, periods: Periods) -> bool:
    if column.role == "date":
        return True
    place = periods.of_sample
    if column.role == "number":
        values = sample[column.name]
        known = values.notna().to_numpy() & (place >= 0)
        numbers = ordered_values(column.role, values[known])
        if len(numbers) != known.sum():
            return False
        return abs(_rank_correlation(numbers, place[known])) > _LIKE_TIME
    if column.role == "category":
        codes = np.asarray(level_codes(sample[column.name])[0])
        return (
            _usual_fraction(codes, place)
            > _LIKE_TIME
            > _usual_fraction(codes, np.zeros_like(place))
        )
    return False


def _rank_correlation(values: FloatArray, others: Any) -> float:
    """Return Spearman's rank correlation; 0 where one of both is constant."""
    from scipy.stats import rankdata

    if len(values) < LEAST_LATE:
        return 0.0
    ranks = np.stack([rankdata(values), rankdata(others)])
    if (np.ptp(ranks, axis=1) == 0.0).any():
        return 0.0
    return float(np.corrcoef(ranks)[0, 1])


def _usual_fraction(codes: Any, place: Any) -> float:
    """Return which fraction of the samples has the usual level of its period, in periods of some samples."""
    n_usual = 0
    n_samples = 0
    for period in np.unique(place[place >= 0]):
        counts = np.unique(codes[place == period], return_counts=True)[1]
        if counts.sum() >= _LEAST_IN_PERIOD:
            n_usual += int(counts.max())
            n_samples += int(counts.sum())
    # Periods of a few samples each say nothing.
    return n_usual / n_samples if 2 * n_samples >= len(place) else 0.0
