"""Periods of a column of times, and the period in which the fraction of a mode changed."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.decisions.audit.timeline import (
    MOST_PERIODS,
    change_point,
    periods_of,
    split_gains,
)


def days(n_days, a_day, start="2024-10-01"):
    return pd.Series(pd.date_range(start, periods=n_days).repeat(a_day), name="day")


def members(rng, times, first, before, after):
    place = periods_of(times).of_sample
    return rng.random(len(times)) < np.where(place >= first, after, before)


def test_periods_are_the_shortest_unit_of_at_most_sixty():
    assert periods_of(days(30, 2)).unit == "day"
    assert periods_of(days(30, 2)).labels[15] == "2024-10-16"
    assert periods_of(days(61, 1)).unit == "week"
    assert periods_of(days(1500, 1)).unit == "month"
    assert periods_of(pd.Series(pd.date_range("1700-01-01", periods=100, freq="YS"))).unit == "year"
    assert periods_of(days(30, 2).astype(str)).labels == periods_of(days(30, 2)).labels


def test_each_sample_has_its_period_and_gaps_have_none():
    times = days(3, 2)
    times[1] = pd.NaT
    periods = periods_of(times)
    assert periods.unit == "hour"
    assert periods.of_sample[1] == -1
    assert periods.counts().sum() == 5
    np.testing.assert_array_equal(np.flatnonzero(periods.counts()), [0, 24, 48])


@pytest.mark.parametrize(
    "zone", ["+02:00", "-0800", " +05:30", "Z", "", "Europe/Berlin", "America/New_York"]
)
def test_days_are_those_of_the_clock_that_was_read(zone):
    # Half an hour after midnight, and half an hour before it: of one day in every zone.
    clock = [
        f"2025-04-{day:02d}T{time}" for day in range(1, 15) for time in ("00:30:00", "23:30:00")
    ]
    times = pd.Series(clock)
    if "/" in zone:
        times = pd.to_datetime(times).dt.tz_localize(zone)
    else:
        times += zone
    periods = periods_of(times)
    assert periods.labels == tuple(f"2025-04-{day:02d}" for day in range(1, 15))
    np.testing.assert_array_equal(periods.counts(), 2)
    # Two clocks in one column, such as before and after the change to summer time.
    if zone == "+02:00":
        times.iloc[:6] = [time.replace("+02:00", "+01:00") for time in times.iloc[:6]]
        np.testing.assert_array_equal(periods_of(times).counts(), 2)


def test_numbers_are_periods_too():
    years = periods_of(pd.Series([2015, 2016, 2016, 2018]))
    assert years.labels == ("2015", "2016", "2018")
    many = periods_of(pd.Series(np.arange(10_000.0)))
    assert len(many.labels) <= MOST_PERIODS
    assert many.counts().tolist() == [500] * 20


def test_columns_that_hold_no_times_are_refused():
    with pytest.raises(ValueError, match="soon"):
        periods_of(pd.Series(["2024-10-16", "soon"], name="day"))
    with pytest.raises(ValueError, match="day"):
        periods_of(pd.Series([None, None], name="day"))


def test_gains_against_brute_force():
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 20, 8)
    counts = rng.binomial(sizes, 0.3)

    def log_likelihood(k, n):
        rate = k / n
        return sum(m * np.log(r) for m, r in ((k, rate), (n - k, 1 - rate)) if m)

    expected = [
        log_likelihood(counts[:i].sum(), sizes[:i].sum())
        + log_likelihood(counts[i:].sum(), sizes[i:].sum())
        - log_likelihood(counts.sum(), sizes.sum())
        for i in range(1, 8)
    ]
    np.testing.assert_allclose(split_gains(counts, sizes), expected)


def test_the_day_of_a_change_is_found():
    rng = np.random.default_rng(0)
    times = days(30, 60)
    found = change_point(periods_of(times), members(rng, times, 15, 0.0, 0.16), rng)
    assert found.period == "2024-10-16"
    assert found.before == 0.0
    assert found.after == pytest.approx(0.16, abs=0.03)
    assert found.p_value <= 0.001
    assert found.earliest <= found.period <= found.latest


def test_nothing_can_change_in_one_period_or_without_members():
    rng = np.random.default_rng(0)
    times = days(30, 2)
    assert change_point(periods_of(times), np.zeros(60, dtype=bool), rng) is None
    assert change_point(periods_of(times), np.ones(60, dtype=bool), rng) is None
    assert change_point(periods_of(pd.Series([2020] * 9)), np.arange(9) < 3, rng) is None


@pytest.mark.slow
def test_intervals_of_change_points_cover():
    rng = np.random.default_rng(1)
    times = days(30, 40)
    periods = periods_of(times)
    covered = 0
    false_alarms = 0
    for _ in range(200):
        found = change_point(periods, members(rng, times, 12, 0.03, 0.08), rng)
        covered += found.earliest <= periods.labels[12] <= found.latest
        same = change_point(periods, rng.random(len(times)) < 0.05, rng)
        false_alarms += same.p_value <= 0.05
    assert covered >= 180
    assert false_alarms <= 18


@pytest.mark.parametrize(
    ("days", "first", "last", "words"),
    [
        (range(12, 30), "2024-10-13", "", "since 2024-10-13 (0 % > 50 %)"),
        (range(12), "", "2024-10-12", "until 2024-10-12 (50 % > 0 %)"),
        (range(12, 18), "2024-10-13", "2024-10-18", "from 2024-10-13 to 2024-10-18 (50 %)"),
        (range(2, 8), "2024-10-03", "2024-10-08", "from 2024-10-03 to 2024-10-08 (50 %)"),
        ([20], "2024-10-21", "2024-10-21", "in 2024-10-21 (50 %)"),
    ],
)
def test_a_mode_that_has_ended_is_said_to_have(days, first, last, words):
    times = pd.Series(np.repeat(pd.date_range("2024-10-01", periods=30), 20), name="t")
    is_member = np.isin(np.repeat(np.arange(30), 20), list(days)) & (np.arange(600) % 2 == 0)
    found = change_point(periods_of(times), is_member, np.random.default_rng(0))
    assert (found.first, found.last) == (first, last)
    assert found.inside == pytest.approx(0.5)
    assert found.in_words == words
