"""Tables to label, with what the files say of each row behind what was found: nobody can label a row by its id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_OURS = ("id", "label", "plan")
"""Columns by which a table that was filled in is read: cells of a file may not stand for them."""


def with_columns_of_rows(found: Any, columns: Mapping[Any, Any]) -> Any:
    """Return a table of rows with further columns of the same rows behind its own.

    Parameters
    ----------
    found : DataFrame
        What is said of the rows.
    columns : mapping of name to array
        Cells of the rows, in the same order. A name that ``found`` has already, or by which such a table is read
        (``id``, ``label``, ``plan``), gets " (row)" behind it, so that no cell is lost and none stands for another.

    Returns
    -------
    DataFrame
    """
    import pandas as pd

    taken = {str(name) for name in (*found.columns, *columns)}
    added = {}
    for name, cells in columns.items():
        new = str(name)
        if new in found.columns or new in _OURS:
            new = f"{new} (row)"
            while new in taken:
                new = f"{new} (row)"
            taken.add(new)
        added[new] = cells
    return pd.concat([found, pd.DataFrame(added, index=found.index)], axis=1)
