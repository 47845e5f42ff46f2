"""Classes by any of their names: numbers of any type are one class, and columns may say what their numbers are."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics._core.class_names import class_key, column_classes, read_classes_of, sort_key


@pytest.mark.parametrize("one", [1, 1.0, True, np.int8(1), np.float32(1.0), np.bool_(True), " 1 "])
def test_equal_numbers_of_any_type_are_one_class(one: object) -> None:
    assert class_key(one) == "1"


def test_other_values_are_classes_of_their_own() -> None:
    keys = [class_key(value) for value in (0, 0.5, False, -1, "cat", "1.0", None)]
    assert keys == ["0", "0.5", "0", "-1", "cat", "1.0", "None"]


def test_numbers_are_ordered_by_value_before_words() -> None:
    assert sorted(["dog", "10", "9", "-1", "cat", "2.5"], key=sort_key) == [
        "-1",
        "2.5",
        "9",
        "10",
        "cat",
        "dog",
    ]


@pytest.mark.parametrize(
    ("names", "classes"),
    [
        (["cat", "dog"], ["cat", "dog"]),
        (["p_cat", "p_dog"], ["cat", "dog"]),
        (["p:0", "p:1"], ["0", "1"]),
        (["class1", "class2", "class10"], ["1", "2", "10"]),
        (["cat1", "cat2"], ["cat1", "cat2"]),  # no word for a class: its number may be part of it
        (["p_cat", "q_dog"], ["p_cat", "q_dog"]),
        (["p_", "p_a"], ["p_", "p_a"]),  # nothing would be left of the first
    ],
)
def test_a_common_beginning_is_no_part_of_a_class(names: list[str], classes: list[str]) -> None:
    assert read_classes_of(names) == tuple(classes)


def test_labels_decide_between_two_readings() -> None:
    names = ["cat1", "cat2"]
    assert read_classes_of(names, {"1"}) == ("1", "2")
    assert read_classes_of(names, {"cat2"}) == ("cat1", "cat2")
    assert read_classes_of(["p_1", "p_2"], {"p_1"}) == ("p_1", "p_2")


def test_columns_of_an_array_are_positions() -> None:
    assert column_classes(np.zeros((4, 3))) == ("0", "1", "2")
    table = pd.DataFrame(np.zeros((4, 2)), columns=[0.0, 1.0])
    assert column_classes(table) == ("0", "1")
