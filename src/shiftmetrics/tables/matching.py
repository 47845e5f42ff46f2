"""Which rows of several files belong together: the values of their ids in one numbering, without Python loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from shiftmetrics._core.arrays import BoolArray, IntArray
from shiftmetrics.tables.evidence import ColumnEvidence, TableEvidence
from shiftmetrics.tables.stored_words import places_among

MANY_IDS = 0.5
"""Fraction of distinct values from which rows that repeat an id are looked at as doubles."""

RelationKind = Literal["same", "permuted", "partial", "other"]

ENOUGH = 0.5
"""Fraction of the rows of both sides that must match before rows that stand on one side alone are left out."""


@dataclass(frozen=True)
class Relation:
    """How the values of one column of a file stand to those of another file.

    Attributes
    ----------
    kind : str
        "same": row by row; "permuted": the same values in another order; "partial": at least half of
        both sides; "other": fewer.
    n_common : int
        Distinct values that both have.
    """

    kind: RelationKind
    n_common: int


def joint_codes(columns: Sequence[Sequence[ColumnEvidence]]) -> list[IntArray]:
    """Return the ids of several files as integers: equal ids are equal numbers, -1 is an empty cell.

    Parameters
    ----------
    columns : sequence of sequence of ColumnEvidence
        For each file the columns that together name its rows.
    """
    import pandas as pd

    lengths = [part[0].n_rows for part in columns]
    if len(columns[0]) == 1 and _are_equal([part[0] for part in columns]):
        # Most files have the same rows in the same order.
        codes = columns[0][0].codes[0]
        return [codes] * len(columns)
    joint = np.zeros(sum(lengths), dtype=np.int64)
    missing = np.zeros(sum(lengths), dtype=bool)
    for place in range(len(columns[0])):
        parts = [part[place] for part in columns]
        # Numbers in all files are compared as numbers; else as text, so that 007 is not 7.
        if all(part.compares_as_number for part in parts):
            codes, distinct = pd.factorize(np.concatenate([part.numbers for part in parts]))
            n_distinct = len(distinct)
        elif all(part.plain_text is not None for part in parts):
            # Strings as they are stored: none becomes an object.
            codes, n_distinct = _joint_strings(parts)
        else:
            codes, distinct = pd.factorize(np.concatenate([part.words for part in parts]))
            n_distinct = len(distinct)
        missing |= codes < 0
        joint = joint * (n_distinct + 1) + codes + 1
        # Numbered anew after each column: the product of many columns' counts has no room in 64 bits.
        if place:
            joint, _ = pd.factorize(joint)
    joint[missing] = -1
    return np.split(joint, np.cumsum(lengths)[:-1])


def _joint_strings(columns: Sequence[ColumnEvidence]) -> tuple[IntArray, int]:
    """Return strings of all files in one numbering, and how many there are.

    The distinct ones of each file are known: they alone are looked for among those of the files before it.
    """
    import pandas as pd

    assert columns[0].plain_text is not None
    first, known = columns[0].plain_text
    found = [first]
    for column in columns[1:]:
        assert column.plain_text is not None
        codes, distinct = column.plain_text
        places = places_among(distinct, known)
        # Strings that no file before had get the next numbers.
        is_new = places < 0
        places[is_new] = len(known) + np.arange(int(is_new.sum()))
        if is_new.any():
            known = pd.concat([pd.Series(known), pd.Series(distinct[is_new])]).array
        # A gap has the last entry.
        found.append(np.append(places, -1)[codes])
    return np.concatenate(found), len(known)


def _are_equal(columns: Sequence[ColumnEvidence]) -> bool:
    """Return True if columns hold the same numbers, or the same strings, row by row."""
    first = columns[0]
    if all(part.plain_text is not None for part in columns):
        return all(first.raw.array.equals(part.raw.array) for part in columns[1:])
    if not all(part.compares_as_number for part in columns):
        return False
    return all(np.array_equal(first.numbers, part.numbers) for part in columns[1:])  # type: ignore[arg-type]


def relation_of(first: IntArray, second: IntArray) -> Relation:
    """Return how the ids of one file stand to those of another."""
    if np.array_equal(first, second):
        # Codes count the distinct values.
        return Relation(kind="same", n_common=int(first.max(initial=-1)) + 1)
    n_codes = int(max(first.max(initial=-1), second.max(initial=-1))) + 1
    in_first = np.zeros(n_codes, dtype=bool)
    in_first[first[first >= 0]] = True
    in_second = np.zeros(n_codes, dtype=bool)
    in_second[second[second >= 0]] = True
    n_common = int((in_first & in_second).sum())
    n_first = int(in_first.sum())
    n_second = int(in_second.sum())
    if n_common == n_first == n_second and len(first) == len(second):
        return Relation(kind="permuted", n_common=n_common)
    if n_common >= ENOUGH * max(n_first, n_second) and n_common > 0:
        return Relation(kind="partial", n_common=n_common)
    return Relation(kind="other", n_common=n_common)


def places_in(wanted: IntArray, known: IntArray) -> IntArray:
    """Return where each id stands in ``known``, whose ids are distinct; -1 where it does not."""
    n_codes = int(max(wanted.max(initial=-1), known.max(initial=-1))) + 1
    lookup = np.full(n_codes + 1, -1, dtype=np.int64)
    there = known >= 0
    lookup[known[there]] = np.flatnonzero(there)
    # An empty cell finds the last entry.
    lookup[n_codes] = -1
    return np.asarray(lookup[wanted])


def are_distinct(codes: IntArray) -> bool:
    """Return True if no id stands twice and none is empty."""
    if not len(codes) or codes.min() < 0:
        return not len(codes)
    counts = np.bincount(codes)
    return bool(counts.max() == 1)


def matched_rows(codes: Sequence[IntArray]) -> list[IntArray]:
    """Return the rows of all files that all of them have, in the order of the first one."""
    places = [places_in(codes[0], other) for other in codes[1:]]
    everywhere = np.ones(len(codes[0]), dtype=bool)
    for part in places:
        everywhere &= part >= 0
    return [np.flatnonzero(everywhere), *(part[everywhere] for part in places)]


def without_doubles(table: TableEvidence, id_names: Sequence[str]) -> tuple[TableEvidence, int]:
    """Return a table without rows that repeat another one in all cells, and how many there were.

    A column that counts the rows, such as the index that pandas writes, has another value in each
    double and is not compared.
    """
    import pandas as pd

    compared = [
        name
        for name, column in table.columns.items()
        if name in id_names or not (column.is_unnamed and column.is_distinct)
    ]
    frame = pd.DataFrame({name: table.columns[name].typed for name in compared})
    again = np.asarray(frame.duplicated())
    if not again.any():
        return table, 0
    return rows_of_table(table, ~again), int(again.sum())


def rows_of_table(table: TableEvidence, kept: BoolArray) -> TableEvidence:
    """Return some of the rows of a table."""
    columns = {}
    for name, column in table.columns.items():
        columns[name] = ColumnEvidence(
            name=name,
            typed=column.typed[kept].reset_index(drop=True),
            raw=column.raw[kept].reset_index(drop=True),
            place=column.place,
            is_index=column.is_index,
        )
    return replace(table, columns=columns, n_rows=int(kept.sum()))
