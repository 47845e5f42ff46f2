"""The columns of a table in which some rows, or rows with other weights, differ most from all."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.stability.frames import MISSING, is_numeric, numbers_of, strings_of

MOST_LEVELS = 100
"""Levels of one column that are compared, the most frequent first: names of single rows say nothing of a group."""


def compare_columns(table: Any, before: FloatArray, after: FloatArray) -> Any:
    """Return how the columns of a table differ under two sets of weights, the most different first.

    Returns
    -------
    pandas.DataFrame
        A line for each column of numbers (``level`` is empty) and for each level of a column of categories:
        ``before`` and ``after``, the mean or the fraction of the level; ``difference``, theirs in standard
        deviations before.
        Where values are missing, their fraction is one more level.
    """
    import pandas as pd

    lines = []
    for name in table.columns:
        for level, values in _quantities(table[name]).items():
            known = np.isfinite(values)
            old = before[known]
            new = after[known]
            if not old.sum() > 0.0 or not new.sum() > 0.0:
                continue
            numbers = values[known]
            start = np.average(numbers, weights=old)
            end = np.average(numbers, weights=new)
            # of a level this is the root of p (1 - p)
            spread = np.sqrt(np.average((numbers - start) ** 2, weights=old))
            # rounding makes the spread of a constant tiny, but not 0
            difference = 0.0
            if spread > 1e-12 * abs(start):
                difference = (end - start) / spread
            lines.append([str(name), level, start, end, difference])
    frame = pd.DataFrame(lines, columns=["column", "level", "before", "after", "difference"])
    order = np.argsort(-frame["difference"].abs().to_numpy(), kind="stable")
    return frame.iloc[order].reset_index(drop=True)


def _quantities(column: Any) -> dict[str, FloatArray]:
    """Return the numbers of a column under an empty level, or 1 where a row has a level and else 0."""
    if is_numeric(column):
        numbers = numbers_of(column)
        quantities = {"": numbers}
        is_missing = ~np.isfinite(numbers)
        if is_missing.any():
            quantities[MISSING] = is_missing.astype(np.float64)
        return quantities
    strings = strings_of(column).astype(str)
    levels, counts = np.unique(strings, return_counts=True)
    frequent = levels[np.argsort(-counts, kind="stable")[:MOST_LEVELS]]
    return {str(level): (strings == level).astype(np.float64) for level in frequent}
