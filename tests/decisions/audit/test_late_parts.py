"""Late parts by the periods of a sample, and the columns that time decides."""

import numpy as np
import pandas as pd

from shiftmetrics.decisions.audit.late_parts import LEAST_LATE, decided_by_time, late_parts
from shiftmetrics.decisions.audit.timeline import periods_of
from shiftmetrics.tables.encoder.roles import Column


def on_days(counts):
    days = np.repeat(np.arange(len(counts)), counts)
    return pd.Series(pd.Timestamp("2024-10-01") + pd.to_timedelta(days, "D"), name="day")


def test_parts_are_the_last_half_quarter_and_eighth_of_equal_days():
    times = on_days([10] * 32)
    parts = late_parts(periods_of(times))
    assert [int(part.is_late.sum()) for part in parts] == [160, 80, 40]
    for part in parts:
        assert (times[part.is_late] >= part.since).all()
        assert (times[~part.is_late] < part.since).all()


def test_days_stay_whole_and_the_nearest_size_is_taken_once():
    # After day 1 come 60 of 100 rows, after day 2 come 22, which is nearest to a quarter and to an eighth.
    times = on_days([40, 38, 22])
    parts = late_parts(periods_of(times))
    assert [int(part.is_late.sum()) for part in parts] == [60, 22]
    assert [part.since[:10] for part in parts] == ["2024-10-02", "2024-10-03"]


def test_rows_without_a_time_are_not_late_and_small_parts_are_none():
    times = on_days([200, 2 * LEAST_LATE, LEAST_LATE - 1])
    times[::7] = pd.NaT
    parts = late_parts(periods_of(times))
    assert parts
    for part in parts:
        assert not part.is_late[times.isna()].any()
        assert part.is_late.sum() >= LEAST_LATE
    assert late_parts(periods_of(on_days([100]))) == []


def test_the_period_that_is_named_after_a_gap_has_rows():
    times = on_days([50, 0, 0, 50])
    assert [part.since[:10] for part in late_parts(periods_of(times))] == ["2024-10-04"]


def test_dates_counters_and_levels_of_a_period_are_decided_by_time():
    rng = np.random.default_rng(0)
    times = on_days([12] * 60)
    n = len(times)
    month = times.dt.month.map({10: "Oct", 11: "Nov"})
    sample = pd.DataFrame(
        {
            "sent": times + pd.Timedelta(2, "D"),
            "meter": np.arange(n) + rng.normal(0, 5, n),
            "month": month,
            "age": rng.normal(40, 10, n),
            "city": rng.choice(["A", "B"], n),
            "flag": np.where(rng.random(n) < 0.02, "no", "yes"),
        }
    )
    roles = dict.fromkeys(sample, "category") | {"sent": "date", "meter": "number", "age": "number"}
    columns = [Column(name, role) for name, role in roles.items()]
    assert decided_by_time(columns, sample, periods_of(times)) == ["sent", "meter", "month"]
    # A level that nearly all rows have, whatever the day, is no matter of time; nor is what a column holds.
    shuffled = sample.sample(frac=1.0, random_state=1, ignore_index=True)
    assert decided_by_time(columns, shuffled, periods_of(times)) == ["sent"]
