"""Answers of model servers in JSON."""

from __future__ import annotations

import json

import pytest

from shiftmetrics.tables.readers.responses import columns_of_response
from shiftmetrics.tables.register import read_file

ROWS = [[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]]
FLAT = [value for row in ROWS for value in row]


def test_tensors_with_their_shapes(tmp_path):
    outputs = [
        {"name": "label", "datatype": "BYTES", "shape": [3], "data": ["a", "b", "a"]},
        {"name": "probabilities", "datatype": "FP32", "shape": [3, 2], "data": FLAT},
    ]
    path = tmp_path / "old.json"
    path.write_text(json.dumps({"model_name": "m", "outputs": outputs}))
    frame = read_file(path, "OLD").frame
    assert frame["label"].tolist() == ["a", "b", "a"]
    assert frame[["probabilities.0", "probabilities.1"]].to_numpy().tolist() == ROWS


@pytest.mark.parametrize("data", [{"ndarray": ROWS}, {"tensor": {"shape": [3, 2], "values": FLAT}}])
def test_an_array_with_names(data):
    found = columns_of_response({"data": {"names": ["cat", "dog"], **data}, "meta": {}})
    assert found == {"cat": [0.25, 0.5, 1.0], "dog": [0.75, 0.5, 0.0]}


def test_places_among_classes():
    found = columns_of_response({"classes": ["cat", "dog"], "labels": {"a.jpg": 1, "b.jpg": 0}})
    assert found == {"id": ["a.jpg", "b.jpg"], "label": ["dog", "cat"]}


@pytest.mark.parametrize(
    "found",
    [
        {"outputs": [{"name": "p", "shape": [2, 2], "data": FLAT}]},
        {"outputs": [{"name": "p", "shape": [3], "data": [1, 2, 3]}, {"name": "q"}]},
        {"outputs": ROWS},
        {"data": {"names": ["a"], "rows": ROWS}},
        {"data": [{"a": 1}]},
        {"data": {"names": ["a", "b"], "ndarray": [[1, 2], [3], [4, 5, 6]]}},
        {"classes": ["cat"], "labels": {"a.jpg": 1}},
        {"classes": ["cat"], "labels": ["a"]},
    ],
)
def test_other_shapes_are_left_to_the_reader_of_json(found):
    assert columns_of_response(found) is None
