"""Plain values are converted as typer converts them; all others are left to it."""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Literal

import pytest
import typer

from shiftmetrics.cli.forms import Option
from shiftmetrics.cli.values import as_plain_flag, convert_plainly, plain_value

WORDS = Literal["kl", "chi2"]
DECLARED = (
    Option("name", str, None),
    Option("count", int, 3),
    Option("level", float, 0.95),
    Option("word", WORDS, "kl"),
    Option("several", list[str], None),
    Option("path", Path, None),
    Option("flagged", bool, False),
    Option("seed", int, 0),
)
TYPED = [
    "",
    "--name x",
    "--name=",
    "--name 07",
    "--count 12",
    "--count 007",
    "--count -2",
    "--count 1.5",
    "--count x",
    "--level 1",
    "--level .5",
    "--level 1e-3",
    "--level 1E2",
    "--level nan",
    "--level inf",
    "--level 1_0",
    "--level ٣",
    "--level x",
    "--word chi2",
    "--word CHI2",
    "--word l2",
    "--several a --several b",
    "--path a/b.csv",
    "--flagged",
    "--seed 4",
    "--seed -1",
]


def values_of(arguments: list[str], *, plainly: bool) -> object:
    """What a command gets, or the error in words."""
    import inspect

    found = {}

    def callback(**values):
        found.update(values)

    callback.__signature__ = inspect.Signature([option.parameter() for option in DECLARED])
    callback.__annotations__ = {option.name: option.parameter().annotation for option in DECLARED}
    application = typer.Typer(add_completion=False, rich_markup_mode=None)
    application.command()(callback)
    command = typer.main.get_command(application)
    if plainly:
        convert_plainly(command, DECLARED)
    try:
        command.main(arguments, standalone_mode=False)
    except Exception as error:
        return type(error), error.format_message()
    return {name: (type(value), repr(value)) for name, value in found.items()}


@pytest.mark.parametrize("typed", TYPED)
def test_the_value_and_the_error_are_those_of_typer(typed):
    arguments = typed.split()
    assert values_of(arguments, plainly=True) == values_of(arguments, plainly=False)


def test_what_is_not_obvious_is_left_to_typer():
    known = [plain_value(str, "x"), plain_value(float, "2"), plain_value(list[str], ("a",))]
    assert known == ["x", 2.0, ["a"]]
    marker = plain_value(Path, "a.csv")
    assert plain_value(int, "-3") is marker
    assert plain_value(int, True) is marker
    assert plain_value(float, "1e") is marker
    assert plain_value(WORDS, "l2") is marker
    assert plain_value(list[str], "abc") is marker
    assert math.isclose(plain_value(float, "-.5e-1"), -0.05)


def test_help_is_off_where_a_command_has_it():
    option = SimpleNamespace(default=None)
    assert as_plain_flag(option).default is False
    assert as_plain_flag(None) is None
