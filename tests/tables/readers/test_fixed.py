"""Columns of a fixed width."""

from shiftmetrics.tables.readers.fixed import as_tabs


def test_an_empty_cell_stays():
    assert as_tabs("1   2\n    3\n", [(0, 4), (4, 5)]) == "1\t2\n\t3\n"
