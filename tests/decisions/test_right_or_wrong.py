"""Which predictions are right: by what labels look like, where they are known."""

import numpy as np

from shiftmetrics.decisions.right_or_wrong import right_or_wrong


def test_labels_are_compared_as_they_look_and_gaps_are_not_wrong() -> None:
    predicted = np.array([1, 0, 1, 1], dtype=object)
    labels = np.array(["1", "1", None, 1], dtype=object)
    found = right_or_wrong(predicted, labels)
    np.testing.assert_array_equal(found.known, [True, True, False, True])
    np.testing.assert_array_equal(found.right, [True, False, False, True])
    assert found.counts() == (2, 3)
    assert found.counts(slice(1, 3)) == (0, 1)
    assert found.counts(np.array([0, 3])) == (2, 2)
    assert found.counts(np.array([False, False, True, False])) == (0, 0)


def test_without_any_label_nothing_is_known() -> None:
    found = right_or_wrong(np.array([1.0, 2.0]), np.array([np.nan, np.nan]))
    assert found.counts() == (0, 0)
    assert not found.right.any()
