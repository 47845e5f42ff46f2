"""Columns of classes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.ask import AmbiguousReadingError, Complaints, UnreadableTableError
from shiftmetrics.tables.evidence import evidence_of
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.roles.scores import find_scores
from tables.variants import cells

N = 60
RNG = np.random.default_rng(0)


def _found(*frames, known=(), equal=(), **options):
    tables = [evidence_of(cells(frame), frame) for frame in frames]
    complaints = Complaints()
    free = [list(frame.columns) for frame in frames]
    found = find_scores(tables, free, set(equal), set(known), RoleOptions(**options), complaints)
    complaints.raise_any()
    return found


def _logits(names, **more):
    return pd.DataFrame(RNG.normal(size=(N, len(names))), columns=names).assign(**more)


def _proba(names, **more):
    return pd.DataFrame(RNG.dirichlet(np.ones(len(names)), N), columns=names).assign(**more)


def test_probabilities_of_models_with_columns_of_other_names():
    first = _proba(["tree (a)", "tree (b)"])
    second = _proba(["net (a)", "net (b)"])
    assert _found(first, second, known={"a", "b"}) == [
        ("tree (a)", "tree (b)"),
        ("net (a)", "net (b)"),
    ]


def test_log_probabilities():
    frame = np.log(_proba(["a", "b", "c"])).assign(latency=RNG.gamma(2.0, 1.0, N))
    assert _found(frame, frame) == [("a", "b", "c")] * 2


def test_logits_by_the_names_of_the_labels():
    frame = _logits(["cat", "dog"], latency=100.0 * RNG.gamma(2.0, 1.0, N), top=0.0)
    frame["top"] = frame[["cat", "dog"]].max(axis=1)
    assert _found(frame, frame, known={"cat", "dog"}) == [("cat", "dog")] * 2


def test_logits_of_one_beginning_without_labels():
    frame = _logits(["s_cat", "s_dog", "s_fox"], loss=RNG.gamma(2.0, 1.0, N))
    assert _found(frame, frame) == [("s_cat", "s_dog", "s_fox")] * 2


def test_one_more_column_of_like_spread_asks():
    frame = _logits(["cat", "dog", "q7"])
    with pytest.raises(AmbiguousReadingError) as caught:
        _found(frame, frame, known={"cat", "dog"})
    assert [reading.remedy for reading in caught.value.readings] == [
        "--columns cat,dog",
        "--columns cat,dog,q7",
    ]


def test_a_column_of_another_unit_asks_without_labels():
    frame = _logits(["cat", "dog", "fox"], q7=100.0 * RNG.normal(size=N))
    with pytest.raises(AmbiguousReadingError, match="q7"):
        _found(frame, frame)


def test_two_sets_ask():
    frame = _proba(["a1", "b1"]).join(_proba(["a2", "b2"]))
    with pytest.raises(AmbiguousReadingError) as caught:
        _found(frame, frame)
    assert len(caught.value.readings) == 2


def test_a_class_that_no_model_gives():
    frame = _proba(["cat", "fox"])
    frame.insert(1, "dog", 0.0)
    assert _found(frame, frame, equal={"dog"}) == [("cat", "dog", "fox")] * 2


def test_a_confidence_and_one_minus_it_are_no_classes():
    frame = pd.DataFrame({"confidence": RNG.uniform(size=N)})
    frame["uncertainty"] = 1.0 - frame["confidence"]
    assert _found(frame, frame) == [()] * 2


def test_typed_columns():
    frame = _logits(["a", "b", "c"], words="x")
    assert _found(frame, frame, columns=("a", "c")) == [("a", "c")] * 2
    with pytest.raises(UnreadableTableError, match="gone"):
        _found(frame, frame, columns=("a", "gone"))
    with pytest.raises(UnreadableTableError, match="words"):
        _found(frame, frame, columns=("a", "words"))
