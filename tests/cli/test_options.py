"""Options of every command: those that cannot be meant are refused where they are made."""

from pathlib import Path

import pytest

from shiftmetrics.cli.options import LabelOptions, Opening, default_plan, with_groups


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


def test_options_that_belong_together_are_one_object_and_a_plan_has_a_file():
    typed = {"plan": 5, "peek": False, "to_label": None, "rows": Path("a/new.csv"), "as_is": True}

    def command(*, labelling, other):
        """Take a group of options."""

    found = with_groups(command, {**typed, "other": 3})
    assert found == {"labelling": LabelOptions(**typed), "other": 3}
    assert default_plan(typed) == Path("a/new_plan.csv")
    assert default_plan({**typed, "rows": None}) is None
    assert default_plan({**typed, "plan": None}) is None
    assert default_plan({**typed, "plan": None, "peek": True}) == Path("a/new_plan.csv")
