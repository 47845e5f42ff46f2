"""A command that is killed at a write leaves whole files, and works when it is typed again."""

from pathlib import Path

import pytest

import killed_writes
from shiftmetrics.cli.app import COMMANDS

TESTED = (
    "passport",
    "read",
    "example",
    pytest.param("check", marks=pytest.mark.slow),
    pytest.param("monitor", marks=pytest.mark.slow),
)
"""One file, several, and several with a state; `make attack` kills them all."""


def test_all_commands_that_write_files_are_killed() -> None:
    assert set(killed_writes.COMMANDS) == set(COMMANDS)


@pytest.mark.parametrize("name", TESTED)
def test_a_killed_command_leaves_whole_files(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert killed_writes.main_of([name]) == 0, capsys.readouterr().out
    n_kills = int(capsys.readouterr().out.split()[1])
    assert n_kills >= 8


def test_a_damaged_file_is_seen(tmp_path: Path) -> None:
    (tmp_path / "r.html").write_text("<!doctype html><html>", encoding="utf-8")
    (tmp_path / "j.xml").write_text("<a>", encoding="utf-8")
    (tmp_path / "j.json").write_text('{"a": ', encoding="utf-8")
    (tmp_path / "m.md").write_text("whole\n", encoding="utf-8")
    names = {"r.html", "j.xml", "j.json", "m.md"}
    found = [fault.split()[0] for fault in killed_writes.damaged(tmp_path, names)]
    assert found == ["j.json", "j.xml", "r.html"]
