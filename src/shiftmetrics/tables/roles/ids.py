"""The id: the column that holds the same distinct values in all files; without one, rows go by their place.

A named column comes before the unnamed index that pandas and R write, and a column that merely counts the rows of one
file, where another file has other values, is a place and no id. Ids that repeat are never paired by their place where
they stand in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

import numpy as np

from shiftmetrics._core.arrays import IntArray
from shiftmetrics._core.validation import first_few
from shiftmetrics.tables.ask import AmbiguousReadingError, Complaints, PossibleReading
from shiftmetrics.tables.evidence import ColumnEvidence, TableEvidence
from shiftmetrics.tables.matching import are_distinct
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.roles.candidates import (
    MANY,
    IdCandidate,
    candidate_of,
    id_candidates,
    may_be_id,
)
from shiftmetrics.tables.roles.names import has_name_of, plain_name
from shiftmetrics.tables.roles.queries import QUERY_NAMES


@dataclass(frozen=True, kw_only=True)
class RowKey:
    """How the rows of several files are paired.

    Attributes
    ----------
    by : {"id", "place"}
    names : tuple of tuple of str
        For each file the columns that name its rows; empty for places.
    codes : tuple of ndarray
        For each file the ids of its rows in one numbering; empty for places.
    notes : tuple of str
    """

    by: Literal["id", "place"]
    names: tuple[tuple[str, ...], ...] = ()
    codes: tuple[IntArray, ...] = ()
    notes: tuple[str, ...] = field(default=())


def find_row_key(
    tables: Sequence[TableEvidence], options: RoleOptions, complaints: Complaints
) -> RowKey:
    """Return how the rows of files of predictions are paired.

    Raises
    ------
    AmbiguousReadingError
        If two pairings are possible that differ.
    UnreadableTableError
        If none is.
    """
    if options.id is not None:
        return _as_typed(tables, options, complaints)
    if len(tables) == 1:
        return _of_one(tables[0])
    candidates = id_candidates(tables)
    distinct = [one for one in candidates if all(are_distinct(codes) for codes in one.codes)]
    # The same values in another order: only ids bring such rows together. Row by row the same: ids
    # and places agree. Some in common: left out if that is allowed, else asked for.
    permuted = [one for one in distinct if one.relation.kind == "permuted"]
    same = [one for one in distinct if one.relation.kind == "same"]
    chosen = _choose(permuted, same, options)
    if chosen is not None:
        return RowKey(by="id", names=chosen.names, codes=chosen.codes)
    partial = [one for one in distinct if one.relation.kind in ("partial", "other")]
    sizes = {table.n_rows for table in tables}
    for one in sorted(partial, key=lambda one: one.is_unnamed):
        if one.is_unnamed and one.is_place and len(sizes) == 1:
            continue
        return _partial(tables, one, options, complaints)
    repeated = [one for one in candidates if one not in distinct]
    return _without_distinct(tables, repeated, options, complaints)


def _choose(
    permuted: list[IdCandidate], same: list[IdCandidate], options: RoleOptions
) -> IdCandidate | None:
    """Return the id among columns that hold the same values in all files, or None."""
    # A name decides; values that only count the rows of both files are an index, whatever its name.
    named = [one for one in (*permuted, *same) if one.is_named and not all(one.counts)]
    if named:
        return named[0]
    words = [one for one in permuted if not one.is_unnamed]
    if words:
        return words[0]
    index = [one for one in permuted if one.is_unnamed]
    # Values that are the same row by row show one order of the rows: an unnamed index in another
    # order is then no id.
    fixed = [one for one in same if not one.is_unnamed and not all(one.counts)]
    if index and not fixed:
        one = index[0]
        if any(one.counts):
            raise _by_place_or_id(one, options)
        return one
    # Row by row the same in all files: by id or by place is one and the same.
    return next(iter([*fixed, *(one for one in same if one.is_named), *same]), None)


def _by_place_or_id(one: IdCandidate, options: RoleOptions) -> AmbiguousReadingError:
    """Return the question whether an index that counts one file names the rows of the other."""
    name = one.name
    readings = [
        PossibleReading(
            f"the column {name!r} names the rows", options.typed("--id", name or "index")
        ),
        PossibleReading("rows go by their place", options.typed("--id", "none")),
    ]
    question = (
        f"The index {name!r} counts the rows of one file, and stands in another order in the other one. "
        "Say which rows belong together."
    )
    return AmbiguousReadingError(question, readings)


def _remedy_of_unnamed(tables: Sequence[TableEvidence], options: RoleOptions) -> str:
    """Name the row names of files whose format keeps no name of them, as an orientation of JSON of pandas."""
    unnamed = [
        next((column for column in table.columns.values() if column.is_unnamed), None)
        for table in tables
    ]
    if any(column is None or not column.is_distinct for column in unnamed):
        return ""
    return f" Their row names have no name: {options.typed('--id', 'index')} takes them."


def _as_typed(
    tables: Sequence[TableEvidence], options: RoleOptions, complaints: Complaints
) -> RowKey:
    """Return the id that was typed."""
    if options.id == "none":
        return _by_place(tables, options, complaints)
    names: list[list[str]] = [[] for _ in tables]
    for part in options.id_parts:
        first, mark, second = part.partition("=")
        for place, table in enumerate(tables):
            # A name with an equals sign of its own comes first.
            wanted = part
            if mark and part not in table.columns:
                wanted = first if place == 0 else second
            if wanted == "index" and wanted not in table.columns:
                unnamed = [column.name for column in table.columns.values() if column.is_unnamed]
                wanted = unnamed[0] if unnamed else wanted
            if wanted not in table.columns:
                known = first_few(list(table.columns), 8)
                remedy = ""
                if not mark and len(options.id_parts) == 1:
                    remedy = _remedy_of_unnamed(tables, options)
                complaints.add(
                    f"{options.typed('--id', options.id)} must name a column of every file, but {table.label} has "
                    f"{known} only.{remedy}"
                )
            names[place].append(wanted)
    complaints.raise_any()
    one = candidate_of([tuple(part) for part in names], tables) if len(tables) > 1 else None
    if one is None:
        return RowKey(by="id", names=(tuple(names[0]),))
    if not all(are_distinct(codes) for codes in one.codes):
        return _repeated(tables, one, options, complaints)
    if one.relation.kind in ("same", "permuted"):
        return RowKey(by="id", names=one.names, codes=one.codes)
    return _partial(tables, one, options, complaints)


def _of_one(table: TableEvidence) -> RowKey:
    """Return the id of a single file."""
    columns = [
        column
        for column in table.columns.values()
        if (column.is_unnamed or has_name_of(column.name, "id") or not column.is_number)
        and may_be_id(column)
        and column.is_distinct
    ]
    columns.sort(key=lambda column: (not has_name_of(column.name, "id"), column.is_unnamed))
    if not columns:
        return RowKey(by="place")
    return RowKey(by="id", names=((columns[0].name,),))


def _partial(
    tables: Sequence[TableEvidence],
    one: IdCandidate,
    options: RoleOptions,
    complaints: Complaints,
) -> RowKey:
    """Return an id whose rows are not all in all files, where that is allowed; never one that pairs wrong rows."""
    kind = one.relation.kind
    # What a count of the rows has in common with the ids of another file it has by accident.
    if options.inner and one.relation.n_common and not one.is_place:
        return RowKey(by="id", names=one.names, codes=one.codes)
    first, second = (
        first_few(table.columns[names[0]].words[:3].tolist(), 3)
        for table, names in zip(tables[:2], one.names[:2], strict=True)
    )
    sentence = (
        f"{tables[0].label} and {tables[1].label} must have the same rows, but the column {one.name!r} holds {first} "
        f"in one and {second} in the other: {one.relation.n_common} are in both."
    )
    sizes = {table.n_rows for table in tables}
    readings = []
    if kind == "partial" and not one.is_place:
        readings.append(
            PossibleReading("compares the rows that all files have", options.typed("--inner", True))
        )
    # row names that R and pandas write without a name differ where the models' tables were made apart
    is_unnamed = all(
        table.columns[names[0]].is_unnamed for table, names in zip(tables, one.names, strict=True)
    )
    if len(sizes) == 1 and (one.is_place or (is_unnamed and not one.relation.n_common)):
        readings.append(PossibleReading("rows go by their place", options.typed("--id", "none")))
    if readings:
        raise AmbiguousReadingError(sentence, readings)
    remedy = "Give files of the same rows."
    if len(sizes) == 1 and not one.is_named and not one.relation.n_common:
        # Times, explanations and ids of requests are of one run, and name no rows of another one.
        remedy = (
            f"If {one.name!r} names the rows, give files of the same rows; if it is of one run, "
            f"{options.typed('--id', 'none')} takes rows by their place."
        )
    complaints.add(f"{sentence} {remedy}")
    complaints.raise_any()
    raise AssertionError


def _without_distinct(
    tables: Sequence[TableEvidence],
    repeated: list[IdCandidate],
    options: RoleOptions,
    complaints: Complaints,
) -> RowKey:
    """Return places, unless ids that repeat, or cells in another order, say that places pair wrong rows."""
    for one in repeated:
        # An unnamed index of several parts counts each of them anew.
        if one.is_unnamed and not one.is_named:
            continue
        if one.relation.kind != "other" or one.is_named:
            return _repeated(tables, one, options, complaints)
    _refuse_other_order(tables, options)
    return _by_place(tables, options, complaints)


def _repeated(
    tables: Sequence[TableEvidence],
    one: IdCandidate,
    options: RoleOptions,
    complaints: Complaints,
) -> RowKey:
    """Return places where ids that repeat stand in one order in all files, which places then keep; else ask."""
    if one.relation.kind == "same":
        _refuse_crossed(tables, one, options)
        note = f"{one.name} repeats, in the same order in all files: rows go by their place"
        return RowKey(by="place", notes=(note,))
    names = [one.name]
    common = [name for name in tables[0].columns if all(name in part.columns for part in tables)]
    # A second column may tell the rows of one id: the visits of a patient.
    for pair in combinations(common[:12], 2):
        if one.name not in pair or any(
            _is_score(table.columns[name]) for table in tables for name in pair
        ):
            continue
        other = pair[1] if pair[0] == one.name else pair[0]
        together = candidate_of([(one.name, other)] * len(tables), tables)
        if all(are_distinct(codes) for codes in together.codes) and together.relation.kind in (
            "same",
            "permuted",
        ):
            names.append(other)
            break
    for table, part in zip(tables, one.names, strict=True):
        empty = np.flatnonzero(table.columns[part[0]].is_missing)
        if len(empty):
            complaints.add(
                f"{table.label} must have a value of {part[0]!r} in each row, which names the rows, got none in row "
                f"{empty[0]}. Fill it in, or leave the row out."
            )
            complaints.raise_any()
    again = first_few(_repeated_values(tables[0].columns[one.names[0][0]]), 3)
    sentence = (
        f"{tables[0].label} and {tables[1].label} must have one row for each {one.name}, but {again} "
        "stand(s) several "
        "times, in another order in the two files."
    )
    if len(names) == 2:
        reading = PossibleReading(
            f"{names[0]} and {names[1]} together name the rows",
            options.typed("--id", ",".join(names)),
        )
        raise AmbiguousReadingError(sentence, [reading])
    complaints.add(
        f"{sentence} Leave one row for each {one.name}, or add a column that tells them apart."
    )
    complaints.raise_any()
    raise AssertionError


def _refuse_crossed(
    tables: Sequence[TableEvidence], one: IdCandidate, options: RoleOptions
) -> None:
    """Ask where each id has one row for each value of another column, such as the epochs of a training.

    Then the rows are no rows of their own: those of one epoch, of one fold or of the first rank may be meant.
    """
    # Crossed: each id has as many rows as the other column has values, and both name a row.
    codes = one.codes[0]
    n_ids = int(codes.max(initial=-1)) + 1
    n_each = len(codes) // n_ids if n_ids else 0
    if n_each < 2 or (np.bincount(codes[codes >= 0], minlength=n_ids) != n_each).any():
        return
    # The rows of a query are its documents.
    if len(one.names[0]) > 1 or plain_name(one.name) in QUERY_NAMES:
        return
    for name, column in tables[0].columns.items():
        is_shared = all(name in table.columns for table in tables)
        if name in one.names[0] or not is_shared or column.n_distinct != n_each:
            continue
        pair = [(one.name, name)] * len(tables)
        if any(part[0] != one.name for part in one.names) or not all(
            are_distinct(codes) for codes in candidate_of(pair, tables).codes
        ):
            continue
        first = first_few(list(dict.fromkeys(column.words.tolist())), 3)
        question = (
            f"Each {one.name} of {tables[0].label} has {n_each} rows, one for each {name} ({first}). "
            f"Give the rows of one {name}, such as the first or the last."
        )
        together = PossibleReading(
            f"each {one.name} and {name} is a row of its own",
            options.typed("--id", f"{one.name},{name}"),
        )
        raise AmbiguousReadingError(question, [together])


def _is_score(column: ColumnEvidence) -> bool:
    """Return True for a column that is no part of an id: fractions."""
    return column.is_fractional


def _repeated_values(column: ColumnEvidence) -> list[str]:
    """Return some of the values that stand several times."""
    import pandas as pd

    series = pd.Series(column.words)
    return [str(value) for value in series[series.duplicated()].unique()[:4]]


def _refuse_other_order(tables: Sequence[TableEvidence], options: RoleOptions) -> None:
    """Ask where a column has the same many values in all files, in another order: places then pair wrong rows."""
    first = tables[0]
    # What is alone in a file is what it predicts.
    if len(first.columns) == 1:
        return
    for name, column in first.columns.items():
        others = [table.columns.get(name) for table in tables[1:]]
        if column.n_distinct < MANY * column.n_rows or column.is_unnamed:
            continue
        if any(other is None or other.n_rows != column.n_rows for other in others):
            continue
        one = candidate_of([(name,)] * len(tables), tables)
        if one.relation.kind != "permuted":
            continue
        readings = [PossibleReading("rows go by their place", options.typed("--id", "none"))]
        if all(are_distinct(codes) for codes in one.codes):
            by_id = PossibleReading(f"{name} names the rows", options.typed("--id", name))
            readings.insert(0, by_id)
        question = (
            f"The column {name!r} has the same values in {first.label} and {tables[1].label}, in another order. "
            "Say which rows belong together."
        )
        raise AmbiguousReadingError(question, readings)


def _by_place(
    tables: Sequence[TableEvidence], options: RoleOptions, complaints: Complaints
) -> RowKey:
    """Return places, for files of as many rows."""
    sizes = [table.n_rows for table in tables]
    if len(set(sizes)) > 1:
        listed = " and ".join(f"{table.label} {table.n_rows}" for table in tables)
        complaints.add(
            f"Without an id rows go by their place, and all files must have as many, but {listed} rows. Add a column "
            "of ids to each file."
        )
        complaints.raise_any()
    return RowKey(by="place")
