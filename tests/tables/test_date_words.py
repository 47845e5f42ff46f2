"""Words as dates, against the parser of the standard library."""

import datetime

import numpy as np
import pytest

from shiftmetrics.tables.date_words import date_words


def days(words, order="year"):
    """Return dates of one order as strings of ISO, None for impossible ones."""
    clock = date_words(words).clocks[order]
    return [None if np.isnat(value) else str(value.astype("datetime64[D]")) for value in clock]


@pytest.mark.parametrize(
    ("word", "form"),
    [
        ("2024-01-31", "%Y-%m-%d"),
        ("2024/1/31", "%Y/%m/%d"),
        ("2024-01-31 08:05", "%Y-%m-%d %H:%M"),
        ("2024-01-31T08:05:09.25", "%Y-%m-%dT%H:%M:%S.%f"),
        ("20240131T080509", "%Y%m%dT%H%M%S"),
        ("31 January 2024", "%d %B %Y"),
        ("31-Jan-24", "%d-%b-%y"),
        ("Jan 31, 2024", "%b %d, %Y"),
        ("Wed Jan 31 08:05:09 2024", "%a %b %d %H:%M:%S %Y"),
        ("31/01/2024 8:05 PM", "%d/%m/%Y %I:%M %p"),
        ("31/01/2024 12:05 AM", "%d/%m/%Y %I:%M %p"),
        ("2024-01", "%Y-%m"),
    ],
)
def test_forms_are_read_as_the_standard_library_reads_them(word, form):
    (clock,) = date_words([word]).clocks.values()
    assert clock[0].item() == datetime.datetime.strptime(word, form)


@pytest.mark.parametrize(
    "words", [["soon"], ["2024-01-31", "x1"], ["1.2.10", "1.2.11"], ["40/40/2024"], ["12"]]
)
def test_what_is_no_date(words):
    assert date_words(words) is None


def test_orders_that_fit_are_kept_and_a_number_above_12_proves_one():
    open_words = date_words(["01/02/2024", "03/04/2024"])
    assert open_words.orders == ["day", "month"]
    assert not open_words.is_proved
    assert days(["01/02/2024"], "day") == ["2024-02-01"]
    assert days(["01/02/2024"], "month") == ["2024-01-02"]
    proved = date_words(["31/02/2024", *["13/01/2024"] * 200])
    assert proved.orders == ["day"]
    assert proved.is_proved
    # The same day and month: both orders give one date.
    assert len(date_words(["02/02/2024"]).orders) == 1


def test_days_first_and_months_first_in_one_file_clash():
    read = date_words(["13/02/2024", "02/13/2024"])
    assert read.is_clash
    assert read.orders == []


def test_days_that_no_calendar_has_are_missing_among_many_dates_only():
    words = ["2023-02-29", *["2024-02-29"] * 150]
    assert days(words)[:2] == [None, "2024-02-29"]
    assert date_words(["29 Feb 2023", "28 Feb 2023"]) is None
    # Zeros are what databases write for none, however often.
    assert days(["0000-00-00", "2024-02-29"]) == [None, "2024-02-29"]


def test_years_of_two_digits_are_those_of_posix():
    assert days(["13-Jan-68", "13-Jan-69"]) == ["2068-01-13", "1969-01-13"]


@pytest.mark.parametrize(
    ("zone", "minutes"), [("Z", 0), ("+01:00", 60), ("-0530", -330), ("+02", 120)]
)
def test_zones_are_minutes_east_and_the_clock_is_as_written(zone, minutes):
    read = date_words([f"2024-01-31T08:05:00{zone}", "2024-01-31T08:05:00"])
    assert read.offsets[0] == minutes
    assert np.isnan(read.offsets[1])
    assert read.clocks["year"][0] == read.clocks["year"][1] == np.datetime64("2024-01-31T08:05")
