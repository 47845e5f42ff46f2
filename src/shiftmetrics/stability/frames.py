"""Rows as DataFrames of the right height, and their columns as numbers; pandas is loaded when it is needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.validation import describe
from shiftmetrics.stability.result import ShiftResult

MISSING = "missing"
"""What stands for a missing category among texts."""


def weights_of(result: ShiftResult) -> FloatArray:
    """Return the weight of each row, or say that rows were not kept."""
    if result.weights is None:
        raise ValueError(
            "result must hold its rows, got one without weights. Compute it with keep_rows=True."
        )
    return result.weights


def frame_of(table: Any, argument: str, n_rows: int, *, columns: Sequence[Any] | None = None) -> Any:
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
        names = columns if columns is not None and len(columns) == values.shape[1] else range(values.shape[1])
        table = pd.DataFrame(values, columns=pd.Index(names))
    if len(table) != n_rows:
        raise ValueError(describe(argument, f"of {n_rows} rows", f"{len(table)} rows"))
    repeated = table.columns[table.columns.duplicated()]
    if len(repeated):
        raise ValueError(describe(argument, "a table of distinct column names", f"{repeated[0]!r} twice"))
    return table


def rows_known(table: Any, argument: str = "table") -> Any:
    """Return the rows, or say that this result does not know them."""
    if table is None:
        raise ValueError(
            describe(argument, "the rows, which this result does not know", "none", "Give a table of them.")
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
