"""One number for each row, a loss or a distance, with whatever else the file knows about the row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import as_array
from shiftmetrics.tools.cli.readers import read_source
from shiftmetrics.tools.cli.samples import read_row_values, require_column
from shiftmetrics.tools.cli.sources import Source, parse_source

Kind = Literal["losses", "distances"]


@dataclass(frozen=True, kw_only=True)
class Measurements:
    """What one file of losses or distances gave.

    Attributes
    ----------
    kind : {"losses", "distances"}
        What ``values`` are.
    table : DataFrame or None
        The columns that describe the rows.
    """

    source: Source
    kind: Kind
    values: npt.NDArray[Any]
    names: list[str] | None = None
    label: npt.NDArray[Any] | None = None
    weight: npt.NDArray[Any] | None = None
    groups: npt.NDArray[Any] | None = None
    table: Any = None


def read_measurements(
    text: str,
    *,
    losses: str | None,
    distances: str | None,
    kind: Kind | None,
    id_column: str | None,
    label: str | None,
    weight: str | None,
    groups: str | None,
) -> Measurements:
    """Read the file and the column that the options name.

    Raises
    ------
    ValueError
        If the options do not say which numbers to take, or what they are.
    """
    source = parse_source(text, "FILE")
    if sum(option is not None for option in (losses, distances, kind)) != 1:
        raise ValueError(
            "--losses COLUMN or --distances COLUMN must say which numbers to take and what they are; "
            "for a file of one value a row, --kind losses or --kind distances."
        )
    content = read_source(source)
    column = losses if losses is not None else distances
    what: Kind = kind or ("losses" if losses is not None else "distances")
    if not hasattr(content, "columns"):
        return _from_array(source, content, what, column, id_column, label, weight, groups)
    if column is None:
        if content.shape[1] != 1:
            raise ValueError(
                f"--kind must go with a file of one column, but {source} has {content.shape[1]}. "
                f"Name the column of {what} with --{what}."
            )
        column = str(content.columns[0])
    option = f"--{what}"
    require_column(content, column, option, "FILE")
    if id_column is not None:
        require_column(content, id_column, "--id", "FILE")
    used = [name for name in (column, id_column, label, weight, groups) if name in content.columns]
    return Measurements(
        source=source,
        kind=what,
        values=np.asarray(as_array(content[column], option)),
        names=None if id_column is None else [str(name) for name in content[id_column]],
        label=read_row_values(label, "--label", content, required=True),
        weight=read_row_values(weight, "--weight", content, required=True),
        groups=read_row_values(groups, "--groups", content, required=True),
        table=content.drop(columns=used),
    )


def _from_array(
    source: Source,
    content: Any,
    kind: Kind,
    column: str | None,
    id_column: str | None,
    label: str | None,
    weight: str | None,
    groups: str | None,
) -> Measurements:
    for option, name in ((f"--{kind}", column), ("--id", id_column)):
        if name is not None:
            raise ValueError(
                f"{option} must name a column of a table, but FILE is {source}, an array. "
                f"Give an array of one value a row with --kind {kind}."
            )
    values = np.asarray(as_array(content, "FILE"))
    if values.ndim == 2 and 1 in values.shape:
        values = values.ravel()
    if values.ndim != 1:
        raise ValueError(
            f"FILE must hold one value a row, got shape {values.shape}. Choose a part, such as "
            f"{source.example}."
        )
    return Measurements(
        source=source,
        kind=kind,
        values=values,
        label=read_row_values(label, "--label", None, required=True),
        weight=read_row_values(weight, "--weight", None, required=True),
        groups=read_row_values(groups, "--groups", None, required=True),
    )
