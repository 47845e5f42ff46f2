"""The batches of a history, as they were counted."""

import pytest

from batches import table
from shiftmetrics._core.staging import all_or_nothing
from shiftmetrics.decisions.monitor import history
from shiftmetrics.decisions.monitor.history import CountedBatch
from shiftmetrics.decisions.monitor.monitor import monitor_batch
from shiftmetrics.decisions.monitor.passport import BatchCounts
from shiftmetrics.decisions.monitor.profile import make_passport
from shiftmetrics.decisions.monitor.row_tests import Count
from shiftmetrics.decisions.monitor.state_file import StateFile


@pytest.fixture
def passport(rng):
    return make_passport(table(rng, 300).drop(columns="label"))


def given(file, passport, hits, note=None):
    counts = BatchCounts(tuple(Count(hits, 40) for _ in passport.tests), Count(0, 0))
    with all_or_nothing(), file.locked():
        before = file.read(passport)
        state = before.acknowledge(note) if note else before
        return file.write(monitor_batch(passport, counts, state=state), before)


def test_a_result_holds_every_batch_as_it_was_counted(passport, tmp_path):
    file = StateFile(tmp_path / "s.json")
    given_hits = [1, 2, *[38] * 12]
    results = [given(file, passport, hits) for hits in given_hits]
    results.append(given(file, passport, 37, "new station"))
    batches = results[-1].batches
    assert [batch.number for batch in batches] == list(range(1, 16))
    assert [batch.rows[0].hits for batch in batches] == [*given_hits, 37]
    assert [batch.verdict for batch in batches] == [result.verdict for result in results]
    assert [batch.acknowledged for batch in batches] == [*[()] * 14, ("new station",)]
    assert {batch.n_samples for batch in batches} == {40}
    assert results[-1].exit_code == 0
    assert "CHANGED" in {batch.verdict for batch in batches}


def test_batches_that_are_not_on_the_way_to_the_state_are_left_out(passport, tmp_path):
    file = StateFile(tmp_path / "s.json")
    given(file, passport, 1)
    earlier = file.path.read_bytes()
    given(file, passport, 30)
    file.path.write_bytes(
        earlier
    )  # as after a process that was killed before it replaced the state
    result = given(file, passport, 3)
    assert [batch.rows[0].hits for batch in result.batches] == [1, 3]


def test_the_last_batches_are_held(passport, tmp_path, monkeypatch):
    monkeypatch.setattr("shiftmetrics.decisions.monitor.state_file.MOST_SHOWN", 4)
    file = StateFile(tmp_path / "s.json")
    for hits in range(7):
        result = given(file, passport, hits)
        assert [batch.rows[0].hits for batch in result.batches] == list(range(hits + 1))[-4:]
    assert history.MOST_SHOWN == 500


def test_labels_alone_have_their_number():
    batch = CountedBatch(number=1, time="", rows=(), errors=Count(2, 9), verdict="NO ALARM")
    assert batch.n_samples == 9
