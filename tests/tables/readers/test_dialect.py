"""How a text is written."""

import pytest

from shiftmetrics.tables.content import UnreadableError
from shiftmetrics.tables.readers.dialect import best_separator, usual_count
from shiftmetrics.tables.register import read_file


def test_the_separator_gives_equal_counts():
    assert best_separator(["a;b", "1,5;2", "3;4"]) == ";"


def test_the_last_of_equal_counts_is_usual():
    assert usual_count([2, 3]) == 3
    assert usual_count([2, 2, 3]) == 2


def test_rows_above_a_table_without_names_are_never_left_out(tmp_path):
    path = tmp_path / "old.txt"
    rows = [f"{row} cat 0.{row} 1.5 x" for row in range(1, 4)]
    path.write_text("\n".join([*rows, *(f"{row} dog 0.{row} 2.5" for row in range(4, 9))]))
    with pytest.raises(UnreadableError, match="1 cat"):
        read_file(path, "OLD")
