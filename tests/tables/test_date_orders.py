"""The order of dates with two readings: by themselves, by the file, by another file, by the user."""

import pandas as pd
import pytest

from shiftmetrics.tables.cell_words import ColumnCells
from shiftmetrics.tables.date_orders import chosen_orders
from shiftmetrics.tables.date_words import date_words

OPEN = ["01/02/2024", "05/04/2024", "03/02/2024"]
"""Neither sorted nor at equal distances in any order."""


def chosen(*files, asked=None):
    """Return what is decided of files that are lists of words, or series of dates."""
    columns = []
    words = {}
    for place, file in enumerate(files):
        is_words = isinstance(file, list)
        values = pd.Series(file, dtype=object) if is_words else file
        columns.append(ColumnCells(f"f{place}.csv", values, is_written=is_words))
        if is_words:
            words[place] = date_words(columns[-1].known)
    return chosen_orders("day", columns, words, asked)


def test_a_number_above_12_decides_for_its_own_file_and_for_others():
    proved = chosen(["31/01/2024"])
    assert (proved.orders, proved.order, proved.notes) == ({0: "day"}, "day", [])
    both = chosen(OPEN, ["01/31/2024"])
    assert both.orders == {0: "month", 1: "month"}
    assert both.notes == ["Read `day` of f0.csv with the month first."]


def test_rows_in_order_and_even_days_decide():
    assert chosen(["11/01/2024", "02/02/2024", "07/03/2024"]).order == "day"
    assert chosen(["07/03/2024", "02/02/2024", "11/01/2024"]).order == "day"  # the latest first
    # The first days of three months in a row, shuffled; with the month first they are days in a row.
    even = chosen(["04/02/2024", "04/01/2024", "04/03/2024"])
    assert even.order == "month"


@pytest.mark.parametrize("step", [1, -1])
def test_rows_sorted_as_words_tell_nothing(step):
    # Days first that were sorted as text are in the order of time if the month is read first.
    as_words = ["01/03/2024", "02/01/2024", "02/05/2024", "04/02/2024"]
    assert chosen(as_words[::step]).problem
    # Without the zeros, the order of time is no order of words.
    assert chosen(["2/3/2024", "2/11/2024", "3/1/2024"][::step]).order == "month"


def test_dates_of_another_file_decide_by_the_time_that_they_cover():
    words = ["05/10/2024", "01/10/2024", "02/10/2024"]
    october = pd.Series(pd.to_datetime(["2024-10-01", "2024-10-20"]))
    assert chosen(words).problem
    assert chosen(words, october).orders == {0: "day"}
    # Dates of another year say nothing.
    assert chosen(words, october - pd.Timedelta(days=3650)).problem


def test_nothing_decides_is_a_question_with_both_readings_and_the_user_answers():
    problem = chosen(OPEN).problem
    assert "--date-order day: 2024-02-01 to 2024-04-05" in problem
    assert "--date-order month: 2024-01-02 to 2024-05-04" in problem
    answered = chosen(OPEN, asked="month")
    assert (answered.orders, answered.problem, answered.notes) == ({0: "month"}, "", [])


def test_a_clash_inside_a_file_names_the_file():
    clash = chosen(["13/02/2024", "02/13/2024"])
    assert clash.orders == {}
    assert "f0.csv" in clash.problem


@pytest.mark.parametrize("asked", ["day", "month"])
def test_what_the_user_says_does_not_overrule_a_proof(asked):
    assert chosen(["31/01/2024"], asked=asked).orders == {0: "day"}
