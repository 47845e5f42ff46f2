"""Nested cells become columns."""

import pandas as pd

from shiftmetrics.tables.nested import expanded


def test_objects_become_columns():
    frame, _, _ = expanded(pd.DataFrame({"p": [{"a": 0.25}, {"a": 0.5}]}), [])
    assert frame["p.a"].tolist() == [0.25, 0.5]
