"""Passports: what they count, what they refuse, and how their alarms share the level."""

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from batches import passport_of, table
from shiftmetrics.decisions.monitor.alarm import Alarm
from shiftmetrics.decisions.monitor.monitor import monitor_batch
from shiftmetrics.decisions.monitor.profile import make_passport


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


def test_alarms_share_the_level():
    rng = np.random.default_rng(2)
    frame = table(rng, 400)
    passport = make_passport(frame.assign(guess=frame["x"] > 0), label="label", model="guess")
    errors, rows = passport.alarms()
    assert isinstance(errors, Alarm)
    # One half is kept for alarms that are started again.
    assert errors.alpha + sum(alarm.alpha for alarm in rows) == pytest.approx(0.025)


@pytest.mark.parametrize("words", [("no", "yes"), (1, 2), (-1, 1), ("0", "right")])
def test_labels_in_other_words_are_no_errors(rng, words):
    frame = table(rng, 300)
    frame["label"] = frame["label"].astype(int)
    model = LogisticRegression().fit(frame[["x", "y"]], frame["label"])
    passport = make_passport(frame, model=model, label="label")
    batch = table(rng, 60)
    batch["label"] = np.where(batch["label"].astype(bool), words[1], words[0])
    with pytest.raises(ValueError, match="among the classes that are predicted"):
        passport.count(batch, model=model)


def test_few_labels_in_other_words_are_no_errors(rng):
    frame = table(rng, 300)
    frame["label"] = frame["label"].astype(int)
    model = LogisticRegression().fit(frame[["x", "y"]], frame["label"])
    passport = make_passport(frame, model=model, label="label")
    batch = table(rng, 3)
    with pytest.raises(ValueError, match="among the classes that are predicted"):
        passport.count(batch.assign(label="no"), model=model)
    # Numbers may be those of a class that the model has never seen.
    assert passport.count(batch.assign(label=2), model=model).errors.hits == 3
    new = table(rng, 60)
    new["label"] = np.where(np.arange(60) < 10, 2, new["label"].astype(int))
    assert passport.count(new, model=model).errors.hits >= 10


def test_another_model_is_warned_of(rng, tmp_path):
    frame = table(rng, 300)
    model = LogisticRegression().fit(frame[["x", "y"]], frame["label"])
    passport = make_passport(frame, model=model, label="label")
    batch = table(rng, 60)
    joblib.dump(model, tmp_path / "m.joblib")
    read = joblib.load(tmp_path / "m.joblib")
    assert passport.count(batch, model=read).above == ()
    other = LogisticRegression(C=0.1).fit(frame[["x", "y"]], frame["label"])
    (warning,) = passport.count(batch, model=other).above
    assert "not the one that the passport was made with" in warning
    result = monitor_batch(passport, batch, model=other)
    assert result.above == (warning,)


def test_a_model_that_cannot_be_written_is_not_compared(rng):
    class Local(LogisticRegression):
        """Of a function: pickle finds no such class."""

    frame = table(rng, 300)
    model = Local().fit(frame[["x", "y"]], frame["label"])
    passport = make_passport(frame, model=model, label="label")
    assert passport.model == ""
    assert passport.count(table(rng, 60), model=model).above == ()
