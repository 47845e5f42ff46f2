"""A file taken apart: the numbers to measure, and beside them ids, labels and weights.

An id or a label that slips in among the scores would be measured as one more class, silently. So columns that look
like either are refused until the user says what they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import as_array
from shiftmetrics._core.tables import Align, align_tables
from shiftmetrics.cli.readers import read_source
from shiftmetrics.cli.sources import Source, looks_like_source, parse_source

ID_NAMES = {
    "id",
    "ids",
    "idx",
    "index",
    "row",
    "row_id",
    "rowid",
    "key",
    "uuid",
    "guid",
    "name",
    "filename",
    "file",
}
LABEL_NAMES = {
    "label",
    "labels",
    "target",
    "targets",
    "y",
    "y_true",
    "truth",
    "ground_truth",
    "class",
    "category",
}
WEIGHT_NAMES = {"weight", "weights", "sample_weight", "sample_weights"}

Role = Literal["scores", "features"]


@dataclass(kw_only=True)
class Sample:
    """What one file gave.

    Attributes
    ----------
    source : Source
        Where it came from.
    values : DataFrame or ndarray
        The scores or features, one row for each observation; a DataFrame keeps names and ids.
    label, weight : ndarray or None
        One entry for each row.
    notes : list of str
        What the user should know about how the file was read.
    """

    source: Source
    values: Any
    label: npt.NDArray[Any] | None = None
    weight: npt.NDArray[Any] | None = None
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
        sample = Sample(source=source, values=as_array(content, argument))
        sample.label = read_row_values(label, "--label", None)
        sample.weight = read_row_values(weight, "--weight", None)
        return sample

    frame = content
    sample = Sample(source=source, values=frame)
    if (
        list(frame.columns) == [str(position) for position in range(frame.shape[1])]
        and source.suffix != ".parquet"
    ):
        sample.notes.append(f"{argument} names its columns 0 to {frame.shape[1] - 1}, or has no header line.")
    sample.label = read_row_values(label, "--label", frame)
    sample.weight = read_row_values(weight, "--weight", frame)
    ids = None if id_column is None else frame[require_column(frame, id_column, "--id", argument)]
    used = {name for name in (id_column, label, weight) if name in frame.columns}
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


def align_samples(first: Sample, second: Sample, *, align: Align, rows: bool) -> None:
    """Bring the rows and columns of ``second`` into the order of ``first``, in place.

    Raises
    ------
    ValueError
        If names differ, or one of two paired files has ids and the other has not.
    """
    if rows and align == "labels" and (first.row_names is None) != (second.row_names is None):
        without = second if second.row_names is None else first
        raise ValueError(
            f"--id must name a column of both files, but {without.source.argument} has no named columns. "
            "Give tables on both sides, or --align position to take rows as they stand."
        )
    if first.row_names is None or not rows:
        # Without ids the rows pair by place; pandas' default index would say the same, less plainly.
        if rows and len(first.values) != len(second.values):
            raise ValueError(
                f"{first.source.argument} and {second.source.argument} must have the same rows, got "
                f"{len(first.values)} and {len(second.values)}. Name the id column with --id."
            )
        rows = False
    order = np.arange(len(second.values))
    if rows and align == "labels":
        import pandas as pd

        places = pd.Series(order, index=second.values.index)
        _, places = align_tables(
            first.values.iloc[:, 0], places, first.source.argument, second.source.argument, rows=True
        )
        order = places.to_numpy()
    if first.is_table and second.is_table:
        _, second.values = align_tables(
            first.values, second.values, first.source.argument, second.source.argument, align=align, rows=rows
        )
    if second.label is not None:
        second.label = second.label[order]
    if second.weight is not None:
        second.weight = second.weight[order]


def refuse_suspect_columns(frame: Any, argument: str, role: Role) -> None:
    """Raise a ValueError that names the first column that looks like an id, a label or a weight."""
    for position, name in enumerate(frame.columns):
        column = frame.iloc[:, position]
        kind = _suspect_by_name(str(name)) or _suspect_by_values(frame, column, role)
        if kind is None:
            continue
        option = {"a row id": "--id", "a label": "--label", "a weight": "--weight"}[kind]
        raise ValueError(
            f"{argument} must hold {role} only, got the column {str(name)!r}, which looks like {kind}. "
            f"Say so with {option} {_shell_word(str(name))}, or list the columns to take with --columns."
        )


def _suspect_by_name(name: str) -> str | None:
    plain = name.strip().lower().replace(" ", "_").replace("-", "_")
    if plain in ID_NAMES or plain.endswith("_id") or plain.startswith("unnamed:") or not plain:
        return "a row id"
    if plain in LABEL_NAMES or plain.endswith("_label"):
        return "a label"
    return "a weight" if plain in WEIGHT_NAMES else None


def _suspect_by_values(frame: Any, column: Any, role: Role) -> str | None:
    """Whole numbers that count the rows are ids; among fractional scores, any whole numbers are suspect."""
    values = column.to_numpy()
    others_are_fractions = frame.shape[1] > 1 and all(
        dtype.kind == "f" for other, dtype in frame.dtypes.items() if other != column.name
    )
    if values.dtype.kind not in "iu" or len(values) < 3 or frame.shape[1] < 2:
        return None
    distinct = len(np.unique(values)) == len(values)
    if distinct and int(values.max()) - int(values.min()) == len(values) - 1:
        return "a row id"
    if role == "features" or not others_are_fractions:
        return None
    if distinct:
        return "a row id"
    return (
        "a label" if values.min() >= 0 and values.max() <= frame.shape[1] - 1 and values.max() > 0 else None
    )


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
            f"{option} must name a column of {argument}, got {name!r}; it has {_listed(list(frame.columns))}."
        )
    return name


def _listed(names: Sequence[Any]) -> str:
    shown = ", ".join(repr(str(name)) for name in names[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _shell_word(name: str) -> str:
    import shlex

    return shlex.quote(name)


def same_labels(first: Sample, second: Sample, option: str | None) -> npt.NDArray[Any] | None:
    """Return the labels of two paired samples, which must agree where both files have them.

    Raises
    ------
    ValueError
        If the labels differ, or no file has the column.
    """
    check_labels(option, first, second)
    labels = first.label if first.label is not None else second.label
    if labels is not None and first.label is not None and second.label is not None:
        differ = np.flatnonzero(first.label != second.label)
        if len(differ):
            raise ValueError(
                f"--label must agree in paired rows, but {len(differ)} of {len(labels)} rows differ, "
                f"the first at row {differ[0]}: {first.label[differ[0]]} and {second.label[differ[0]]}. "
                "Name the id column with --id."
            )
    return labels


def check_labels(option: str | None, *samples: Sample) -> None:
    """Make sure that some sample has the labels that were asked for, one for each row.

    Raises
    ------
    ValueError
        If no sample has them, or their number is another one.
    """
    if option is not None and all(sample.label is None for sample in samples):
        names = " or ".join(sample.source.argument for sample in samples)
        raise ValueError(f"--label must name a column of {names}, got {option!r}.")
    for sample in samples:
        if sample.label is not None:
            _check_length(sample.label, sample, "--label")


def shared_weights(first: Sample, second: Sample, option: str | None) -> npt.NDArray[Any] | None:
    """Return the weights of the rows of a pair: those of the first file, else those of the second.

    Raises
    ------
    ValueError
        If no file has the column.
    """
    if option is None:
        return None
    weights = first.weight if first.weight is not None else second.weight
    if weights is None:
        raise ValueError(
            f"--weight must name a column of {first.source.argument} or {second.source.argument}, got "
            f"{option!r}."
        )
    _check_length(weights, first, "--weight")
    return weights


def _check_length(values: npt.NDArray[Any], sample: Sample, option: str) -> None:
    if len(values) != len(sample.values):
        raise ValueError(
            f"{option} must have a value for each row of {sample.source.argument}, got {len(values)} for "
            f"{len(sample.values)} rows."
        )
