"""Names of the columns of a text."""

from shiftmetrics.tables.readers.names import free_name


def test_a_taken_name_gets_the_next_number():
    assert free_name("a", ["b"]) == "a"
    assert free_name("a", ["a", "a 2"]) == "a 3"
