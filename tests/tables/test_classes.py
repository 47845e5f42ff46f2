"""Names of columns and the classes they stand for."""

from __future__ import annotations

import numpy as np
import pytest

from shiftmetrics.tables.classes import (
    are_places,
    best_assignment,
    classes_by_name,
    own_names,
    place_numbers,
    r_name,
    supports_places,
)


@pytest.mark.parametrize(
    ("columns", "known", "expected"),
    [
        (("cat", "dog"), {"cat", "dog"}, ("cat", "dog")),
        ((".pred_cat", ".pred_dog", ".pred_fox"), {"cat", "dog"}, ("cat", "dog", "fox")),
        (("setosa.1", "virginica.1"), {"setosa", "virginica"}, ("setosa", "virginica")),
        (("tree (a-b)", "tree (c-d)"), {"a-b", "c-d"}, ("a-b", "c-d")),
        (("X0", "X1"), {"0", "1"}, ("0", "1")),
        (("X..50K", "X.50K."), {"a", "b"}, None),
        (("X.50K", "X..50K"), {">50K", "<=50K"}, (">50K", "<=50K")),
        (("1.0", "2.0"), {"1", "2"}, ("1", "2")),
        (("p_no fish", "p_a fish"), {"no fish", "a fish"}, ("no fish", "a fish")),
        (("prob_class_a", "prob_class_b"), {"Class A", "Class B"}, ("Class A", "Class B")),
        (("a", "b"), {"x", "y"}, None),
    ],
)
def test_classes_by_name(columns, known, expected):
    readings = classes_by_name(columns, known)
    assert (readings[0] if len(readings) == 1 else None) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("0", "X0"),
        (">50K", "X.50K"),
        ("<=50K", "X..50K"),
        ("a b", "a.b"),
        (".a", ".a"),
        ("_a", "X_a"),
    ],
)
def test_r_names(word, expected):
    assert r_name(word) == expected


def test_numbered_columns():
    assert place_numbers(["p_2", "p_0", "p_1"]) == [2, 0, 1]
    assert are_places(["p_2", "p_0", "p_1"])
    assert not are_places(["p_1", "p_2"])
    assert not are_places(["p_0", "q_1"])
    assert own_names(["prob_cat", "prob_dog"]) == ("cat", "dog")
    assert own_names(["p0", "p1"]) == ("0", "1")
    assert own_names(["cat", "dog"]) == ("cat", "dog")


def test_labels_bear_out_one_order_of_the_columns():
    truth = np.tile([0, 1, 2], 10)
    assert supports_places([truth], truth, 3)
    # Answers in another numbering fit another order better.
    other = (truth + 1) % 3
    assert not supports_places([other], truth, 3)
    assert best_assignment(other, truth, 3).tolist() == [2, 0, 1]
    assert not supports_places([truth, other], truth, 3)
