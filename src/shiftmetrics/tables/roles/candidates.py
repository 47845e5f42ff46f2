"""Columns that may name the rows of all files, and how the files stand to each other in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import IntArray
from shiftmetrics.tables.evidence import ColumnEvidence, TableEvidence
from shiftmetrics.tables.matching import Relation, are_distinct, joint_codes, relation_of
from shiftmetrics.tables.roles.names import has_name_of

MANY = 0.5
"""Fraction of distinct values from which a column may name rows although some repeat."""

FEWEST_COMMON = 5
MORE_THAN_CHANCE = 4.0
"""Integers that two files have in common from which they name the same rows, and standard deviations above chance."""


@dataclass(frozen=True)
class IdCandidate:
    """One way to name the rows of all files."""

    names: tuple[tuple[str, ...], ...]
    codes: tuple[IntArray, ...]
    relation: Relation
    is_named: bool
    is_unnamed: bool
    counts: tuple[bool, ...]

    @property
    def name(self) -> str:
        """The names of the columns in the first file."""
        return ",".join(self.names[0])

    @property
    def is_place(self) -> bool:
        """Whether it merely counts the rows of one file, and is something else in another one."""
        return any(self.counts) and self.relation.kind in ("partial", "other")


def may_be_id(column: ColumnEvidence) -> bool:
    """Return True for whole numbers, words and dates of many values."""
    if column.is_fractional or column.is_bool or not column.n_rows:
        return False
    return column.n_distinct >= MANY * column.n_rows


def id_candidates(tables: Sequence[TableEvidence]) -> list[IdCandidate]:
    """Return the columns that may name the rows of all files, by common name or by common values."""
    first = tables[0]
    found: list[IdCandidate] = []
    # What is alone in a file is what it predicts.
    if any(len(table.columns) == 1 for table in tables):
        return found
    for name in first.columns:
        if not all(name in table.columns for table in tables):
            continue
        columns = [table.columns[name] for table in tables]
        # A column called an id is a candidate whatever its cells are: if its values repeat, the
        # callers say so rather than pair rows by their place. Any other column has to look like an
        # id.
        is_named = has_name_of(name, "id") and not any(part.is_unnamed for part in columns)
        if any(column.is_fractional or column.is_bool for column in columns):
            continue
        if not is_named and not all(may_be_id(column) for column in columns):
            continue
        if not is_named and (has_name_of(name, "answer") or has_name_of(name, "truth")):
            continue
        one = candidate_of([(name,)] * len(tables), tables)
        # Words are kept even where the files share none of them: that ends in a question, where
        # numbers without a telling name, such as ages, would end in one for nearly every table.
        if (
            is_named
            or one.is_unnamed
            or are_words(tables, one)
            or (_share_numbers(tables, one) and not any(one.counts))
        ):
            found.append(one)
    found += _under_other_names(tables, found)
    return sorted(found, key=lambda one: (not one.is_named, one.is_unnamed))


def candidate_of(names: Sequence[tuple[str, ...]], tables: Sequence[TableEvidence]) -> IdCandidate:
    """Return one way to name the rows, with how the files stand to each other."""
    columns = [
        [table.columns[name] for name in part] for part, table in zip(names, tables, strict=True)
    ]
    codes = joint_codes(columns)
    order = ("same", "permuted", "partial", "other")
    relations = [relation_of(codes[0], other) for other in codes[1:]]
    # Of more than two files the one that fits worst decides.
    worst = max(relations, key=lambda one: order.index(one.kind))
    leading = [part[0] for part in columns]
    return IdCandidate(
        names=tuple(names),
        codes=tuple(codes),
        relation=worst,
        is_named=any(
            has_name_of(column.name, "id") and not column.is_unnamed for column in leading
        ),
        is_unnamed=all(column.is_unnamed for column in leading),
        counts=tuple(column.counts_rows for column in leading),
    )


def _share_numbers(tables: Sequence[TableEvidence], one: IdCandidate) -> bool:
    """Return True if numbers under any name are ids: the same in another order, or so many as chance does not share.

    Of distinct integers from one range of ``width`` values, two independent files share ``n_first n_second / width``.
    Numbers that mostly stand in the same rows of both files belong to rows that go by their place.
    """
    if one.relation.kind == "permuted":
        return True
    # In the same order, ids and places pair the same rows: nothing is lost if these numbers are no
    # id.
    if one.relation.kind == "same" or has_name_of(one.names[0][0], "beside"):
        return False
    if not all(are_distinct(codes) for codes in one.codes):
        return False
    first = one.codes[0]
    numbers = []
    for table, names in zip(tables, one.names, strict=True):
        own = table.columns[names[0]].numbers
        if own is None:
            return False
        numbers.append(own)
    for place, other in enumerate(one.codes[1:], start=1):
        if len(other) == len(first) and 2 * np.count_nonzero(other == first) >= len(first):
            return False
        both = np.concatenate([numbers[0], numbers[place]])
        width = float(both.max() - both.min()) + 1.0
        n_common = len(np.intersect1d(first, other))
        by_chance = len(first) * len(other) / width
        # The variance of a hypergeometric count: of two ranges that are full, nothing is left to chance.
        spread = by_chance * (1.0 - len(first) / width) * (1.0 - len(other) / width)
        if n_common < FEWEST_COMMON or n_common - by_chance < MORE_THAN_CHANCE * np.sqrt(spread):
            return False
    return True


def _under_other_names(
    tables: Sequence[TableEvidence], found: list[IdCandidate]
) -> list[IdCandidate]:
    """Return ids that have other names in the other files, where their values are the same set."""
    if any(one.relation.kind in ("same", "permuted") for one in found) or len(tables) != 2:
        return []
    first, second = tables
    pairs = []
    for one in first.columns.values():
        for other in second.columns.values():
            if one.name == other.name or not (may_be_id(one) and may_be_id(other)):
                continue
            # Any two counts of as many rows are the same set.
            if one.counts_rows and other.counts_rows:
                continue
            candidate = candidate_of([(one.name,), (other.name,)], tables)
            if candidate.relation.kind in ("same", "permuted"):
                pairs.append(candidate)
    # Several pairs leave open which of them was meant.
    return pairs if len(pairs) == 1 else []


def are_words(tables: Sequence[TableEvidence], one: IdCandidate) -> bool:
    """Return True if the values are words in all files."""
    pairs = zip(tables, one.names, strict=True)
    return all(not table.columns[names[0]].is_number for table, names in pairs)
