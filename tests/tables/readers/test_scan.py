"""One pass over the bytes of a text."""

from shiftmetrics.tables.content import Content, ReadOptions
from shiftmetrics.tables.readers.scan import scan_rows


def test_a_short_row_is_not_regular():
    whole = scan_rows(Content("OLD", "a", ReadOptions(), data=b"1,2\n3,4\n"), 0, ",")
    short = scan_rows(Content("OLD", "a", ReadOptions(), data=b"1,2\n3\n"), 0, ",")
    assert whole.is_regular(2, ",")
    assert not short.is_regular(2, ",")
