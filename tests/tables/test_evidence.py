"""What the cells of a column say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.evidence import ColumnEvidence, cell_texts, evidence_of
from tables.variants import cells


def _column(values, name="x", **more):
    series = pd.Series(values)
    return ColumnEvidence(name=name, typed=series, raw=series, place=0, **more)


def test_numbers_and_gaps():
    column = _column([1.0, np.nan, 2.0])
    assert column.is_whole
    assert not column.is_fractional
    assert column.n_distinct == 2
    assert not column.is_distinct
    assert column.words.tolist() == ["1", None, "2"]
    assert column.is_missing.tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0, 1, 2], True),
        ([1, 2, 3], True),
        ([0, 2, 1], False),
        ([2, 3, 4], False),
        (["0", "1"], False),
    ],
)
def test_counts_of_the_rows(values, expected):
    assert _column(values).counts_rows is expected


def test_text_of_cells():
    values = pd.Series([" a ", "", None, True, 2.0, 2.5], dtype=object)
    assert cell_texts(values).tolist() == ["a", None, None, "True", "2", "2.5"]
    assert cell_texts(pd.Series([True, False])).tolist() == ["True", "False"]


@pytest.mark.parametrize(
    ("name", "is_index", "expected"),
    [("", False, True), ("Unnamed: 0", False, True), ("id", False, False), ("index", True, True)],
)
def test_indices_without_a_name(name, is_index, expected):
    assert _column([1, 2], name=name, is_index=is_index).is_unnamed is expected


def test_evidence_of_a_file():
    frame = pd.DataFrame({"id": [1, 2], "a": [0.5, 0.25]})
    table = evidence_of(cells(frame), frame)
    assert table.numeric(["a"]).tolist() == [[0.5], [0.25]]
    assert table.label == "old.csv"


@pytest.mark.parametrize(
    "values",
    [
        ["b", "a", "b", None, "c"],
        ["b", " a", "b ", None, "a"],
        ["b", "", " ", None, "a"],
        ["007", "7", "7.0", "\x1d7"],
        [],
        [None, None],
    ],
    ids=str,
)
def test_strings_say_what_objects_say(values):
    by_object = _column(pd.Series(values, dtype=object))
    by_string = _column(pd.Series(values, dtype="string"))
    expected = [None if value is None else value.strip() or None for value in values]
    distinct = list(dict.fromkeys(value for value in expected if value is not None))
    for column in (by_object, by_string):
        assert column.words.tolist() == expected
        assert column.is_missing.tolist() == [value is None for value in expected]
        codes, found = column.codes
        assert list(found) == distinct
        assert [None if code < 0 else distinct[code] for code in codes] == expected
    has_blanks = any(value is not None and value.strip() != value for value in values)
    is_plain = not has_blanks and "" not in values
    assert (by_string.plain_text is not None) == is_plain
    assert by_object.plain_text is None
