"""What was read of the predictions of one model."""

from __future__ import annotations

import numpy as np
import pytest

from shiftmetrics.tables.prediction_tables import PredictionTable, PredictionTables
from shiftmetrics.tables.reading import TableReading

BASE = {"argument": "OLD", "name": "old.csv", "rows": np.array([2, 0])}


def test_the_first_of_equal_scores_is_the_answer():
    scores = np.array([[0.2, 0.8], [0.0, 1.0], [0.5, 0.5]])
    table = PredictionTable(form="classes", scores=scores, classes=("a", "b"), **BASE)
    assert table.answers().tolist() == ["a", "b"]


def test_served_answers_count():
    served = np.array(["b", "b", "c"], dtype=object)
    table = PredictionTable(
        form="classes", scores=np.eye(3), classes=("a", "b", "c"), served=served, **BASE
    )
    assert table.answers().tolist() == ["c", "b"]
    assert table.largest().tolist() == ["c", "a"]


@pytest.mark.parametrize(
    ("form", "threshold", "expected"),
    [
        ("probability", None, ["no", "yes"]),
        ("margin", None, ["yes", "yes"]),
        ("probability", 0.4, ["yes", "yes"]),
    ],
)
def test_one_column(form, threshold, expected):
    table = PredictionTable(
        form=form,
        scores=np.array([0.7, 0.0, 0.4]),
        classes=("no", "yes"),
        threshold=threshold,
        **BASE,
    )
    assert table.answers().tolist() == expected


def test_known_labels():
    file = PredictionTable(form="outputs", scores=np.arange(3.0), **BASE)
    tables = PredictionTables(
        files=(file,),
        ids=np.arange(2),
        truth=np.array([1.0, np.nan]),
        reading=TableReading(files=()),
    )
    assert tables.known.tolist() == [True, False]
    assert tables.is_regression
    assert file.outputs().tolist() == [2.0, 0.0]
