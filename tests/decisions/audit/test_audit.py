"""The audit: planted modes, columns, dates, labels; each sentence recomputed."""

import numpy as np
import pandas as pd
import pytest

from people import people, with_riders
from shiftmetrics._core.result import p_words
from shiftmetrics.decisions import audit_samples


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
def test_ids_are_found_said_and_used(samples, audited):
    _, current, _ = samples
    assert "Took `person_id` as the id: its values are distinct." in audited.notes()
    table = audited.to_frame()
    np.testing.assert_array_equal(
        table["id"], current["person_id"].iloc[table["row"]].astype(str).to_numpy()
    )
    assert set(table["mode"]) == {1}


@pytest.mark.slow
def test_nothing_is_shown_where_nothing_changed(samples):
    rng = np.random.default_rng(3)
    result = audit_samples(people(rng, 500), people(rng, 500))
    assert result.verdict == "NO CHANGE SHOWN"
    assert result.changes.new == ()
    assert result.value == 0.0
    assert result.p_value > 0.05
    assert all(p_words(result.p_value) not in text for text in (result.headline(), result.sentence))


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
    reference, current = (people(rng, 30).drop(columns=["person_id", "day"]) for _ in range(2))
    result = audit_samples(
        *(pd.concat([part] * 3, ignore_index=True) for part in (reference, current))
    )
    assert result.verdict == "CANNOT TELL"
    warning, answer = result.headline().splitlines()
    assert warning.startswith("Warning: Every row of the reference stands at least twice")
    assert answer.startswith("CANNOT TELL  Rows are copies or depend on each other")


def orders(rng, n):
    return pd.DataFrame(
        {
            "weight": np.exp(rng.normal(0.2, 0.9, n)).round(2),
            "items": 1 + rng.poisson(1.5, n),
            "country": rng.choice(["DE", "FR", "IT", "ES"], n, p=[0.3, 0.3, 0.2, 0.2]),
            "rating": np.where(rng.random(n) < 0.4, np.nan, rng.integers(1, 6, n)),
            "express": rng.random(n) < 0.25,
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize("column", ["country", "rating"])
def test_a_column_whose_known_values_are_more_frequent_is_named_first(column):
    # Nothing is new: a level, or a gap, only became more frequent.
    rng = np.random.default_rng(1)
    reference, current = orders(rng, 1200), orders(rng, 1200)
    part = rng.random(1200) < 0.25
    current.loc[part, column] = "DE" if column == "country" else np.nan
    result = audit_samples(reference, current)
    assert (result.verdict, result.changes.new, result.value) == ("CHANGED", (), 0.0)
    assert result.sentence.startswith(f"One column of 5 changed, most of all {column}: ")


@pytest.mark.slow
def test_copies_are_no_change():
    rng = np.random.default_rng(3)
    changed = 0
    for _ in range(6):
        reference, current = orders(rng, 300), orders(rng, 300)
        copied = pd.concat([current, *[current[:60]] * 4], ignore_index=True)
        result = audit_samples(reference, copied)
        changed += result.verdict == "CHANGED"
        if result.verdict == "CANNOT TELL":
            assert "of the current sample are copies of others" in result.above[0]
            assert not any("groups" in text for text in (result.sentence, *result.above))
    assert changed == 0
