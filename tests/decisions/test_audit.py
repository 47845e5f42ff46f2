"""The audit: planted modes, columns, dates, labels; each sentence recomputed."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from shiftmetrics._core.result import format_percent
from shiftmetrics.decisions import AuditResult, audit_samples
from shiftmetrics.decisions.audit.new_modes import contrasts_of
from shiftmetrics.decisions.audit.result import p_words
from shiftmetrics.decisions.audit.search import find_changed_modes
from shiftmetrics.encoding import TableEncoder
from shiftmetrics.encoding.roles import Column

JOBS = ["cook", "nurse", "clerk", "smith"]
FEATURES = ["age", "hours", "job", "married"]


def people(rng, n):
    age = rng.normal(40, 10, n).round()
    frame = pd.DataFrame(
        {
            "person_id": rng.permutation(100 * n)[:n],
            "age": age,
            "hours": rng.normal(38, 5, n).round(1),
            "job": rng.choice(JOBS, n, p=[0.4, 0.3, 0.2, 0.1]),
            "married": rng.random(n) < 0.5,
            "day": pd.date_range("2024-10-01", periods=30).repeat(-(-n // 30))[:n].astype(str),
        }
    )
    frame["rich"] = np.where(rng.random(n) < 0.1, age < 40, age >= 40)
    return frame


def with_riders(rng, frame, fraction, since=15):
    """Plant a mode from a day on: young delivery riders with long hours."""
    day = pd.to_datetime(frame["day"]).dt.day.to_numpy()
    late = np.flatnonzero(day > since)
    rows = rng.choice(late, int(fraction * len(frame)), replace=False)
    frame.loc[rows, "job"] = "rider"
    frame.loc[rows, "hours"] = rng.normal(64, 2, len(rows)).round(1)
    frame.loc[rows, "age"] = rng.normal(22, 1.5, len(rows)).round()
    return rows


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    reference, current = people(rng, 600), people(rng, 600)
    rows = with_riders(rng, current, 0.1)
    return reference, current, rows


@pytest.fixture(scope="module")
def forest():
    train = people(np.random.default_rng(5), 500)
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    model = make_pipeline(encoder, RandomForestClassifier(random_state=0))
    return model.fit(train[FEATURES], train["rich"])


@pytest.fixture(scope="module")
def audited(samples, forest):
    reference, current, _ = samples
    return audit_samples(
        reference, current.drop(columns="rich"), model=forest, label="rich", time="day"
    )


@pytest.mark.slow
def test_the_planted_mode_is_found_described_and_dated(samples, audited):
    rows = samples[2]
    assert audited.verdict == "CHANGED"
    (mode,) = audited.changes.new
    found = set(mode.rows.tolist())
    assert len(found & set(rows.tolist())) >= 0.9 * max(len(found), len(rows))
    assert "job = rider" in [contrast.text for contrast in mode.contrasts]
    assert {contrast.column for contrast in mode.contrasts} <= {"job", "hours", "age"}
    assert mode.change.period == "2024-10-16"
    assert mode.change.before == 0.0


@pytest.mark.slow
def test_every_number_of_the_summary_by_hand(samples, audited):
    _, current, _ = samples
    (mode,) = audited.changes.new
    members = current.iloc[mode.rows]
    assert mode.fraction == len(mode.rows) / 600
    line = audited.mode_line(0)
    assert format_percent(mode.fraction) in line
    assert f"{len(members)} samples" in line
    late = pd.to_datetime(current["day"]).dt.day > 15
    after = late.to_numpy()[mode.rows].sum() / late.sum()
    assert mode.change.after == pytest.approx(after)
    assert f"since 2024-10-16 (0 % > {format_percent(after)})" in line
    for contrast in mode.contrasts:
        if contrast.column == "hours":
            assert contrast.inside == f"{members['hours'].median():.4g}"
    timeline = audited.changes.timeline
    assert timeline.n_samples.sum() == 600
    assert timeline.n_members.sum() == len(members)
    assert timeline.periods[0] == "2024-10-01"


@pytest.mark.slow
def test_ids_are_found_said_and_used(samples, audited):
    _, current, _ = samples
    assert "Took `person_id` as the id: its values are distinct." in audited.notes()
    table = audited.to_frame()
    np.testing.assert_array_equal(
        table["id"], current["person_id"].iloc[table["row"]].astype(str).to_numpy()
    )
    assert set(table["mode"]) == {1}


@pytest.mark.slow
def test_the_range_without_labels_holds_its_condition(samples, forest, audited):
    reference, current, _ = samples
    found = audited.unlabelled
    before = (forest.predict(reference[FEATURES]) == reference["rich"]).mean()
    assert found.reference_accuracy == pytest.approx(before)
    now = (forest.predict(current[FEATURES]) == current["rich"]).mean()
    assert found.low <= now <= found.high
    assert found.unmatched_fraction >= audited.new_fraction
    assert found.sentence() in audited.notes()


@pytest.mark.slow
def test_nothing_is_shown_where_nothing_changed(samples):
    rng = np.random.default_rng(3)
    result = audit_samples(people(rng, 500), people(rng, 500))
    assert result.verdict == "NO CHANGE SHOWN"
    assert result.changes.new == ()
    assert result.value == 0.0
    assert p_words(result.p_value) in result.headline()


@pytest.mark.slow
def test_a_column_that_moved_is_named(samples):
    rng = np.random.default_rng(4)
    reference, current = people(rng, 800), people(rng, 800)
    current["hours"] += 2.0
    result = audit_samples(reference, current, exclude=["day"])
    assert result.verdict == "CHANGED"
    first = result.changes.changed_columns()[0]
    assert first.column == "hours"
    assert f"{current['hours'].median():.4g}, was {reference['hours'].median():.4g}" in first.text


@pytest.mark.slow
def test_all_labels_tell_that_the_model_is_worse(samples, forest):
    reference, current, _ = samples
    wrong = current.assign(rich=~current["rich"])
    result = audit_samples(reference, wrong, model=forest, label="rich")
    right = (forest.predict(wrong[FEATURES]) == wrong["rich"]).sum()
    assert result.verdict == "WORSE"
    assert (result.labelled.n_right, result.labelled.n_labelled) == (right, 600)
    assert result.labelled.change_interval.high < 0
    assert f"{format_percent(right / 600)} of all 600" in result.sentence


@pytest.mark.slow
def test_a_plan_is_drawn_filled_in_and_read_back(samples, forest):
    reference, current, _ = samples
    hidden = current.drop(columns="rich")
    first = audit_samples(reference, hidden, model=forest, label="rich", plan=50)
    assert first.labelled is None
    plan = first.plan
    rows = plan.rows
    filled = pd.DataFrame(
        {
            "person_id": current["person_id"].iloc[rows],
            "label": current["rich"].iloc[rows],
            "plan": plan.text,
        }
    )
    result = audit_samples(reference, hidden, model=forest, label="rich", labels=filled)
    right = (forest.predict(current[FEATURES]) == current["rich"]).to_numpy()[rows]
    assert result.labelled.n_right == right.sum()
    assert result.labelled.interval.method == "exact"
    assert result.labelled.interval.low <= right.mean() <= result.labelled.interval.high
    partial = filled.iloc[:20]
    early = audit_samples(reference, hidden, model=forest, label="rich", labels=partial)
    assert early.labelled.interval.method == "anytime"
    assert early.labelled.n_labelled == 20
    other = hidden.assign(age=hidden["age"] + 30)
    with pytest.raises(ValueError, match="plan"):
        audit_samples(reference, other, model=forest, label="rich", labels=filled)


@pytest.mark.slow
def test_results_survive_files(audited, tmp_path):
    path = tmp_path / "audit.json"
    audited.to_json(path)
    back = AuditResult.from_json(path)
    assert back.equals(audited)
    assert back.headline() == audited.headline()
    assert back.notes() == audited.notes()


@pytest.mark.slow
def test_missing_modes_are_said(samples):
    rng = np.random.default_rng(6)
    reference, current = people(rng, 600), people(rng, 600)
    with_riders(rng, reference, 0.15, since=0)
    result = audit_samples(reference, current, exclude=["day"])
    assert result.changes.missing
    texts = [contrast.text for contrast in result.changes.missing[0].contrasts]
    assert "job = rider" in texts
    assert any("Missing" in note for note in result.notes())


def test_a_new_level_is_found_in_small_samples():
    rng = np.random.default_rng(7)
    reference, current = (people(rng, 150).drop(columns="day") for _ in range(2))
    rows = rng.choice(150, 30, replace=False)
    current.loc[rows, "job"] = "rider"
    current.loc[rows, "hours"] = 64.0
    result = audit_samples(reference, current)
    assert result.verdict == "CHANGED"
    change = result.changes.changed_columns()[0]
    assert change.column in ("job", "hours")
    assert result.headline().startswith("CHANGED  ")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"label": "poor"}, "label"),
        ({"time": "month"}, "time"),
        ({"time": "job"}, "time"),
        ({"exclude": ["wages"]}, "exclude"),
        ({"id_column": "wages"}, "id_column"),
        ({"model": "guess"}, "model"),
        ({"plan": 0, "model": "job"}, "plan"),
        ({"plan": "soon", "model": "job"}, "plan"),
        ({"threshold": 50}, "threshold"),
        ({"labels": pd.DataFrame({"id": [-5], "label": [True]}), "model": "job"}, "labels"),
    ],
)
def test_wrong_arguments_are_named(samples, change, named):
    reference, current, _ = samples
    options = {"label": "rich", **change}
    with pytest.raises((TypeError, ValueError), match=named):
        audit_samples(reference, current.drop(columns="rich"), **options)


def test_a_model_that_refuses_the_columns_is_a_clear_error(samples, forest):
    reference, current, _ = samples
    with pytest.raises(ValueError, match="job"):
        audit_samples(reference, current.drop(columns="job"), model=forest)


@pytest.mark.slow
def test_awkward_samples(samples):
    reference, current, _ = samples
    with pytest.raises(ValueError, match="column"):
        audit_samples(reference, current.add_prefix("new_"))
    single = audit_samples(reference, current.iloc[:1].reset_index(drop=True))
    assert single.verdict in ("CHANGED", "NO CHANGE SHOWN")
    numbers = np.random.default_rng(0).normal(size=(200, 3))
    assert audit_samples(numbers[:100], numbers[100:]).verdict == "NO CHANGE SHOWN"


def test_copies_of_rows_are_no_evidence():
    rng = np.random.default_rng(8)
    reference, current = (people(rng, 60).drop(columns=["person_id", "day"]) for _ in range(2))
    result = audit_samples(
        *(pd.concat([part] * 3, ignore_index=True) for part in (reference, current))
    )
    assert result.verdict == "CANNOT TELL"
    assert result.headline().startswith("CANNOT TELL  Every row of the reference")


def test_a_regression_is_no_classifier():
    rng = np.random.default_rng(9)
    reference, current = people(rng, 60), people(rng, 60)
    model = LinearRegression().fit(reference[["age"]], reference["hours"])
    with pytest.raises(ValueError, match="classifier"):
        audit_samples(reference, current, model=model, label="hours")


@pytest.mark.slow
@pytest.mark.parametrize(("levels", "fraction"), [(0, 0.0), (1, 0.1), (3, 0.12)])
def test_lower_limits_of_what_is_new_hold(levels, fraction):
    """Modes of single columns and of the search share 5 %; of 60 audits 3 may be wrong on average, 8 by chance."""
    rng = np.random.default_rng(11)
    wrong = 0
    for _ in range(60):
        reference, current = (
            pd.DataFrame({"x": rng.normal(size=150), "job": rng.choice(JOBS, 150)})
            for _ in range(2)
        )
        # Each sample is new with this probability: by a job of its own, or else far away.
        new = np.flatnonzero(rng.random(150) < fraction)
        for place in range(levels):
            rows = new[place :: max(levels, 1)]
            if place == 2:
                current.loc[rows, "x"] = rng.normal(2.5, 0.2, len(rows))
            else:
                current.loc[rows, "job"] = f"rider {place}"
        encoder = TableEncoder.fit(reference, current)
        found = find_changed_modes(encoder, reference, current, rng)
        wrong += found.interval.low > fraction
    assert wrong <= 8


def test_a_mode_of_texts_is_told_by_the_word_that_it_has():
    table = pd.DataFrame({"note": ["the box came late"] * 6 + ["the box came"] * 6 + [None] * 2})
    rows = np.arange(14)
    (contrast,) = contrasts_of(
        [Column("note", "text")], table, table, members=rows[:6], nearest=rows[6:]
    )
    assert "'late'" in contrast.text
    assert contrast.effect == pytest.approx(1.0)
    assert "100 %" in contrast.inside
    assert contrast.outside == format_percent(6 / 14)
    empty = pd.DataFrame({"note": [None] * 4})
    column = [Column("note", "text")]
    assert contrasts_of(column, empty, table, members=rows[:4], nearest=rows) == ()
