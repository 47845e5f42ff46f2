"""One value for each row of a file, such as its label or its weight: a column of the table, or a file of its own."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import first_few
from shiftmetrics.cli.inputs.readers import read_source
from shiftmetrics.cli.inputs.sources import looks_like_source, parse_source

Values = npt.NDArray[Any]


def read_rows(
    frame: Any | None,
    row_options: dict[str, str | None],
    *,
    ids: Any = None,
    required: bool = False,
) -> dict[str, Any]:
    """Return one value a row for each option, by the name of the option; see `read_row_values`."""
    return {
        name: read_row_values(text, f"--{name}", frame, ids=ids, required=required)
        for name, text in row_options.items()
    }


def read_row_values(
    text: str | None, option: str, frame: Any | None, *, ids: Any = None, required: bool = False
) -> Values | None:
    """Take a column of the table, or else a file, as one value a row.

    A file of two columns, ids and values, is brought into the order of ``ids``.

    Returns
    -------
    ndarray or None
        None without ``text``, or where the table lacks the column and it is not ``required``.

    Raises
    ------
    ValueError
        If there is no such column and ``text`` is no file.
    """
    # a column of the table comes before a file of that name
    if text is None:
        return None
    if frame is not None and text in frame.columns:
        return cast(Values, frame[text].to_numpy())
    if looks_like_source(text):
        return read_vector(text, option, ids)
    if frame is None:
        raise ValueError(
            f"{option} must be a file here, because arrays have no named columns; got {text!r}."
        )
    if required:
        require_column(frame.columns, text, option, "FILE")
    return None


def read_vector(text: str, argument: str, ids: Any = None) -> Values:
    """Read a file that holds one number or word for each row, or the id of a row and one for each of ``ids``.

    Raises
    ------
    ValueError
        If it holds several columns, or nothing for one of the ids.
    """
    content = read_source(parse_source(text, argument))
    if ids is not None and hasattr(content, "columns") and content.shape[1] == 2:
        from shiftmetrics.decisions.predictions.labels import labels_of_table

        found = labels_of_table(content, np.asarray(ids))
        if not found.known.all():
            first = np.asarray(ids)[~found.known][0]
            got = f"none for {(~found.known).sum()} of {len(ids)}, such as {first!s}"
            raise ArgumentValueError(argument, "a file with a value for each row", got)
        return np.array(found.values.tolist())
    # a table of one column is a column
    values = np.asarray(content.to_numpy() if hasattr(content, "to_numpy") else content)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"{argument} must be a file of one value a row, got shape {values.shape}.")
    return values


def require_column(names: Any, name: str, option: str, argument: str) -> str:
    """Return ``name`` if it is among the names of the columns, else raise a ValueError that lists these."""
    if name not in names:
        raise ValueError(
            f"{option} must name a column of {argument}, got {name!r}; it has {first_few(map(str, names), 8)}."
        )
    return name
