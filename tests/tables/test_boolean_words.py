"""Spellings of Booleans."""

import pytest

from shiftmetrics.tables.boolean_words import (
    PAIRS_OF_WORDS,
    as_booleans,
    boolean_spelling,
    in_letters,
)


@pytest.mark.parametrize(("spelling", "pair"), PAIRS_OF_WORDS.items())
def test_each_spelling_is_told_and_read(spelling, pair):
    assert boolean_spelling(pair) == spelling
    assert as_booleans(pair, spelling) == [False, True]
    # In any letters, with blanks around.
    assert as_booleans([f" {pair[1].upper()} "], spelling) == [True]


def test_one_word_of_a_pair_is_enough():
    assert boolean_spelling(["no", "no"]) == "yes/no"
    assert boolean_spelling(["1.0", "0"]) == "1/0"
    assert as_booleans(["1.0", "0.0"], "1/0") == [True, False]


@pytest.mark.parametrize("words", [[], ["yes", "off"], ["t", "true"], ["1", "2"], ["maybe"]])
def test_other_words_and_mixed_pairs_are_no_booleans(words):
    assert boolean_spelling(words) is None


def test_a_third_word_ends_the_search():
    def words():
        yield from ("yes", "No ", "maybe")
        raise AssertionError("looked further")

    assert boolean_spelling(words()) is None
    assert boolean_spelling(["TRUE", "true", " True", "False", "FALSE "]) == "true/false"


def test_letters_of_the_words():
    assert in_letters("yes/no", ["No", "Yes", "Yes"]) == "Yes/No"
    assert in_letters("y/n", ["N"]) == "Y/N"
    # Two ways of writing one word tell nothing.
    assert in_letters("yes/no", ["No", "no", "Yes"]) == "yes/no"
    assert in_letters("1/0", ["1.0", "0"]) == "1/0"
