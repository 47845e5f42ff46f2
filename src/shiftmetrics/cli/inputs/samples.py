"""Files as samples: the numbers to measure, and beside them ids, labels, weights and groups."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from shiftmetrics._core.arrays import as_array, is_in_chunks
from shiftmetrics._core.exceptions import ArgumentTypeError
from shiftmetrics._core.tables import Align, align_tables
from shiftmetrics.cli.inputs.objects import predicted_rows
from shiftmetrics.cli.inputs.readers import read_source
from shiftmetrics.cli.inputs.row_values import Values, read_rows, require_column
from shiftmetrics.cli.inputs.sources import Source, parse_source

if TYPE_CHECKING:
    from shiftmetrics.cli.inputs.suspects import Role


@dataclass(kw_only=True)
class Sample:
    """What one file holds.

    Attributes
    ----------
    source : Source
        The file.
    values : DataFrame or ndarray
        The numbers to measure, one row for each observation; a DataFrame keeps the names of columns, and ids as its
        index.
    label, weight, groups, target, by : ndarray or None
        One entry for each row.
    table : DataFrame or None
        Columns that describe the rows.
    images, texts : array or list, or None
        What the rows are where the values are features of it.
    notes : list of str
        What the user should know about how the file was read.
    """

    source: Source
    values: Any
    label: Values | None = None
    weight: Values | None = None
    groups: Values | None = None
    target: Values | None = None
    by: Values | None = None
    ids: list[str] | None = None
    table: Any = None
    images: Any = None
    texts: Any = None
    notes: list[str] = field(default_factory=list)

    @property
    def is_table(self) -> bool:
        """Whether rows and columns have names."""
        return hasattr(self.values, "columns")

    @property
    def columns(self) -> list[str] | None:
        """Names of the columns, where there are any."""
        return [str(name) for name in self.values.columns] if self.is_table else None

    def numbers(self) -> Values:
        """Return the values as a NumPy array, or rows in parts."""
        if is_in_chunks(self.values):
            return cast(Values, self.values)
        return np.asarray(as_array(self.values, self.source.argument))

    def scores(self) -> Values:
        """Return the values as scores; a table of one column is a column of binary margins."""
        values = self.numbers()
        if is_in_chunks(values) and values.shape[1] == 1:
            values = np.asarray(values)
        return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def read_sample(
    text: str,
    argument: str,
    *,
    role: Role,
    id_column: str | None = None,
    columns: str | None = None,
    model: Any = None,
    **row_options: str | None,
) -> Sample:
    """Read the file that ``text`` names: scores or features, and columns beside them.

    Parameters
    ----------
    text, argument : str
        What was typed, and what messages call it.
    role : {"scores", "features"}
        What the file holds.
    id_column, columns : str, optional
        From ``--id`` and ``--columns``.
    model : object, optional
        A classifier: the file holds rows, and its probabilities are the scores.
    **row_options
        ``label``, ``weight`` and ``groups``: a column, or a file of one value a row.

    Raises
    ------
    ValueError
        If a named column is missing, or an unnamed one looks like an id, a label or a weight.
    """
    source = parse_source(text, argument)
    content = read_source(source)
    if model is not None:
        named = [id_column, *row_options.values()]
        if not hasattr(model, "predict_proba"):
            got = type(model).__name__
            raise ArgumentTypeError("--model", "a classifier with predict_proba", got)
        content = predicted_rows(model, content, argument, [name for name in named if name])
    if is_in_chunks(content):
        given = {"--id": id_column, **{f"--{name}": value for name, value in row_options.items()}}
        refuse_options(
            given, "be left out for several parquet files, whose rows pair by their place"
        )
        if columns is not None:
            names = _chosen(columns, content.names, argument)
            content = content.select([content.names.index(name) for name in names])
        return Sample(source=source, values=content)
    if not hasattr(content, "columns"):
        rule = f"go with a table that has named columns, but {argument} is {source}"
        refuse_options({"--id": id_column, "--columns": columns}, rule)
        if role == "scores" and np.ndim(content) > 2:
            raise ValueError(
                f"{argument} must have shape (n_samples, n_classes), got {np.shape(content)}."
            )
        values = as_array(content, argument)
        return Sample(source=source, values=values, **read_rows(None, row_options))
    sample = _table_sample(
        source, content, role=role, id_column=id_column, columns=columns, **row_options
    )
    places = [str(position) for position in range(content.shape[1])]
    # the classes of a model may be numbers
    if model is None and source.suffix in (".csv", ".csv.gz") and list(content.columns) == places:
        sample.notes.insert(
            0,
            f"Columns are named 0 to {places[-1]}; a file without a header line loses its first row.",
        )
    return sample


def _table_sample(
    source: Source,
    content: Any,
    *,
    role: Role,
    id_column: str | None,
    columns: str | None,
    **row_options: str | None,
) -> Sample:
    """Tell the columns to measure from those that name, label or weigh the rows."""
    # here, so that the help of a command need not wait for it
    from shiftmetrics.cli.inputs.suspects import (
        find_id,
        find_label,
        refuse_suspect_columns,
        refuse_text,
    )

    argument = source.argument
    notes = []
    chosen = [] if columns is None else _chosen(columns, content.columns, argument)
    named = {"id": id_column, **row_options}
    # what has the name of an id or a label is taken for it, and that is said; --columns leaves out labels, and not
    # ids: rows must not pair by their place
    for what, found_in in (("id", find_id), ("label", find_label)):
        if named.get(what) is None and (what == "id" or not chosen):
            rest = content.drop(columns=[*chosen, *_columns_of(content, named)])
            # what is left alone is to be measured
            name = found_in(rest) if rest.shape[1] > 1 else None
            named[what] = name
            if name is not None:
                notes.append(f"Took {name} as the {what}.")
    frame = content.drop(columns=_columns_of(content, named))
    id_column = named.pop("id")
    ids = None
    if id_column is not None:
        ids = content[require_column(content.columns, id_column, "--id", argument)]
    held: dict[str, Any] = read_rows(content, named, ids=ids)
    if chosen:
        frame = frame[chosen]
    else:
        refuse_text(frame, argument, among_numbers=True)
        refuse_suspect_columns(frame, argument, role)
    refuse_text(frame, argument)
    if ids is not None:
        frame = frame.set_axis(ids.to_numpy(), axis=0).rename_axis(id_column, axis=0)
        held["ids"] = [str(name) for name in ids]
    return Sample(source=source, values=frame, notes=notes, **held)


def _columns_of(frame: Any, named: Mapping[str, str | None]) -> list[str]:
    """Return the columns of a table that were named as something else than what to measure."""
    return [name for name in set(named.values()) if name is not None and name in frame.columns]


def _chosen(text: str, known: Any, argument: str) -> list[str]:
    """Return the columns that --columns names."""
    return [require_column(known, name, "--columns", argument) for name in split_names(text)]


def read_scores(
    typed: Sequence[tuple[str, str]], *, align: Align, model: Any = None, **options: str | None
) -> list[Sample]:
    """Read files of scores of the same rows, each typed text with its argument, in the order of the first one.

    With a ``model`` the files hold the rows that it predicts on. ``options`` are those of `read_sample`, and the
    errors those of `read_sample` and `align_samples`.
    """
    # the first file sets the order of rows and columns
    first, *others = [
        read_sample(text, argument, role="scores", model=model, **options)
        for text, argument in typed
    ]
    for other in others:
        align_samples(first, other, align=align, rows=True)
    return [first, *others]


def refuse_options(given: Mapping[str, Any], rule: str) -> None:
    """Raise a ValueError for the first option that was given."""
    for option, value in given.items():
        if value:
            raise ValueError(f"{option} must {rule}.")


def split_names(text: str) -> list[str]:
    """Split ``a,b,c`` as csv does, so that a quoted name may hold a comma."""
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]


def align_samples(first: Sample, second: Sample, *, align: Align, rows: bool) -> None:
    """Bring the rows and columns of ``second`` into the order of ``first``, in place.

    Raises
    ------
    ValueError
        If names differ, or one of two paired files has ids and the other has not.
    """
    names = first.source.argument, second.source.argument
    both = first.is_table and second.is_table
    if rows and align == "labels" and (first.ids is None) != (second.ids is None):
        without = names[0] if first.ids is None else names[1]
        raise ValueError(
            f"--id must name a column of both files, but {without} has no ids. "
            "Give ids on both sides, or --align position to take rows as they stand."
        )
    if rows and first.ids is None and len(first.values) != len(second.values):
        remedy = " Name the id column with --id." if both else ""
        raise ValueError(
            f"{names[0]} and {names[1]} must have the same rows, got "
            f"{len(first.values)} and {len(second.values)}.{remedy}"
        )
    rows = rows and first.ids is not None  # without ids the rows pair by their place
    if not both:
        return
    _, aligned = align_tables(
        first.values, second.values, *names, align=align, rows=rows, option="--align"
    )
    if rows and align == "labels":
        # what stands beside the rows follows them
        order = second.values.index.get_indexer(aligned.index)
        for part in ("label", "weight"):
            if getattr(second, part) is not None:
                setattr(second, part, getattr(second, part)[order])
    second.values = aligned


def shared(option: str, name: str | None, *samples: Sample) -> Values | None:
    """Return the values of the rows that ``--label``, ``--weight`` or ``--groups`` names, from the first with them.

    Raises
    ------
    ValueError
        If no sample has the column, or it is not of one value a row.
    """
    found = []
    for sample in samples:
        values = getattr(sample, option.removeprefix("--"))
        if values is not None:
            check_length(values, sample, option)
            found.append(values)
    if name is not None and not found:
        names = " or ".join(dict.fromkeys(sample.source.argument for sample in samples))
        raise ValueError(f"{option} must name a column of {names}, got {name!r}.")
    return found[0] if found else None


def check_length(values: Any, sample: Sample, option: str) -> None:
    """Raise a ValueError unless there is a value, or a picture, for each row of a sample."""
    if len(values) != len(sample.values):
        raise ValueError(
            f"{option} must have a value for each row of {sample.source.argument}, got {len(values)} for "
            f"{len(sample.values)} rows."
        )


def same_labels(first: Sample, second: Sample, name: str | None) -> Values | None:
    """Return the labels of two paired samples.

    Raises
    ------
    ValueError
        If they differ where both files have them, or no file has the column.
    """
    labels = shared("--label", name, first, second)
    if first.label is not None and second.label is not None:
        # labels that differ between paired rows show that these do not belong together
        differ = np.flatnonzero(first.label != second.label)
        if len(differ):
            raise ValueError(
                f"--label must agree in paired rows, but {len(differ)} of {len(first.label)} rows differ, "
                f"the first at row {differ[0]}: {first.label[differ[0]]} and {second.label[differ[0]]}. "
                "Name the id column with --id."
            )
    return labels
