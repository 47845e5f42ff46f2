"""Who gains weight in the most sensitive sample: columns before and after the change of weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.validation import check_integer, check_weights
from shiftmetrics.stability.result import StabilityResult
from shiftmetrics.stability.sample import (
    MISSING,
    frame_of,
    is_numeric,
    numbers_of,
    rows_known,
    texts_of,
    weights_of,
)

QUANTILES = (0.1, 0.5, 0.9)


def who_gains_weight(
    result: StabilityResult, table: Any = None, *, sample_weight: Any = None, max_levels: int = 20
) -> Any:
    """Return how the weights of the most sensitive sample change each column, the most different first.

    Parameters
    ----------
    result : StabilityResult
        A result that holds its rows.
    table : DataFrame or array of shape (n_samples, n_columns), optional
        Columns that describe the rows before their moves, also such as the model does not use. Default: the rows of
        the model, where the result has them.
    sample_weight : array_like of shape (n_samples,), optional
        The weights that the result was computed with.
    max_levels : int, default 20
        Most lines for one column of categories; those that change most.

    Returns
    -------
    pandas.DataFrame
        A line for each column of numbers (``level`` is empty) and for each level of a column of categories:
        ``before`` and ``after``, the mean or the share of the level; ``difference``, theirs in standard deviations
        of the column before; and for numbers the quantiles ``q10``, ``q50`` and ``q90`` before and after. Where
        values are missing, their share is one more level.

    Raises
    ------
    ValueError
        If the result was stripped of its rows, or the table does not match its rows.

    Examples
    --------
    >>> import pandas as pd
    >>> from shiftmetrics.stability import FixedLoss, stability_criterion, who_gains_weight
    >>> result = stability_criterion(FixedLoss([0.0, 0.0, 1.0, 1.0]), 0.75)
    >>> patients = pd.DataFrame({"ward": ["A", "A", "A", "B"], "age": [30, 40, 50, 60]})
    >>> who_gains_weight(result, patients)[["column", "level", "before", "after", "difference"]].round(3)
      column level  before  after  difference
    0    age         45.00  50.000       0.447
    1   ward     A    0.75   0.625      -0.289
    2   ward     B    0.25   0.375       0.289
    """
    weights = weights_of(result)
    base = check_weights(sample_weight, "sample_weight", result.n_samples)
    before = np.ones(result.n_samples) if base is None else base
    if table is None:
        table = rows_known(result.places()[0])
    return compare_columns(
        frame_of(table, "table", result.n_samples), before, before * weights, max_levels=max_levels
    )


def compare_columns(table: Any, before: FloatArray, after: FloatArray, *, max_levels: int = 20) -> Any:
    """Compare each column of a table under two sets of weights; see `who_gains_weight` for the answer."""
    import pandas as pd

    check_integer(max_levels, "max_levels", low=1)
    lines = []
    for place, name in enumerate(table.columns):
        column = table.iloc[:, place]
        if is_numeric(column):
            found = _number_lines(numbers_of(column), before, after)
        else:
            found = _level_lines(texts_of(column), before, after)
        found.sort(key=lambda line: -abs(line["difference"]))
        lines += [{"column": str(name), **line} for line in found[:max_levels]]
    names = ["column", "level", "before", "after", "difference"]
    names += [f"q{100 * q:.0f}_{side}" for side in ("before", "after") for q in QUANTILES]
    frame = pd.DataFrame(lines, columns=names)
    order = np.argsort(-frame["difference"].abs().to_numpy(), kind="stable")
    return frame.iloc[order].reset_index(drop=True)


def _number_lines(values: FloatArray, before: FloatArray, after: FloatArray) -> list[dict[str, Any]]:
    known = np.isfinite(values)
    lines = [line for line in _level_lines(np.where(known, "", MISSING), before, after) if line["level"]]
    numbers, old, new = values[known], before[known], after[known]
    if not len(numbers) or not old.sum() > 0.0 or not new.sum() > 0.0:
        return lines
    start, end = float(np.average(numbers, weights=old)), float(np.average(numbers, weights=new))
    spread = float(np.sqrt(np.average((numbers - start) ** 2, weights=old)))
    line: dict[str, Any] = {"level": "", "before": start, "after": end}
    line["difference"] = (end - start) / spread if spread > 1e-12 * abs(start) else 0.0
    order = np.argsort(numbers, kind="stable")
    for side, weights in (("before", old), ("after", new)):
        held = np.cumsum(weights[order])
        # where the share of the weight below first reaches q, up to rounding of the sum
        positions = np.searchsorted(held, np.asarray(QUANTILES) * held[-1] * (1.0 - 1e-12))
        for q, value in zip(QUANTILES, numbers[order][positions], strict=True):
            line[f"q{100 * q:.0f}_{side}"] = float(value)
    return [line, *lines]


def _level_lines(texts: Any, before: FloatArray, after: FloatArray) -> list[dict[str, Any]]:
    """Return the share of each level; missing values are one more level."""
    levels, codes = np.unique(texts.astype(str), return_inverse=True)
    start, end = (np.bincount(codes, weights) / weights.sum() for weights in (before, after))
    spread = np.sqrt(np.maximum(start * (1.0 - start), 0.0))
    difference = np.divide(end - start, spread, out=np.zeros_like(spread), where=spread > 0.0)
    names = ("level", "before", "after", "difference")
    columns = (levels.tolist(), start.tolist(), end.tolist(), difference.tolist())
    return [dict(zip(names, line, strict=True)) for line in zip(*columns, strict=True)]
