"""What speaks against a reading."""

from __future__ import annotations

import numpy as np

from shiftmetrics.tables.sanity import doubts_of_classes, doubts_of_labels

TRUTH = np.array(["a", "b", "c"] * 20, dtype=object)


def test_right_answers_raise_no_doubt():
    assert doubts_of_classes(["old"], [TRUTH], TRUTH) == []
    assert doubts_of_classes(["old"], [TRUTH], None) == []


def test_fewer_right_answers_than_chance():
    shifted = np.roll(TRUTH, 1)
    (doubt,) = doubts_of_classes(["old"], [shifted], TRUTH)
    assert "old is right in 0%" in doubt


def test_a_class_that_no_label_has():
    answers = TRUTH.copy()
    answers[:6] = "d"
    (doubt,) = doubts_of_classes(["old"], [answers], TRUTH)
    assert doubt.startswith("no label is d")
    few = np.full(60, None, dtype=object)
    few[6:20] = TRUTH[6:20]
    assert doubts_of_classes(["old"], [answers], few) == []


def test_labels_that_match_too_few_rows():
    assert doubts_of_labels(6, 10, "labels.csv") == []
    assert doubts_of_labels(4, 10, "labels.csv")
