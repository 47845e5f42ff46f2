"""Columns as codes and back: numbers as they are, categories as 0, 1, ..., missing cells as NaN."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import BoolArray, FloatArray
from shiftmetrics._core.record import Record
from shiftmetrics._core.validation import describe

ColumnKind = Literal["number", "category"]
Missing = Literal["nan", "none", "NA", "NaT"]


@dataclass(frozen=True, eq=False, kw_only=True)
class TableColumn(Record):
    """One column: how its values are coded.

    Attributes
    ----------
    name : str
        Its name; ``x0``, ``x1``, ... in arrays.
    label : str or int
        Its label in the table.
    kind : {"number", "category"}
        Categories are coded as 0, 1, ...
    dtype : str
        Its dtype in the table.
    categories : tuple or None
        The values that the codes stand for.
    missing : {"nan", "none", "NA", "NaT"} or None
        How the table writes missing cells, where the column has some.
    """

    name: str
    label: Any
    kind: ColumnKind
    dtype: str
    categories: tuple[Any, ...] | None = None
    missing: Missing | None = None


def code_column(
    series: Any, name: str, *, is_category: bool, levels: Sequence[Any] | None, argument: str
) -> tuple[TableColumn, FloatArray]:
    """Return a column of a table and its codes.

    Parameters
    ----------
    series : pandas.Series
        The column.
    name : str
        Its name.
    is_category : bool
        Whether its numbers stand for categories.
    levels : sequence or None
        Its categories, where they are known.
    argument : str
        Name of the table for messages.

    Raises
    ------
    ValueError
        If a number is infinite, or missing cells are written in several ways.
    TypeError
        If the column is neither numbers nor categories.
    """
    import pandas as pd

    dtype = series.dtype
    missing = series.isna().to_numpy(dtype=bool)
    written = _written(series[missing], name, argument) if missing.any() else None
    numeric = pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)
    if numeric and not is_category and levels is None:
        numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
        infinite = np.isinf(numbers)
        if infinite.any():
            raise ValueError(
                describe(
                    argument,
                    "finite everywhere",
                    f"{numbers[infinite][0]:g} in column {name!r} at row {int(infinite.argmax())}",
                    "Drop or clip these rows first.",
                )
            )
        column = TableColumn(name=name, label=series.name, kind="number", dtype=str(dtype), missing=written)
        return column, numbers
    if pd.api.types.is_datetime64_any_dtype(dtype) or pd.api.types.is_timedelta64_dtype(dtype):
        raise TypeError(
            describe(
                argument,
                "a table of numbers and categories",
                f"dates in column {name!r}",
                "Turn them into numbers.",
            )
        )
    categories = _categories(series[~missing], levels, name, argument)
    places = {value: place for place, value in enumerate(categories)}
    codes = np.full(len(series), np.nan)
    codes[~missing] = [places[value] for value in series[~missing].tolist()]
    plain = tuple(value.item() if isinstance(value, np.generic) else value for value in categories)
    kept = "category" if isinstance(dtype, pd.CategoricalDtype) else str(dtype)
    column = TableColumn(
        name=name, label=series.name, kind="category", dtype=kept, categories=plain, missing=written
    )
    return column, codes


def decode_column(column: TableColumn, codes: FloatArray, dtype: Any, index: Any) -> Any:
    """Return codes as a column of the given table, in its dtype and categories, with missing cells as it writes them.

    Integers become floats where a row stands between them.
    """
    import pandas as pd

    dtype = pd.api.types.pandas_dtype(dtype)
    missing = np.isnan(codes)
    if column.categories is None:
        return pd.Series(_number_column(codes, missing, dtype), index=index)
    positions = np.where(missing, -1, codes).astype(np.int64)
    if isinstance(dtype, pd.CategoricalDtype):
        if dtype.categories is None or list(dtype.categories) != list(column.categories):
            dtype = pd.CategoricalDtype(list(column.categories))
        return pd.Series(pd.Categorical.from_codes(positions, dtype=dtype), index=index)
    values = np.empty(len(column.categories) + 1, dtype=object)
    values[:-1] = column.categories
    values[-1] = _marker(column.missing)  # at position -1
    if missing.any() and isinstance(dtype, np.dtype) and dtype.kind in "biu":  # has no missing values itself
        dtype = np.dtype(object if dtype.kind == "b" else np.float64)
    return pd.Series(values[positions], index=index, dtype=object).astype(dtype)


def inferred(series: Any) -> Any:
    """Return a column of objects in the dtype of its values; with missing cells, numbers become floats alone."""
    if series.dtype != object:
        return series
    held = series[~series.isna()]
    if len(held) == len(series):
        return series.infer_objects()
    plain = all(isinstance(value, Real) and not isinstance(value, bool | np.bool_) for value in held)
    return series.where(series.notna(), np.nan).astype(np.float64) if plain and len(held) else series


def whole_where_possible(codes: FloatArray, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return the codes in an integer dtype where nothing is lost, else as float64."""
    if dtype.kind in "iu" and codes.size and (codes == np.rint(codes)).all():
        limits = np.iinfo(dtype)
        if codes.min() >= limits.min and codes.max() <= limits.max:
            return codes.astype(dtype)
    return codes


def _number_column(codes: FloatArray, missing: BoolArray, dtype: Any) -> Any:
    """Return numbers in the dtype of the column where nothing is lost, else as float64."""
    import pandas as pd

    kind = np.dtype(getattr(dtype, "numpy_dtype", dtype))
    if not (missing.any() and isinstance(dtype, pd.api.extensions.ExtensionDtype)):
        return whole_where_possible(codes, kind)
    present = whole_where_possible(codes[~missing], kind)
    if present.dtype.kind == "f" and kind.kind != "f":  # integers that moved in between
        return pd.array(codes, dtype="Float64")
    values = np.empty(len(codes), dtype=object)
    values[missing], values[~missing] = pd.NA, present
    return pd.Series(values, dtype=dtype).array


def _categories(held: Any, levels: Sequence[Any] | None, name: str, argument: str) -> list[Any]:
    """Return the categories of a column: those known, then others seen, else those of its dtype, else those seen."""
    import pandas as pd

    if levels is not None:
        known = list(levels)
        return known + [value for value in pd.unique(held) if value not in set(known)]
    if isinstance(held.dtype, pd.CategoricalDtype):
        return list(held.dtype.categories)
    if pd.api.types.is_bool_dtype(held.dtype):
        return [False, True]
    try:
        return sorted(pd.unique(held))
    except TypeError as error:
        raise TypeError(
            describe(argument, "a table of numbers and categories", f"mixed values in column {name!r}")
        ) from error


def _written(cells: Any, name: str, argument: str) -> Missing:
    """Return how missing cells are written."""
    import pandas as pd

    kinds: dict[Missing, None] = {}
    for value in cells.tolist():
        kind: Missing = (
            "none" if value is None else "NA" if value is pd.NA else "NaT" if value is pd.NaT else "nan"
        )
        kinds[kind] = None
    if len(kinds) > 1:
        raise ValueError(
            describe(
                argument,
                "a table that writes missing cells in one way in each column",
                f"{' and '.join(kinds)} in column {name!r}",
                f"Use X[{name!r}] = X[{name!r}].where(X[{name!r}].notna(), None).",
            )
        )
    return next(iter(kinds))


def _marker(missing: Missing | None) -> Any:
    import pandas as pd

    return {"none": None, "NA": pd.NA, "NaT": pd.NaT}.get(missing or "nan", math.nan)
