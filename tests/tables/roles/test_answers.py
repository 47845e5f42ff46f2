"""The column of answers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.ask import AmbiguousReadingError, Complaints, UnreadableTableError
from shiftmetrics.tables.evidence import evidence_of
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.roles.answers import find_answers, fits_labels
from tables.variants import cells

N = 30
RNG = np.random.default_rng(0)
WORDS = np.array(["cat", "dog", "fox"], dtype=object)


def _some():
    return WORDS[RNG.integers(0, 3, N)]


def _found(*frames, truth=None, **options):
    tables = [evidence_of(cells(frame), frame) for frame in frames]
    complaints = Complaints()
    free = [list(frame.columns) for frame in frames]
    found = find_answers(tables, free, truth, RoleOptions(**options), complaints)
    complaints.raise_any()
    return found


@pytest.mark.parametrize(
    "name", ["predict", ".pred_class", "prediction_label", "output_label", "class", "says"]
)
def test_words_of_the_labels_whatever_the_column_is_called(name):
    frames = [
        pd.DataFrame(
            {name: _some(), "error": ["+", ""] * (N // 2), "n_tokens": RNG.integers(0, 3, N)}
        )
        for _ in range(2)
    ]
    assert _found(*frames, truth=_some()) == [name, name]


def test_words_come_before_codes_of_them():
    frames = []
    for _ in range(2):
        codes = RNG.integers(0, 3, N)
        frames.append(
            pd.DataFrame({"prediction": codes.astype(float), "predictedLabel": WORDS[codes]})
        )
    assert _found(*frames) == ["predictedLabel", "predictedLabel"]


def test_two_columns_that_disagree_ask():
    frames = [pd.DataFrame({"first": _some(), "second": _some()}) for _ in range(2)]
    with pytest.raises(AmbiguousReadingError) as caught:
        _found(*frames, truth=_some())
    assert [reading.remedy for reading in caught.value.readings] == [
        "--prediction first",
        "--prediction second",
    ]
    assert _found(*frames, prediction="second") == ["second", "second"]
    with pytest.raises(UnreadableTableError, match="third"):
        _found(*frames, prediction="third")


def test_another_name_in_each_file():
    first = pd.DataFrame({"tree": _some()})
    second = pd.DataFrame({"net": _some()})
    assert _found(first, second, truth=_some()) == ["tree", "net"]
    assert _found(first, second, prediction="tree=net") == ["tree", "net"]


def test_the_name_of_a_model_is_no_answer():
    frames = [
        pd.DataFrame({"model": [word] * N, "p": RNG.uniform(size=N)}, dtype=None)
        for word in ("cat", "dog")
    ]
    assert _found(*frames, truth=_some()) == [None, None]


def test_scores_are_no_answers():
    frames = [
        pd.DataFrame({"a": RNG.uniform(size=N), "n": RNG.integers(0, 9, N)}) for _ in range(2)
    ]
    assert _found(*frames) == [None, None]


def test_answers_fit_labels_in_another_spelling():
    frame = pd.DataFrame({"x": [True, False] * 15})
    column = evidence_of(cells(frame), frame).columns["x"]
    assert fits_labels(column, np.array(["1", "0"], dtype=object))
    assert not fits_labels(column, WORDS)


def test_texts_of_objects_and_constant_flags_are_no_answers():
    stats = [f'[{{"name": "exact_match", "mean": {place % 2}}}]' for place in range(N)]
    frame = pd.DataFrame({"stats": stats})
    assert _found(frame, frame) == [None, None]
    flag = pd.DataFrame({"was_cancelled": np.zeros(N, dtype=bool)})
    assert _found(flag, flag, truth=np.full(N, "False", dtype=object)) == [None, None]
    # Under the name of an answer it is one.
    named = frame.rename(columns={"stats": "answer"})
    assert _found(named, named) == ["answer", "answer"]
