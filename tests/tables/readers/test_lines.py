"""Lines of a text to raw cells."""

from shiftmetrics.tables.readers.lines import is_ruler, joined_lines, split_line, unquote


def test_a_separator_in_quotes_is_none():
    assert split_line('1,"a,b",2', ",") == ["1", '"a,b"', "2"]


def test_a_quoted_end_of_line_is_none():
    assert [line.text for line in joined_lines('a\n"b\nc"\nd\n', 9)] == ["a", '"b\nc"', "d"]


def test_rulers_and_quotes():
    assert is_ruler("---+---")
    assert not is_ruler("a---")
    assert unquote(' "a""b" ') == 'a"b'
