"""The true labels, in the files or in one of their own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.ask import AmbiguousReadingError, UnreadableTableError
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.predictions import read_predictions
from tables.variants import cells, numbers_of

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


def test_a_file_of_labels_under_another_name_of_the_id_and_with_an_index():
    order = RNG.permutation(N)
    labels = pd.DataFrame(
        {"Unnamed: 0": np.arange(N), "sample": IDS[order], "species": TRUTH[order]}
    )
    found = _read(_frame(), _frame(), labels)
    assert found.truth.tolist() == TRUTH.tolist()


def test_some_labels_and_the_plan_they_belong_to():
    labels = pd.DataFrame({"image_id": IDS[:7], "label": TRUTH[:7], "plan": "p1"})
    found = _read(_frame(), _frame(), labels)
    assert found.known.sum() == 7
    assert found.plan == "p1"


def test_one_column_of_as_many_labels_goes_by_place():
    old, new = _frame(), _frame()
    assert _read(old, new, pd.DataFrame({"species": TRUTH})).truth.tolist() == TRUTH.tolist()
    with pytest.raises(UnreadableTableError, match="20 rows"):
        _read(old, new, pd.DataFrame({"species": TRUTH[1:]}))
    with pytest.raises(UnreadableTableError, match="different orders"):
        _read(old, new.iloc[::-1], pd.DataFrame({"species": TRUTH}))


def test_labels_with_ids_of_their_own_are_not_taken_by_place():
    labels = pd.DataFrame({"case": IDS + 5000, "label": TRUTH})
    with pytest.raises(UnreadableTableError, match="case"):
        _read(_frame(), _frame(), labels)
    by_place = _read(_frame(), _frame(), labels, id="none")
    assert by_place.truth.tolist() == TRUTH.tolist()


def test_one_row_with_two_labels():
    labels = pd.DataFrame(
        {"image_id": [*IDS, IDS[0]], "label": [*TRUTH, "cat" if TRUTH[0] == "dog" else "dog"]}
    )
    with pytest.raises(UnreadableTableError, match="one label for each row"):
        _read(_frame(), _frame(), labels)
    again = pd.DataFrame({"image_id": [*IDS, IDS[0]], "label": [*TRUTH, TRUTH[0]]})
    assert numbers_of(_read(_frame(), _frame(), again))[0] == N


def test_two_columns_of_labels_ask():
    labels = pd.DataFrame({"image_id": IDS, "first": TRUTH, "second": TRUTH[::-1]})
    with pytest.raises(AmbiguousReadingError) as caught:
        _read(_frame(), _frame(), labels)
    assert [reading.remedy for reading in caught.value.readings] == [
        "--label first",
        "--label second",
    ]
    assert _read(_frame(), _frame(), labels, label="second").truth.tolist() == TRUTH[::-1].tolist()


def test_labels_of_other_rows_are_doubted():
    ids = np.where(np.arange(N) < 8, IDS, IDS + 5000)
    found = _read(_frame(), _frame(), pd.DataFrame({"image_id": ids, "label": TRUTH}))
    assert found.reading.doubtful
