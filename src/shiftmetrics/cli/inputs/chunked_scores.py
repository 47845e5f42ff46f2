"""Scores in large folders of parquet files: their first rows, read as any table, tell which columns are scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from shiftmetrics.cli.inputs.chunked_files import (
    ChunkedFile,
    first_rows,
    read_in_chunks,
    selected,
)
from shiftmetrics.cli.inputs.sources import parquet_files
from shiftmetrics.tables.ask import UnreadableTableError
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.predictions import read_predictions


@dataclass(frozen=True, kw_only=True)
class ChunkedScores:
    """Scores of several large files of the same rows.

    Attributes
    ----------
    files : tuple of ChunkedFile
        With a column for each class, in one order.
    classes : tuple of str or None
    said : tuple of str
        What was taken for what.
    """

    files: tuple[ChunkedFile, ...]
    classes: tuple[str, ...] | None
    said: tuple[str, ...] = ()


def read_chunked_scores(typed: Sequence[tuple[str, str]], columns: str | None) -> ChunkedScores:
    """Return the scores of large folders, whose rows pair by their place.

    Parameters
    ----------
    typed : sequence of two strings
        What was typed, and what messages call it.
    columns : str, optional
        The columns of scores, as typed; without them the first rows are read as a table of their own.

    Raises
    ------
    ValueError
        If the first rows hold no scores of classes, or ids that differ.
    """
    if columns is not None:
        files = tuple(read_in_chunks(text, argument, columns) for text, argument in typed)
        return ChunkedScores(files=files, classes=_names(files))
    whole = [read_in_chunks(text, argument) for text, argument in typed]
    if any(file.names is None for file in whole):  # an array beside a folder has no names to read
        return ChunkedScores(files=tuple(whole), classes=_names(whole))
    heads = [
        first_rows(text, argument, file)
        for (text, argument), file in zip(typed, whole, strict=True)
    ]
    # Of unlike lengths the measure says more, once it has read all.
    n_rows = min(len(head.frame) for head in heads)
    heads = [replace(head, table=head.frame[:n_rows], values=None) for head in heads]
    try:
        tables = read_predictions(heads, options=RoleOptions(task="scores", without_truth=True))
    except UnreadableTableError as error:
        raise UnreadableTableError(f"{error} Of several parquet files: --columns a,b,c.") from error
    for file in tables.reading.files:
        if file.form != "classes":
            raise UnreadableTableError(
                f"{file.name} must hold a column of scores for each class, as it is read in chunks, got {file.form}. "
                "Name the columns: --columns a,b,c."
            )
    _require_same_ids(typed, [file.id for file in tables.reading.files])
    classes = tables.files[0].classes
    files = tuple(
        selected(
            file, [name for each in classes for name, one in read.classes.items() if one == each]
        )
        for file, read in zip(whole, tables.reading.files, strict=True)
    )
    return ChunkedScores(files=files, classes=classes, said=tuple(tables.reading.sentences()))


def _names(files: Sequence[ChunkedFile]) -> tuple[str, ...] | None:
    names = files[0].names
    return None if names is None else tuple(names)


def _require_same_ids(typed: Sequence[tuple[str, str]], ids: Sequence[tuple[str, ...]]) -> None:
    """Refuse rows in other orders: they pair by their place."""
    if not all(ids) or not all(parquet_files(text) for text, _ in typed):
        return
    from pyarrow.dataset import dataset

    found = []
    for (text, _), names in zip(typed, ids, strict=True):
        table = dataset([str(path) for path in parquet_files(text)]).to_table(columns=list(names))
        found.append([column.combine_chunks() for column in table.columns])
    for (text, argument), other in zip(typed[1:], found[1:], strict=True):
        alike = all(one.equals(two) for one, two in zip(found[0], other, strict=True))
        if not alike or len(found[0]) != len(other):
            raise ValueError(
                f"{argument} must hold the rows of {typed[0][1]} in the same order, as large folders pair by their "
                f"place, got {text!r} with other {' and '.join(ids[0])}. Sort both by them, and write them again."
            )
