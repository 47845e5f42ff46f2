"""Batches of single seasons against a reference of all of them are warned of, where its seasons differ."""

import numpy as np
import pandas as pd
import pytest

from seasonal import month_of, year_of
from shiftmetrics.decisions.monitor.monitor import monitor_batch
from shiftmetrics.decisions.monitor.profile import make_passport


def test_months_that_differ_are_named_and_a_batch_of_one_is_warned_of():
    rng = np.random.default_rng(0)
    year = year_of(rng, 80)
    passport = make_passport(year, exclude=["label", "guess"])
    (hint,) = passport.hints
    assert (hint.unit, hint.column, hint.differing) == ("month", "day", "temp")
    assert hint.counts.tolist() == [80] * 12
    result = monitor_batch(passport, month_of(rng, 7))
    (warning,) = result.above
    assert "July" in warning
    assert "8.3 %" in warning
    assert "--season month --time day" in warning
    # What the warning says to do ends it.
    seasonal = make_passport(year, exclude=["label", "guess"], time="day", season="month")
    assert seasonal.hints == ()
    assert monitor_batch(seasonal, month_of(rng, 7)).above == ()


def test_batches_of_many_months_are_not_warned_of():
    rng = np.random.default_rng(1)
    passport = make_passport(year_of(rng, 80), exclude=["label", "guess"])
    later = pd.concat([month_of(rng, month, 20) for month in range(1, 13)])
    assert monitor_batch(passport, later).above == ()


@pytest.mark.parametrize("column", ["wind", "site"])
def test_months_that_do_not_differ_give_no_hint(column):
    rng = np.random.default_rng(2)
    passport = make_passport(year_of(rng, 80)[["day", column]])
    assert passport.hints == ()
    assert monitor_batch(passport, month_of(rng, 7)[["day", column]]).above == ()


def test_months_that_the_reference_lacks_give_no_remedy_that_would_not_work():
    rng = np.random.default_rng(3)
    passport = make_passport(year_of(rng, 80, months=range(1, 7)), exclude=["label", "guess"])
    assert passport.hints
    assert monitor_batch(passport, month_of(rng, 8)).above == ()
