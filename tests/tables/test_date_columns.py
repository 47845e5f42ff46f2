"""Dates over files: order, zones, Unix times, impossible days."""

import numpy as np
import pandas as pd
import pytest

from one_column import decided

STAMPS = pd.to_datetime


def test_another_file_proves_the_order():
    kind, values, typed = decided(["01/02/2024", "03/02/2024", "05/04/2024"], ["31/01/2024"])
    assert kind == "date"
    assert values[0] == list(STAMPS(["2024-02-01", "2024-02-03", "2024-04-05"]))
    assert typed.kinds["x"].date_order == "day"


def test_two_readings_are_asked_and_an_option_answers():
    words = ["01/02/2024", "03/02/2024", "05/04/2024"]
    with pytest.raises(ValueError, match="--date-order day"):
        decided(words)[2].check(["x"])
    assert decided(words, date_order="month")[1][0][0] == pd.Timestamp("2024-01-02")


def test_some_with_the_day_first_and_some_with_the_month_first_are_refused():
    assert decided(["13/02/2024", "03/14/2024"])[2].problems


def test_twelve_days_in_a_row_are_days():
    words = [f"{day:02d}/02/2024" for day in range(1, 13)]
    assert decided(words)[1][0] == list(STAMPS([f"2024-02-{day:02d}" for day in range(1, 13)]))


def test_the_order_of_the_file_decides():
    words = ["11/01/2024", "12/01/2024", "02/02/2024", "07/03/2024"]
    assert decided(words)[1][0][0] == pd.Timestamp("2024-01-11")


def test_unix_times_have_their_own_unit_in_each_file():
    kind, values, typed = decided(["1704067200", "1706745600"], ["1704067200000"], name="ts")
    assert kind == "date"
    assert values[0][0] == values[1][0] == pd.Timestamp("2024-01-01")
    assert "seconds in f0.csv, milliseconds in f1.csv" in " ".join(typed.notes)
    assert decided(["1704067200"], name="amount")[0] == "integer"


def test_impossible_dates_are_missing_and_said():
    _, values, typed = decided(["2024-01-01", "9999-12-31", "0001-01-01", "0000-00-00"])
    assert values[0] == [pd.Timestamp("2024-01-01"), None, None, None]
    assert "3 cells" in " ".join(typed.notes)


def test_moments_in_two_zones_are_the_same():
    first = ["2024-01-01 10:00:00+01:00", "2024-06-01 10:00:00+02:00"]
    second = ["2024-01-01 09:00:00+00", "2024-06-01T08:00:00Z"]
    _, values, _ = decided(first, second)
    assert values[0] == values[1]
    # One zone in winter and in summer keeps its clock.
    _, values, _ = decided(first[:1], first[1:])
    assert [part[0].hour for part in values] == [10, 10]


def test_an_open_end_with_a_zone_is_read_as_one_without():
    far = pd.Series(np.array(["2024-01-01T10:00", "9999-12-31"], dtype="datetime64[us]"))
    kind, values, _ = decided(far.dt.tz_localize("UTC"))
    assert kind == "date"
    assert values[0][0] == pd.Timestamp("2024-01-01 10:00")
    assert values == decided(far)[1]


@pytest.mark.parametrize("factor", [1, 1000, 1_000_000])
def test_older_unix_times_are_told_by_the_dates_of_another_file(factor):
    dates = ["1951-03-01", "1969-12-31", "1985-07-14", "2004-11-30"]
    seconds = (STAMPS(dates) - pd.Timestamp(0)).total_seconds().astype(int)
    kind, values, typed = decided(dates, (seconds * factor).tolist(), name="born")
    assert kind == "date"
    assert values[0] == values[1] == list(STAMPS(dates))
    assert any("Unix times" in note for note in typed.notes)


def test_numbers_that_spread_otherwise_are_no_times():
    dates = ["1951-03-01", "1969-12-31", "1985-07-14", "2004-11-30"]
    assert decided(dates, [7, 9, 12, 100], name="born")[2].problems
