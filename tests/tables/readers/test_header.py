"""First lines: names, a row, or either of them."""

import pytest

from shiftmetrics.tables.readers.header import judge_first_line


def rows(text):
    return [line.split(",") for line in text.split()]


@pytest.mark.parametrize(
    ("first", "below", "expected"),
    [
        ("id,p", "1,0.5 2,0.25", "names"),
        ("1,0.25", "2,0.5 3,0.125", "none"),
        ("cat", "dog cat dog cat", "none"),
        ("label", "dog cat dog cat", "names"),
        ("label", "dog cat bird", "either"),
        ("0", "1 0 1 0", "either"),
        ("0", "0.25 0.75 0.5", "either"),
        ("0,1,2", "0.2,0.3,0.5 0.1,0.1,0.8", "names"),
        ("0,1", "0.2,0.8 0,1", "either"),
        ("0.1,1.1,2.1", "0.23456,0.34567,0.41977 0.11111,0.22222,0.66667", "either"),
        ("0.3,0.7", "0.25,0.75 0.5,0.5", "none"),
        (",cat,dog", "4,0.5,0.5 7,0.25,0.75", "names"),
        ("image", "img_001 img_002 img_003", "names"),
        ("1,a1,cat,0.5", "2,b2,NA,NA 3,c3,cat,1 4,d4,dog,0.25", "none"),
        ("NA,cat", "0.5,cat 0.25,dog", "none"),
        ("1", "-1 1 1", "none"),
        ("1", "0.5 0.25 1", "either"),
    ],
)
def test_a_first_line_is_judged_by_what_stands_below_it(first, below, expected):
    assert judge_first_line(first.split(","), rows(below)) == expected


def test_a_zero_above_many_fractions_that_are_never_whole_is_a_name():
    cells = [[f"0.{number}7"] for number in range(1, 10)]
    assert judge_first_line(["0"], cells) == "either"
    assert judge_first_line(["0"], [*cells, ["0.317"]]) == "names"
    assert judge_first_line(["0"], [*cells, ["1"]]) == "either"
    assert judge_first_line(["0"], [*cells, ["0"]]) == "either"
