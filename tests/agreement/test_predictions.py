"""Predicted classes and labels as columns: by a loop over rows, and by what columns are called."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.agreement.predictions import (
    class_names,
    label_columns,
    predicted_classes,
    predicted_columns,
)
from shiftmetrics.agreement.scores import prepare_pairs

RNG = np.random.default_rng(0)
SCORES = np.round(RNG.normal(size=(50, 4)), 1)  # with ties
REFERENCE = np.round(RNG.normal(size=(50, 4)), 1)


def first_largest(row: np.ndarray) -> int:
    """Return the position of the largest entry, the first of equal ones, by looking at each."""
    best = 0
    for place, value in enumerate(row):
        if value > row[best]:
            best = place
    return best


def test_the_first_of_the_largest_scores_is_predicted() -> None:
    pairs = prepare_pairs(SCORES, REFERENCE)
    expected = [[first_largest(row) for row in side] for side in (SCORES, REFERENCE)]
    np.testing.assert_array_equal(predicted_classes(pairs), expected)
    np.testing.assert_array_equal(predicted_columns(pairs), expected)


def test_columns_without_prior_are_never_predicted_and_keep_their_numbers() -> None:
    prior = np.array([0.5, 0.0, 0.3, 0.2])
    pairs = prepare_pairs(SCORES, REFERENCE, prior=prior)
    left = np.array([0, 2, 3])
    expected = [[left[first_largest(row[left])] for row in side] for side in (SCORES, REFERENCE)]
    np.testing.assert_array_equal(predicted_columns(pairs), expected)


@pytest.mark.parametrize("labels", [["dog", "cat", "dog"], np.array(["dog", "cat", "dog"])])
def test_labels_are_found_by_the_names_of_columns(labels: object) -> None:
    scores = pd.DataFrame(np.zeros((3, 2)), columns=["p_cat", "p_dog"])
    np.testing.assert_array_equal(label_columns(labels, "labels", scores, 2, 3), [1, 0, 1])


def test_labels_of_arrays_are_positions() -> None:
    np.testing.assert_array_equal(
        label_columns([2.0, 0.0, 1.0], "labels", np.zeros((3, 3)), 3, 3), [2, 0, 1]
    )


def test_a_label_that_no_column_has_is_named_with_its_row() -> None:
    with pytest.raises(ValueError, match=r"labels must be classes of the scores .*got 3 at row 1"):
        label_columns([0, 3, 1], "labels", np.zeros((3, 3)), 3, 3)
    with pytest.raises(ValueError, match="labels"):
        label_columns([0, 1], "labels", np.zeros((3, 3)), 3, 3)


def test_classes_are_called_by_columns_or_positions() -> None:
    assert class_names(np.zeros((2, 3)), 3).tolist() == [0, 1, 2]
    assert class_names(pd.DataFrame({"a": [1.0], "b": [2.0]}), 2).tolist() == ["a", "b"]
