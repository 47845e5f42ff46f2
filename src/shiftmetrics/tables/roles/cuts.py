"""One column of numbers beside labels of two classes: percentages, margins, or scores whose cut no file tells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.tables.ask import AmbiguousReadingError, PossibleReading
from shiftmetrics.tables.evidence import Words
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.roles.names import plain_name
from shiftmetrics.tables.spelling import distinct_words

CALIBRATED = 0.2
"""A mean of percentages lies so near to the fraction of one class. A rule of thumb, which models that were trained
on other fractions break: these are asked for."""

FEWEST_LABELS = 10

WITHIN_ONE = 0.9
"""Fraction of the outputs of a linear model of 0 and 1 that lie between these; half of the margins are negative."""

PROBABILITY_NAMES = frozenset({"p", "pr", "prob", "probs", "proba", "probability", "posterior"})
ODDS_NAMES = frozenset({"odds", "ratio"})
NO_PERCENT_NAMES = ODDS_NAMES | {
    "log",
    "logloss",
    "loss",
    "rank",
    "decile",
    "percentile",
    "distance",
}
CLASS_NUMBERS = frozenset({"-1", "0", "1", "2"})
"""Numbers that name one of two classes; others may be the true values of a regression."""


def form_of_two(
    names: Sequence[str], columns: Sequence[FloatArray], truth: Words, options: RoleOptions
) -> Literal["percentage", "margin"] | None:
    """Return what numbers beyond 0 to 1 are where the labels are of two classes; None if these may be measured.

    Numbers from 0 to 100 may be percentages, odds, grades or points. They are percentages if their name says that
    they are probabilities, or if their mean goes with the labels.

    Raises
    ------
    AmbiguousReadingError
        If the cut between the classes is not known.
    """
    low = min(float(np.nanmin(column)) for column in columns)
    high = max(float(np.nanmax(column)) for column in columns)
    words = {word for name in names for word in plain_name(name).split("_")}
    # A linear regression on 0 and 1 also falls below 0 in some rows, but its cut is at a half.
    if low < 0.0 < high and not all(map(_is_linear, columns)):
        return "margin"
    may_be_percent = low >= 0.0 and high <= 100.0 and not words & NO_PERCENT_NAMES
    says_probability = bool(words & PROBABILITY_NAMES) and high > 50.0
    if may_be_percent and (says_probability or _are_calibrated(columns, truth)):
        return "percentage"
    classes = distinct_words(truth)
    are_numbers = all(_is_number(word) for word in classes)
    if are_numbers and not classes <= CLASS_NUMBERS and not may_be_percent:
        return None
    readings = []
    cut = _cut(columns[0], truth)
    # Odds of 1 are those of one half.
    if words & ODDS_NAMES and low >= 0.0:
        cut = 1.0
    elif low < 0.0 < high:
        cut = 0.5
        readings.append(PossibleReading("the sign is the answer", options.typed("--threshold", 0)))
    elif may_be_percent:
        sentence = "they are percentages of the second class"
        readings.append(PossibleReading(sentence, options.typed("--threshold", 50)))
    sentence = f"numbers of at least {cut:g}, for example, count as the second class"
    readings.append(PossibleReading(sentence, options.typed("--threshold", f"{cut:g}")))
    if are_numbers:
        sentence = "the numbers are outputs of a regression"
        readings.append(PossibleReading(sentence, options.typed("--tolerance", 0)))
    raise AmbiguousReadingError(
        f"The column {names[0]!r} holds numbers from {low:g} to {high:g} beside labels of two classes, "
        f"{' and '.join(sorted(classes))}: which numbers stand for the second class is not known.",
        readings,
    )


def _is_linear(column: FloatArray) -> bool:
    """Return True for numbers of which nearly all lie from 0 to 1, as those of a regression on 0 and 1 do."""
    return bool(np.mean((column >= 0.0) & (column <= 1.0)) >= WITHIN_ONE)


def _are_calibrated(columns: Sequence[FloatArray], truth: Words) -> bool:
    """Return True if some numbers are above 50, and their mean per cent is near the fraction of one class."""
    fractions = _fractions(truth)
    if not fractions:
        return False
    for column in columns:
        mean = float(np.nanmean(column)) / 100.0
        if np.nanmax(column) <= 50.0 or all(abs(mean - part) > CALIBRATED for part in fractions):
            return False
    return True


def _fractions(truth: Words) -> list[float]:
    """Return the fractions of the classes among the labels; none where these are few."""
    import pandas as pd

    known = truth[~np.asarray(pd.isna(truth))]
    if len(known) < FEWEST_LABELS:
        return []
    return [float((known == word).mean()) for word in sorted(distinct_words(known))]


def _cut(column: FloatArray, truth: Words) -> float:
    """Return the number above which as many rows lie as are of the second class, with three digits."""
    fractions = _fractions(truth) or [0.5]
    return float(f"{np.nanquantile(column, 1.0 - fractions[-1]):.3g}")


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
