"""The most sensitive sample as tables: places of the rows, moves of the columns, and who gains weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.validation import (
    check_choice,
    check_integer,
    check_vector,
    check_weights,
    describe,
)
from shiftmetrics.stability.result import StabilityResult
from shiftmetrics.stability.shift import NO_ROWS

SplitLines = Literal["separate", "heaviest"]
SPLIT_LINES: tuple[SplitLines, ...] = ("separate", "heaviest")
MISSING = "missing"
"""The text of a missing category."""


def most_sensitive_sample(
    result: StabilityResult,
    table: Any = None,
    *,
    moved: Any = None,
    splits: SplitLines = "separate",
) -> Any:
    """Return the most sensitive sample as a DataFrame: weight, move and loss of each row, in the order of the rows.

    Parameters
    ----------
    result : StabilityResult
        A result that holds its rows.
    table : DataFrame or array of shape (n_samples, n_columns), optional
        Columns that describe the rows. The index of a DataFrame becomes that of the returned one. Default: the
        rows of the model and their moves, in a result of `model_stability`.
    moved : DataFrame or array of shape (n_samples + n_splits, n_columns), optional
        The rows after their moves, in the columns of ``table``: first all rows, then the second places
        of those that split (``result.plan.splits``).
    splits : {"separate", "heaviest"}, default "separate"
        A row may be split between two places. "separate" gives each place a line, the second right after the
        first, under one index label; "heaviest" keeps one line for each row, at the place with more weight.

    Returns
    -------
    pandas.DataFrame
        Columns ``weight`` (mean 1), ``moved``, ``split`` (whether the line is a second place), ``distance``,
        ``loss`` and ``moved_loss`` (before and after). Then the columns of ``table``, after the moves where
        ``moved`` is known, and for every column that changes anywhere a column ``NAME move``: the difference of
        numbers, or whether a category changed. A column of the table
        with the name of one of the first six gets the name ``NAME of the row``.

    Raises
    ------
    ValueError
        If the result was stripped of its rows, or the tables do not match its rows.

    Examples
    --------
    >>> import pandas as pd
    >>> from shiftmetrics.stability import ZeroOneLoss, most_sensitive_sample, stability_criterion
    >>> result = stability_criterion(ZeroOneLoss([0.0, 0.5, 0.5, 1.0]), 0.6, theta2=float("inf"))
    >>> patients = pd.DataFrame({"age": [40, 50, 60, 70]}, index=["a", "b", "c", "d"])
    >>> most_sensitive_sample(result, patients, splits="heaviest")[["weight", "moved", "distance", "age"]]
       weight  moved  distance  age
    a     1.0  False       0.0   40
    b     1.0   True       0.5   50
    c     1.0   True       0.5   60
    d     1.0  False       0.0   70
    """
    import pandas as pd

    check_choice(splits, "splits", SPLIT_LINES)
    atoms = result.atoms()
    n_samples = result.n_samples
    rows = atoms["row"].to_numpy()
    second = np.concatenate([[False], rows[1:] == rows[:-1]])
    if table is None and moved is None:
        table, moved = result.places()
    frame = None if table is None else frame_of(table, "table", n_samples)
    places, changes = frame, {}
    if moved is not None:
        if frame is None:
            raise ValueError(
                describe("table", "the rows before their moves", "none, with moved given")
            )
        places = _moved_frame(result, frame, moved)
        changes = _changes(result, frame, places)
    base = result.plan.base_losses
    columns: dict[str, Any] = {
        "weight": atoms["weight"].to_numpy(),
        "moved": atoms["distance"].to_numpy() > 0.0,
        "split": second,
        "distance": atoms["distance"].to_numpy(),
        "loss": np.full(len(rows), np.nan) if base is None else base[rows],
        "moved_loss": atoms["loss"].to_numpy(),
    }
    sample = pd.DataFrame(columns)
    # the places of all rows come first, then the second places in the order of the rows
    of_places = np.where(second, n_samples + np.cumsum(second) - 1, rows)
    if places is not None:
        position = of_places if moved is not None else rows
        names = {name: f"{name} of the row" for name in columns}
        after = places.iloc[position].rename(columns=names).reset_index(drop=True)
        moves = pd.DataFrame({f"{name} move": change[position] for name, change in changes.items()})
        sample = pd.concat([sample, after, moves], axis=1)
    if splits == "heaviest":
        sample = _heaviest(sample, rows, second)
        rows = np.arange(n_samples)
    return sample.set_axis(
        pd.RangeIndex(n_samples)[rows] if frame is None else frame.index[rows], axis=0
    )


def column_changes(
    result: StabilityResult, table: Any = None, moved: Any = None, *, units: Any = None
) -> Any:
    """Return how far the rows of the most sensitive sample move in each column, the farthest first.

    Parameters
    ----------
    result : StabilityResult
        A result that holds its rows.
    table : DataFrame or array of shape (n_samples, n_columns), optional
        The rows before their moves. Default: those of a result of `model_stability`.
    moved : DataFrame or array of shape (n_samples + n_splits, n_columns), optional
        The rows after their moves; see `most_sensitive_sample`.
    units : array_like of shape (n_columns,), optional
        The unit of each column, in which its moves are measured. Default: the one that the result was computed
        with, else its standard deviation (1 where the column is constant).

    Returns
    -------
    pandas.DataFrame
        A line for each column: ``unit``; ``rms_change``, the root-mean-square move in that unit, weighted as in the
        shifted sample; ``mean_change``, with its sign, in the column's own unit; ``changed_fraction``, the weighted
        fraction of the rows in which the column changes. Columns of categories have the last alone.

    Raises
    ------
    ValueError
        If the result was stripped of its rows, or the tables do not match its rows.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.stability import ZeroOneLoss, column_changes, stability_criterion
    >>> points = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])
    >>> result = stability_criterion(ZeroOneLoss(points[:, 0]), 0.5, theta2=np.inf)
    >>> moved = points - np.column_stack([result.plan.distances, np.zeros(4)])
    >>> column_changes(result, points, moved, units=[1.0, 1.0])
      column  unit  rms_change  mean_change  changed_fraction
    0      0   1.0         0.5        -0.25              0.25
    1      1   1.0         0.0         0.00              0.00
    """
    import pandas as pd

    weights_of(result)
    if table is None and moved is None:
        table, moved = result.places()
        known = getattr(result, "moved", None)
        if units is None and known is not None:
            units = known.units
    frame = frame_of(rows_known(table), "table", result.n_samples)
    changes = _changes(
        result, frame, _moved_frame(result, frame, rows_known(moved, "moved")), everything=True
    )
    mass = result.plan.places()["weight"]
    given = None if units is None else check_vector(units, "units", low=0.0)
    if given is not None and (len(given) != frame.shape[1] or not all(given)):
        raise ValueError(
            describe("units", f"{frame.shape[1]} positive numbers, one a column", str(units))
        )
    lines = []
    for place, name in enumerate(frame.columns):
        change = changes[name]
        line: dict[str, Any] = {
            "column": str(name),
            "unit": np.nan,
            "rms_change": np.nan,
            "mean_change": np.nan,
        }
        line["changed_fraction"] = float(np.average(change != 0, weights=mass))
        if change.dtype != bool:
            spread = float(np.nanstd(numbers_of(frame.iloc[:, place])))
            unit = float(given[place]) if given is not None else spread if spread > 0.0 else 1.0
            known = np.nan_to_num(change, nan=0.0)
            line |= {
                "unit": unit,
                "rms_change": float(np.sqrt(np.average((known / unit) ** 2, weights=mass))),
                "mean_change": float(np.average(known, weights=mass)),
            }
        lines.append(line)
    order = ["rms_change", "changed_fraction"]
    return pd.DataFrame(lines).sort_values(order, ascending=False, kind="stable", ignore_index=True)


def _moved_frame(result: StabilityResult, frame: Any, moved: Any) -> Any:
    places = frame_of(moved, "moved", len(result.plan.places()["row"]), columns=list(frame.columns))
    if list(places.columns) != list(frame.columns):
        raise ValueError(
            describe(
                "moved", f"of the columns {list(frame.columns)[:5]}", f"{list(places.columns)[:5]}"
            )
        )
    return places


def _changes(
    result: StabilityResult, frame: Any, places: Any, *, everything: bool = False
) -> dict[Any, npt.NDArray[Any]]:
    """Return the move of each place in each column that changes anywhere: a difference, or whether it changes."""
    rows, changes = result.plan.places()["row"], {}
    for place, name in enumerate(frame.columns):
        start, end = frame.iloc[:, place], places.iloc[:, place]
        change: npt.NDArray[Any]
        if is_numeric(start):
            change = np.nan_to_num(numbers_of(end) - numbers_of(start)[rows])
        else:
            change = texts_of(end) != texts_of(start)[rows]
        if everything or change.any():
            changes[name] = change
    return changes


def _heaviest(sample: Any, rows: IntArray, second: BoolArray) -> Any:
    """Keep the heavier line of each row, with the whole weight of the row."""
    weight = sample["weight"].to_numpy()
    order = np.lexsort((second, -weight, rows))  # the first place where both weigh the same
    first = np.concatenate([[True], np.diff(rows[order]) > 0])
    kept = sample.iloc[order[first]].reset_index(drop=True)
    kept["weight"] = np.bincount(rows, weights=weight)
    return kept


def weights_of(result: StabilityResult) -> FloatArray:
    """Return the weight of each row, or refuse a result without rows."""
    weights = result.plan.weights
    if weights is None:
        raise ValueError(NO_ROWS)
    return weights


def frame_of(
    table: Any, argument: str, n_rows: int, *, columns: Sequence[Any] | None = None
) -> Any:
    """Return a table of the right height as a DataFrame; arrays get the given column names, or numbers."""
    import pandas as pd

    if isinstance(table, pd.Series):
        table = table.to_frame()
    if not isinstance(table, pd.DataFrame):
        values = np.asarray(table)
        if values.ndim != 2:
            raise ValueError(
                describe(argument, "a table of shape (n_rows, n_columns)", f"shape {values.shape}")
            )
        names = (
            columns
            if columns is not None and len(columns) == values.shape[1]
            else range(values.shape[1])
        )
        table = pd.DataFrame(values, columns=pd.Index(names))
    if len(table) != n_rows:
        raise ValueError(describe(argument, f"of {n_rows} rows", f"{len(table)} rows"))
    repeated = table.columns[table.columns.duplicated()]
    if len(repeated):
        raise ValueError(
            describe(argument, "a table of distinct column names", f"{repeated[0]!r} twice")
        )
    return table


def rows_known(table: Any, argument: str = "table") -> Any:
    """Return a table, or refuse a result without one."""
    if table is None:
        raise ValueError(
            describe(
                argument,
                "the rows, which this result does not know",
                "none",
                "Give a table of them.",
            )
        )
    return table


def is_numeric(column: Any) -> bool:
    """Tell whether a column of a DataFrame holds numbers; booleans are categories."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return bool(is_numeric_dtype(column.dtype) and not is_bool_dtype(column.dtype))


def numbers_of(column: Any) -> FloatArray:
    """Return a column of numbers as float64, with nan where a value is missing."""
    numbers: FloatArray = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return numbers


def texts_of(column: Any) -> npt.NDArray[Any]:
    """Return a column of categories as texts, with a word where a value is missing."""
    known = column.notna().to_numpy(dtype=bool)
    texts: npt.NDArray[Any] = np.full(len(column), MISSING, dtype=object)
    texts[known] = [str(value) for value in column[known].tolist()]
    return texts


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


def compare_columns(
    table: Any, before: FloatArray, after: FloatArray, *, max_levels: int = 20
) -> Any:
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


def _number_lines(
    values: FloatArray, before: FloatArray, after: FloatArray
) -> list[dict[str, Any]]:
    known = np.isfinite(values)
    lines = [
        line for line in _level_lines(np.where(known, "", MISSING), before, after) if line["level"]
    ]
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
