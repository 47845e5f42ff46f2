"""Passports and monitors: small files, counts that add, alarms, states that are never mixed up."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from shiftmetrics.decisions.monitor.alarm import Alarm
from shiftmetrics.decisions.monitor.monitor import MonitorState, monitor_batch
from shiftmetrics.decisions.monitor.passport import Passport
from shiftmetrics.decisions.monitor.profile import make_passport

JOBS = ["cook", "nurse", "clerk"]


def table(rng, n, moved=0.0):
    x = rng.normal(size=n)
    return pd.DataFrame(
        {
            "x": x + moved,
            "y": rng.normal(size=n),
            "job": rng.choice(JOBS, n),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "label": np.where(rng.random(n) < 0.1, x < 0, x > 0),
        }
    )


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(9)
    train = table(rng, 500)
    return LogisticRegression().fit(train[["x", "y"]], train["label"])


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def passport_of(rng, model, n=1000, **options):
    return make_passport(table(rng, n), model=model, label="label", **options)


def test_a_passport_is_small_holds_no_row_and_reads_back(rng, model, tmp_path):
    frame = table(rng, 2000)
    wide = frame.assign(**{f"number {k}": rng.normal(size=2000) for k in range(60)})
    passport = make_passport(wide, model=model, label="label")
    path = tmp_path / "passport.json"
    passport.save(path)
    assert path.stat().st_size <= 100_000
    back = Passport.load(path)
    assert back.equals(passport)
    assert back.digest == passport.digest
    batch = table(rng, 50).assign(**{f"number {k}": rng.normal(size=50) for k in range(60)})
    assert back.count(batch, model=model).equals(passport.count(batch, model=model))


def test_the_reference_counts_are_those_of_the_other_half(rng, model):
    frame = table(rng, 1000)
    passport = make_passport(frame, model=model, label="label")
    fractions = [test.reference.hits / test.reference.n for test in passport.tests]
    np.testing.assert_allclose(fractions, [0.5, 0.25, 0.1, 0.03, 0.5, 0.25, 0.1, 0.03], atol=0.01)
    assert passport.tests[0].reference.n == 500
    wrong = model.predict(frame[["x", "y"]]) != frame["label"]
    assert (passport.errors.hits, passport.errors.n) == (wrong.sum(), 1000)


def test_errors_are_counted_as_by_hand(rng, model):
    passport = passport_of(rng, model)
    batch = table(rng, 80)
    batch["label"] = batch["label"].astype(object)
    batch.loc[:9, "label"] = None
    known = batch.iloc[10:]
    wrong = model.predict(known[["x", "y"]]) != known["label"].to_numpy(dtype=bool)
    counts = passport.count(batch, model=model)
    assert (counts.errors.hits, counts.errors.n) == (wrong.sum(), 70)


def test_parts_of_a_batch_add_up(rng, model):
    passport = passport_of(rng, model)
    batch = table(rng, 90)
    whole = passport.count(batch, model=model)
    parts = passport.count(batch[:30], model=model) + passport.count(batch[30:], model=model)
    assert parts.equals(whole)
    states = [monitor_batch(passport, counts).state for counts in (whole, parts)]
    assert states[0].equals(states[1])


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
    assert result.verdict == "ERRORS HAVE RISEN"
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
    assert result.verdict == "THE SAMPLES HAVE CHANGED"
    assert result.value <= 0.05
    first = min(alarm.raised_at for alarm in state.rows if alarm.raised)
    assert f"batch {first}" in result.sentence
    assert "worse" not in result.sentence
    assert any("Errors are not watched" in note for note in result.notes())


def test_an_ordered_reference_arms_labels_only(rng):
    frame = table(rng, 2000).sort_values("x")
    passport = make_passport(frame.assign(guess=frame["x"] > 0), label="label", model="guess")
    assert not passport.rows_armed
    assert "exchangeable" in passport.note
    state = MonitorState.start(passport)
    assert state.rows == ()
    assert state.errors is not None
    batch = table(rng, 40)
    result = monitor_batch(passport, batch.assign(guess=batch["x"] > 0), state=state)
    assert result.verdict == "NO ALARM"
    assert any("exchangeable" in note for note in result.notes())


def test_text_is_left_out_and_said(rng):
    words = ["good", "bad", "film", "plot", "actor", "music", "story", "scene"]
    frame = table(rng, 300).assign(review=[" ".join(rng.choice(words, 9)) for _ in range(300)])
    passport = make_passport(frame)
    assert "Left out `review`: it is text." in passport.encoder.notes()


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


@pytest.mark.parametrize(
    "text", ["", "[1]", "{}", '{"type": "Alarm"}', '{"type": "Passport", "version": 1}', "\x00"]
)
def test_files_that_are_no_passports_are_refused(text, tmp_path):
    path = tmp_path / "passport.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="passport"):
        Passport.load(path)


def test_a_passport_of_another_version_is_refused(rng, tmp_path):
    path = tmp_path / "passport.json"
    make_passport(table(rng, 100)).save(path)
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "version": 99}))
    with pytest.raises(ValueError, match="99"):
        Passport.load(path)


def test_what_cannot_be_counted_is_refused(rng, model):
    passport = passport_of(rng, model)
    with pytest.raises(ValueError, match="model"):
        passport.count(table(rng, 10))
    with pytest.raises(ValueError, match="job"):
        passport.count(table(rng, 10).drop(columns="job"), model=model)
    with pytest.raises(ValueError, match="'x'"):
        passport.count(table(rng, 10).assign(x="word"), model=model)
    with pytest.raises(ValueError, match="rows"):
        passport.count(table(rng, 10).iloc[:0], model=model)
    with pytest.raises(ValueError, match="label"):
        make_passport(table(rng, 100), label="truth")
    with pytest.raises(ValueError, match="samples"):
        make_passport(table(rng, 10))
    with pytest.raises(ValueError, match="label"):
        make_passport(table(rng, 100), model="job", label="label")


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
    for _ in range(40):
        frame = rng.normal(size=(1000, 3))
        passport = make_passport(frame, rng=int(rng.integers(1000)))
        state = MonitorState.start(passport)
        for _ in range(200):
            state = state.update(passport.count(rng.normal(size=(50, 3))))
        alarmed += any(alarm.raised for alarm in state.alarms)
    assert alarmed <= 4


def test_alarms_share_the_level():
    rng = np.random.default_rng(2)
    frame = table(rng, 400)
    passport = make_passport(frame.assign(guess=frame["x"] > 0), label="label", model="guess")
    errors, rows = passport.alarms()
    assert isinstance(errors, Alarm)
    assert errors.alpha + sum(alarm.alpha for alarm in rows) == pytest.approx(0.05)
