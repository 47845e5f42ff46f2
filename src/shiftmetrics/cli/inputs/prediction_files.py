"""Files of predictions as a user types them: their cells, and what the options say of their columns."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from shiftmetrics._core.exceptions import ArgumentTypeError
from shiftmetrics.cli.inputs.objects import (
    MODEL_SUFFIXES,
    PREDICT_FIRST,
    is_attribute,
    load_object,
    predicted_rows,
)
from shiftmetrics.cli.inputs.sources import OBJECT_SUFFIX, Source, is_there
from shiftmetrics.cli.options import OPENING, ColumnOptions
from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.content import ReadOptions
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.python import cells_of
from shiftmetrics.tables.reading import TableReading, load_reading
from shiftmetrics.tables.register import read_file

Header = Literal["names", "none"]


def typed_source(text: str, argument: str) -> Source:
    """Return what was typed as a file, perhaps with a part of it after a colon, or as an object of Python.

    Raises
    ------
    ValueError
        If a model was typed, or nothing is there.
    """
    path = Path(text)
    if text.lower().endswith(MODEL_SUFFIXES) and not text.lower().endswith(OBJECT_SUFFIX):
        raise ValueError(f"{argument} must be a file of predictions, got {text!r}. {PREDICT_FIRST}")
    if is_there(text) or "*" in text:
        return Source(argument=argument, path=path)
    name, colon, key = text.rpartition(":")
    if colon and is_there(name):
        return Source(argument=argument, path=Path(name), key=key)
    if is_attribute(text):
        return Source(argument=argument, path=path, is_attribute=True)
    raise ValueError(f"{argument} must be an existing file, got {text!r}, which is not there.")


def read_cells(source: Source, header: Header | None = None) -> Cells:
    """Return the cells of a file, or of an object of Python that the user trusts.

    Raises
    ------
    ValueError
        If it cannot be read.
    """
    opening = OPENING.get()
    if source.is_attribute or source.path.name.lower().endswith(OBJECT_SUFFIX):
        value, _ = load_object(str(source.path), source.argument)
        if hasattr(value, "predict"):
            got = f"an object of type {type(value).__name__}"
            raise ArgumentTypeError(source.argument, "a table or an array", got, PREDICT_FIRST)
        return replace(cells_of(value, source.argument), name=str(source))
    options = ReadOptions(
        sep=opening.sep,
        decimal=opening.decimal,
        max_gib=opening.max_gib,
        key=source.key,
        first_line=header,
    )
    return read_file(source.path, source.argument, options)


def listed(text: str | None) -> tuple[str, ...] | None:
    """Split names with commas between them; a name that holds a comma stands in quotes."""
    if text is None:
        return None
    return tuple(
        part.strip() for part in next(csv.reader([text], skipinitialspace=True), []) if part.strip()
    )


def role_options(typed: Mapping[str, Any]) -> RoleOptions:
    """Return what was typed about columns.

    Parameters
    ----------
    typed : mapping of str to object
        By the fields of `RoleOptions`, as text; those that are None were not typed.

    Raises
    ------
    ValueError
        If a reading does not exist, or stands beside options that say otherwise.
    """
    known = {name: value for name, value in typed.items() if value not in (None, False)}
    # A word of separators alone would name no column, and yet not be the word none.
    if "id" in known and not str(known["id"]).strip(" ,="):
        raise ValueError(f"--id must name a column, or be none, got {known['id']!r}.")
    for name in ("columns", "exclude", "classes"):
        if name in known:
            known[name] = listed(known[name])
    path = known.pop("reading", None)
    reading: TableReading | None = None
    if path is not None:
        # A reading says neither whether first lines are names nor which rows are kept.
        beside = [name for name in known if name not in ("inner", "header")]
        if beside:
            raise ValueError(
                f"--reading says what all columns are: leave out --{beside[0].replace('_', '-')}, or the reading."
            )
        if not Path(path).is_file():
            raise ValueError(
                f"--reading must be an existing file, got {str(path)!r}, which is not there."
            )
        reading = load_reading(Path(path))
    return RoleOptions(**known, reading=reading)


def typed_roles(roles: ColumnOptions, **more: Any) -> tuple[RoleOptions, Source | None]:
    """Return what was typed of the columns, and the file of labels where there is one.

    Parameters
    ----------
    roles : ColumnOptions
        What every command takes.
    **more
        Fields of `RoleOptions` that some commands have beside it.
    """
    labels, label = roles.labels, roles.label
    # a file of labels may be named as the labels, too
    if labels is None and label is not None and names_file(label):
        labels, label = label, None
    source, column = labels_and_column(labels)
    typed = {
        "id": roles.id_column,
        "label": column or label,
        "prediction": roles.prediction,
        "columns": roles.columns,
        "exclude": roles.exclude,
        "classes": roles.classes,
        "header": roles.header,
        "reading": roles.reading,
        "inner": roles.inner,
        **more,
    }
    return role_options(typed), source


def names_file(text: str) -> bool:
    """Return True for a file that is there, perhaps with a part of it after a colon, or an object of Python."""
    if is_attribute(text):
        return True
    return any(is_there(name) and Path(name).is_file() for name in (text, text.rpartition(":")[0]))


def predicted_cells(
    model: Any,
    cells: Cells,
    argument: str,
    named: Sequence[str],
    other_classes: Sequence[str] | None = None,
) -> Cells:
    """Return what a model predicts for the rows of a table, with the columns beside it that are named.

    ``other_classes`` are those that a model beside it gives probabilities of.
    """
    from shiftmetrics.tables.encoder.model_rows import model_rows
    from shiftmetrics.tables.kinds import decide_kinds

    frame = model_rows(cells, decide_kinds([cells]), 0)
    said = predicted_rows(model, frame, argument, list(named), other_classes)
    return cells_of(said, argument)


def labels_and_column(text: str | None) -> tuple[Source | None, str | None]:
    """Return a file of labels and its column, as ``--labels FILE[:COLUMN]`` names them."""
    if text is None:
        return None, None
    if not is_there(text):
        name, colon, column = text.rpartition(":")
        suffix = Path(name).suffix.lower()
        # the part of an archive of arrays is an array, not a column
        if colon and is_there(name) and suffix != ".npz":
            return typed_source(name, "--labels"), column
    return typed_source(text, "--labels"), None
