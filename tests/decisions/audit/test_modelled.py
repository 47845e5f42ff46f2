"""What an audit says of a model: without labels, with all of them, and with those of a plan."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from people import FEATURES, people
from shiftmetrics._core.result import format_percent
from shiftmetrics.decisions import audit_samples


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


def test_a_model_that_refuses_the_columns_is_a_clear_error(samples, forest):
    reference, current, _ = samples
    with pytest.raises(ValueError, match="job"):
        audit_samples(reference, current.drop(columns="job"), model=forest)


def test_a_regression_is_no_classifier():
    rng = np.random.default_rng(9)
    reference, current = people(rng, 60), people(rng, 60)
    model = LinearRegression().fit(reference[["age"]], reference["hours"])
    with pytest.raises(ValueError, match="classifier"):
        audit_samples(reference, current, model=model, label="hours")


def test_labels_of_several_tables_count_together_and_may_not_differ():
    rng = np.random.default_rng(0)

    def cases(n):
        return pd.DataFrame({"x": rng.normal(size=n), "guess": rng.choice(["a", "b"], n)})

    reference, current = cases(120), cases(120)
    truth = rng.choice(["a", "b"], 120)
    table = pd.DataFrame({"id": np.arange(120).astype(str), "label": truth})
    parts = [table[:40], table[30:70], table[70:]]
    found = audit_samples(reference, current, model="guess", labels=parts)
    assert found.labelled.n_labelled == 120
    assert found.labelled.n_right == int((current["guess"] == truth).sum())
    swapped = table[30:70].assign(label=np.where(truth[30:70] == "a", "b", "a"))
    with pytest.raises(ValueError, match="for 30"):
        audit_samples(reference, current, model="guess", labels=[table[:40], swapped])
    plans = [
        part.assign(plan=f"exact 40 of 120, seed {seed}, abc") for seed, part in enumerate(parts)
    ]
    with pytest.raises(ValueError, match="of one plan"):
        audit_samples(reference, current, model="guess", labels=plans)
