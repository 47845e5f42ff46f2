"""One value for each row of a file, such as its label or its weight: a column of a table, or a file of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import first_few
from shiftmetrics.cli.inputs.prediction_files import names_file, read_cells, typed_source
from shiftmetrics.tables.kinds import decide_kinds

if TYPE_CHECKING:
    import pandas as pd

Values = npt.NDArray[Any]


def row_values(
    text: str | None,
    option: str,
    frame: pd.DataFrame | None,
    ids: Sequence[str] | None = None,
    *,
    required: bool = False,
) -> Values | None:
    """Take a column of a table, or else a file, as one value a row.

    Returns
    -------
    ndarray or None
        None without ``text``, or where the table lacks the column and it is not ``required``.

    Raises
    ------
    ValueError
        If there is no such column and ``text`` is no file.
    """
    if text is None:
        return None
    # a column of the table comes before a file of that name
    if frame is not None and text in frame.columns:
        return np.asarray(frame[text].to_numpy())
    if names_file(text):
        return values_of_rows(text, option, ids)
    if frame is None:
        raise ValueError(
            f"{option} must be a file here, because arrays have no named columns; got {text!r}."
        )
    if required:
        require_column(frame.columns, text, option, "FILE")
    return None


def values_of_rows(
    text: str, option: str, ids: Sequence[str] | None = None, n_rows: int | None = None
) -> Values:
    """Read a file that holds one value for each row, or the id of a row and one for each of ``ids``.

    Raises
    ------
    ValueError
        If it holds several columns, or another number of values, or none for some row.
    """
    frame = typed_frame(text, option)
    if ids is not None and frame.shape[1] == 2:
        return _by_ids(frame, option, ids)
    if frame.shape[1] != 1:
        wanted = "one value a row" if ids is None else "one value a row, or ids and values"
        raise ValueError(
            f"{option} must be a file of {wanted}, got {len(frame)} rows of {frame.shape[1]} columns: "
            f"{first_few(frame.columns, 6)}."
        )
    values = np.asarray(frame.iloc[:, 0].to_numpy())
    if n_rows is not None and len(values) != n_rows:
        raise ValueError(
            f"{option} must have a value for each row, got {len(values)} for {n_rows} rows."
        )
    return values


def typed_frame(text: str, argument: str) -> pd.DataFrame:
    """Return the table of a file, its columns as what they are."""
    cells = read_cells(typed_source(text, argument))
    if cells.values is not None and cells.values.ndim > 2:
        raise ValueError(
            f"{argument} must be a file of one value a row, got shape {cells.values.shape}."
        )
    return decide_kinds([cells]).frames[0]


def _by_ids(frame: pd.DataFrame, option: str, ids: Sequence[str]) -> Values:
    """Return the values of a file of ids and values in the order of the rows."""
    from shiftmetrics.tables.evidence import cell_texts

    wanted = np.array(ids, dtype=object)
    known = set(ids)
    # The ids are the column that names more of the rows. Each row counts once, however many cells name it: weights
    # such as 1, 2 and 3 may be ids as well, and repeat.
    columns = [cell_texts(frame[name]) for name in frame.columns]
    hits = [len(known.intersection(column)) for column in columns]
    place = int(np.argmax(hits))
    own = columns[place]
    values = frame.iloc[:, 1 - place].to_numpy()
    lookup = {word: row for row, word in enumerate(own)}
    if len(lookup) < len(own):
        raise ArgumentValueError(option, "a file with one value for each id", "ids that repeat")
    rows = [lookup.get(word, -1) for word in wanted]
    missing = [word for word, row in zip(wanted, rows, strict=True) if row < 0]
    if missing:
        got = f"none for {len(missing)} of {len(ids)}, such as {missing[0]!s}"
        raise ArgumentValueError(option, "a file with a value for each row", got)
    return np.asarray(values[np.array(rows)])


def require_column(names: Any, name: str, option: str, argument: str) -> str:
    """Return ``name`` if it is among the names of the columns, else raise a ValueError that lists these."""
    if name not in names:
        raise ValueError(
            f"{option} must name a column of {argument}, got {name!r}; it has {first_few(map(str, names), 8)}."
        )
    return name
