"""Audits with times: a group that arrives late is found from its date on, and what time decides is none."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.decisions import audit_samples
from shiftmetrics.decisions.audit.result import AuditResult

N = 400
START = pd.Timestamp("2024-10-01")


def orders(seed, n=N):
    """Return a table whose columns go together, without times."""
    rng = np.random.default_rng(seed)
    weight = rng.gamma(3.0, 2.0, n)
    return pd.DataFrame(
        {
            "weight": weight.round(2),
            "price": (4.0 * weight + rng.normal(0, 2, n)).round(1),
            "wait": rng.exponential(5, n).round(1),
            "city": rng.choice(["A", "B", "C"], n, p=[0.6, 0.3, 0.1]),
        }
    )


def days_of(seed, n=N):
    return np.random.default_rng(seed).integers(0, 60, n)


def dated(frame, days):
    return frame.assign(day=(START + pd.to_timedelta(days, "D")).astype(str))


def late_group(n_new=24):
    """Return a current sample: late, some light orders are dear and wait long, each within its range."""
    current = orders(1)
    days = days_of(2)
    rng = np.random.default_rng(3)
    rows = rng.choice(np.flatnonzero(days >= 45), n_new, replace=False)
    current.loc[rows, "weight"] = rng.uniform(1.5, 3.0, n_new).round(2)
    current.loc[rows, "price"] = rng.uniform(28, 38, n_new).round(1)
    current.loc[rows, "wait"] = rng.uniform(9, 14, n_new).round(1)
    return dated(current, days), rows


@pytest.fixture(scope="module")
def audited() -> tuple[AuditResult, np.ndarray]:
    current, rows = late_group()
    return audit_samples(orders(0), current, time="day"), rows


def test_a_late_group_is_found_with_its_date_and_its_rows(audited):
    result, rows = audited
    assert result.verdict == "CHANGED"
    assert "2024-11-" in result.changes.since
    assert f" since {result.changes.since}, in " in result.sentence
    listed = result.to_frame()["row"].to_numpy(dtype=int)
    assert np.isin(listed, rows).mean() >= 0.6
    assert np.isin(rows, listed).mean() >= 0.6
    # All that is said to be new lies after the date of the part.
    assert 0.0 < result.interval.low <= len(rows) / N
    assert result.interval.low <= result.new_fraction <= 2 * len(rows) / N


def test_members_before_the_date_count_in_the_timeline_only(audited):
    result, _ = audited
    current = late_group()[0]
    first = pd.to_datetime(current["day"].iloc[result.to_frame()["row"]]).min()
    for mode in result.changes.new:
        assert mode.looked_at < 1.0
        assert (pd.to_datetime(current["day"].iloc[mode.early_rows]) < first).all()
        assert mode.is_member(N).sum() == mode.n_members + len(mode.early_rows)
        # Ordinary members are counted by the rate of the part that was looked at.
        rate = mode.n_members / (mode.looked_at * N)
        ordinary = (rate - (rate - mode.other_fraction) / (1 - mode.other_fraction)) / rate
        assert mode.n_ordinary == round(max(0.0, ordinary) * mode.n_members)


@pytest.mark.slow
def test_what_follows_time_is_not_held_against_the_early_part():
    # A second date, a counter and the month differ between late and early rows whatever happens.
    sides = []
    for seed in (4, 5):
        days = np.sort(days_of(seed))
        frame = dated(orders(seed), days)
        frame["sent"] = (START + pd.to_timedelta(days + 1, "D")).astype(str)
        frame["meter"] = days * 10.0 + np.random.default_rng(seed).uniform(0, 5, N).round(1)
        frame["month"] = np.where(days < 31, "October", "November")
        sides.append(frame)
    result = audit_samples(*sides, time="day")
    assert result.verdict == "NO CHANGE SHOWN"
    assert result.changes.since == ""


@pytest.mark.slow
def test_a_season_that_the_reference_has_too_is_no_news():
    # Both years wait longer in the last weeks: by its own times the reference changes likewise.
    sides = []
    for seed in (6, 7):
        frame = orders(seed)
        days = days_of(seed + 10)
        frame["wait"] += 15.0 * (days >= 45)
        sides.append(dated(frame, days))
    assert audit_samples(*sides, time="day").changes.since == ""
    # Without times of the reference nothing can tell, and the change inside the current sample is said.
    result = audit_samples(sides[0].drop(columns="day"), sides[1], time="day")
    assert result.changes.since != ""


@pytest.mark.slow
def test_without_times_the_answer_has_no_date():
    current, _ = late_group()
    result = audit_samples(orders(0), current.drop(columns="day"))
    assert result.changes.since == ""
    assert len(result.changes.likely_rows) == 0
