"""Kinds of columns: one decision for all files, words that stay words, and what is asked."""

import pandas as pd
import pytest

from one_column import column_in_files, decided
from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.column_kinds import ColumnKind
from shiftmetrics.tables.kinds import decide_kinds


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (["t", "f", "t"], ["True", "False", "True"]),
        (["yes", "no", "yes"], ["1", "0", "1"]),
        (["TRUE", "FALSE", "TRUE"], pd.Series([True, False, True])),
        (pd.Series([1, 0, 1]), ["t", "f", "t"]),
    ],
)
def test_booleans_are_one_kind_over_files(first, second):
    kind, values, typed = decided(first, second)
    assert kind == "boolean"
    assert values == [[True, False, True]] * 2
    assert not typed.problems


def test_zero_and_one_alone_are_integers_and_yes_stays_a_word():
    assert decided(["1", "0"], ["0", "1"])[0] == "integer"
    assert decided(["yes", "no"], ["no", "yes"])[:2] == ("word", [["yes", "no"], ["no", "yes"]])


def test_codes_of_a_csv_are_the_strings_of_a_typed_file():
    kind, values, typed = decided(["007", "012", "120"], pd.Series(["007", "120", "900"]))
    assert kind == "code"
    assert values == [["007", "012", "120"], ["007", "120", "900"]]
    assert not typed.problems
    assert decided(["120", "900"], pd.Series(["007", "012"]))[0] == "code"


def test_zeros_lost_by_a_tool_come_back_with_a_note():
    kind, values, typed = decided(["007", "012", "120"], ["7", "12", "120"])
    assert (kind, values[1]) == ("code", ["007", "012", "120"])
    assert "007" in " ".join(typed.notes)


def test_words_stay_words_and_numbers_have_gaps():
    assert decided(["None", "Minor", None], ["None", "Total", "NA"])[1][0] == [
        "None",
        "Minor",
        None,
    ]
    kind, values, typed = decided(["1", "2.5", "NA"], ["3", None])
    assert (kind, values) == ("number", [[1.0, 2.5, None], [3.0, None]])
    assert any("NA" in note for note in typed.notes)


def test_the_mark_of_gaps_in_numbers_is_the_mark_in_words():
    table = pd.DataFrame({"n": ["1", "NULL"], "w": ["a", "NULL"]}, dtype=object)
    first = Cells(argument="A", name="a.tsv", table=table, written=frozenset(table))
    typed = decide_kinds([first])
    assert typed.frames[0]["w"].tolist() == ["a", None]
    # An empty cell beside it is the mark of that file: NULL is then a word.
    table = pd.DataFrame({"n": ["1", None], "w": ["a", "NULL"]}, dtype=object)
    second = Cells(argument="B", name="b.csv", table=table, written=frozenset(table))
    assert decide_kinds([second]).frames[0]["w"].tolist() == ["a", "NULL"]


def test_a_level_of_another_file_is_no_gap():
    table = pd.DataFrame({"n": ["1", "NA"], "w": ["DE", "NA"]}, dtype=object)
    first = Cells(argument="A", name="a.csv", table=table, written=frozenset(table))
    second = Cells(argument="B", table=pd.DataFrame({"w": ["NA", "DE"]}))
    assert decide_kinds([first, second]).frames[0]["w"].tolist() == ["DE", "NA"]


def test_numbers_beside_words_are_a_problem_of_who_uses_the_column():
    kind, _, typed = decided(["1.5", "2.5"], ["abc", "d"])
    assert kind == "word"
    typed.check(["other"])
    with pytest.raises(ValueError, match="'abc' in f1.csv and '1.5' in f0.csv"):
        typed.check(["x"])
    assert not decided(["1", "2"], ["1", "2", "A"])[2].problems


def test_lists_and_empty_columns_have_their_kind():
    assert decided(pd.Series([[1], [2, 3]]))[0] == "list"
    assert decided([None, None], ["NA", None])[0] == "empty"


def test_a_later_file_is_read_by_known_kinds():
    known = {
        "x": ColumnKind("x", "code"),
        "y": ColumnKind("y", "date", "day"),
        "z": ColumnKind("z", "word", spelling="yes/no"),
    }
    table = pd.DataFrame({"x": ["120"], "y": ["01/02/2024"], "z": ["t"]}, dtype=object)
    later = Cells(argument="B", name="b.csv", table=table, written=frozenset(table))
    frame = decide_kinds([later], known=known).frames[0]
    assert frame["x"].tolist() == ["120"]
    assert frame["y"].tolist() == [pd.Timestamp("2024-02-01")]
    assert frame["z"].tolist() == ["yes"]
    wrong = decide_kinds(column_in_files("x", ["abc"]), known={"x": ColumnKind("x", "number")})
    assert wrong.problems


@pytest.mark.parametrize("cells", [["t", "f"], ["False", "True"], ["Y", "N"], ["1", "0"]])
def test_zeros_and_ones_of_a_passport_in_every_spelling(cells):
    (kind,) = decide_kinds(column_in_files("x", [0, 1, 1])).kinds.values()
    assert (kind.kind, kind.spelling) == ("integer", "1/0")
    found = decide_kinds(column_in_files("x", cells), known={"x": kind})
    assert not found.problems
    expected = [cell in ("t", "True", "Y", "1") for cell in cells]
    assert found.frames[0]["x"].tolist() == [float(is_true) for is_true in expected]
    # Numbers that are more than zeros and ones have no Booleans.
    (kind,) = decide_kinds(column_in_files("x", [0, 1, 2])).kinds.values()
    if cells != ["1", "0"]:
        assert decide_kinds(column_in_files("x", cells), known={"x": kind}).problems


@pytest.mark.parametrize("words", [("Y", "N"), ("Yes", "No"), ("yes", "no"), ("ON", "OFF")])
def test_words_of_a_passport_keep_their_letters(words):
    (kind,) = decide_kinds(column_in_files("x", [*words, words[0]])).kinds.values()
    later = decide_kinds(column_in_files("x", [True, False]), known={"x": kind})
    assert later.frames[0]["x"].tolist() == list(words)
    (kind,) = decide_kinds(column_in_files("x", [words[0]] * 3)).kinds.values()
    later = decide_kinds(column_in_files("x", ["f", "t"]), known={"x": kind})
    assert later.frames[0]["x"].tolist() == [words[1], words[0]]
