"""How much worse than an earlier release: in the measure's own direction, or refused."""

import numpy as np
import pytest

from shiftmetrics._core.collection import write_results
from shiftmetrics._core.status import Status
from shiftmetrics.tools.rules import Rule, check_results

STUCK = Status("stuck", "The gauge is stuck.", "Knock on it.", ok=False)


@pytest.fixture
def against(tmp_path):
    """Return a function that checks one result against another one, read from a file."""

    def against(now, earlier, *, name="it", earlier_name="it", **keys):
        path = tmp_path / "old.json"
        write_results({earlier_name: earlier}, path)
        rule = Rule(**{"baseline": str(path), "worse_by_at_most": 0.1, **keys})
        (outcome,) = check_results({name: now}, [rule]).outcomes
        return outcome

    return against


@pytest.mark.parametrize(
    ("now", "earlier", "margin", "expected"),
    [
        (1.0, 1.0, 0, "passed"),
        (1.2, 1.0, 0, "passed"),
        (0.95, 1.0, 0.1, "passed"),
        (0.85, 1.0, 0.1, "failed"),
        (0.96, 1.0, "5 %", "passed"),
        (0.94, 1.0, "5 %", "failed"),
        (-1.04, -1.0, "5 %", "passed"),
        (-1.06, -1.0, "5 %", "failed"),
        (np.inf, np.inf, 0, "passed"),
        (np.inf, 1.0, 0, "passed"),
        (1.0, np.inf, 1e300, "failed"),
        (1.0, np.inf, "5 %", "failed"),
        (np.inf, np.inf, "5 %", "passed"),
        (0.0, 0.0, "5 %", "passed"),
    ],
)
def test_higher_is_better_for_the_value(now, earlier, margin, expected, against, gauge):
    assert against(gauge(now), gauge(earlier), worse_by_at_most=margin).ended == expected


def test_the_direction_of_other_fields_must_be_said(against, gauge, results):
    now, earlier = gauge(share=0.5), gauge(share=0.25)
    assert against(now, earlier, field="share", better="higher").ended == "passed"
    assert against(now, earlier, field="share", better="lower").ended == "failed"
    refused = against(now, earlier, field="share")
    assert refused.ended == "error"
    assert 'Add better = "higher" or better = "lower"' in refused.text
    assert against(results["novelty"], results["novelty"]).ended == "error"
    assert against(results["novelty"], results["novelty"], better="lower").ended == "passed"
    assert against(results["compare"], results["compare"]).ended == "error"


def test_numerical_errors_of_both_count(against, gauge):
    now, earlier = gauge(0.95, error_bound=0.03), gauge(1.0, error_bound=0.03)
    assert against(now, earlier).ended == "failed"
    assert against(now, earlier, worse_by_at_most=0.12).ended == "passed"
    assert against(earlier, earlier, worse_by_at_most=0).ended == "passed"


def test_sentences_name_both_values(against, gauge):
    assert (
        "value 0.85 after 1, 0.15 worse: not at most 0.1 worse than in"
        in against(gauge(0.85), gauge(1.0)).text
    )
    assert "value 1 after 1, as before: at most" in against(gauge(1.0), gauge(1.0)).text
    assert "value 2 after 1, 1 better: at most" in against(gauge(2.0), gauge(1.0)).text


def test_partners_are_found_by_name_or_as_the_only_one_of_their_measure(against, gauge, results, tmp_path):
    assert against(gauge(), gauge(), name="new", earlier_name="old").ended == "passed"
    other = against(gauge(), results["stability"])
    assert other.ended == "error"
    assert "no result 'it' of measure 'tests.gauge'" in other.text
    write_results({"a": gauge(1.0), "b": gauge(2.0)}, tmp_path / "two.json")
    rule = Rule(baseline=str(tmp_path / "two.json"), worse_by_at_most=0)
    checked = check_results({"b": gauge(1.5), "c": gauge(1.5)}, [rule])
    assert [outcome.ended for outcome in checked.outcomes] == ["failed", "error"]


def test_other_settings_are_no_baseline(against, gauge):
    now, earlier = gauge(settings={"threshold": 0.2, "rng": 0}), gauge(settings={"threshold": 0.3, "rng": 1})
    refused = against(now, earlier)
    assert refused.ended == "error"
    assert "measured with threshold 0.3, and this result with 0.2" in refused.text
    assert against(now, earlier, same_settings=False).ended == "passed"
    assert against(gauge(settings={"rng": 0}), gauge(settings={"rng": 1})).ended == "passed"


def test_settings_read_back_are_the_same(against, results):
    for name in ("agreement", "stability", "curve", "novelty", "compare"):
        outcome = against(results[name], results[name], better="higher")
        assert outcome.ended == "passed", outcome.text


def test_rows_are_compared_with_their_rows(against, results):
    outcome = against(results["compare"], results["compare"], row={"name": "upset"}, better="higher")
    assert outcome.ended == "passed"
    assert outcome.row == "name = upset"


def test_a_baseline_that_cannot_be_read_is_an_error(gauge, tmp_path):
    rule = Rule(baseline=str(tmp_path / "old.json"), worse_by_at_most=0)
    (outcome,) = check_results({"it": gauge()}, [rule]).outcomes
    assert outcome.ended == "error"
    assert "which is not there" in outcome.text
    (tmp_path / "old.json").write_text("[1, 2]")
    (outcome,) = check_results({"it": gauge()}, [rule]).outcomes
    assert outcome.ended == "error"
    assert "JSON of a result" in outcome.text


def test_words_cannot_be_worse(against, gauge):
    assert against(gauge(), gauge(), field="word", better="higher").ended == "error"


def test_a_baseline_that_is_no_answer_is_an_error(against, gauge):
    stuck = gauge(status=STUCK)
    assert "The baseline is no answer. Status stuck" in against(gauge(), stuck).text
    assert against(gauge(), stuck, status="any").ended == "passed"


def test_a_damaged_baseline_is_an_error(gauge, tmp_path):
    (tmp_path / "old.json").write_text('{"schema_version": 2, "results": [{"type": "Gauge"}]}')
    rule = Rule(baseline=str(tmp_path / "old.json"), worse_by_at_most=0)
    (outcome,) = check_results({"it": gauge()}, [rule]).outcomes
    assert outcome.ended == "error"
    assert "a part is missing or damaged" in outcome.text


def test_settings_are_compared_as_files_hold_them(against, gauge):
    rows = np.arange(5000.0)
    other = np.where(rows == 2500, -1.0, rows)
    assert against(gauge(settings={"rows": rows}), gauge(settings={"rows": rows})).ended == "passed"
    assert against(gauge(settings={"rows": rows}), gauge(settings={"rows": other})).ended == "error"
    same = (
        {"loss": np.mean, "kernel": {"a": 1, "b": np.float64(2)}},
        {"kernel": {"b": 2.0, "a": 1}, "loss": np.mean},
    )
    assert against(*(gauge(settings=settings) for settings in same)).ended == "passed"
