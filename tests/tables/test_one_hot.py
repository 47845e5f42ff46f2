"""Labels as zeros and ones for each class."""

import numpy as np
import pandas as pd

from shiftmetrics.tables.evidence import evidence_of
from shiftmetrics.tables.one_hot import ONE_HOT_NAME, without_one_hot
from tables.variants import cells


def _evidence(frame: pd.DataFrame):
    return evidence_of(cells(frame, "--labels", "labels.csv"), frame)


def test_one_1_a_row_becomes_the_name_of_its_column():
    frame = pd.DataFrame({"id": ["a", "b", "c"], "cat": [1, 0, 0], "dog": [0, 1, 1]})
    labels = without_one_hot(_evidence(frame))
    assert list(labels.columns) == ["id", ONE_HOT_NAME]
    assert labels.columns[ONE_HOT_NAME].words.tolist() == ["cat", "dog", "dog"]


def test_rows_of_two_ones_and_tables_with_labels_stay():
    several = pd.DataFrame({"id": ["a", "b"], "cat": [1, 0], "dog": [1, 1]})
    assert list(without_one_hot(_evidence(several)).columns) == ["id", "cat", "dog"]
    beside = pd.DataFrame({"label": ["x", "x"], "public": [1, 0], "private": [0, 1]})
    assert list(without_one_hot(_evidence(beside)).columns) == ["label", "public", "private"]
    missing = pd.DataFrame({"id": ["a", "b"], "cat": [1, np.nan], "dog": [0, 1]})
    assert list(without_one_hot(_evidence(missing)).columns) == ["id", "cat", "dog"]
