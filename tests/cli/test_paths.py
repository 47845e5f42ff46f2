"""Two names of one file are an error before anything starts, in every command and for every option of files."""

import importlib
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.cli.app import COMMANDS
from shiftmetrics.cli.paths import check_paths, is_written, name_of


def options_of(command):
    module = importlib.import_module(f"shiftmetrics.cli.commands.{command}")
    return getattr(module, command).options


def written_options():
    return [
        (command, option)
        for command in COMMANDS
        for option in options_of(command)
        if is_written(option)
    ]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_that_names_a_file_is_known_to_the_door(command, place):
    """A path is written, or a folder, or read; what is read and typed as a string is found by its content."""
    mine = place / "mine.json"
    mine.write_text("mine")
    for option in options_of(command):
        if option.kind is Path and not is_written(option):
            assert option.metavar in ("FOLDER", "CONFIG", "RULES.toml", "READING.toml"), name_of(
                option
            )
        reads = (
            "FILE" in (option.metavar or "")
            or option.kind in (str, list[str])
            or option.is_argument
        )
        if is_written(option) or not reads:
            continue
        value = ["mine.json"] if option.kind == list[str] else "mine.json"
        for other in options_of(command):
            if is_written(other):
                with pytest.raises(ValueError, match="would overwrite"):
                    check_paths(options_of(command), {option.name: value, other.name: mine}, {})


@pytest.mark.parametrize("command", COMMANDS)
def test_no_two_files_that_are_written_are_one(command, place):
    written = [option for option in options_of(command) if is_written(option)]
    (place / "link.x").symlink_to("same.x")
    for first in written:
        for second in written:
            if first is second:
                continue
            for name in ("same.x", "./same.x", "link.x", f"../{place.name}/same.x"):
                with pytest.raises(ValueError, match="must be two files") as caught:
                    check_paths(
                        options_of(command),
                        {first.name: Path("same.x"), second.name: Path(name)},
                        {},
                    )
                assert name_of(first) in str(caught.value)
                assert name_of(second) in str(caught.value)


def test_some_files_are_written():
    assert len(written_options()) > 20


def test_hard_links_are_one_file(place):
    Path("a.csv").write_text("a")
    os.link("a.csv", "b.csv")
    with pytest.raises(ValueError, match="would overwrite OLD"):
        check_paths(options_of("diff"), {"old": "a.csv", "changed": Path("b.csv")}, {})


@pytest.mark.parametrize("typed", ["runs.npz:a", "first=runs.npz:a", "runs.json"])
def test_files_beside_are_known(typed, place):
    np.savez("runs.npz", a=[1.0])
    values = {"scores": [typed], "shifted": typed, "json": Path("runs.json")}
    with pytest.raises(ValueError, match=r"runs\.npz"):
        check_paths(options_of("agreement"), values, {})


def test_an_empty_text_is_no_file(place, fails):
    """A variable of the shell that is empty would stand for all files of the present folder."""
    pd.DataFrame({"id": [1, 2], "p": [0.1, 0.9]}).to_csv("a.csv", index=False)
    for typed in (
        ["diff", "", "a.csv"],
        ["diff", "a.csv", ""],
        ["read", ""],
        ["compare", "a.csv", ""],
    ):
        assert "must be a file, got an empty text" in fails(*typed)


@pytest.mark.parametrize(("command", "option"), written_options())
def test_folders_and_links_that_lead_nowhere_are_no_files(command, option, place):
    (place / "folder").mkdir()
    (place / "loop.x").symlink_to("loop.x")
    for name, words in (
        ("", "the folder"),
        ("folder", "the folder"),
        ("loop.x", "leads to itself"),
    ):
        with pytest.raises(ValueError, match=f"{name_of(option)} must be a file, got .*{words}"):
            check_paths(options_of(command), {option.name: Path(name)}, {})
    with pytest.raises(ValueError, match="must be in a folder that exists"):
        check_paths(options_of(command), {option.name: Path("none/a.x")}, {})


def test_texts_that_are_no_paths_may_be_long(place):
    values = {"acknowledge": "n" * 5000, "passport": "p.json", "batch": ["b.csv"]}
    check_paths(options_of("monitor"), values, {})


def test_a_reading_is_read(place):
    """It may lie where nothing can be written, and is no output that collides with others."""
    Path("r.toml").write_text("mine")
    with pytest.raises(ValueError, match="--save r.toml would overwrite --reading"):
        check_paths(options_of("read"), {"reading": Path("r.toml"), "save": Path("r.toml")}, {})
    check_paths(options_of("diff"), {"reading": Path("none/r.toml")}, {})


def test_devices_may_be_named_twice(place, run):
    null = Path(os.devnull)
    pd.DataFrame({"id": [1, 2], "p": ["a", "b"]}).to_csv("a.csv", index=False)
    done = run("diff", "a.csv", "a.csv", "--json", null, "--report", null)
    assert done.exit_code == 0, done.output
    check_paths(options_of("diff"), {"json": null, "report": null}, {})
    check_paths(options_of("diff"), {"json": Path("-"), "report": Path("a.html")}, {})


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
@pytest.mark.parametrize(("command", "option"), written_options())
def test_a_named_pipe_is_refused(command, option, place):
    os.mkfifo("pipe")
    with pytest.raises(ValueError, match="named pipe"):
        check_paths(options_of(command), {option.name: Path("pipe")}, {})
