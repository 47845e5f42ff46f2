"""Rules on audits: what a gate may stand on, and the estimate without labels, which it may not."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from shiftmetrics.decisions import audit_samples
from shiftmetrics.decisions.audit.new_modes import TableMode
from shiftmetrics.decisions.audit.sample_changes import SampleChanges
from shiftmetrics.rules import Rule, check_results


@pytest.fixture(scope="module")
def audited():
    rng = np.random.default_rng(0)

    def visits(n):
        x = rng.normal(size=n)
        paid = np.where(rng.random(n) < 0.1, x < 0, x > 0)
        return pd.DataFrame({"x": x, "city": rng.choice(["A", "B"], n), "paid": paid})

    reference, current = visits(300), visits(300)
    current.loc[:59, "city"] = "C"
    model = LogisticRegression().fit(reference[["x"]], reference["paid"])
    current["paid"] = current["paid"].astype(object)
    current.loc[100:, "paid"] = None
    return audit_samples(reference, current, model=model, label="paid")


def ended(result, **keys):
    (outcome,) = check_results({"audit": result}, [Rule(**keys)]).outcomes
    return outcome


def test_the_default_field_is_the_lower_limit_of_what_is_new(audited):
    low = audited.interval.low
    assert 0.1 < low < 0.2
    assert ended(audited, at_most=low + 0.001).ended == "passed"
    assert ended(audited, at_most=low - 0.001).ended == "failed"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("interval.low", lambda result: result.interval.low),
        ("changes.n_changed", lambda result: 1),
        ("changes.new.count", lambda result: 1),
        ("changes.unmatched_fraction", lambda result: 0.2),
        ("unlabelled.unmatched_fraction", lambda result: 0.2),
        ("labelled.interval.low", lambda result: result.labelled.interval.low),
        ("labelled.change_interval.low", lambda result: result.labelled.change_interval.low),
    ],
)
def test_limits_and_counts_can_be_bounded(audited, field, value):
    exact = value(audited)
    assert ended(audited, field=field, at_most=exact + 1e-9).ended == "passed"
    assert ended(audited, field=field, at_least=exact + 1e-3).ended == "failed"


@pytest.mark.parametrize("field", ["unlabelled.estimate", "unlabelled.low", "unlabelled.high"])
def test_the_estimate_without_labels_is_no_ground_for_a_gate(audited, field):
    outcome = ended(audited, field=field, at_least=0.0)
    assert outcome.ended == "failed"  # although every accuracy is at least 0
    assert "labelled.interval.low" in outcome.text


def test_samples_of_two_modes_count_once():
    def mode(rows: list[int]) -> TableMode:
        return TableMode(
            missing=False, fraction=len(rows) / 10, other_fraction=0.0, rows=np.array(rows),
            order=np.array(rows), names=np.array(rows, dtype=str), p_value=0.01, contrasts=(),
        )  # fmt: skip

    def changes(*modes: TableMode) -> SampleChanges:
        return SampleChanges(
            novelty_p_value=0.01, new=modes, missing=(), columns=(), auc=0.5,
            unmatched_fraction=0.0, first_rows=(),
        )  # fmt: skip

    assert changes(mode([0, 1, 2, 3]), mode([2, 3, 4])).fraction_in_modes == pytest.approx(0.5)
    assert changes().fraction_in_modes == 0.0
