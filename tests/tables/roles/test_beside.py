"""What stands beside the scores."""

from __future__ import annotations

import numpy as np
import pandas as pd

from shiftmetrics.tables.evidence import evidence_of
from shiftmetrics.tables.roles.beside import (
    column_named,
    derived_columns,
    equal_columns,
    unlike_columns,
)
from tables.variants import cells

N = 30
RNG = np.random.default_rng(0)


def _table(frame):
    return evidence_of(cells(frame), frame)


def test_columns_that_belong_to_the_rows():
    order = RNG.permutation(N)
    frame = pd.DataFrame(
        {"age": RNG.integers(0, 90, N), "kind": ["a", None, "b"] * 10, "score": RNG.normal(size=N)}
    )
    frame["gap"] = np.where(np.arange(N) == 3, np.nan, 1.0)
    other = frame.assign(score=RNG.normal(size=N)).iloc[order].reset_index(drop=True)
    rows = [np.arange(N), np.argsort(order)]
    assert equal_columns([_table(frame), _table(other)], rows) == {"age", "kind", "gap"}
    by_place = equal_columns([_table(frame), _table(other)], [slice(None), slice(None)])
    assert "age" not in by_place


def test_the_largest_and_the_sum_follow_from_the_others():
    scores = RNG.normal(size=(N, 3))
    frame = pd.DataFrame(scores, columns=["a", "b", "c"])
    frame["top"] = scores.max(axis=1)
    frame["sum"] = scores.sum(axis=1)
    assert derived_columns([_table(frame[["a", "b", "c", "top"]])], ["a", "b", "c", "top"]) == {
        "top"
    }
    assert derived_columns([_table(frame[["a", "b", "c", "sum"]])], ["a", "b", "c", "sum"]) == {
        "sum"
    }
    assert derived_columns([_table(frame)], ["a", "b", "c"]) == set()


def test_columns_of_another_unit():
    frame = pd.DataFrame(RNG.normal(size=(N, 3)), columns=["a", "b", "c"])
    frame["wide"] = 100.0 * RNG.normal(size=N)
    frame["far"] = 1e4 + RNG.normal(size=N)
    frame["whole"] = RNG.integers(0, 3, N)
    names = list(frame.columns)
    assert unlike_columns([_table(frame)], names) == {"wide", "far", "whole"}
    assert unlike_columns([_table(frame)], ["a", "b", "c"]) == set()


def test_a_name_that_two_columns_have_decides_nothing():
    assert column_named(["x", "weight"], "weight") == "weight"
    assert column_named(["weight", "sample_weight"], "weight") is None


def test_numbers_whose_squares_are_infinite_are_set_against_each_other():
    scores = RNG.normal(size=(N, 3))
    frame = pd.DataFrame(scores * 1e300, columns=["s0", "s1", "s2"])
    frame["unit"] = 1e305 * RNG.normal(size=N)
    with np.errstate(all="raise", under="ignore"):
        assert unlike_columns([_table(frame)], list(frame)) == {"unit"}
