"""The result of comparing scores."""

import numpy as np
import pytest

from shiftmetrics.decisions.scores.scores import diff_scores


@pytest.fixture(scope="module")
def result():
    old = np.array([1.0] * 90 + [0.0] * 10)
    new = np.array([1.0] * 60 + [0.0] * 40)
    return diff_scores(old, new, allow=0.05)


def test_the_exit_code_is_that_of_the_verdict(result):
    assert (result.verdict, result.exit_code) == ("WORSE", 1)


def test_the_population_is_named_once(result):
    assert result.population == "future"
    assert result.interval.method == "future rows"


def test_the_table_has_the_questions_that_changed(result):
    frame = result.to_frame()
    assert list(frame.columns) == ["id", "old", "new", "change"]
    assert len(frame) == 30


def test_scores_of_other_names_are_not_compared(result):
    assert result.comparable["metric"][0] == result.metric


def test_figures_beside_the_difference(result):
    assert result.secondary_metrics == {"old_score": 0.9, "new_score": 0.6, "exit_code": 1}
