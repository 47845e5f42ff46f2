"""What speaks against a reading."""

from __future__ import annotations

import numpy as np
import pytest

from shiftmetrics.tables.prediction_tables import PredictionTable, coded_words
from shiftmetrics.tables.sanity import (
    doubts_of_classes,
    doubts_of_labels,
    doubts_of_ranks,
    doubts_of_spelling,
)

TRUTH = np.array(["a", "b", "c"] * 20, dtype=object)


def test_right_answers_raise_no_doubt():
    assert doubts_of_classes(["old"], [coded_words(TRUTH)], TRUTH) == []
    assert doubts_of_classes(["old"], [coded_words(TRUTH)], None) == []


def test_fewer_right_answers_than_chance():
    shifted = np.roll(TRUTH, 1)
    (doubt,) = doubts_of_classes(["old"], [coded_words(shifted)], TRUTH)
    assert "old is right in 0%" in doubt


def test_a_class_that_no_label_has():
    answers = TRUTH.copy()
    answers[:6] = "d"
    (doubt,) = doubts_of_classes(["old"], [coded_words(answers)], TRUTH)
    assert doubt.startswith("no label is d")
    few = np.full(60, None, dtype=object)
    few[6:20] = TRUTH[6:20]
    assert doubts_of_classes(["old"], [coded_words(answers)], few) == []


def test_labels_that_match_too_few_rows():
    assert doubts_of_labels(6, 10, "labels.csv") == []
    assert doubts_of_labels(4, 10, "labels.csv")


def scored(scores, beginning="scores."):
    names = tuple(f"{beginning}{place}" for place in range(scores.shape[1]))
    return PredictionTable(
        argument="OLD",
        name="old.csv",
        form="classes",
        rows=slice(None),
        scores=scores,
        classes=names,
        columns=names,
    )


def test_scores_that_fall_in_every_row_may_be_those_of_the_best_answers():
    rng = np.random.default_rng(0)
    fixed = rng.dirichlet(np.ones(3), 30)
    ranked = -np.sort(-fixed, axis=1)
    (doubt,) = doubts_of_ranks([scored(ranked), scored(ranked[::-1])])
    assert "fall from scores.0 to scores.2" in doubt
    assert doubts_of_ranks([scored(ranked), scored(fixed)]) == []


@pytest.mark.parametrize("neighbour", ["two places", "constant", "few rows", "one row", "names"])
def test_neighbours_of_ranked_scores_raise_no_doubt(neighbour):
    ranked = -np.sort(-np.random.default_rng(0).dirichlet(np.ones(3), 30), axis=1)
    beginning = "scores."
    if neighbour == "two places":
        ranked = ranked[:, :2]
    elif neighbour == "constant":
        ranked[:] = ranked[0]
    elif neighbour == "few rows":
        ranked = ranked[:5]
    elif neighbour == "one row":
        ranked[-1] = ranked[-1, ::-1]
    else:
        beginning = ""  # columns called 0, 1, 2 are classes by name
    assert doubts_of_ranks([scored(ranked, beginning)]) == []


def test_changes_of_capitals_and_marks_alone_are_named_and_doubtful():
    old = np.array(["yes", "no", "yes", "no"], dtype=object)
    new = np.array(["Yes", "no.", "yes", "yes"], dtype=object)
    (text,), is_doubt = doubts_of_spelling([old, new], None)
    assert "2 rows" in text
    assert "'yes' and 'Yes'" in text
    assert is_doubt
    assert doubts_of_spelling([old, old[::-1]], None) == ([], False)


def test_capitals_that_all_files_have_are_classes():
    letters = np.array(["a", "A", "b"], dtype=object)
    swapped = np.array(["A", "a", "b"], dtype=object)
    (text,), is_doubt = doubts_of_spelling([letters, swapped], None)
    assert "2 rows" in text
    assert not is_doubt
    # The labels say so, and nothing need be said.
    assert doubts_of_spelling([letters, swapped], letters) == ([], False)
