"""Columns compared under two sets of weights, against means and fractions computed by hand."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftmetrics.views.report.columns import compare_columns

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "x": RNG.normal(size=60),
        "ward": pd.Categorical(RNG.choice(["A", "B"], 60), categories=["A", "B", "C"]),
        "smokes": RNG.random(60) < 0.3,
    }
)


def test_means_and_fractions_are_weighted_ones():
    before = RNG.uniform(0.5, 2.0, 60)
    after = before * RNG.exponential(size=60)
    lines = compare_columns(TABLE, before, after).set_index(["column", "level"])
    values = TABLE["x"].to_numpy()
    line = lines.loc["x", ""]
    assert line["before"] == pytest.approx(np.average(values, weights=before))
    assert line["after"] == pytest.approx(np.average(values, weights=after))
    spread = np.sqrt(np.average((values - line["before"]) ** 2, weights=before))
    assert line["difference"] == pytest.approx((line["after"] - line["before"]) / spread)
    for name, level in (("ward", "A"), ("ward", "B"), ("smokes", "True"), ("smokes", "False")):
        members = (TABLE[name].astype(str) == level).to_numpy()
        line = lines.loc[name, level]
        assert line["before"] == pytest.approx(before[members].sum() / before.sum())
        assert line["after"] == pytest.approx(after[members].sum() / after.sum())
    assert ("ward", "C") not in lines.index  # a category that no row has
    assert (np.diff(lines["difference"].abs().to_numpy()) <= 0).all()


def test_missing_values_are_a_level_and_constants_do_not_differ():
    columns = {"lab": [1.0, 2.0, np.nan, np.nan], "same": 3.0, "name": ["a", None, "b", "b"]}
    after = np.array([0.5, 0.5, 1.5, 1.5])
    lines = compare_columns(pd.DataFrame(columns), np.ones(4), after).set_index(["column", "level"])
    assert lines.loc[("lab", "missing"), ["before", "after"]].tolist() == pytest.approx([0.5, 0.75])
    assert lines.loc[("lab", ""), "before"] == pytest.approx(1.5)
    assert lines.loc[("same", ""), "difference"] == 0.0
    assert lines.loc[("name", "missing"), "after"] == pytest.approx(0.125)


@given(seed=st.integers(0, 100))
def test_differences_do_not_depend_on_units(seed):
    rng = np.random.default_rng(seed)
    values = pd.DataFrame({"x": rng.normal(size=20)})
    after = rng.exponential(size=20)
    one = compare_columns(values, np.ones(20), after)["difference"]
    other = compare_columns(1e4 * values - 7.0, np.ones(20), after)["difference"]
    np.testing.assert_allclose(one, other, rtol=1e-6)
