"""Passports and monitors: small files, counts that add, alarms, states that are never mixed up."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from batches import passport_of, table
from shiftmetrics.decisions.monitor.monitor import MonitorState, monitor_batch
from shiftmetrics.decisions.monitor.profile import make_passport


def test_errors_that_rise_are_found(rng, model):
    passport = passport_of(rng, model)
    state = None
    for look in range(60):
        batch = table(rng, 10)
        if look >= 20:
            flip = rng.random(10) < 0.4
            batch["label"] = batch["label"] ^ flip
        result = monitor_batch(passport, batch, state=state, model=model)
        state = result.state
        if result.exit_code:
            break
    assert result.verdict == "MORE ERRORS"
    assert 20 < state.errors.raised_at <= 50
    assert f"batch {state.errors.raised_at}" in result.sentence
    assert f"{state.errors.n_hits} of {state.errors.n_samples}" in result.sentence
    assert result.value <= 0.05


def test_samples_that_change_are_never_called_worse(rng):
    passport = make_passport(table(rng, 1000).drop(columns="label"))
    state = None
    for _ in range(15):
        result = monitor_batch(passport, table(rng, 50, moved=3.0), state=state)
        state = result.state
    assert result.verdict == "CHANGED"
    assert result.value <= 0.05
    first = min(alarm.raised_at for alarm in state.rows if alarm.raised)
    assert f"batch {first}" in result.sentence
    assert "worse" not in result.sentence
    assert any("Errors are not watched" in note for note in result.notes())


def test_states_survive_files_and_belong_to_one_passport(rng, model, tmp_path):
    passport = passport_of(rng, model)
    state = monitor_batch(passport, table(rng, 50), model=model).state
    path = tmp_path / "state.json"
    state.save(path)
    assert MonitorState.load(path).equals(state)
    other = make_passport(table(rng, 300))
    batch = table(rng, 60)
    once = monitor_batch(other, batch)
    path.write_text(once.state.text)
    again = monitor_batch(other, batch, state=MonitorState.load(path))
    assert [len(result.warnings) for result in (once, again)] == [0, 1]
    assert again.warnings[0] in again.notes()
    assert monitor_batch(other, table(rng, 60), state=once.state).warnings == ()
    with pytest.raises(ValueError, match=other.digest):
        monitor_batch(other, table(rng, 50), state=state)


def test_a_default_forest_is_watched_too(rng):
    train, reference = table(rng, 300), table(rng, 600)
    forest = RandomForestClassifier(random_state=0).fit(train[["x", "y"]], train["label"])
    passport = make_passport(reference, model=forest, label="label")
    result = monitor_batch(passport, table(rng, 100), model=forest)
    assert result.verdict == "NO ALARM"


@pytest.mark.slow
def test_few_monitors_alarm_without_a_change():
    rng = np.random.default_rng(1)
    alarmed = 0
    for _ in range(24):
        frame = rng.normal(size=(1000, 3))
        passport = make_passport(frame, rng=int(rng.integers(1000)))
        state = MonitorState.start(passport)
        for _ in range(200):
            state = state.update(passport.count(rng.normal(size=(50, 3))))
        alarmed += any(alarm.raised for alarm in state.alarms)
    assert alarmed <= 3  # at a rate of 5 % more have a chance of 1 in 33
