"""For which of two classes one column of numbers speaks."""

from __future__ import annotations

import numpy as np
import pytest

from shiftmetrics.tables.ask import AmbiguousReadingError
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.two_classes import names_of_two


def names(column, known, scores=(), truth=None, **options):
    typed = RoleOptions(**options)
    return names_of_two(column, set(known), list(scores), truth, typed, "old.csv")


@pytest.mark.parametrize(
    ("column", "known", "expected"),
    [
        ("p", (), ("0", "1")),
        ("p", ("yes", "no"), ("no", "yes")),
        ("p", ("1",), ("0", "1")),
        ("p", ("True",), ("false", "True")),
        ("prob_bad", ("bad", "good"), ("good", "bad")),
        ("p", ("-1", "1"), ("-1", "1")),
    ],
)
def test_one_column_speaks_for_the_second_class(column, known, expected):
    assert names(column, known) == expected


def test_words_need_labels_that_bear_them_out():
    truth = np.array(["bad", "good"] * 10, dtype=object)
    good = np.tile([0.1, 0.9], 10)
    known = {"bad", "good"}
    assert names("p", known, [good], truth) == ("bad", "good")
    with pytest.raises(AmbiguousReadingError) as caught:
        names("p", known, [1.0 - good], truth)
    assert {reading.remedy for reading in caught.value.readings} == {
        "--classes bad,good",
        "--classes good,bad",
    }
    assert names("p", known, [1.0 - good], truth, classes=("good", "bad")) == ("good", "bad")


TRUTH = np.array(["0", "1"] * 20, dtype=object)
SPEAKS = np.tile([0.2, 0.7], 20) + np.linspace(0.0, 0.1, 40)


def area(scores, truth, second):
    """Return how often a row of the second class has the higher number, pair by pair."""
    ones = scores[truth == second]
    others = scores[truth != second]
    return np.mean([[float(a > b) + 0.5 * (a == b) for b in others] for a in ones])


@pytest.mark.parametrize(
    "column",
    [
        "prob_no",
        "p_neg",
        "prob_0",
        "0_prob",
        "P(negative)",
        "p_false",
        "normal_prob",
        "prob_not_fraud",
    ],
)
def test_a_name_of_the_negative_class_is_borne_out_by_the_labels(column):
    for scores in (SPEAKS, 1.0 - SPEAKS):
        found = (
            names(column, ("0", "1"), [scores, scores], TRUTH)
            if area(scores, TRUTH, "0") > 0.5
            else None
        )
        if found is not None:
            assert area(scores, TRUTH, found[1]) > 0.5
            assert found == ("1", "0")
    assert names(column, ()) == ("1", "0")


def test_a_name_against_the_labels_is_asked_for():
    with pytest.raises(AmbiguousReadingError) as caught:
        names("prob_0", ("0", "1"), [SPEAKS], TRUTH)
    for reading, expected in zip(caught.value.readings, (("0", "1"), ("1", "0")), strict=True):
        assert reading.remedy == "--classes " + ",".join(expected)
        assert names("prob_0", ("0", "1"), [SPEAKS], TRUTH, classes=expected) == expected
    with pytest.raises(AmbiguousReadingError):
        names("score", ("0", "1"), [1.0 - SPEAKS], TRUTH)
    # One model of two that is worse than chance is a bad model.
    assert names("score", ("0", "1"), [SPEAKS, 1.0 - SPEAKS], TRUTH) == ("0", "1")


def test_no_cut_is_needed_to_see_for_which_class_numbers_speak():
    truth = np.array(["bad", "good"] * 20, dtype=object)
    high = 300.0 + 500.0 * SPEAKS
    assert names("score", ("bad", "good"), [high], truth) == ("bad", "good")
    with pytest.raises(AmbiguousReadingError):
        names("score", ("bad", "good"), [-high], truth)


@pytest.mark.parametrize(
    ("column", "known", "second"),
    [
        ("prob_no", ("no", "yes"), "no"),
        ("p_female", ("male", "female"), "female"),
        ("p_male", ("male", "female"), "male"),
        ("prob_not_spam", ("spam", "not_spam"), "not_spam"),
        ("prob_not_fraud", ("fraud", "ok"), "ok"),
        ("prob_fraud", ("fraud", "ok"), "fraud"),
        ("p_n", ("n", "y"), "n"),
        ("model_0_score", ("0", "1"), "1"),
        ("ProbabilityYes", ("no", "yes"), "yes"),
    ],
)
def test_the_class_in_the_name_of_the_column(column, known, second):
    assert names(column, known)[1] == second
