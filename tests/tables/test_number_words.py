"""Words as numbers: marks, signs, codes, and the two readings of a comma."""

import numpy as np
import pytest

from shiftmetrics.tables.number_words import number_words


def values(words, **options):
    read = number_words(words, **options)
    return None if read is None else read.values.tolist()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["1", "-2", "+3"], [1.0, -2.0, 3.0]),
        ([" 1.5\t", ".5", "2.", "1e-3"], [1.5, 0.5, 2.0, 0.001]),
        (["inf", "-Infinity"], [np.inf, -np.inf]),
        (["1,234.5", "12"], [1234.5, 12.0]),
        (["1.234,5", "12"], [1234.5, 12.0]),
        (["1'234.5", "1’000"], [1234.5, 1000.0]),
        (["1\u202f234,5"], [1234.5]),
        (["−1,5"], [-1.5]),  # a minus of typesetting
        (["(1.50)"], [-1.5]),  # as accountants write it
        (["-$5", "$-5", "$5"], [-5.0, -5.0, 5.0]),
    ],
)
def test_forms_of_numbers(words, expected):
    assert values(words) == expected


@pytest.mark.parametrize(
    "words", [["abc"], ["1", "x"], ["(5"], ["$5", "€5"], ["1.2.3"], ["1,23,4"], ["nan"]]
)
def test_what_is_no_number(words):
    assert number_words(words) is None


def test_signs_are_told_and_codes_of_currencies_are_signs():
    assert number_words(["5%", "7 %"]).sign == "%"
    assert number_words(["€5", "6 EUR"]).sign == "EUR"
    assert number_words(["1", "2"]).sign == ""


def test_integers_and_codes_are_told():
    assert number_words(["1", "20"]).is_integer
    assert not number_words(["1", "2.0"]).is_integer
    assert number_words(["007", "12"]).is_code
    assert number_words(["1" * 19]).is_code  # more digits than int64 keeps
    assert not number_words(["1" * 18]).is_code
    assert number_words(["1E2", "100"]).is_code
    assert not number_words(["1E2", "1.5"]).is_code


def test_a_comma_before_three_digits_has_two_readings_and_an_option_decides():
    read = number_words(["1,234", "12"])
    assert read.values.tolist() == [1234.0, 12.0]
    assert read.other.tolist() == [1.234, 12.0]
    assert number_words(["1,234", "0,5"]).other is None
    assert values(["1,234"], decimal=".") == [1234.0]
    assert values(["1,234"], decimal=",") == [1.234]
    assert values(["1.234"], decimal=",") == [1234.0]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["0.125", "1,234"], [0.125, 1234.0]),
        (["0,125", "1.234"], [0.125, 1234.0]),
        (["0,125", "1,234"], [0.125, 1.234]),
    ],
)
def test_a_zero_before_a_mark_says_that_it_is_a_decimal_one(words, expected):
    read = number_words(words)
    assert read.values.tolist() == expected
    assert read.other is None


def test_both_marks_before_three_digits_have_two_readings():
    read = number_words(["1.234", "1,234"])
    assert read.values.tolist() == [1.234, 1234.0]
    assert read.other.tolist() == [1234.0, 1.234]
    assert number_words(["0.125", "0,125"]) is None


def test_decimal_commas_with_exponents_are_numbers():
    read = number_words(["0,25", "8,5e-05", "0", "1,5E-3"])
    assert read is not None
    assert read.values.tolist() == [0.25, 8.5e-05, 0.0, 1.5e-3]
    # A comma before three digits is decimal where another number has an exponent.
    read = number_words(["1,234", "1e-05"])
    assert read is not None
    assert read.values.tolist() == [1.234, 1e-05]
    assert number_words(["0,5", "8,5e-05"], decimal=".") is None


def test_no_words_are_no_numbers():
    assert number_words([]) is None
