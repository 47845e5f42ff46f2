"""Witnesses: rows that together show all that decides how a table is read.

Of the answers and labels of a partition these are a row for each distinct word. Of scores they are the rows that
contradict what a sample shows: one of another sum where all sums were one, one outside the range of probabilities, a
fraction where all numbers were whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import BoolArray, FloatArray
from shiftmetrics._core.probabilities import SUM_TOLERANCE
from shiftmetrics.decisions.predictions.partitioned_tables import KEY
from shiftmetrics.decisions.predictions.predictions import SCORES, SEPARATE, ServedPredictions
from shiftmetrics.tables.evidence import cell_texts
from shiftmetrics.tables.reading import FileReading

if TYPE_CHECKING:
    import pandas as pd

SINGLE = ("probability", "percentage", "margin")
"""Forms of a single column of numbers that speaks for the second class."""


def score_columns(reading: FileReading) -> tuple[str, ...]:
    """Return the columns of numbers that hold predictions."""
    if reading.form in SINGLE and reading.answer is not None:
        return (reading.answer,)
    return tuple(reading.classes)


def witness_columns(reading: FileReading) -> tuple[str, ...]:
    """Return the columns that `witnesses_of` looks at: those of words, and scores where answers stand beside them."""
    words = [name for name in (reading.answer, reading.truth) if name is not None]
    words = [name for name in words if name not in score_columns(reading)]
    if not words:
        return ()
    if reading.answer in words and reading.classes:
        words += score_columns(reading)
    if reading.confidence is not None:
        words.append(reading.confidence)
    return tuple(words)


def witnesses_of(part: pd.DataFrame, reading: FileReading) -> dict[Any, Any]:
    """Return the ids of the witnesses of a partition, by what they show.

    One row of all partitions is enough for each.

    Parameters
    ----------
    part : DataFrame
        With the columns `KEY` and those of `witness_columns`.
    reading : FileReading
        What the columns were taken for by a sample.
    """
    keys = part[KEY].to_numpy()
    found: dict[Any, Any] = {}
    if not len(part):
        return found
    columns = score_columns(reading)
    for role in ("answer", "truth"):
        name = getattr(reading, role)
        if name is None or name in columns:
            continue
        words = cell_texts(part[name])
        if role == "answer" and columns:
            # Where the answer is not the class of the largest score, that is shown, too.
            scores = part[list(columns)].to_numpy(dtype=np.float64, na_value=-np.inf)
            largest = scores.argmax(axis=1)
            words = np.array([f"{word} {code}" for word, code in zip(words, largest, strict=True)])
        _first_of_each(words, role, keys, found)
    if reading.confidence is not None:
        numbers = part[reading.confidence].to_numpy(dtype=np.float64, na_value=np.nan)
        outside = ~((numbers >= 0.0) & (numbers <= 1.0))
        if outside.any():
            found["confidence"] = keys[int(np.argmax(outside))]
    return found


def _first_of_each(
    values: npt.NDArray[Any], what: str, keys: npt.NDArray[Any], found: dict[Any, Any]
) -> None:
    """Name the first row of each distinct value."""
    import pandas as pd

    series = pd.Series(values)
    for row in np.flatnonzero(~series.duplicated().to_numpy()).tolist():
        found[what, series.iloc[row]] = keys[row]


@dataclass(frozen=True, kw_only=True)
class ScoreLimits:
    """What all scores of one model are, by the rows of a sample.

    Attributes
    ----------
    least, most : float
        Limits of each score.
    total : float or None
        The sum of each row.
    are_whole : bool
        Whether each is a whole number.
    """

    least: float = -np.inf
    most: float = np.inf
    total: float | None = None
    are_whole: bool = False

    def strangers(self, scores: FloatArray) -> BoolArray:
        """Return which rows are something else; none where the sample showed that anything may be."""
        found = np.zeros(len(scores), dtype=bool)
        if self.least > -np.inf:
            found |= (scores < self.least).any(axis=1)
        if self.most < np.inf:
            found |= (scores > self.most).any(axis=1)
        if self.total is not None:
            found |= np.abs(scores.sum(axis=1) - self.total) > SUM_TOLERANCE * abs(self.total)
        if self.are_whole:
            found |= (scores != np.round(scores)).any(axis=1)
        return found


def witness_limits_of(
    reading: FileReading, served: ServedPredictions, scores: FloatArray
) -> ScoreLimits:
    """Return what contradicts the form that scores were read as, by those of a sample."""
    are_whole = bool((scores == np.round(scores)).all())
    if reading.form in SINGLE:
        if reading.form == "margin":
            return ScoreLimits(are_whole=are_whole)
        most = 100.0 if reading.form == "percentage" else 1.0
        return ScoreLimits(least=0.0, most=most, are_whole=are_whole)
    if served.form == SCORES:
        return ScoreLimits(are_whole=are_whole)
    if served.form == SEPARATE:
        return ScoreLimits(least=0.0, most=1.0, are_whole=are_whole)
    return ScoreLimits(least=0.0, total=float(scores[0].sum()), are_whole=are_whole)
