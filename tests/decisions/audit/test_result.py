"""Rules on audits: what a gate may stand on, and the estimate without labels, which it may not."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from shiftmetrics._core.result import format_percent
from shiftmetrics.decisions import AuditResult, audit_samples, verdicts
from shiftmetrics.decisions.audit.column_changes import ColumnChange
from shiftmetrics.decisions.audit.timeline import ChangePoint
from shiftmetrics.rules import Rule, check_results


@pytest.fixture(scope="module")
def gated():
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


def test_the_default_field_is_the_lower_limit_of_what_is_new(gated):
    low = gated.interval.low
    assert 0.1 < low < 0.2
    assert ended(gated, at_most=low + 0.001).ended == "passed"
    assert ended(gated, at_most=low - 0.001).ended == "failed"


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
def test_limits_and_counts_can_be_bounded(gated, field, value):
    exact = value(gated)
    assert ended(gated, field=field, at_most=exact + 1e-9).ended == "passed"
    assert ended(gated, field=field, at_least=exact + 1e-3).ended == "failed"


@pytest.mark.parametrize("field", ["unlabelled.estimate", "unlabelled.low", "unlabelled.high"])
def test_the_estimate_without_labels_is_no_ground_for_a_gate(gated, field):
    outcome = ended(gated, field=field, at_least=0.0)
    assert outcome.ended == "failed"  # although every accuracy is at least 0
    assert "labelled.interval.low" in outcome.text


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
def test_results_survive_files(audited, tmp_path):
    path = tmp_path / "audit.json"
    audited.to_json(path)
    back = AuditResult.from_json(path)
    assert back.equals(audited)
    assert back.headline() == audited.headline()
    assert back.notes() == audited.notes()


def told(result, *, p_value, verdict=verdicts.CHANGED, **changes):
    """Return a result of other changes."""
    return replace(
        result, p_value=p_value, verdict=verdict, changes=replace(result.changes, **changes)
    )


def test_each_claim_has_the_p_value_of_its_own(gated):
    # All evidence together is overwhelming; what is claimed is shown less well.
    modes = told(gated, p_value=1e-30, novelty_p_value=0.02)
    assert "something is new, p = .02;" in modes.evidence()
    assert "p " not in modes.sentence
    gone = told(
        gated,
        p_value=1e-30,
        novelty_p_value=0.9,
        missing_p_value=0.03,
        new=(),
        missing=gated.changes.new,
    )
    assert gone.sentence.startswith("A mode of the reference is missing")
    assert "something is missing, p = .03;" in gone.evidence()
    unnamed = told(
        gated, p_value=0.004, novelty_p_value=0.9, missing_p_value=0.004, new=(), columns=()
    )
    assert "Something of the reference is missing;" in unnamed.sentence
    assert unnamed.evidence().endswith("something is missing, p = .004.")
    column = ColumnChange(
        column="x", effect=0.3, p_value=0.002, missing=(0.0, 0.0), text="median 3, was 1"
    )
    other = replace(column, column="z", effect=0.2, p_value=0.0)
    columns = told(
        gated,
        p_value=0.0,
        novelty_p_value=0.9,
        missing_p_value=0.9,
        new=(),
        columns=(column, other),
    )
    assert columns.sentence == "2 columns of 2 changed, most of all x: median 3, was 1."
    replaced = told(gated, p_value=0.0, columns=(replace(column, effect=1.0),))
    assert replaced.evidence().endswith("a column changed, p = .01.")
    assert replaced.evidence() in replaced.notes()


def test_a_change_without_a_name_must_be_shown_at_one_per_cent(gated):
    perhaps = told(
        gated, p_value=0.02, verdict=verdicts.PERHAPS, novelty_p_value=0.02, new=(), columns=()
    )
    assert perhaps.headline().startswith("PERHAPS  Something is new;")
    assert not perhaps.changes.has_name
    assert any("audit again" in step for step in perhaps.next_steps)
    assert gated.changes.has_name


def test_a_mode_that_went_away_is_there_until_a_day(gated):
    change = ChangePoint(
        period="2024-03-02",
        earliest="2024-03-01",
        latest="2024-03-02",
        before=0.4,
        after=0.1,
        p_value=0.001,
        first="",
        last="2024-03-01",
        inside=0.4,
    )
    mode = replace(gated.changes.new[0], change=change)
    gone = told(gated, p_value=0.0, new=(mode,))
    assert "until 2024-03-01 (40 % > 10 %)" in gone.mode_line(0)
    risen = replace(change, after=0.5, first="2024-03-02", last="")
    come = told(gated, p_value=0.0, new=(replace(mode, change=risen),))
    assert "since 2024-03-02 (40 % > 50 %)" in come.mode_line(0)


def test_values_beyond_the_range_are_at_least_a_part_of_what_is_new():
    """A kind of which half lies within the range of the reference is not told by the half beyond it as a whole."""
    rng = np.random.default_rng(3)

    def visits(n):
        return pd.DataFrame({"age": rng.normal(40, 5, n), "city": rng.choice(["A", "B"], n)})

    reference, current = visits(250), visits(250)
    current.loc[:39, "age"] = 48.0 + rng.exponential(9.0, 40)
    result = audit_samples(reference, current)
    (mode,) = result.changes.new
    assert mode.contrasts[0].text.startswith("age above")
    assert mode.is_part
    assert mode.n_members < 40
    assert "at least" in result.sentence.lower()
    assert result.mode_line(0).startswith("1  at least ")


def test_a_new_level_says_how_many_there_are(gated):
    (mode,) = gated.changes.new
    assert not mode.is_part
    assert "at least" not in gated.sentence.lower()
    assert "at least" not in gated.mode_line(0)
