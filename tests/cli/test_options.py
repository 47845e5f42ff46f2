"""Options of every command: those that cannot be meant are refused where they are made."""

import pytest

from shiftmetrics.cli.options import Opening


def test_how_inputs_are_opened_is_checked():
    assert Opening(sep=";", decimal=",", max_gib=float("inf")).sep == ";"
    for wrong, named in (
        ({"sep": ",", "decimal": ","}, "--sep"),
        ({"sep": ""}, "--sep"),
        ({"max_gib": -1.0}, "--max-gib"),
        ({"max_gib": float("nan")}, "--max-gib"),
    ):
        with pytest.raises(ValueError, match=named):
            Opening(**wrong)


def test_options_say_what_they_take(fails):
    assert "--sep must be one character" in fails("agreement", "a.csv", "b.csv", "--sep", "ab")
    assert "--max-gib must be" in fails("agreement", "a.csv", "b.csv", "--max-gib", "0")
