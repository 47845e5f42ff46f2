"""Conditions on single columns: exact rows, exact p-values, merged where the same samples meet them."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from shiftmetrics.decisions.audit.conditions import ModeRows, condition_modes, joined_modes
from shiftmetrics.tables.encoder import TableEncoder


def table(rng, n):
    return pd.DataFrame(
        {
            "age": rng.normal(40, 10, n),
            "job": rng.choice(["cook", "nurse", "clerk"], n),
            "city": rng.choice([f"city {k}" for k in range(200)], n),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
        }
    )


def modes_of(own, other):
    return condition_modes(TableEncoder.fit(other, own).columns, own, other)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_an_unseen_level_is_a_mode_of_exactly_its_rows(rng):
    other, own = table(rng, 500), table(rng, 400)
    own.loc[7:40, "job"] = "rider"
    (mode,) = modes_of(own, other)
    assert mode.contrasts[0].text == "job = rider"
    np.testing.assert_array_equal(mode.own, np.arange(7, 41))
    assert len(mode.other) == 0
    # every level, gap and end of a range that was tried counts in the correction
    single = stats.fisher_exact([[34, 366], [0, 500]], alternative="greater").pvalue
    assert 100 * single <= mode.p_value <= 300 * single


def test_gaps_and_ranges_are_conditions(rng):
    other, own = table(rng, 500), table(rng, 500)
    own.loc[:29, "age"] = np.nan
    own.loc[100:139, "since"] = pd.Timestamp("2030-01-01")
    texts = {mode.contrasts[0].text for mode in modes_of(own, other)}
    latest = other["since"].max().date()
    assert texts == {"age missing", f"since above {latest}"}


def test_conditions_of_the_same_samples_are_one_mode(rng):
    other, own = table(rng, 500), table(rng, 500)
    own.loc[:49, "job"] = "rider"
    own.loc[:46, "age"] = 150.0
    (mode,) = modes_of(own, other)
    assert {contrast.column for contrast in mode.contrasts} == {"job", "age"}
    np.testing.assert_array_equal(np.sort(mode.own), np.arange(50))


def test_a_level_that_only_became_more_frequent_is_not_new(rng):
    other, own = table(rng, 500), table(rng, 500)
    own.loc[:199, "job"] = "clerk"
    assert modes_of(own, other) == []


def test_a_level_five_times_as_frequent_is_new(rng):
    other, own = table(rng, 500), table(rng, 500)
    other.loc[:3, "job"] = "rider"
    own.loc[:59, "job"] = "rider"
    (mode,) = modes_of(own, other)
    np.testing.assert_array_equal(mode.other, np.arange(4))


def test_few_samples_prove_nothing(rng):
    other, own = table(rng, 30), table(rng, 30)
    own.loc[:2, "job"] = "rider"
    assert modes_of(own, other) == []


@pytest.mark.slow
def test_samples_of_one_source_have_no_modes():
    rng = np.random.default_rng(1)
    false = sum(bool(modes_of(table(rng, 150), table(rng, 200))) for _ in range(200))
    assert false <= 10


def test_modes_of_the_same_samples_are_joined():
    large, small, other = (np.arange(*ends) for ends in ((0, 100), (60, 100), (200, 230)))
    parts = [
        ModeRows(rows, rows[:0], p) for rows, p in ((small, 0.001), (large, 0.01), (other, 0.02))
    ]
    first, second = joined_modes(parts)
    assert (len(first.own), first.p_value) == (100, 0.001)
    np.testing.assert_array_equal(second.own, other)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_outliers_of_the_other_side_do_not_hide_what_lies_before_them(rng, sign):
    other, own = table(rng, 1000), table(rng, 1000)
    own.loc[:79, "age"] = 40.0 + sign * rng.uniform(60.0, 70.0, 80)
    other.loc[[3, 900], "age"] = 40.0 + sign * np.array([200.0, 300.0])
    (mode,) = modes_of(own, other)
    assert set(range(80)) <= set(mode.own.tolist())
    assert len(mode.own) <= 84
    assert {3, 900} <= set(mode.other.tolist())
    assert len(mode.other) <= 3


@pytest.mark.parametrize("digits", [0, 3])
def test_a_limit_counts_what_it_says(rng, digits):
    """The rows of a mode are those that a reader finds with the number in the text, on both sides."""
    other, own = table(rng, 1000), table(rng, 1000)
    own.loc[:79, "age"] = rng.uniform(100.0, 110.0, 80)
    other.loc[3, "age"] = 200.0
    own["age"], other["age"] = own["age"].round(digits), other["age"].round(digits)
    (mode,) = modes_of(own, other)
    limit = float(mode.contrasts[0].text.removeprefix("age above "))
    np.testing.assert_array_equal(mode.own, np.flatnonzero(own["age"] > limit))
    np.testing.assert_array_equal(mode.other, np.flatnonzero(other["age"] > limit))


def test_the_condition_is_the_likeliest_of_all_limits_that_are_tried(rng):
    """Against every limit that sets 0, 1, 2, 4, ... reference values aside, by counting."""
    other, own = (pd.DataFrame({"x": rng.normal(size=400)}) for _ in range(2))
    own.loc[:59, "x"] = rng.uniform(2.0, 4.0, 60)
    tried = []
    for k in (0, 1, 2, 4, 8, 16, 32, 64):
        limit = np.sort(other["x"])[::-1][k]
        n_own, n_other = int((own["x"] > limit).sum()), int((other["x"] > limit).sum())
        if n_own >= 5 * n_other:
            found = stats.binomtest(n_own, n_own + n_other, 0.5)
            rate = found.statistic
            gain = n_own * np.log(2 * rate)
            if n_other:
                gain += n_other * np.log(2 * (1 - rate))
            tried.append((gain, n_own, n_other))
    (mode,) = modes_of(own, other)
    assert (len(mode.own), len(mode.other)) == max(tried)[1:]
