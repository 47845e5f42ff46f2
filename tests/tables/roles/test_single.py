"""One column of numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.ask import AmbiguousReadingError, UnreadableTableError
from shiftmetrics.tables.evidence import evidence_of
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.roles.single import find_single, form_of_numbers
from tables.variants import cells

TWO = np.array(["0", "1"] * 10, dtype=object)
MANY = np.arange(20).astype(str).astype(object)


@pytest.mark.parametrize(
    ("name", "low", "high", "truth", "form"),
    [
        ("p", 0.0, 1.0, None, "probability"),
        ("p", 0.0, 1.0, TWO, "probability"),
        ("p", 0.0, 97.0, TWO, "percentage"),
        ("percent", 0.0, 97.0, None, "percentage"),
        ("logit", 0.1, 0.9, None, "margin"),
        ("p", -3.0, 4.0, TWO, "margin"),
        ("p", -3.0, 4.0, MANY, "outputs"),
        ("p", 0.0, 300.0, None, "outputs"),
        ("p", -5.0, -1.0, None, "outputs"),
    ],
)
def test_forms(name, low, high, truth, form):
    assert form_of_numbers([name], [np.linspace(low, high, 20)], truth, RoleOptions()) == form


@pytest.mark.parametrize(("low", "high"), [(-3.0, 4.0), (0.0, 97.0)])
def test_two_forms_ask_and_each_remedy_decides(low, high):
    values = [np.linspace(low, high, 20)]
    with pytest.raises(AmbiguousReadingError) as caught:
        form_of_numbers(["p"], values, None, RoleOptions())
    assert len(caught.value.readings) == 2
    assert form_of_numbers(["p"], values, None, RoleOptions(tolerance=0.0)) == "outputs"
    assert form_of_numbers(["p"], values, None, RoleOptions(threshold=0.0)) == "margin"


def test_the_confidence_of_an_answer_is_no_probability_of_a_class():
    values = [np.linspace(0.5, 1.0, 20)]
    with pytest.raises(AmbiguousReadingError, match="confidence"):
        form_of_numbers(["score"], values, TWO, RoleOptions())
    assert form_of_numbers(["p"], values, TWO, RoleOptions()) == "probability"


def test_the_column_that_is_left():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"score": rng.uniform(size=20), "latency_ms": rng.gamma(2.0, 1.0, 20), "age": np.arange(20)}
    )
    table = evidence_of(cells(frame), frame)
    free = [list(frame.columns)] * 2
    assert find_single([table, table], free, {"age"}, RoleOptions()) == ["score", "score"]
    other = pd.DataFrame({"a": rng.uniform(size=20), "b": rng.uniform(size=20)})
    second = evidence_of(cells(other), other)
    with pytest.raises(AmbiguousReadingError, match="--columns a,b"):
        find_single([second], [["a", "b"]], set(), RoleOptions())


def test_where_scores_are_asked_for_both_signs_are_a_margin():
    options = RoleOptions(task="scores")
    assert form_of_numbers(["x"], [np.array([-2.0, 3.0])], None, options) == "margin"
    assert form_of_numbers(["x"], [np.array([0.0, 30.0])], None, options) == "outputs"
    with pytest.raises(UnreadableTableError, match="Divide percentages by 100"):
        form_of_numbers(["x"], [np.array([0.0, 97.0])], None, options)


def test_marks_without_labels_are_asked_for():
    marks = [np.array([1.0, 0.0, np.nan, 0.5]), np.array([1.0, 1.0, 0.0, 0.0])]
    for style, typed in (("command", "--scores correct"), ("python", "scores='correct')")):
        with pytest.raises(AmbiguousReadingError) as caught:
            form_of_numbers(["correct"], marks, None, RoleOptions(style=style))
        marked, probability = (reading.remedy for reading in caught.value.readings)
        assert typed in marked
        assert "columns" in probability
    for options in (RoleOptions(columns=("correct",)), RoleOptions(task="scores")):
        assert form_of_numbers(["correct"], marks, None, options) == "probability"
    for name, truth in (("proba_yes", None), ("correct", TWO)):
        assert form_of_numbers([name], marks, truth, RoleOptions()) == "probability"
    some = [np.array([1.0, 0.0, 0.25])]
    assert form_of_numbers(["correct"], some, None, RoleOptions()) == "probability"
