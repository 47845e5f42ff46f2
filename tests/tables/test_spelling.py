"""Classes of several columns in one spelling."""

from __future__ import annotations

import numpy as np
import pytest

from shiftmetrics.tables.spelling import affixes_of, common_words, distinct_words


def _words(*values):
    return np.array(values, dtype=object)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("1", "0"), ("1.0", "0.0")),
        (("True", "False"), ("t", "f")),
        (("1", "0"), ("True", "False")),
        (("yes", "no"), ("Y", "N")),
        (("2:cat", "1:dog"), ("cat", "dog")),
        (("__label__cat", "__label__dog"), ("cat", "dog")),
        (("cat", "dog"), ("Cat", "Dog")),
    ],
)
def test_equal_classes_become_equal_text(first, second):
    own, other = common_words([_words(*first, None), _words(*second, None)])
    assert own[:2].tolist() == other[:2].tolist()
    assert own[2] is None


@pytest.mark.parametrize(
    "columns",
    [
        [("100", "1E2", "2E1"), ("100", "2E1", "1E2")],
        [("1", "01"), ("01", "1")],
        [("cat", "Cat"), ("Cat", "cat")],
        [("cat", "dog"), ("cat", "fox")],
    ],
)
def test_codes_and_different_words_stay_as_they_are_written(columns):
    found = common_words([_words(*part) for part in columns])
    assert [part.tolist() for part in found] == [list(part) for part in columns]


def test_affixes_hold_known_words():
    assert affixes_of(["p_cat", "p_dog"], {"cat", "dog"}) == {("p_", "")}
    assert affixes_of(["p_cat", "q_dog"], {"cat", "dog"}) == set()
    assert distinct_words(_words("a", None, "a")) == {"a"}


def test_the_prefix_that_two_models_share_goes_by_the_labels():
    constant, model, truth = common_words(
        [
            _words("__label__cat", "__label__cat"),
            _words("__label__cat", "__label__dog"),
            _words("cat", "dog"),
        ]
    )
    assert constant.tolist() == ["cat", "cat"]
    assert model.tolist() == truth.tolist() == ["cat", "dog"]


def test_names_that_were_cut_short_go_by_their_number():
    truth, answers = common_words([_words("1:'a setos", "2:virgin"), _words("1:a setosa", None)])
    assert truth[0] == answers[0] == "1:a setosa"
    # a number with two names in one column is no number of a class
    kept, _ = common_words([_words("1:am", "1:pm"), _words("1:am", "1:noon")])
    assert kept.tolist() == ["1:am", "1:pm"]


def test_three_spellings_of_booleans_are_one():
    columns = [["TRUE", "FALSE"], ["t", "f"], ["1", "0"]]
    words = common_words([np.array(part, dtype=object) for part in columns])
    assert [part.tolist() for part in words] == [["TRUE", "FALSE"]] * 3
