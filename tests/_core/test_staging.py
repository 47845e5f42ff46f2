"""All files of a command are put in their places, or none of them."""

import os
import time
from pathlib import Path

import pytest

from shiftmetrics._core.interrupts import UNFINISHED
from shiftmetrics._core.staging import all_or_nothing, current_staging, rename


@pytest.fixture
def beside(tmp_path):
    """Return a function that writes a new file beside its place, and the place with what it holds now."""

    def beside(name, now=None):
        target = tmp_path / name
        if now is not None:
            target.write_text(now)
        source = tmp_path / f".{name}.new"
        source.write_text(f"new {name}")
        UNFINISHED.add(source)
        return source, target

    yield beside
    UNFINISHED.clear()


def test_outside_of_a_command_a_file_is_renamed_or_removed_at_once(beside):
    source, target = beside("a", now="old")
    rename(source, target)
    assert target.read_text() == "new a"
    assert not source.exists()
    rename(target, None)
    assert not target.exists()
    rename(target, None)  # what is gone already is no error


def test_all_files_come_at_the_end(beside):
    (first, a), (second, b) = beside("a", now="old"), beside("b")
    gone = beside("c", now="old")[1]
    with all_or_nothing() as staging:
        assert current_staging() is staging
        rename(first, a)
        rename(second, b)
        rename(gone, None)
        assert (a.read_text(), b.exists(), gone.exists()) == ("old", False, True)
    assert current_staging() is None
    assert (a.read_text(), b.read_text(), gone.exists()) == ("new a", "new b", False)
    assert not {first, second} & UNFINISHED


def test_an_error_leaves_everything_as_it_was(beside):
    source, target = beside("a", now="old")
    kept = beside("b", now="old")[1]

    def fail():
        with all_or_nothing():
            rename(source, target)
            rename(kept, None)
            raise RuntimeError("late")

    with pytest.raises(RuntimeError, match="late"):
        fail()
    assert (target.read_text(), kept.read_text()) == ("old", "old")
    assert not source.exists()
    assert source not in UNFINISHED


def test_where_renaming_fails_what_is_left_is_removed(beside):
    done, first = beside("a")
    lost, second = beside("b")
    left, third = beside("c")
    lost.unlink()

    def write():
        with all_or_nothing():
            rename(done, first)
            rename(lost, second)
            rename(left, third)

    with pytest.raises(FileNotFoundError):
        write()
    assert first.read_text() == "new a"
    assert not left.exists()
    assert not third.exists()


def test_what_is_written_as_last_comes_after_what_is_written_later(beside, monkeypatch):
    order = []
    path = type(beside("a")[0])
    replace = path.replace

    def noted(self, target):
        order.append(target.name)
        return replace(self, target)

    monkeypatch.setattr(path, "replace", noted)
    with all_or_nothing() as staging:
        with staging.as_last():
            rename(*beside("state"))
        rename(*beside("report"))
    assert order == ["report", "state"]


def test_what_is_held_is_released_after_the_files_are_in_place(beside):
    source, target = beside("a")
    seen = []
    with all_or_nothing() as staging:
        staging.held.callback(lambda: seen.append(target.exists()))
        rename(source, target)
    assert seen == [True]

    def fail():
        with all_or_nothing() as staging:
            staging.held.callback(lambda: seen.append("released"))
            raise RuntimeError("late")

    with pytest.raises(RuntimeError, match="late"):
        fail()
    assert seen == [True, "released"]


def test_a_change_in_place_comes_first_and_is_undone_by_an_error(beside, tmp_path):
    source, target = beside("a", now="old")
    log = tmp_path / "log"
    log.write_text("one ")

    def change(staging):
        def do():
            assert target.read_text() == "old"
            log.write_text("one two ")

        staging.change(do, lambda: log.write_text("one "))

    with all_or_nothing() as staging:
        rename(source, target)
        change(staging)
        assert log.read_text() == "one "
    assert log.read_text() == "one two "
    log.write_text("one ")
    target.write_text("old")
    lost = beside("b")[0]
    lost.unlink()

    def fail():
        with all_or_nothing() as staging:
            change(staging)
            rename(lost, tmp_path / "b")

    with pytest.raises(FileNotFoundError):
        fail()
    assert log.read_text() == "one "


def test_two_commands_with_one_output_do_not_mix_their_files(tmp_path, monkeypatch):
    """The first one pauses between its two files, when the second one has all of its own ready."""
    pytest.importorskip("fcntl", reason="folders are locked on POSIX")
    replace = Path.replace

    def slowly(source, target):
        found = replace(source, target)
        if source.suffix == ".first":
            time.sleep(0.3)
        return found

    monkeypatch.setattr(Path, "replace", slowly)
    children = []
    for name in ("first", "second"):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                with all_or_nothing():
                    for target in ("result.json", "result.npz"):
                        written = tmp_path / f"{target}.{name}"
                        written.write_text(name)
                        UNFINISHED.add(written)
                        rename(written, tmp_path / target)
                code = 0
            finally:
                os._exit(code)
        children.append(child)
        time.sleep(0.1)
    for child in children:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert {path.read_text() for path in tmp_path.iterdir()} == {"second"}
    assert {path.name for path in tmp_path.iterdir()} == {"result.json", "result.npz"}
