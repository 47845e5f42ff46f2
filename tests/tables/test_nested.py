"""Nested cells become columns."""

import pandas as pd

from shiftmetrics.tables.nested import expanded


def test_objects_become_columns():
    frame, _, _ = expanded(pd.DataFrame({"p": [{"a": 0.25}, {"a": 0.5}]}), [])
    assert frame["p.a"].tolist() == [0.25, 0.5]


def test_an_array_as_postgresql_writes_it_becomes_columns():
    frame, _, _ = expanded(pd.DataFrame({"probs": ["{0.25,7.5e-1}", "{1,0}"]}), ["probs"])
    assert frame.to_dict("list") == {"probs.0": [0.25, 1.0], "probs.1": [0.75, 0.0]}
