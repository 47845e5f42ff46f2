"""Texts whose lines are not regular, written anew with equal numbers of cells."""

import pytest

from shiftmetrics.tables.content import Content, ReadOptions, UnreadableError
from shiftmetrics.tables.readers.dialect import Dialect
from shiftmetrics.tables.readers.lines import BLANKS, ONE_COLUMN
from shiftmetrics.tables.readers.rewriting import QUOTED_MARK, rewritten
from shiftmetrics.tables.readers.scan import Scan

CONTENT = Content("OLD", "a.csv", ReadOptions(), data=b"")


def again(text, n_cells=3, separator=",", **scan):
    """Return the rows, whether a mark stands in them, and what is said of them."""
    dialect = Dialect(
        separator=separator, n_cells=n_cells, first=(), header="none", names_at=0, rows_at=0,
        row_names=False, trailing=False, sample=[],
    )  # fmt: skip
    notes = []
    rows, is_marked = rewritten(text, dialect, Scan(**scan), CONTENT, notes)
    return rows.splitlines(), is_marked, notes


def test_short_rows_get_gaps_and_are_counted():
    rows, is_marked, notes = again("1,2,3\n4,5\n7,8,9\n\n")
    assert rows == ["1,2,3", "4,5,", "7,8,9"]
    assert not is_marked
    assert notes == ["rows that end before the last column have gaps there: 1"]


def test_comments_rulers_and_what_stands_below_a_table_are_left_out():
    rows, _, notes = again("1|2\n# a, remark\n---+---\n3|4\n(2 rows)\n", 2, "|")
    assert rows == ["1|2", "3|4"]
    assert len(notes) == 2


def test_a_separator_inside_quotes_is_part_of_a_cell():
    assert again('"a,b",2,3\n1,2,3\n')[0] == ['"a,b",2,3', "1,2,3"]


@pytest.mark.parametrize(
    ("text", "options", "got"),
    [
        ("1,2,3\n1,2,3,4\n", {}, "row 2 has 4"),
        ("1,2,3\n1,2", {"ends": False}, "row 2 has 2"),  # cut in the last line
        ("1,2,3\n4\n5,6,7\n", {}, "row 2 has 1"),
        ("1 2 3\n4 5\n", {"separator": BLANKS}, "row 2 has 2"),
    ],
)
def test_rows_that_may_be_damaged_are_refused_by_their_number(text, options, got):
    with pytest.raises(UnreadableError, match=got):
        again(text, **options)


def test_columns_of_blanks_lose_the_blanks_around():
    assert again("  1 2   3 \n4 5 6\n", separator=BLANKS)[0] == ["1 2   3", "4 5 6"]


def test_a_blank_line_of_one_column_is_a_gap_unless_every_other_line_is_blank():
    assert again("a\n\nb\nc\n", 1, ONE_COLUMN)[0] == ["a", "\\N", "b", "c"]
    assert again("a\n\nb\n\nc\n", 1, ONE_COLUMN)[0] == ["a", "b", "c"]


def test_a_quoted_na_is_marked_as_a_word():
    rows, is_marked, _ = again('"NA",NA,""\n', has_marks=True)
    assert is_marked
    assert rows == [f'"{QUOTED_MARK}NA",NA,"{QUOTED_MARK}"']


def test_a_row_of_gaps_between_tabs_is_a_row():
    rows, _, _ = again("1\tx\t3\n# c\n\t\t\n4\ty\t6\n\t\t\n\n \t\n", separator="\t", ends=True)
    assert rows == ["1\tx\t3", "\t\t", "4\ty\t6", "\t\t"]
