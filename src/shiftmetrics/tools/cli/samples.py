"""A file taken apart: the numbers to measure, and beside them ids, labels and weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import as_array
from shiftmetrics._core.validation import first_few
from shiftmetrics.tools.cli.readers import read_source
from shiftmetrics.tools.cli.sources import Source, looks_like_source, parse_source
from shiftmetrics.tools.cli.suspects import Role, refuse_suspect_columns


@dataclass(kw_only=True)
class Sample:
    """What one file gave.

    Attributes
    ----------
    source : Source
        Where it came from.
    values : DataFrame or ndarray
        The scores or features, one row for each observation; a DataFrame keeps names and ids.
    label, weight, groups : ndarray or None
        One entry for each row.
    notes : list of str
        What the user should know about how the file was read.
    """

    source: Source
    values: Any
    label: npt.NDArray[Any] | None = None
    weight: npt.NDArray[Any] | None = None
    groups: npt.NDArray[Any] | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def is_table(self) -> bool:
        """Whether rows and columns have names."""
        return hasattr(self.values, "columns")

    @property
    def columns(self) -> list[str] | None:
        """Names of the columns, where there are any."""
        return [str(name) for name in self.values.columns] if self.is_table else None

    @property
    def row_names(self) -> list[str] | None:
        """The ids of the rows, where an id column was named."""
        has_ids = self.is_table and self.values.index.name is not None
        return [str(name) for name in self.values.index] if has_ids else None

    def numbers(self) -> npt.NDArray[Any]:
        """Return the values as a NumPy array."""
        return np.asarray(as_array(self.values, self.source.argument))


def read_sample(
    text: str,
    argument: str,
    *,
    role: Role,
    id_column: str | None = None,
    columns: str | None = None,
    label: str | None = None,
    weight: str | None = None,
    groups: str | None = None,
) -> Sample:
    """Read the file that ``text`` names and take it apart.

    Raises
    ------
    ValueError
        If a named column is not there, or an unnamed one looks like an id, a label or a weight.
    TypeError
        If a column to measure does not hold numbers.
    """
    source = parse_source(text, argument)
    content = read_source(source)
    if not hasattr(content, "columns"):
        for option, value in (("--id", id_column), ("--columns", columns)):
            if value is not None:
                raise ValueError(
                    f"{option} must go with a table that has named columns, but {argument} is {source}."
                )
        sample = Sample(source=source, values=as_array(content, argument), notes=source.notes)
        if role == "scores" and np.ndim(content) > 2:
            raise ValueError(
                f"{argument} must have shape (n_samples, n_classes), got {np.shape(content)}. Choose leading axes, "
                f"such as {source.example}."
            )
        sample.label = read_row_values(label, "--label", None)
        sample.weight = read_row_values(weight, "--weight", None)
        sample.groups = read_row_values(groups, "--groups", None)
        return sample

    frame = content
    sample = Sample(source=source, values=frame, notes=source.notes)
    counted = list(frame.columns) == [str(position) for position in range(frame.shape[1])]
    if counted and source.suffix in (".csv", ".csv.gz"):
        sample.notes.append(f"{argument} names its columns 0 to {frame.shape[1] - 1}, or has no header line.")
    sample.label = read_row_values(label, "--label", frame)
    sample.weight = read_row_values(weight, "--weight", frame)
    sample.groups = read_row_values(groups, "--groups", frame)
    ids = None if id_column is None else frame[require_column(frame, id_column, "--id", argument)]
    used = {name for name in (id_column, label, weight, groups) if name in frame.columns}
    frame = frame.drop(columns=list(used))
    if columns is not None:
        frame = frame[[require_column(frame, name, "--columns", argument) for name in split_names(columns)]]
    else:
        refuse_suspect_columns(frame, argument, role)
    if ids is not None:
        frame = frame.set_axis(ids.to_numpy(), axis=0).rename_axis(id_column, axis=0)
    sample.values = frame
    return sample


def split_names(text: str) -> list[str]:
    """Split ``a,b,c`` as csv does, so that a quoted name may hold a comma."""
    import csv

    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]


def read_vector(text: str, argument: str) -> npt.NDArray[Any]:
    """Read a file that holds one number or word for each row.

    Raises
    ------
    ValueError
        If it holds several columns.
    """
    content = read_source(parse_source(text, argument))
    values = np.asarray(content.to_numpy() if hasattr(content, "to_numpy") else content)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"{argument} must be a file of one value a row, got shape {values.shape}.")
    return values


def read_row_values(
    text: str | None, option: str, frame: Any | None, *, required: bool = False
) -> npt.NDArray[Any] | None:
    """Take a column of the table, or else a file, as one value a row.

    Returns
    -------
    ndarray or None
        None where nothing was asked for, or where the table lacks the column and it is not ``required``.

    Raises
    ------
    ValueError
        If there is no such column and ``text`` is no file.
    """
    if text is None:
        return None
    if frame is not None and text in frame.columns:
        return cast(npt.NDArray[Any], frame[text].to_numpy())
    if looks_like_source(text):
        return read_vector(text, option)
    if frame is None:
        raise ValueError(f"{option} must be a file here, because arrays have no named columns; got {text!r}.")
    if required:
        require_column(frame, text, option, "FILE")
    return None


def require_column(frame: Any, name: str, option: str, argument: str) -> str:
    """Return ``name`` if the table has such a column, else raise a ValueError that lists what it has."""
    if name not in frame.columns:
        raise ValueError(
            f"{option} must name a column of {argument}, got {name!r}; "
            f"it has {first_few(map(str, frame.columns), 8)}."
        )
    return name
