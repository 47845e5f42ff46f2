"""Damaged states are refused with the place that is wrong; sound ones come back."""

import json

import pytest

from batches import passport_of, table
from shiftmetrics.decisions.monitor.monitor import MonitorState, monitor_batch


@pytest.fixture
def kept(rng, model, tmp_path):
    """A passport, and the file of a state after two batches."""
    passport = passport_of(rng, model)
    state = None
    for _ in range(2):
        state = monitor_batch(passport, table(rng, 50), state=state, model=model).state
    path = tmp_path / "state.json"
    state.save(path)
    return passport, path


def edited(content, place, value):
    """Set, or remove, one place of a document."""
    *way, last = place
    part = content
    for step in way:
        part = part[step]
    if value is None:
        del part[last]
    else:
        part[last] = value


NANS = {"array": ["nan"] * 11, "dtype": "float64", "shape": [11]}
FEW = {"array": [0.1] * 3, "dtype": "float64", "shape": [3]}
HUGE = {"array": [0.0] * 10 + ["inf"], "dtype": "float64", "shape": [11]}
DAMAGE = {
    "no rows": (["rows"], [], "rows"),
    "the last alarm": (["rows", -1], None, "rows"),
    "nan": (["rows", 0, "bets"], NANS, "bets"),
    "infinity": (["rows", 0, "bets"], HUGE, "bets"),
    "three bets": (["rows", 0, "bets"], FEW, "bets"),
    "negative batches": (["n_batches"], -5, "n_batches"),
    "allowed": (["rows", 1, "allowed"], 2, "allowed"),
    "alpha": (["rows", 1, "alpha"], 1e-9, "alpha"),
    "no alpha": (["errors", "alpha"], 0, "alpha"),
    "no samples": (["n_samples"], None, "n_samples"),
    "batches of an alarm": (["rows", 0, "n_batches"], -1, "n_batches"),
    "more hits than samples": (["rows", 0, "n_hits"], 1000, "n_hits"),
    "an alarm that is not": (["rows", 0, "raised_at"], 1, "raised_at"),
    "a restart without a note": (["rows", 0, "n_restarts"], 1, "n_restarts"),
    "a later start": (["rows", 0, "started_at"], 3, "started_at"),
    "a digit": (["rows", 0, "n_hits"], 1, "checksum"),
    "sequence": (["sequence"], 1, "sequence"),
    "no errors": (["errors"], {"text": "nan"}, "errors"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_named(damage, kept):
    passport, path = kept
    place, value, word = DAMAGE[damage]
    content = json.loads(path.read_text())
    edited(content, place, value)
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=f"state must be a complete file.*damaged.*{word}"):
        MonitorState.load(path, passport)


def test_alarms_in_another_order_are_refused(kept):
    passport, path = kept
    content = json.loads(path.read_text())
    content["rows"].reverse()
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"rows\[0\]\.name"):
        MonitorState.load(path, passport)
    with pytest.raises(ValueError, match="checksum"):
        MonitorState.load(path)


def test_states_of_other_versions_are_refused(kept):
    passport, path = kept
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "version": 3}))
    with pytest.raises(ValueError, match="Upgrade"):
        MonitorState.load(path, passport)
    path.write_text(json.dumps({**content, "version": 1}))
    with pytest.raises(ValueError, match="version 1"):
        MonitorState.load(path, passport)


def test_the_layout_of_the_file_does_not_matter(kept):
    passport, path = kept
    state = MonitorState.load(path)
    path.write_text(json.dumps(json.loads(path.read_text()), indent=2))
    assert MonitorState.load(path, passport).equals(state)
    assert state.sequence == state.n_batches == 2


def test_a_state_in_memory_is_held_against_its_passport(kept, rng, model):
    from dataclasses import replace

    passport, path = kept
    state = replace(MonitorState.load(path), rows=())
    with pytest.raises(ValueError, match="rows"):
        monitor_batch(passport, table(rng, 20), state=state, model=model)
