"""The columns of a table in which some rows, or rows with other weights, differ most from all."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.stability.frames import MISSING, is_numeric, numbers_of, strings_of


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

    lines: list[dict[str, Any]] = []
    for name in table.columns:
        column = table[name]
        if is_numeric(column):
            found = _of_numbers(numbers_of(column), before, after)
        else:
            found = _of_levels(strings_of(column), before, after)
        lines.extend({"column": str(name), **line} for line in found)
    frame = pd.DataFrame(lines, columns=["column", "level", "before", "after", "difference"])
    order = np.argsort(-frame["difference"].abs().to_numpy(), kind="stable")
    return frame.iloc[order].reset_index(drop=True)


def _of_numbers(values: FloatArray, before: FloatArray, after: FloatArray) -> list[dict[str, Any]]:
    """Return the line of the means, and one of the missing values where there are any."""
    known = np.isfinite(values)
    levels = _of_levels(np.where(known, "", MISSING), before, after)
    lines = [line for line in levels if line["level"]]
    numbers = values[known]
    old = before[known]
    new = after[known]
    if not old.sum() > 0.0 or not new.sum() > 0.0:
        return lines
    start = float(np.average(numbers, weights=old))
    end = float(np.average(numbers, weights=new))
    spread = float(np.sqrt(np.average((numbers - start) ** 2, weights=old)))
    difference = 0.0
    if spread > 1e-12 * abs(start):
        difference = (end - start) / spread
    return [{"level": "", "before": start, "after": end, "difference": difference}, *lines]


def _of_levels(strings: Any, before: FloatArray, after: FloatArray) -> list[dict[str, Any]]:
    """Return a line for each level."""
    levels, codes = np.unique(strings.astype(str), return_inverse=True)
    start = np.bincount(codes, before) / before.sum()
    end = np.bincount(codes, after) / after.sum()
    lines = []
    for level, old, new in zip(levels.tolist(), start.tolist(), end.tolist(), strict=True):
        spread = np.sqrt(max(old * (1.0 - old), 0.0))
        difference = (new - old) / spread if spread > 0.0 else 0.0
        lines.append({"level": level, "before": old, "after": new, "difference": difference})
    return lines
