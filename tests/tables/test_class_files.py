"""Scores and answers of one classifier."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.ask import UnreadableTableError
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.predictions import read_predictions
from tables.variants import cells

N = 60
RNG = np.random.default_rng(0)
WORDS = np.array(["ant", "bee", "cow"], dtype=object)
TRUTH = np.arange(N) % 3


def _read(old, new, **options):
    return read_predictions(
        [cells(old), cells(new, "NEW", "new.csv")], options=RoleOptions(**options)
    )


def _scores(names=WORDS, **more):
    odds = np.exp(2.0 * np.eye(3)[TRUTH] + RNG.normal(size=(N, 3)))
    frame = pd.DataFrame(odds / odds.sum(axis=1, keepdims=True), columns=list(names))
    return frame.assign(**more)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_scores_must_be_finite(value):
    frame = _scores()
    frame.loc[5, "bee"] = value
    with pytest.raises(UnreadableTableError, match="row 5"):
        _read(frame, _scores(), columns=tuple(WORDS))


def test_answers_must_be_there():
    answers = WORDS[TRUTH].copy()
    answers[3] = None
    frame = pd.DataFrame({"prediction": answers})
    with pytest.raises(UnreadableTableError, match="first at row 3"):
        _read(frame, frame.assign(prediction=WORDS[TRUTH][::-1]))


def test_codes_of_answers_become_classes_by_the_labels():
    frames = [
        pd.DataFrame({"prediction": np.roll(TRUTH, move), "label": WORDS[TRUTH]}) for move in (0, 0)
    ]
    frames[1].loc[:4, "prediction"] = 0
    found = _read(*frames)
    assert found.files[0].answers().tolist() == WORDS[TRUTH].tolist()


def test_a_confidence_stands_beside_answers():
    frames = [
        pd.DataFrame({"prediction": WORDS[np.roll(TRUTH, move)], "score": RNG.uniform(0.5, 1.0, N)})
        for move in (0, 1)
    ]
    found = _read(*frames)
    assert found.files[0].confidence == pytest.approx(frames[0]["score"])
    assert found.reading.files[0].confidence == "score"


def test_a_number_beside_scores_that_looks_like_a_class_is_left_out():
    frames = [_scores(["0", "1", "2"], n_words=RNG.integers(0, 90, N)) for _ in range(2)]
    assert _read(*frames).reading.files[0].left_out == ("n_words",)


def test_labels_are_set_against_the_largest_score_of_every_block(monkeypatch):
    rng = np.random.default_rng(1)
    order = rng.permutation(N)
    names = [f"s_{place}" for place in range(3)]
    ids = [f"row {place}" for place in range(N)]
    frames = [
        _scores(names, label=WORDS[TRUTH]).assign(key=ids),
        _scores(names).assign(key=ids).iloc[order].reset_index(drop=True),
    ]
    whole = _read(*frames)
    monkeypatch.setattr("shiftmetrics.tables.class_files.BLOCK_ROWS", 7)
    blocks = _read(*frames)
    assert [file.classes for file in whole.files] == [tuple(WORDS)] * 2
    for place in range(2):
        assert blocks.files[place].classes == whole.files[place].classes
        np.testing.assert_array_equal(blocks.files[place].answers(), whole.files[place].answers())
