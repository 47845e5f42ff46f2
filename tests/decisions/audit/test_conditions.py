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
