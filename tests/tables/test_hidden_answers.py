"""Answers that are not called so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.ask import AmbiguousReadingError
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.predictions import read_predictions
from tables.variants import cells

CLASSES = np.array(["cat", "dog", "fox"], dtype=object)


def files(fraction):
    """Return two files of like scores, the truth, and in both a column that follows the scores in such a fraction."""
    rng = np.random.default_rng(0)
    scores = rng.dirichlet([1.0] * 3, 60)
    given = scores.argmax(axis=1)
    truth = np.where(rng.random(60) < 0.6, given, rng.integers(0, 3, 60))
    n_others = round(60 * (1.0 - fraction))
    given[:n_others] = rng.integers(0, 3, n_others)
    found = []
    for other in (scores, 0.9 * scores + 0.1 * rng.dirichlet([1.0] * 3, 60)):
        frame = pd.DataFrame(other, columns=CLASSES)
        frame.insert(0, "room", CLASSES[given])
        frame["truth"] = CLASSES[truth]
        found.append(cells(frame))
    return found


def test_a_column_that_follows_the_largest_score_is_asked_for_and_each_remedy_decides():
    with pytest.raises(AmbiguousReadingError, match="room") as caught:
        read_predictions(files(0.95))
    assert [reading.remedy for reading in caught.value.readings] == [
        "--prediction room",
        "--exclude room",
    ]
    frame = files(0.95)[0].frame
    served = read_predictions(files(0.95), options=RoleOptions(prediction="room")).files[0]
    largest = read_predictions(files(0.95), options=RoleOptions(exclude=("room",))).files[0]
    assert list(served.answers()) == frame["room"].tolist()
    places = frame[list(CLASSES)].to_numpy().argmax(axis=1)
    assert list(largest.answers()) == CLASSES[places].tolist()
