"""Making a passport: small, of the other half, and armed only where the reference is exchangeable."""

import numpy as np
import pandas as pd
import pytest

from batches import table
from shiftmetrics.decisions.monitor.monitor import MonitorState, monitor_batch
from shiftmetrics.decisions.monitor.passport import Passport
from shiftmetrics.decisions.monitor.profile import make_passport


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


def of_month(rng, first, n=400):
    days = pd.date_range(first, periods=n, freq="h")
    return pd.DataFrame(
        {"visit_id": np.arange(n), "day": days, "x": rng.normal(size=n), "y": rng.normal(size=n)}
    )


def test_times_and_ids_are_no_reason_for_an_alarm():
    rng = np.random.default_rng(3)
    passport = make_passport(of_month(rng, "2024-09-01"))
    assert passport.encoder.names == ("x", "x is missing", "y", "y is missing")
    assert passport.encoder.id_column == "visit_id"
    state = None
    for month in ("2024-10-01", "2024-11-01", "2024-12-01"):
        batch = of_month(rng, month)
        batch["visit_id"] += 10_000
        result = monitor_batch(passport, batch, state=state)
        state = result.state
        assert result.verdict == "NO ALARM"
        assert result.above == ()
    earlier = monitor_batch(passport, of_month(rng, "2023-01-01"))
    assert "`day`" in earlier.above[0]
    assert earlier.headline().startswith("Warning: The dates of the reference are later")


def test_a_batch_is_read_by_the_kinds_of_the_reference(tmp_path):
    rng = np.random.default_rng(5)
    reference = pd.DataFrame({"paid": rng.random(200) < 0.5, "x": rng.normal(size=200)})
    make_passport(reference).save(tmp_path / "p.json")
    passport = Passport.load(tmp_path / "p.json")
    assert passport.kinds["paid"].kind == "boolean"
    spelled = reference.assign(paid=reference["paid"].map({True: "t", False: "f"}))
    assert passport.count(spelled).equals(passport.count(reference))
    with pytest.raises(ValueError, match="paid"):
        passport.count(reference.assign(paid="perhaps"))
