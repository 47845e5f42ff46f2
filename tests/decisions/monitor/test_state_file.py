"""One process at a time; a history that proves the alarms."""

import json
import multiprocessing
import os

import numpy as np
import pytest

from batches import table
from shiftmetrics._core.staging import all_or_nothing
from shiftmetrics.decisions.monitor.monitor import monitor_batch
from shiftmetrics.decisions.monitor.passport import BatchCounts, Passport
from shiftmetrics.decisions.monitor.profile import make_passport
from shiftmetrics.decisions.monitor.row_tests import Count
from shiftmetrics.decisions.monitor.state_file import StateFile


@pytest.fixture
def passport(rng):
    return make_passport(table(rng, 300).drop(columns="label"))


def moved_on(file, passport, counts):
    """Count a batch, as the command does."""
    with all_or_nothing(), file.locked():
        before = file.read(passport)
        result = monitor_batch(passport, counts, state=before)
        file.write(result, before)
    return result


def counts_of(passport, hits, n=40):
    return BatchCounts(tuple(Count(hits, n) for _ in passport.tests), Count(0, 0))


def count_in_process(folder, n_rounds, hits):
    passport = Passport.load(folder / "passport.json")
    for _ in range(n_rounds):
        moved_on(StateFile(folder / "state.json"), passport, counts_of(passport, hits))


@pytest.mark.slow
def test_no_batch_is_lost_among_processes(passport, tmp_path):
    passport.save(tmp_path / "passport.json")
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=count_in_process, args=(tmp_path, 50, hits)) for hits in range(4)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0] * 4
    file = StateFile(tmp_path / "state.json")
    state = file.read(passport)
    assert state.n_batches == 200
    assert state.n_samples == 200 * 40
    assert file.replay(passport).equals(state)


def test_whoever_waits_too_long_learns_for_whom(passport, tmp_path):
    file = StateFile(tmp_path / "state.json")
    waiting = StateFile(tmp_path / "state.json", patience=0.1)
    with (
        file.locked(),
        pytest.raises(ValueError, match=f"process {os.getpid()} on"),
        waiting.locked(),
    ):
        pass
    assert not (tmp_path / "state.json").exists()
    with waiting.locked():
        pass


def test_a_link_to_a_state_has_its_lock(passport, tmp_path):
    file = StateFile(tmp_path / "state.json")
    moved_on(file, passport, counts_of(passport, 1))
    (tmp_path / "link.json").symlink_to("state.json")
    linked = StateFile(tmp_path / "link.json", patience=0.1)
    assert linked.lock == file.lock
    moved_on(linked, passport, counts_of(passport, 2))
    assert (tmp_path / "link.json").is_symlink()
    assert file.read(passport).n_batches == 2


def test_an_alarm_is_proven_by_the_history(passport, tmp_path):
    file = StateFile(tmp_path / "state.json")
    for _ in range(12):
        result = moved_on(file, passport, counts_of(passport, 38))
    assert result.exit_code == 1
    assert file.replay(passport).equals(file.read(passport))
    lines = [json.loads(line) for line in file.history.read_text().splitlines()]
    assert [line["sequence"] for line in lines] == list(range(1, 13))
    first = next(line for line in lines if line["raised"])
    assert first["sequence"] == min(a.raised_at for a in result.state.rows if a.raised)


def test_an_edited_history_is_noticed(passport, tmp_path):
    file = StateFile(tmp_path / "state.json")
    for hits in (1, 2, 3):
        moved_on(file, passport, counts_of(passport, hits))
    lines = file.history.read_text().splitlines()
    file.history.write_text("\n".join([lines[0].replace("[1,", "[9,"), *lines[1:]]) + "\n")
    assert file.read(passport).n_batches == 3
    with pytest.raises(ValueError, match="all 3 batches"):
        file.replay(passport)
    file.history.write_text("\n".join(lines[:2]) + "\n")
    with pytest.raises(ValueError, match="batch 3"):
        file.read(passport)


def test_nothing_leaves_the_history(passport, tmp_path):
    """Who goes back to an earlier state cannot hide what came after it."""
    file = StateFile(tmp_path / "state.json")
    moved_on(file, passport, counts_of(passport, 1))
    earlier = file.path.read_bytes()
    moved_on(file, passport, counts_of(passport, 38))
    file.path.write_bytes(earlier)
    # A line that was cut off by the end of a process.
    with file.history.open("a") as history:
        history.write('{"sequence":2,')
    moved_on(file, passport, counts_of(passport, 2))
    assert file.replay(passport).n_batches == 2
    text = file.history.read_text()
    assert text.count("[38,40]") == len(passport.tests)
    assert len(text.splitlines()) == 4


def test_a_batch_that_failed_is_not_counted(passport, tmp_path):
    file = StateFile(tmp_path / "state.json")
    moved_on(file, passport, counts_of(passport, 1))
    before = file.path.read_bytes()

    def failing():
        with all_or_nothing(), file.locked():
            state = file.read(passport)
            file.write(monitor_batch(passport, counts_of(passport, 9), state=state), state)
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        failing()
    assert file.path.read_bytes() == before
    assert len(file.history.read_text().splitlines()) == 1
    assert moved_on(file, passport, counts_of(passport, 2)).state.n_batches == 2
    assert file.replay(passport).n_batches == 2
    assert len(file.history.read_text().splitlines()) == 2
    assert {path.name for path in tmp_path.iterdir()} == {
        "state.json", "state.history.jsonl", "state.json.lock",
    }  # fmt: skip


def test_a_state_that_moved_without_its_history_goes_on(passport, tmp_path):
    file = StateFile(tmp_path / "state.json")
    moved_on(file, passport, counts_of(passport, 1))
    file.history.unlink()
    assert moved_on(file, passport, counts_of(passport, 1)).state.n_batches == 2
    with pytest.raises(ValueError, match="the last 1"):
        file.replay(passport)
    assert np.isfinite(file.read(passport).rows[0].bets).all()


def test_a_full_disk_leaves_no_line_of_a_batch(passport, tmp_path, monkeypatch):
    file = StateFile(tmp_path / "state.json")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    def failing():
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(OSError, match="No space"):
                moved_on(file, passport, counts_of(passport, 9))

    failing()
    assert {path.name for path in tmp_path.iterdir()} == {"state.json.lock"}
    moved_on(file, passport, counts_of(passport, 1))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    failing()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
