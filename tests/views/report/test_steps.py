"""Commands of what to do now can be typed: with the files that were given, and after what was typed."""

import shlex

import pytest

from shiftmetrics.views.report.steps import with_files

WRITE = "Write them: shiftmetrics diff OLD NEW --changed changed.csv"
ANSWER = "With labels: shiftmetrics diff OLD NEW --labels changed.csv"
OTHER = "Find what changed: shiftmetrics audit OLD NEW."
FILES = {"OLD": "a b.csv", "NEW": "北京.csv"}


def test_without_what_was_typed_the_files_are_named():
    assert with_files((WRITE,), FILES) == (
        "Write them: shiftmetrics diff 'a b.csv' 北京.csv --changed changed.csv".replace(
            "北京.csv", shlex.quote("北京.csv")
        ),
    )


@pytest.mark.parametrize("typed", ["", "shiftmetrics run config.toml", "shiftmetrics 'diff", "-q"])
def test_another_command_does_not_go_on(typed):
    assert with_files((WRITE, OTHER), FILES, typed) == with_files((WRITE, OTHER), FILES)


def test_what_was_typed_goes_on_with_its_options():
    typed = "shiftmetrics diff 'a b.csv' c.csv --id n --report page.html"
    first, other = with_files((WRITE, OTHER), FILES, typed)
    assert first == f"Write them: {typed} --changed changed.csv"
    assert other.startswith("Find what changed: shiftmetrics audit 'a b.csv'")
    assert other.endswith(".")


@pytest.mark.parametrize("option", ["--changed d.csv", "--changed=d.csv"])
def test_what_was_done_is_left_out_and_its_file_is_read(option):
    typed = f"shiftmetrics diff a.csv {option} c.csv"
    # the command that reads the file does not write over it
    assert with_files((WRITE, ANSWER), {}, typed) == (
        "With labels: shiftmetrics diff a.csv c.csv --labels d.csv",
    )


def test_a_flag_that_was_typed_is_left_out():
    step = "See more: shiftmetrics stability FILE --curve"
    typed = "shiftmetrics stability rows.csv --curve --threshold 0.4"
    assert with_files((step,), {}, typed) == ()
    typed = typed.replace("--curve ", "")
    assert with_files((step,), {}, typed) == (f"See more: {typed} --curve",)


def test_what_goes_on_is_not_quiet():
    for word in ("-q", "--quiet"):
        typed = f"shiftmetrics diff a.csv {word} b.csv"
        expected = "Write them: shiftmetrics diff a.csv b.csv --changed changed.csv"
        assert with_files((WRITE,), {}, typed) == (expected,)
