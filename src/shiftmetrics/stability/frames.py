"""Tables that describe samples: DataFrames of the right height, and their columns as numbers or strings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.exceptions import ArgumentValueError

# The string of a missing category.
MISSING = "missing"


def frame_of(
    table: Any, argument: str, n_rows: int, *, columns: Sequence[Any] | None = None
) -> Any:
    """Return a table of the right height as a DataFrame; arrays get the given column names, or numbers.

    Raises
    ------
    ValueError
        If it is no table, has another height, or two columns of one name.
    """
    import pandas as pd

    if isinstance(table, pd.Series):
        table = table.to_frame()
    if not isinstance(table, pd.DataFrame):
        values = np.asarray(table)
        if values.ndim != 2:
            expected = "a table of shape (n_rows, n_columns)"
            raise ArgumentValueError(argument, expected, f"shape {values.shape}")
        table = pd.DataFrame(values)
        if columns is not None and len(columns) == values.shape[1]:
            table.columns = pd.Index(columns)
    if len(table) != n_rows:
        raise ArgumentValueError(argument, f"of {n_rows} rows", f"{len(table)} rows")
    repeated = table.columns[table.columns.duplicated()]
    if len(repeated):
        expected = "a table of distinct column names"
        raise ArgumentValueError(argument, expected, f"{repeated[0]!r} twice")
    return table


def is_numeric(column: Any) -> bool:
    """Return True if a column of a DataFrame holds numbers; booleans are categories."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return bool(is_numeric_dtype(column.dtype) and not is_bool_dtype(column.dtype))


def numbers_of(column: Any) -> FloatArray:
    """Return a column of numbers as float64, with nan where a value is missing."""
    numbers: FloatArray = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return numbers


def strings_of(column: Any) -> npt.NDArray[Any]:
    """Return a column of categories as strings, with a word where a value is missing."""
    known = column.notna().to_numpy(dtype=bool)
    strings: npt.NDArray[Any] = np.full(len(column), MISSING, dtype=object)
    strings[known] = [str(value) for value in column[known].tolist()]
    return strings
