"""Answers that only count the classes."""

import numpy as np
import pytest

from shiftmetrics.tables.counted_answers import classes_of_largest, numbers_of_counted


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
