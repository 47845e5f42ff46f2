"""Labels in one list and scores in another one are pairs."""

import json

import pandas as pd

from shiftmetrics.tables.nested import expanded
from shiftmetrics.tables.parallel_lists import paired, pairs_of_object, with_pairs

ROWS = pd.DataFrame(
    {
        "sequence": ["one", "two"],
        "labels": [["b", "a"], ["a", "b"]],
        "scores": [[0.7, 0.3], [0.6, 0.4]],
    }
)


def test_pairs_go_by_their_label():
    frame, name = with_pairs(ROWS)
    assert name == "scores"
    assert frame["scores"].tolist() == [{"b": 0.7, "a": 0.3}, {"a": 0.6, "b": 0.4}]


def test_lists_that_are_text_are_pairs_as_well():
    written = ROWS.assign(labels=ROWS["labels"].map(str), scores=ROWS["scores"].map(json.dumps))
    frame, _, _ = expanded(written, ["sequence", "labels", "scores"])
    assert frame["scores.a"].tolist() == [0.3, 0.6]
    assert frame["scores.b"].tolist() == [0.7, 0.4]


def test_an_object_of_two_lists_is_pairs():
    assert pairs_of_object({"names": ["b", "a"], "p": [0.7, 0.3]}) == {"b": 0.7, "a": 0.3}
    assert pairs_of_object({"a": 0.7, "b": 0.3}) is None


def test_unequal_lists_and_labels_that_repeat_are_no_pairs():
    assert paired(["a", "b"], [0.5]) is None
    assert paired(["a", "a"], [0.5, 0.5]) is None
    assert paired([1, 2], [0.5, 0.5]) is None
    assert with_pairs(ROWS.assign(scores=[[0.7, 0.3], [1.0]]))[1] is None


def test_two_lists_of_scores_leave_the_columns_alone():
    frame, name = with_pairs(ROWS.assign(others=ROWS["scores"]))
    assert name is None
    assert list(frame) == ["sequence", "labels", "scores", "others"]


def test_numbers_of_labels_may_stand_beside_them():
    cell = {"ids": ["71", "70"], "displayNames": ["dog", "cat"], "confidences": [0.75, 0.25]}
    assert pairs_of_object(cell) == {"dog": 0.75, "cat": 0.25}
    assert pairs_of_object(cell | {"more": ["x", "y"]}) is None
    assert pairs_of_object(cell | {"losses": [0.5, 0.5]}) is None
    assert pairs_of_object({"ids": ["71", "70"], "confidences": [0.75, 0.25]}) == {
        "71": 0.75,
        "70": 0.25,
    }
