"""The true labels, in the files of predictions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.ask import UnreadableTableError
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.predictions import read_predictions
from tables.variants import cells

N = 20
RNG = np.random.default_rng(0)
IDS = RNG.permutation(1000)[:N]
WORDS = np.array(["cat", "dog"], dtype=object)
TRUTH = WORDS[RNG.integers(0, 2, N)]


def _frame(**more):
    return pd.DataFrame({"image_id": IDS, "prediction": WORDS[RNG.integers(0, 2, N)], **more})


def _read(old, new, labels=None, **options):
    own = None if labels is None else cells(labels, "--labels", "labels.csv")
    return read_predictions(
        [cells(old), cells(new, "NEW", "new.csv")], labels=own, options=RoleOptions(**options)
    )


def test_a_column_that_is_equal_in_both_files():
    found = _read(_frame(label=TRUTH), _frame(label=TRUTH))
    assert found.truth.tolist() == TRUTH.tolist()
    assert found.reading.files[0].truth == "label"


def test_a_column_that_differs_is_no_truth():
    with pytest.raises(UnreadableTableError, match="equal in both files"):
        _read(_frame(label=TRUTH), _frame(label=TRUTH[::-1].copy()), label="label")


def test_a_label_that_is_missing_in_every_file():
    with pytest.raises(UnreadableTableError, match="--label gone"):
        _read(_frame(), _frame(), label="gone")


def test_a_flag_that_is_false_in_all_rows_labels_nothing():
    flag = np.zeros(N, dtype=bool)
    assert _read(_frame(ground_truth=flag), _frame(ground_truth=flag)).truth is None
    flag = np.arange(N) % 2 == 0
    with pytest.raises(UnreadableTableError, match="classes in common"):
        _read(_frame(ground_truth=flag), _frame(ground_truth=flag))
