"""Several arrays in one file: those of as many rows are the columns of one table.

A file of predictions often holds ``probabilities`` of shape (n, K), ``labels`` and ``ids`` of shape (n,), and
``classes`` of shape (K,), which name the columns of the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

MOST_COLUMNS = 2000
"""A wider array is no table of scores beside labels, but data that is better named by itself."""


def table_of_arrays(arrays: Mapping[str, Any]) -> tuple[pd.DataFrame, tuple[str, ...]] | None:
    """Return the arrays of a file as one table, or None where they are none.

    The rows are as many as most arrays with the largest first dimension have. Single values, and one array that
    names the columns of the matrix, are no rows. Any other array of another length, and a second matrix, leave the
    file to be asked about.

    Returns
    -------
    frame : DataFrame
        A column for each array of one dimension, and ``name.0``, ``name.1`` (or ``name.cat``) for a matrix.
    notes : tuple of str
        What was left out.
    """
    import pandas as pd

    shaped = {key: _squeezed(values) for key, values in arrays.items() if np.ndim(values)}
    n_rows = max((len(values) for values in shaped.values()), default=0)
    rows = {key: values for key, values in shaped.items() if len(values) == n_rows}
    if len(rows) < 2 or n_rows < 2 or any(not _is_column(values) for values in rows.values()):
        return None
    matrices = {key: values for key, values in rows.items() if np.ndim(values) == 2}
    if len(matrices) > 1:
        # two samples, or logits beside probabilities: which is meant is asked
        return None
    names: list[str] | None = None
    for key, values in shaped.items():
        if key in rows:
            continue
        if names is not None or not any(_names_columns(values, part) for part in matrices.values()):
            return None
        names = list(map(str, values.tolist()))
    columns: list[tuple[str, Any]] = []
    for key, values in rows.items():
        if np.ndim(values) == 1:
            columns.append((key, values))
            continue
        inner = names or map(str, range(values.shape[1]))
        columns += [(f"{key}.{name}", values[:, place]) for place, name in enumerate(inner)]
    table = dict(columns)
    if len(table) < len(columns):  # an array is called as a column of the matrix: it is asked which
        return None
    single = [key for key in arrays if key not in shaped]
    notes = (f"left out beside the arrays: {', '.join(single[:5])}",) if single else ()
    return pd.DataFrame(table), notes


def _squeezed(values: Any) -> Any:
    """Return bytes as strings, and a matrix of one column as a column."""
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8")
    if np.ndim(values) == 2 and values.shape[1] == 1:
        return values[:, 0]
    return values


def _is_column(values: Any) -> bool:
    """Return True for numbers and strings in one dimension, and for matrices of numbers."""
    if values.dtype.names or values.dtype.kind == "V":
        return False
    if np.ndim(values) == 1:
        return True
    return np.ndim(values) == 2 and values.dtype.kind in "iufb" and values.shape[1] <= MOST_COLUMNS


def _names_columns(values: Any, matrix: Any) -> bool:
    """Return True for an array of distinct names, or codes, of the columns of a matrix."""
    if np.ndim(values) != 1 or values.dtype.kind not in "iuU" or len(values) != matrix.shape[1]:
        return False
    return len(set(values.tolist())) == len(values)
