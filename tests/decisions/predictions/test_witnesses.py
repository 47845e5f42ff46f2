"""Witnesses of partitions: a row for each word, and the scores that contradict a sample."""

import numpy as np
import pandas as pd

from shiftmetrics.decisions.predictions.partitioned_tables import KEY
from shiftmetrics.decisions.predictions.predictions import class_scores
from shiftmetrics.decisions.predictions.witnesses import (
    ScoreLimits,
    score_columns,
    witness_columns,
    witness_limits_of,
    witnesses_of,
)
from shiftmetrics.tables.reading import FileReading

SCORED = FileReading(name="old", form="classes", classes={"a": "a", "b": "b"}, truth="label")
ANSWERED = FileReading(name="old", form="answers", answer="said", confidence="sure")


def test_each_word_has_one_witness() -> None:
    part = pd.DataFrame({KEY: [4, 5, 6, 7], "label": ["x", "y", "x", None]})
    found = witnesses_of(part, SCORED)
    assert sorted(found.values()) == [4, 5, 7]
    assert witnesses_of(part.iloc[:0], SCORED) == {}
    assert witness_columns(SCORED) == ("label",)
    assert score_columns(SCORED) == ("a", "b")


def test_a_confidence_that_is_no_probability_has_a_witness() -> None:
    part = pd.DataFrame({KEY: [1, 2, 3], "said": ["x", "x", "x"], "sure": [0.5, 0.2, 1.5]})
    assert set(witnesses_of(part, ANSWERED).values()) == {1, 3}
    assert witness_columns(ANSWERED) == ("said", "sure")


def test_an_answer_beside_scores_is_shown_with_each_class_of_the_largest_one() -> None:
    reading = FileReading(name="old", form="classes", classes={"a": "a", "b": "b"}, answer="said")
    part = pd.DataFrame({KEY: [1, 2, 3], "a": [0.9, 0.8, 0.1], "b": [0.1, 0.2, 0.9], "said": "a"})
    assert set(witnesses_of(part, reading).values()) == {1, 3}
    assert witness_columns(reading) == ("said", "a", "b")


def strangers(scores: list[list[float]], more: list[list[float]]) -> list[bool]:
    sample = np.array(scores)
    served = class_scores(sample, "old", ("a", "b"))
    return witness_limits_of(SCORED, served, sample).strangers(np.array(more)).tolist()


def test_scores_that_contradict_a_sample_are_strangers() -> None:
    probabilities = [[0.25, 0.75], [0.5, 0.5]]
    assert strangers(probabilities, [[0.1, 0.9], [0.1, 0.8], [-0.1, 1.1]]) == [False, True, True]
    separate = [[0.25, 0.75], [0.5, 0.75]]
    assert strangers(separate, [[0.1, 0.9], [0.1, 1.1], [-0.1, 0.5]]) == [False, True, True]
    logarithms = [[-0.25, 0.75], [0.5, 2.75]]
    assert strangers(logarithms, [[0.1, 0.9], [7.0, -2.0]]) == [False, False]
    votes = [[3.0, 7.0], [4.0, 6.0]]
    assert strangers(votes, [[10.0, 0.0], [9.5, 0.5], [5.0, 4.0]]) == [False, True, True]
    assert ScoreLimits().strangers(np.array([[0.5], [9.0]])).tolist() == [False, False]


def test_limits_of_one_column_are_those_of_its_form() -> None:
    served = class_scores(np.array([[0.5, 0.5]]), "old", ("a", "b"))
    for form, most in (("probability", 1.0), ("percentage", 100.0), ("margin", np.inf)):
        reading = FileReading(name="old", form=form, answer="p", between=("a", "b"))
        assert score_columns(reading) == ("p",)
        limits = witness_limits_of(reading, served, np.array([[0.25]]))
        assert (limits.most, limits.least) == (most, -np.inf if form == "margin" else 0.0)
