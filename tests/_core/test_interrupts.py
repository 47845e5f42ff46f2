"""An interrupt ends a process at once, after what belongs together, or not any more; nothing temporary stays."""

import os
from pathlib import Path

import pytest

from shiftmetrics._core import interrupts
from shiftmetrics._core.interrupts import (
    UNFINISHED,
    begin,
    finish,
    folder_for_results,
    leave,
    make_temporary,
    remove_temporary,
    temporary_folder,
    undisturbed,
)


class Ended(BaseException):
    """In place of the end of the process."""


@pytest.fixture(autouse=True)
def ended(monkeypatch):
    """Return the codes with which the process would have ended."""
    codes = []

    def end(code):
        codes.append(code)
        raise Ended

    monkeypatch.setattr(os, "_exit", end)
    monkeypatch.setattr(interrupts, "_INTERRUPTION", interrupts._Interruption())
    yield codes
    UNFINISHED.clear()


@pytest.mark.parametrize("number", [2, 15])
def test_a_signal_ends_at_once_with_its_number_and_removes_what_is_temporary(
    number, ended, tmp_path
):
    file = make_temporary(tmp_path, prefix=".a.")
    kept = tmp_path / "kept"
    kept.write_text("")
    with pytest.raises(Ended):
        leave(number)
    assert ended == [128 + number]
    assert not file.exists()
    assert kept.exists()


def test_what_belongs_together_ends_first(ended):
    steps = []

    def work():
        with undisturbed():
            with undisturbed():
                leave(2)
                steps.append("inner")
            steps.append("outer")
        steps.append("behind")

    # the inner block may end the process no sooner than the outer one
    with pytest.raises(Ended):
        work()
    assert steps == ["inner", "outer"]
    assert ended == [130]


def test_where_all_files_are_in_their_places_only_a_second_signal_ends(ended):
    with undisturbed():
        leave(2)
        finish()
    assert ended == []
    with pytest.raises(Ended):
        leave(15)
    assert ended == [143]


def test_what_came_too_late_ends_the_process_before_it_writes_more(ended):
    finish()
    leave(2)
    assert ended == []
    with pytest.raises(Ended):
        begin()
    assert ended == [130]


def test_a_temporary_file_is_forgotten_once_it_is_removed(tmp_path):
    file = make_temporary(tmp_path, suffix=".sav")
    assert file.suffix == ".sav"
    assert file in UNFINISHED
    remove_temporary(file)
    assert not file.exists()
    assert not UNFINISHED


def test_a_temporary_folder_goes_with_all_that_it_holds(ended):
    with temporary_folder() as folder:
        (folder / "a").write_text("")
    assert not folder.exists()
    with temporary_folder() as folder:
        (folder / "a").write_text("")
        with pytest.raises(Ended):
            leave(2)
        assert not folder.exists()


def test_folders_for_results_go_where_they_are_empty(ended, tmp_path):
    deep = tmp_path / "a" / "b"
    with pytest.raises(ValueError, match="late"), folder_for_results(deep):
        raise ValueError("late")
    assert list(tmp_path.iterdir()) == []
    with folder_for_results(deep), pytest.raises(Ended):
        leave(2)
    assert list(tmp_path.iterdir()) == []
    deep.parent.mkdir()
    (deep.parent / "kept").write_text("")
    with pytest.raises(ValueError, match="late"), folder_for_results(deep):
        raise ValueError("late")
    assert [path.name for path in Path(tmp_path / "a").iterdir()] == ["kept"]
    with folder_for_results(deep):
        pass
    assert deep.is_dir()
    with pytest.raises(ValueError, match="late"), folder_for_results(deep):  # it was there
        raise ValueError("late")
    assert deep.is_dir()
