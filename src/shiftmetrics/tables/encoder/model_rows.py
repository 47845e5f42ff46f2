"""The rows of a table as a fitted model takes them: what a file holds, read as plainly as pandas reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.column_kinds import WORD_KINDS, TypedTables
from shiftmetrics.tables.encoder.roles import as_frame

if TYPE_CHECKING:
    import pandas as pd

_PLAIN_BOOLEANS = {"true", "false"}


def model_rows(table: Any, typed: TypedTables, place: int) -> pd.DataFrame:
    """Return a table as it is, and the cells of a file as numbers and words.

    A model was fitted on a table that was read: numbers are numbers there, and dates or ``t`` and ``f`` are words.

    Parameters
    ----------
    table : DataFrame, array or Cells
        A sample as it was given.
    typed : TypedTables
        Its columns and those of other samples, as what they are.
    place : int
        Which of these tables it is.
    """
    import pandas as pd

    if not isinstance(table, Cells):
        return as_frame(table, "table")
    columns = {}
    for name in table.frame.columns:
        own = table.frame[name]
        read = typed.frames[place][name]
        kind = typed.kinds[name].kind
        if name in table.written:
            if kind in ("number", "integer") or (kind == "boolean" and _are_plain(own)):
                own = read
            elif kind in WORD_KINDS:
                own = read.where(read.notna(), np.nan)
        columns[name] = own
    return pd.DataFrame(columns, copy=False)


def _are_plain(words: pd.Series) -> bool:
    """Return True for words that every reader of tables takes for Booleans."""
    return {str(word).lower() for word in words.dropna().unique()} <= _PLAIN_BOOLEANS
