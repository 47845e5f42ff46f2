"""The cells of one column of one file: their type, their distinct words, their gaps."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.cell_words import (
    ColumnCells,
    WordList,
    as_words,
    have_ends,
    is_gap_word,
    lengths_of,
    word_of,
)
from shiftmetrics.tables.evidence import WHITESPACE


def written(*values):
    return ColumnCells("a.csv", pd.Series(values, dtype=object), is_written=True)


def objects(*values):
    return pd.Series(values, dtype=object)


@pytest.mark.parametrize("word", ["", " NA\t", "n/a", "NULL", "-", "?", "\u00a0"])
def test_words_that_stand_for_a_gap(word):
    assert is_gap_word(word)


@pytest.mark.parametrize("word", ["0", "no", "NAN!", "---"])
def test_words_that_stand_for_themselves(word):
    assert not is_gap_word(word)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pd.Series([True, False]), "boolean"),
        (pd.Series([1, 2]), "integer"),
        (pd.Series([1.5, None]), "number"),
        (pd.to_timedelta(pd.Series([1, 2]), unit="s"), "number"),
        (pd.to_datetime(pd.Series(["2024-01-31"])), "date"),
        (pd.Series(["a", "b"], dtype="category"), "level"),
        (pd.Series([], dtype=float), "empty"),
        (objects(None, None), "empty"),
        (objects("a", "b", None), "string"),
        (objects(True, None, False), "boolean"),
        (objects(1, np.int64(2)), "integer"),
        (objects(1, 2.5, Decimal("0.1")), "number"),
        (objects(datetime.date(2024, 1, 31)), "date"),
        (objects(datetime.time(8, 30)), "written"),
        (objects([1], [2, 3]), "list"),
        (objects({"a": 1}, "b"), "list"),
        (objects(1, "a"), "written"),  # as spreadsheets mix them
    ],
)
def test_the_type_is_that_of_the_format_or_of_the_objects(values, expected):
    assert ColumnCells("a", values).type == expected


def test_a_schema_makes_levels_of_numbers():
    assert ColumnCells("a", pd.Series([1, 2]), has_levels=True).type == "level"


def test_distinct_words_with_their_places_and_counts():
    cells = written("b", "a", None, "b", "NA", "")
    assert cells.is_words
    assert cells.distinct == ["b", "a", "NA", ""]
    assert cells.codes.tolist() == [0, 1, -1, 0, 2, 3]
    assert cells.counts.tolist() == [2, 1, 1, 1]
    assert cells.known == ["b", "a"]
    assert cells.gap_words == ["NA"]
    assert cells.has_gaps
    assert cells.has_cells


def test_a_column_of_gap_words_has_no_cells():
    assert not written("NA", None).has_cells
    assert not written("NA").has_gaps  # it is a word until the numbers beside it say otherwise
    assert not ColumnCells("a", objects(None)).has_cells


def test_a_number_and_its_string_are_one_word_but_true_and_one_are_two():
    cells = written(7, "7", 7.0, 7.5)
    assert cells.distinct == ["7", "7.5"]
    assert cells.codes.tolist() == [0, 0, 0, 1]
    assert written(True, 1, "x").distinct == ["True", "1", "x"]


def test_a_value_of_each_distinct_word_is_spread_over_the_cells():
    cells = written("b", "a", None, "b")
    assert cells.spread(np.array([10.0, 20.0]), -1.0).tolist() == [10.0, 20.0, -1.0, 10.0]


def test_values_are_written_as_a_person_would():
    assert [word_of(value) for value in (7.0, 7.5, True, np.float32(3), 2.0**60, "7.0")] == [
        "7",
        "7.5",
        "True",
        "3",
        str(2.0**60),  # beyond 2^53 a float is not one integer
        "7.0",
    ]
    assert as_words(pd.Series([1.0, np.nan, 2.5])).tolist() == ["1", None, "2.5"]


def test_a_form_is_looked_for_in_all_words():
    assert WordList(["1", "22"]).all_have(r"\d+")
    assert not WordList(["1", "22x"]).all_have(r"\d+")
    assert WordList(["a", "7"]).any_has(r"\d")
    assert not WordList(["a7", "b"]).any_has(r"\d")
    assert not WordList([]).all_have(r".*")
    # A line break inside a word does not make two words of it.
    assert not WordList(["a\n1", "b"]).any_has(r"\d")


def test_a_word_after_the_first_thousand_counts_too():
    words = [str(number) for number in range(1_500)]
    assert WordList(words).all_have(r"\d+")
    assert not WordList([*words, "x"]).all_have(r"\d+")


def mixed_words(rng):
    """Words as files have them: names, gaps in all spellings, blanks at the ends, doubles, empty cells, no cells."""
    pool = [
        *(
            "cat",
            "a dog",
            "sample-00017",
            "",
            " ",
            "\u00a0",
            "NA",
            " n/a",
            "(null)",
            "null\t",
            "-",
            "--",
            "?",
            "\\N",
        ),
        *(
            " padded",
            "padded",
            "padded  ",
            "long word with blanks ",
            "\u202fthin",
            "007",
            "1.0",
            "nan",
            "NaN",
            None,
        ),
    ]
    return [pool[place] for place in rng.integers(len(pool), size=40)]


@pytest.mark.parametrize("seed", range(20))
def test_strings_are_told_as_objects_are_and_as_one_by_one(seed):
    words = mixed_words(np.random.default_rng(seed))
    by_object = ColumnCells("a", pd.Series(words, dtype=object))
    by_string = ColumnCells("a", pd.Series(words, dtype="string"))
    distinct = list(dict.fromkeys(word for word in words if word is not None))
    for column in (by_object, by_string):
        assert column.type == "string"
        assert column.distinct == distinct
        assert [None if code < 0 else distinct[code] for code in column.codes] == words
        assert column.known == [word for word in distinct if not is_gap_word(word)]
        assert column.gap_words == [
            word for word in distinct if is_gap_word(word) and word.strip(" \t\n\u00a0\u202f")
        ]
        odd = {distinct[place] for place in column.odd_places}
        assert all(word in odd for word in distinct if is_gap_word(word) or word.strip() != word)


@pytest.mark.parametrize("storage", ["python", "pyarrow"])
def test_ends_and_lengths_of_strings(storage):
    if storage == "pyarrow":
        pytest.importorskip("pyarrow")
    words = ["", "a", " a", "a\x1d", "\u3000b", "ä\u0301 x", "\u00a0", "b\n", "中 文"]
    strings = pd.array(words, dtype=pd.StringDtype(storage))
    assert lengths_of(strings).tolist() == [len(word) for word in words]
    for characters in (" ", WHITESPACE):
        expected = [word.strip(characters) != word for word in words]
        assert have_ends(strings, characters).tolist() == expected
    assert [word.strip(WHITESPACE) for word in words] == [word.strip() for word in words]
