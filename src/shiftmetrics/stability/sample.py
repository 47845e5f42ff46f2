"""The most sensitive sample as tables: where each sample is after the shift, and how far each column changes."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import check_choice, check_vector
from shiftmetrics.stability.frames import frame_of, is_numeric, numbers_of, strings_of
from shiftmetrics.stability.result import StabilityResult

SplitLines = Literal["separate", "heaviest"]
SPLIT_LINES: tuple[SplitLines, ...] = ("separate", "heaviest")


def most_sensitive_sample(
    result: StabilityResult,
    table: Any = None,
    *,
    after: Any = None,
    splits: SplitLines = "separate",
) -> Any:
    """Return the most sensitive sample as a DataFrame: weight, change and loss of each sample, in their order.

    Parameters
    ----------
    result : StabilityResult
        A result that holds its rows.
    table : DataFrame or array of shape (n_samples, n_columns), optional
        Columns that describe the samples. The index of a DataFrame becomes that of the returned one. Default: the
        rows of the model and what they become, in a result of `model_stability`.
    after : DataFrame or array of shape (n_samples + n_splits, n_columns), optional
        The rows after they change, in the columns of ``table``: first all of them, then the second places of those
        that split (``result.plan.splits``).
    splits : {"separate", "heaviest"}, default "separate"
        A sample may be split between two places. "separate" gives each place a line, the second right after the
        first, under one index label; "heaviest" keeps one line for each sample, at the place with more weight.

    Returns
    -------
    pandas.DataFrame
        Columns ``weight`` (mean 1), ``changed``, ``split`` (whether the line is a second place), ``distance``,
        ``loss`` and ``loss_after``. Then the columns of ``table``, after the change where ``after`` is known, and for
        every column that changes anywhere a column ``NAME change``: the difference of numbers, or whether a category
        changed. A column of the table with the name of one of the first six gets the name ``NAME of the row``.

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
    >>> most_sensitive_sample(result, patients, splits="heaviest")[["weight", "changed", "distance", "age"]]
       weight  changed  distance  age
    a     1.0    False       0.0   40
    b     1.0     True       0.5   50
    c     1.0    False       0.0   60
    d     1.0    False       0.0   70
    """
    import pandas as pd

    check_choice(splits, "splits", SPLIT_LINES)
    places = result.plan.places()
    rows = places["row"]
    n_samples = result.n_samples
    if table is None and after is None:
        table, after = result.places()
    # One line for each place: the first places of all samples, then the second ones.
    sample = pd.DataFrame(
        {
            "weight": places["weight"],
            "changed": places["distance"] > 0.0,
            "split": np.arange(len(rows)) >= n_samples,
            "distance": places["distance"],
            "loss": np.asarray(result.plan.base_losses)[rows],
            "loss_after": places["loss"],
        }
    )
    index: Any = pd.RangeIndex(n_samples)
    if table is not None:
        frame = frame_of(table, "table", n_samples)
        index = frame.index
        shown = frame.iloc[rows]
        changes: dict[Any, npt.NDArray[Any]] = {}
        if after is not None:
            shown = _places_of(frame, after, len(rows))
            changes = _changes(frame, shown, rows)
        names = {name: f"{name} of the row" for name in sample}
        shown = shown.rename(columns=names).reset_index(drop=True)
        changed = {f"{name} change": values for name, values in changes.items() if values.any()}
        sample = pd.concat([sample, shown, pd.DataFrame(changed)], axis=1)
    elif after is not None:
        raise ArgumentValueError("table", "the rows before they change", "none, with after given")
    # The second place of a sample comes right after its first one.
    order = np.argsort(rows, kind="stable")
    sample = sample.iloc[order].set_axis(index[rows[order]], axis=0)
    if splits == "separate":
        return sample
    return _heaviest(sample, rows[order])


def column_changes(
    result: StabilityResult, table: Any = None, after: Any = None, *, units: Any = None
) -> Any:
    """Return how far the rows of the most sensitive sample change in each column, the farthest first.

    Parameters
    ----------
    result : StabilityResult
        A result that holds its rows.
    table : DataFrame or array of shape (n_samples, n_columns), optional
        The rows before they change. Default: those of a result of `model_stability`.
    after : DataFrame or array of shape (n_samples + n_splits, n_columns), optional
        The rows after they change; see `most_sensitive_sample`.
    units : array_like of shape (n_columns,), optional
        The unit of each column, in which its changes are measured. Default: the one that the result was computed
        with, else its standard deviation (1 where the column is constant).

    Returns
    -------
    pandas.DataFrame
        A line for each column: ``unit``; ``rms_change``, the root-mean-square change in that unit, weighted as in the
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
    >>> after = points - np.column_stack([result.plan.distances, np.zeros(4)])
    >>> column_changes(result, points, after, units=[1.0, 1.0])
      column  unit  rms_change  mean_change  changed_fraction
    0      0   1.0         0.5        -0.25              0.25
    1      1   1.0         0.0         0.00              0.00
    """
    import pandas as pd

    places = result.plan.places()
    if table is None and after is None:
        table, after = result.places()
        known = getattr(result, "changed", None)
        # The changes were priced in these units, so that sizes compare with the distances.
        if units is None and known is not None:
            units = known.units
    for argument, given in (("table", table), ("after", after)):
        if given is None:
            expected = "the rows, which this result does not know"
            raise ArgumentValueError(argument, expected, "none", "Give a table of them.")
    frame = frame_of(table, "table", result.n_samples)
    changes = _changes(frame, _places_of(frame, after, len(places["row"])), places["row"])
    if units is not None:
        units = check_vector(units, "units", low=0.0)
        if len(units) != frame.shape[1] or not all(units):
            expected = f"{frame.shape[1]} positive numbers, one a column"
            raise ArgumentValueError("units", expected, str(units))
    lines = []
    for position, (name, change) in enumerate(changes.items()):
        unit = None if units is None else float(units[position])
        if change.dtype != bool and unit is None:
            unit = _spread(numbers_of(frame[name]))
        lines.append({"column": str(name), **_size_of(change, unit, places["weight"])})
    order = ["rms_change", "changed_fraction"]
    return pd.DataFrame(lines).sort_values(order, ascending=False, kind="stable", ignore_index=True)


def _size_of(change: npt.NDArray[Any], unit: float | None, weights: FloatArray) -> dict[str, float]:
    """Return the size of the changes of a column; that of categories is the fraction that changes alone."""
    line = {"unit": np.nan, "rms_change": np.nan, "mean_change": np.nan}
    if change.dtype != bool and unit is not None:
        line["unit"] = unit
        line["rms_change"] = float(np.sqrt(np.average((change / unit) ** 2, weights=weights)))
        line["mean_change"] = float(np.average(change, weights=weights))
    line["changed_fraction"] = float(np.average(change != 0, weights=weights))
    return line


def _spread(numbers: FloatArray) -> float:
    """Return the standard deviation of a column; 1 where it is constant."""
    return float(np.nanstd(numbers)) or 1.0


def _places_of(frame: Any, after: Any, n_places: int) -> Any:
    """Return the rows after they change as a DataFrame of the columns of ``frame``."""
    expected = list(frame.columns)
    places = frame_of(after, "after", n_places, columns=expected)
    if list(places.columns) != expected:
        got = list(places.columns)[:5]
        raise ArgumentValueError("after", f"of the columns {expected[:5]}", f"{got}")
    return places


def _changes(frame: Any, places: Any, rows: IntArray) -> dict[Any, npt.NDArray[Any]]:
    """Return the change of each place in each column: a difference, or whether it changes."""
    changes: dict[Any, npt.NDArray[Any]] = {}
    for name in frame.columns:
        if is_numeric(frame[name]):
            change = numbers_of(places[name]) - numbers_of(frame[name])[rows]
            # Cells that are missing stay missing.
            changes[name] = np.nan_to_num(change)
        else:
            changes[name] = strings_of(places[name]) != strings_of(frame[name])[rows]
    return changes


def _heaviest(sample: Any, rows: IntArray) -> Any:
    """Keep the heavier line of each sample, with its whole weight; the first place where both weigh the same."""
    weight = sample["weight"].to_numpy()
    # By sample, and within it the heavier line first.
    order = np.lexsort((sample["split"], -weight, rows))
    is_first = np.diff(rows[order], prepend=-1) > 0
    kept = sample.iloc[order[is_first]].copy()
    kept["weight"] = np.bincount(rows, weights=weight)
    return kept
