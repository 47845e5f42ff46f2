"""How a text is written."""

from shiftmetrics.tables.readers.dialect import best_separator, usual_count


def test_the_separator_gives_equal_counts():
    assert best_separator(["a;b", "1,5;2", "3;4"]) == ";"


def test_the_last_of_equal_counts_is_usual():
    assert usual_count([2, 3]) == 3
    assert usual_count([2, 2, 3]) == 2
