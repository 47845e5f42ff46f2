"""Answers that only count the classes."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.ask import UnreadableTableError
from shiftmetrics.tables.counted_answers import classes_of_largest, numbers_of_counted
from shiftmetrics.tables.predictions import read_predictions
from tables.variants import cells


def _words(*values):
    return np.array(values, dtype=object)


def test_counted_names_are_numbers_where_the_labels_are_words():
    words, none = numbers_of_counted([_words("LABEL_0", "LABEL_10", None), None], {"cat", "dog"})
    assert words.tolist() == ["0", "10", None]
    assert none is None


@pytest.mark.parametrize(
    ("words", "labels"),
    [
        (_words("room1", "room2"), {"room1", "hall"}),
        (_words("LABEL_0", "LABEL_1"), {"0", "1"}),
        (_words("room1", "hall2"), {"cat", "dog"}),
        (_words("room1", "room2"), {"house1", "house2"}),
        (_words("cat", "room2"), {"dog", "fox"}),
    ],
    ids=["a label", "the numbers", "two beginnings", "counted labels", "a word"],
)
def test_other_names_stay(words, labels):
    (kept,) = numbers_of_counted([words], labels)
    assert kept is words


SCORES = np.array([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [0.625, 0.25, 0.125]])


def test_answers_name_the_columns_of_the_largest_scores():
    answers = _words("fox", "ant", "fox")
    assert classes_of_largest(SCORES, answers, {"ant", "bee", "fox"}) == ("fox", "ant", "bee")


@pytest.mark.parametrize(
    ("answers", "known"),
    [
        (_words("fox", "ant", "ant"), {"ant", "bee", "fox"}),
        (_words("fox", "fox", "fox"), {"ant", "bee", "fox"}),
        (_words("fox", "ant", "fox"), {"ant", "bee", "cow", "fox"}),
        (_words("fox", "ant", None), {"ant", "bee", "fox"}),
    ],
    ids=["two answers", "one class twice", "two are left", "a gap"],
)
def test_answers_that_do_not_tell_name_no_columns(answers, known):
    assert classes_of_largest(SCORES, answers, known) is None


ROWS = 12
"""Rows of the tables below: from 10 on, answers without a name may tell the classes."""


def _beside(name, columns, codes, words):
    """Return scores of columns, the largest one at `codes`, with the words of these beside them."""
    scores = 0.1 + 0.8 * np.eye(len(columns))[codes]
    frame = pd.DataFrame(scores / scores.sum(axis=1, keepdims=True), columns=columns)
    return frame.assign(**{name: np.array(words, dtype=object)[codes]})


@pytest.mark.parametrize(
    "columns",
    [["p.0", "p.1", "p.2"], ["dis1_1", "dis1_2", "dis1_3"], ["P_FO", "P_AN", "P_BE"]],
    ids=["from 0", "from 1", "cut off"],
)
def test_answers_of_both_models_name_columns_that_do_not(columns):
    words = ["fox", "ant", "bee"]
    # the model in use never answers with the third class
    codes = [np.arange(ROWS) % 2, np.arange(ROWS) % 3]
    files = [
        cells(_beside("class", columns, own, words), name.upper(), f"{name}.csv")
        for name, own in zip(("old", "new"), codes, strict=True)
    ]
    found = read_predictions(files)
    assert [file.classes for file in found.files] == [("fox", "ant", "bee")] * 2
    for file, own in zip(found.files, codes, strict=True):
        assert file.answers().tolist() == [words[place] for place in own]


def test_one_answer_beside_another_column_names_none():
    words = ["fox", "ant", "bee"]
    codes = np.arange(ROWS) % 3
    frames = [_beside("class", ["d_1", "d_2", "d_3"], codes, words) for _ in range(2)]
    frames[1].loc[0, "class"] = "bee"
    files = [cells(frames[0]), cells(frames[1], "NEW", "new.csv")]
    with pytest.raises(UnreadableTableError):
        read_predictions(files)
