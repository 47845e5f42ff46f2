"""Alarms that were acknowledged: what is said, kept in files, and raised by later news."""

import pytest

from batches import table
from shiftmetrics.decisions.monitor.acknowledgement import Acknowledgement
from shiftmetrics.decisions.monitor.monitor import monitor_batch
from shiftmetrics.decisions.monitor.passport import BatchCounts
from shiftmetrics.decisions.monitor.profile import make_passport
from shiftmetrics.decisions.monitor.row_tests import Count
from shiftmetrics.decisions.monitor.state import MonitorState
from shiftmetrics.decisions.monitor.state_file import StateFile


@pytest.fixture
def passport(rng):
    return make_passport(table(rng, 300).drop(columns="label"))


def batch_of(passport, rate, n=200):
    """Return a batch of which every test counts a multiple of what it counts in the reference."""
    rows = []
    for test in passport.tests:
        usual = test.reference.hits / test.reference.n
        rows.append(Count(min(n, round(rate * usual * n)), n))
    return BatchCounts(tuple(rows), Count(0, 0))


def test_the_sentence_names_what_was_accepted():
    both = Acknowledgement(note="new station", batch=4, alarms=("errors", "farther than 99 %"))
    assert both.sentence() == "Acknowledged after batch 4 (errors and samples): new station."


def test_an_accepted_change_is_silent_and_later_news_is_not(passport, tmp_path):
    file = StateFile(tmp_path / "state.json")
    codes = []
    notes = {4: "new station"}
    for number, rate in enumerate((1, 1, 4, 4, 4, 4, 4, 4, 9, 9, 9, 9)):
        before = state = file.read(passport)
        if number in notes:
            state = state.acknowledge(notes[number])
        result = monitor_batch(passport, batch_of(passport, rate), state=state)
        file.write(result, before)
        codes.append(result.exit_code)
        if 4 <= number <= 7:
            assert any("new station" in note for note in result.notes())
            assert "beyond what was acknowledged" in result.sentence
    assert codes[:2] == [0, 0]
    assert codes[3] == 1
    assert codes[4:8] == [0, 0, 0, 0]
    assert codes[-1] == 1
    # The file, and its history, give the same alarms.
    state = file.read(passport)
    assert state.equals(MonitorState.load(file.path, passport))
    assert file.replay(passport).equals(state)
    assert [each.batch for each in state.acknowledged] == [4]
    assert "acknowledge" in " ".join(result.notes())


def test_only_an_alarm_can_be_acknowledged(passport):
    state = MonitorState.start(passport)
    with pytest.raises(ValueError, match="no alarm that is raised"):
        state.acknowledge("nothing")
    with pytest.raises(ValueError, match="acknowledge"):
        state.acknowledge(" ")


def test_errors_and_samples_are_started_again_apart(rng):
    frame = table(rng, 400)
    passport = make_passport(frame.assign(guess=frame["x"] > 0), label="label", model="guess")
    state = MonitorState.start(passport)
    for _ in range(8):
        calm = tuple(Count(0, 100) for _ in passport.tests)
        state = state.update(BatchCounts(calm, Count(60, 100)))
    assert state.errors.raised
    accepted = state.acknowledge("labels by another team")
    assert (accepted.errors.n_restarts, {alarm.n_restarts for alarm in accepted.rows}) == (1, {0})
    assert accepted.acknowledged[0].alarms == ("errors",)
