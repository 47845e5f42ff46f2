"""A pipe gets the text that rich would print there, without rich."""

import io
import sys

import pytest

from shiftmetrics.cli.console import PlainConsole, RichConsole, new_console, unstyled

LINES = [
    [("SAFE", "bold green"), ("  No prediction changed.", "")],
    [("a\tb [red]no command[/red] :smile:", "dim")],
    [("\x1b[31mred\x07", "yellow")],
    [("", "")],
    [("two\nlines", "bold")],
    [("ä 中 " * 60, "")],
]


@pytest.mark.parametrize("parts", LINES)
def test_a_pipe_gets_what_rich_prints_there(parts, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    PlainConsole().line(*parts)
    plain = capsys.readouterr().out
    RichConsole().line(*parts)
    assert plain == capsys.readouterr().out
    assert "\x1b" not in plain
    assert plain.count("\n") == 1


def test_a_table_in_a_pipe_is_lines_with_tabs(capsys):
    rows = [("value", "0.5\t1", "of two\nlines"), ("other", "2", "")]
    PlainConsole().table(("", "value", "meaning"), rows)
    assert capsys.readouterr().out == "value\t0.5 1\tof two lines\nother\t2\n"
    RichConsole().table(("", "value", "meaning"), rows)
    assert capsys.readouterr().out == "value\t0.5 1\tof two lines\nother\t2\n"


def test_colours_are_for_terminals_and_where_they_are_asked_for(monkeypatch):
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert isinstance(new_console(), PlainConsole)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert isinstance(new_console(), RichConsole)
    monkeypatch.delenv("FORCE_COLOR")
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("TERM", "xterm-256color")
    console = new_console()
    console.line(("WORSE", "bold red"), ("  it is", ""))
    console.table(("", "rule"), [("failed", "a")], {"failed": "bold red"})
    printed = sys.stdout.getvalue()
    assert "\x1b[1;31mWORSE\x1b[0m  it is" in printed
    assert "\x1b[1;31mfailed" in printed


def test_a_line_holds_no_control_characters():
    assert unstyled([("a\x1b[2J", "bold"), ("\u202eb", "")]) == "a\\x1b[2J\\u202eb"
