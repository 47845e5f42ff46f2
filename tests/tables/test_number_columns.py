"""Numbers over files: marks, signs, per cent, infinite cells."""

import pandas as pd
import pytest

from one_column import decided


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        (["$1,234.50", "$5.00", "($3.25)"], [1234.5, 5.0, -3.25]),
        (["5 €", "7,50 €", "1.234,50 €"], [5.0, 7.5, 1234.5]),
        (["USD 5.5", "USD 6"], [5.5, 6.0]),
        (["1,5", "2", "3,25"], [1.5, 2.0, 3.25]),
        (["1 234,5", "12 500"], [1234.5, 12500.0]),
        (["97.3%", "12%"], [97.3, 12.0]),
    ],
)
def test_marks_and_signs_are_read(words, numbers):
    assert decided(words)[:2] == ("number", [numbers])


def test_two_currencies_are_refused():
    assert decided(["USD 5", "USD 6"], ["EUR 5"])[2].problems
    assert not decided(["€5", "€6"], ["EUR 5"])[2].problems


def test_per_cent_beside_fractions():
    assert decided(["97%", "12%"], ["0.5", "0.03"])[1][0] == [0.97, 0.12]


def test_a_comma_before_three_digits_is_asked_unless_another_file_tells():
    assert decided(["1,234", "12,500"])[2].problems
    assert decided(["1,234", "12,500"], decimal=",")[1][0] == [1.234, 12.5]
    assert decided(["1,234", "12,500"], pd.Series([1500.0, 20000.0]))[1][0] == [1234.0, 12500.0]


def test_infinite_cells_are_named():
    assert "infinite in 1 row of f0.csv" in " ".join(decided(["1.5", "inf"])[2].notes)


def test_an_exponent_beside_integers_is_a_word_if_no_tool_writes_it_so():
    assert decided(["100", "1E2"])[0] == "code"
    assert decided(["100", "1e+05"])[0] == "number"
