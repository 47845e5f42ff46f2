"""Ids in one numbering, and the rows that belong together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.evidence import evidence_of
from shiftmetrics.tables.matching import (
    are_distinct,
    joint_codes,
    matched_rows,
    places_in,
    relation_of,
    rows_of_table,
    without_doubles,
)
from tables.variants import cells


def _codes(*lists):
    tables = [
        evidence_of(cells(frame), frame)
        for frame in (pd.DataFrame({"id": values}) for values in lists)
    ]
    return joint_codes([[table.columns["id"]] for table in tables])


@pytest.mark.parametrize(
    ("first", "second", "kind", "n_common"),
    [
        ([5, 7, 9], [5, 7, 9], "same", 3),
        ([5, 7, 9], [9, 5, 7], "permuted", 3),
        ([5, 7, 9, 11], [9, 5, 7, 12], "partial", 3),
        ([5, 7, 9], [1, 2, 9], "other", 1),
        (["007", "8"], ["8", "007"], "permuted", 2),
        (["007", "8"], ["7", "8"], "partial", 1),
        ([7, 8], ["8", "7"], "permuted", 2),
        ([7.0, 8.0], [8, 7], "permuted", 2),
        # as floats these are one number
        ([2**60, 2**60 + 1, 2**60 + 2], [2**60 + 1, 2**60 + 2, 2**60], "permuted", 3),
        ([2**60, 2**60 + 1], [2**60, 2**60 + 2], "partial", 1),
        ([2**60, 2**60 + 1], ["1152921504606846977", "1152921504606846976"], "permuted", 2),
    ],
)
def test_relations(first, second, kind, n_common):
    relation = relation_of(*_codes(first, second))
    assert (relation.kind, relation.n_common) == (kind, n_common)


def test_rows_of_all_files_in_the_order_of_the_first():
    codes = _codes([5, 7, 9], [9, 5, 1], [7, 9, 5])
    first, second, third = matched_rows(codes)
    assert first.tolist() == [0, 2]
    assert second.tolist() == [1, 0]
    assert third.tolist() == [2, 1]


def test_an_empty_id_matches_nothing():
    codes = _codes(["a", None], ["a", None])
    assert not are_distinct(codes[0])
    assert places_in(codes[0], codes[1]).tolist() == [0, -1]


def test_several_columns_name_a_row():
    frame = pd.DataFrame({"a": [1, 1, 2], "b": ["x", "y", "x"]})
    table = evidence_of(cells(frame), frame)
    codes = joint_codes([[table.columns["a"], table.columns["b"]]] * 2)
    assert are_distinct(codes[0])
    assert np.array_equal(*codes)


def test_many_columns_of_many_values_name_a_row():
    n = 2**16 - 1
    names = list("abcde")
    frame = pd.DataFrame(dict.fromkeys(names, np.arange(n)))
    other = frame.assign(a=frame["a"][::-1].to_numpy())
    tables = [evidence_of(cells(part), part) for part in (frame, other)]
    codes = joint_codes([[table.columns[name] for name in names] for table in tables])
    assert relation_of(*codes).n_common == 1


def test_doubles_are_told_without_the_index():
    frame = pd.DataFrame({"Unnamed: 0": [0, 1, 2], "id": [5, 5, 6], "x": [1.0, 1.0, 1.0]})
    table = evidence_of(cells(frame), frame)
    smaller, n_doubles = without_doubles(table, ["id"])
    assert n_doubles == 1
    assert smaller.columns["id"].words.tolist() == ["5", "6"]
    assert rows_of_table(table, np.array([False, True, True])).n_rows == 2


@pytest.mark.parametrize("kind", ["string", object])
@pytest.mark.parametrize("seed", range(5))
def test_ids_that_are_strings_have_the_numbers_of_a_dictionary(kind, seed):
    rng = np.random.default_rng(seed)
    pool = np.array([*(f"id {place}" for place in range(12)), " id 3", None], dtype=object)
    # without the last two, all strings are plain
    size = len(pool) - 2 * (seed % 2)
    lists = [pool[rng.integers(size, size=30)].tolist() for _ in range(2)]
    if seed == 4:
        lists[1] = list(lists[0])
    found = _codes(*(pd.Series(values, dtype=kind) for values in lists))
    expected = [None if value is None else value.strip() for values in lists for value in values]
    codes = np.concatenate(found).tolist()
    assert [code < 0 for code in codes] == [value is None for value in expected]
    pairs = {(code, value) for code, value in zip(codes, expected, strict=True)}
    assert len(pairs) == len(set(codes)) == len(set(expected))
