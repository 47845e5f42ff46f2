"""Read files that give each row several labels: a column of Booleans for each label, rows matched as everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, IntArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import first_few
from shiftmetrics.tables.ask import Complaints
from shiftmetrics.tables.boolean_words import as_booleans, boolean_spelling
from shiftmetrics.tables.evidence import ColumnEvidence, TableEvidence, Words
from shiftmetrics.tables.opening import FoundRoles, bring_together, opened_files
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.prediction_tables import TakenRows
from shiftmetrics.tables.readers.names import free_name
from shiftmetrics.tables.reading import FileReading, TableReading
from shiftmetrics.tables.roles.ids import find_row_key
from shiftmetrics.tables.roles.truth import PLAN, Truth, truth_of_labels

if TYPE_CHECKING:
    from shiftmetrics.tables.cells import Cells

SET = "label"
"""What messages call the column of all labels of a row."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelColumns:
    """Which labels each matched row has, and which ones the models give it.

    Attributes
    ----------
    ids : ndarray of shape (n_samples,)
    names : tuple of str
        The labels.
    files : tuple of ndarray of bool of shape (n_samples, n_labels)
        What each model gives.
    truth : ndarray of bool of shape (n_samples, n_labels)
    known : ndarray of shape (n_samples,)
        Whether the true labels of a row are known.
    first_rows : ndarray or slice
        The places of the matched rows in the first file.
    group : ndarray of shape (n_samples,) or None
    reading : TableReading
    """

    ids: Any
    names: tuple[str, ...]
    files: tuple[BoolArray, ...]
    truth: BoolArray
    known: BoolArray
    first_rows: TakenRows
    group: Words | None
    reading: TableReading


def read_label_columns(files: Sequence[Cells], labels: Cells, options: RoleOptions) -> LabelColumns:
    """Read several labels a row: what is Boolean in all files is a label.

    Parameters
    ----------
    files : sequence of Cells
        What each model gives.
    labels : Cells
        The true labels, in columns of the same names.
    options : RoleOptions
        What is known of the columns.

    Raises
    ------
    AmbiguousReadingError
        If rows can be matched in two ways.
    UnreadableTableError, ValueError
        If they cannot, if a label is missing in a file, or a cell is no Boolean.
    """
    # As sets, so that no column of 0 and 1 is taken for the single label of a row.
    roles = opened_files(files, labels, replace(options, task="sets"))
    assert roles.labels is not None
    _check_typed(roles, options)
    complaints = Complaints()
    roles.key = find_row_key(roles.tables, options, complaints)
    roles.notes += roles.key.notes
    bring_together(roles)
    taken = _columns_with_a_role(roles)
    names = _label_names(roles, taken, options)
    arguments = [cells.argument for cells in files]
    bits = [
        _booleans(table, names, argument)
        for table, argument in zip(roles.tables, arguments, strict=True)
    ]
    # A model answers for every label; only the file of true labels may leave rows open.
    for block, argument in zip(bits, arguments, strict=True):
        _check_filled(block, names, argument)
    truth, values, known = _truth(roles, names, labels.argument, complaints)
    roles.notes += truth.notes
    first = roles.tables[0]
    if roles.key.names:
        parts = [first.columns[name].words[roles.rows[0]] for name in roles.key.names[0]]
        ids = np.array(["/".join(map(str, row)) for row in zip(*parts, strict=True)], dtype=object)
    else:
        ids = np.arange(first.n_rows)[roles.rows[0]]
    return LabelColumns(
        ids=ids,
        names=names,
        files=tuple(block[rows] == 1 for block, rows in zip(bits, roles.rows, strict=True)),
        truth=values,
        known=known,
        first_rows=roles.rows[0],
        group=_group(roles, complaints),
        reading=_reading(roles, names, truth),
    )


def _check_typed(roles: FoundRoles, options: RoleOptions) -> None:
    """Check that columns which were typed stand in some file."""
    tables = _all_tables(roles)
    columns = list(dict.fromkeys(name for table in tables for name in table.columns))
    typed = [("exclude", name) for name in options.exclude]
    if options.group is not None:
        typed.append(("groups", options.group))
    for argument, name in typed:
        if name not in columns:
            got = f"{name!r}, where these have {first_few(columns, 8)}"
            raise ArgumentValueError(argument, "a column of the files", got)


def _all_tables(roles: FoundRoles) -> list[TableEvidence]:
    assert roles.labels is not None
    return [*roles.tables, roles.labels]


def _columns_with_a_role(roles: FoundRoles) -> set[str]:
    """Return the columns that are no labels: ids, groups, indices, and what is left out as typed."""
    taken = {*roles.options.exclude, PLAN}
    taken |= {name for part in roles.key.names for name in part}
    if roles.options.group is not None:
        taken.add(roles.options.group)
    for table in _all_tables(roles):
        taken |= {
            name
            for name, column in table.columns.items()
            if column.is_unnamed and column.is_distinct
        }
    return taken


def _label_names(roles: FoundRoles, taken: set[str], options: RoleOptions) -> tuple[str, ...]:
    """Return the columns of labels: as typed, or those that are Boolean, which all files must have then."""
    tables = _all_tables(roles)
    if options.columns is not None:
        names = options.columns
    else:
        # The file of labels comes last, and says in which order the labels stand.
        every = dict.fromkeys(name for table in reversed(tables) for name in table.columns)
        names = tuple(
            name
            for name in every
            if name not in taken
            and any(
                name in table.columns and _bits(table.columns[name]) is not None for table in tables
            )
        )
    for table in tables:
        lacking = [name for name in names if name not in table.columns]
        if lacking:
            got = f"{first_few(lacking, 3)} missing in {table.label}"
            remedy = "What is no label is left out by --exclude COLUMN."
            raise ArgumentValueError("labels", "columns of all files", got, remedy)
    if len(names) < 2:
        columns = first_few(list(tables[-1].columns), 8)
        got = f"{len(names)} in {tables[-1].label}, which has {columns}"
        raise ArgumentValueError("labels", "several columns of 0 and 1", got, verb="have")
    return names


def _bits(column: ColumnEvidence) -> IntArray | None:
    """Return 1 and 0 for a column of Booleans in any spelling, -1 in gaps; None for other columns and empty ones."""
    found = np.full(column.n_rows, -1, dtype=np.int64)
    numbers = column.numbers
    if numbers is not None:
        there = ~np.isnan(numbers)
        known = numbers[there]
        if not len(known) or not bool(((known == 0.0) | (known == 1.0)).all()):
            return None
        found[there] = known.astype(np.int64)
        return found
    codes, distinct = column.codes
    words = [str(word) for word in distinct]
    spelling = boolean_spelling(words)
    if spelling is None:
        return None
    # Gaps have the code -1, which takes the last entry.
    meaning = np.array([*as_booleans(words, spelling), -1], dtype=np.int64)
    return np.asarray(meaning[codes])


def _booleans(table: TableEvidence, names: Sequence[str], argument: str) -> IntArray:
    """Return the labels of each row as 1 and 0, -1 in gaps.

    Raises
    ------
    ValueError
        If a cell is something else.
    """
    block = np.empty((table.n_rows, len(names)), dtype=np.int64)
    for place, name in enumerate(names):
        column = table.columns[name]
        bits = _bits(column)
        if bits is None:
            got = f"{_stray(column)} of {table.label}"
            remedy = "Write 1 where the model gives the label, else 0. --exclude COLUMN leaves others out."
            raise ArgumentValueError(f"{argument}[{name!r}]", "0 and 1", got, remedy, verb="hold")
        block[:, place] = bits
    return block


def _stray(column: ColumnEvidence) -> str:
    """Return a cell that is no Boolean, and its row."""
    for row, word in enumerate(column.words):
        if word is not None and boolean_spelling([str(word)]) is None:
            return f"{str(word)[:40]!r} in row {row}"
    return f"{first_few([word for word in column.codes[1].tolist() if word is not None], 3)}"


def _check_filled(block: IntArray, names: Sequence[str], argument: str) -> None:
    gaps = np.argwhere(block < 0)
    if len(gaps):
        row, place = gaps[0]
        got = f"none in row {row}, and {len(gaps):,} such cells"
        name = f"{argument}[{names[place]!r}]"
        raise ArgumentValueError(name, "0 or 1 in each row", got, verb="hold")


def _truth(
    roles: FoundRoles, names: Sequence[str], argument: str, complaints: Complaints
) -> tuple[Truth, BoolArray, BoolArray]:
    """Return the true labels of the matched rows, and where they are known.

    All labels of a row are brought to the rows of the files as one: their number among the distinct sets.
    """
    import pandas as pd

    labels = roles.labels
    assert labels is not None
    block = _booleans(labels, names, argument)
    is_empty: BoolArray = np.asarray((block < 0).all(axis=1))
    # A row has all of its labels, or none of them is known.
    partly: BoolArray = np.asarray((block < 0).any(axis=1) & ~is_empty)
    if partly.any():
        _check_filled(np.where(partly[:, None], block, 0), names, argument)
    # The words are what messages show; by the numbers the sets are found again.
    sets, codes = np.unique(block, axis=0, return_inverse=True)
    shown = [_in_words(names, row) for row in sets]
    words = np.array(shown, dtype=object)[codes.ravel()]
    words[is_empty] = None
    name = free_name(SET, list(labels.columns))
    others = {key: column for key, column in labels.columns.items() if key not in names}
    numbers = pd.Series(codes.ravel())
    column = ColumnEvidence(
        name=name, typed=numbers, raw=pd.Series(words, dtype=object), place=len(others)
    )
    table = replace(labels, columns={**others, name: column})
    options = replace(roles.options, label=name)
    truth = truth_of_labels(table, roles.tables, roles.key, roles.rows, set(), options, complaints)
    complaints.raise_any()
    assert truth is not None
    places = truth.places
    # Some rows of the file may be left out there, so that places count those of the column that came back.
    own = truth.column.typed.to_numpy()
    empty = truth.column.is_missing
    known = places >= 0
    known[known] = ~empty[places[known]]
    values = np.zeros((len(places), len(names)), dtype=bool)
    values[known] = sets[own[places[known]]] == 1
    return truth, values, known


def _in_words(names: Sequence[str], bits: IntArray) -> str:
    """Return the labels of one row."""
    return (
        " + ".join(repr(names[place]) for place in np.flatnonzero(bits == 1).tolist()) or "no label"
    )


def _group(roles: FoundRoles, complaints: Complaints) -> Words | None:
    """Return the group of each matched row, from the files or from that of the labels."""
    name = roles.options.group
    if name is None:
        return None
    for table, rows in zip(roles.tables, roles.rows, strict=True):
        if name in table.columns:
            return np.asarray(table.columns[name].words[rows])
    assert roles.labels is not None
    # A column beside the labels comes to the rows of the files as labels do.
    options = replace(roles.options, label=name)
    found = truth_of_labels(
        roles.labels, roles.tables, roles.key, roles.rows, set(), options, complaints
    )
    complaints.raise_any()
    assert found is not None
    values = np.full(len(found.places), None, dtype=object)
    there = found.places >= 0
    values[there] = found.column.words[found.places[there]]
    return values


def _reading(roles: FoundRoles, names: tuple[str, ...], truth: Truth) -> TableReading:
    """Return what was taken for what."""
    ids = [*(roles.key.names or [()] * len(roles.tables)), truth.id_names]
    files = []
    for table, own in zip(_all_tables(roles), ids, strict=True):
        group = roles.options.group if roles.options.group in table.columns else None
        used = {*names, *own, group}
        files.append(
            FileReading(
                name=table.label,
                form="sets",
                id=own,
                classes={name: name for name in names},
                group=group,
                left_out=tuple(name for name in table.columns if name not in used),
            )
        )
    notes = tuple(dict.fromkeys(roles.notes))
    return TableReading(files=tuple(files), notes=notes, warnings=tuple(roles.warnings))
