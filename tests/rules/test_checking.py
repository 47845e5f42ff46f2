"""Rules on results: passing takes proof, and what cannot be judged is an error."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shiftmetrics
from shiftmetrics import Result
from shiftmetrics._core.result import Status
from shiftmetrics.rules import Rule, check_results
from shiftmetrics.rules.fields import find
from shiftmetrics.stability import FixedLoss, worst_case_risk

finite = st.floats(-1e6, 1e6)
small = st.floats(0, 1e3)

STUCK = Status("stuck", "The gauge is stuck.", "Knock on it.", ok=False)


def ended(result, **keys):
    (outcome,) = check_results({"it": result}, [Rule(**keys)]).outcomes
    return outcome.ended


def said(result, **keys):
    (outcome,) = check_results({"it": result}, [Rule(**keys)]).outcomes
    return outcome.text


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"at_least": 0.5}, "passed"),
        ({"at_least": 0.5000001}, "failed"),
        ({"at_most": 2.0}, "passed"),
        ({"at_most": 1.9}, "failed"),
        ({"at_least": 0.5, "at_most": 2.0}, "passed"),
        ({"at_least": 0.5, "at_most": 1.5}, "failed"),
        ({"at_least": 0.6, "at_most": 3}, "failed"),
        ({"at_least": 0.8, "using": "value"}, "passed"),
        ({"field": "share", "at_least": 0.25, "at_most": 0.25}, "passed"),
        ({"field": "share", "at_least": 0.5, "at_most": 0.5}, "failed"),
        ({"field": "status", "at_least": 1}, "error"),
        ({"field": "word", "at_least": 1}, "error"),
        ({"field": "is_new", "at_most": 1}, "error"),
        ({"field": "nothing", "at_most": 1}, "error"),
        ({"field": "reverse", "at_most": 1}, "error"),
        ({"field": "share", "at_most": 1, "using": "interval"}, "error"),
        ({"field": "rank", "at_most": 2}, "failed"),
        ({"at_least": 0.9, "severity": "warn"}, "warned"),
        ({"field": "nothing", "at_least": 0.9, "severity": "warn"}, "error"),
    ],
)
def test_bounds_on_one_result(keys, expected, gauge):
    assert ended(gauge(1.0, interval=(0.5, 2.0)), **keys) == expected


@given(value=finite, below=small, above=small, error=small, bound=finite)
def test_opposite_bounds_never_both_pass(gauge, value, below, above, error, bound):
    result = gauge(value, error_bound=error, interval=(value - below, value + above))
    for using in (None, "interval", "value"):
        both = [ended(result, **{side: bound, "using": using}) for side in ("at_least", "at_most")]
        if bound != value:
            assert both.count("passed") <= 1
        if using == "value" and error == 0.0:  # nothing is uncertain
            assert both.count("passed") == (2 if bound == value else 1)


@given(
    value=finite,
    below=small,
    above=small,
    bounds=st.lists(finite, min_size=2, max_size=6, unique=True),
)
def test_passing_is_monotone_in_the_bound(gauge, value, below, above, bounds):
    result = gauge(value, interval=(value - below, value + above))
    for side, order in (("at_least", 1), ("at_most", -1)):
        passed = [ended(result, **{side: bound}) == "passed" for bound in sorted(bounds)[::order]]
        assert passed == sorted(passed, reverse=True)


@given(value=finite, below=small, above=small, more=small, bound=finite)
def test_more_uncertainty_never_lets_more_pass(gauge, value, below, above, more, bound):
    sure = gauge(value, interval=(value - below, value + above))
    unsure = gauge(value, error_bound=more, interval=(value - below, value + above))
    for side in ("at_least", "at_most"):
        if ended(unsure, **{side: bound}) == "passed":
            assert ended(sure, **{side: bound}) == "passed"
            assert ended(sure, **{side: bound, "using": "value"}) == "passed"


def test_a_value_that_is_only_a_bound_is_judged_by_what_is_certified(gauge):
    searched = gauge(1.0, kind="upper_bound", lower_bound=0.7)
    assert ended(searched, at_least=0.7) == "passed"
    assert ended(searched, at_least=0.8) == "failed"
    assert ended(searched, at_most=1.0) == "passed"
    assert ended(searched, at_least=0.8, using="value") == "passed"
    blind = gauge(1.0, kind="upper_bound")
    assert ended(blind, at_least=0.1) == "failed"
    assert "an upper bound without a certified lower one" in said(blind, at_least=0.1)
    unsure = gauge(1.0, interval=(0.5, 2.0))
    assert said(unsure, at_least=0.9, using="interval").endswith("not shown to be at least 0.9.")
    assert 'using = "value"' not in said(blind, at_least=1.1)


def test_sentences_say_what_was_counted(gauge):
    result = gauge(1.0, interval=(0.5, 2.0))
    assert said(result, at_least=0.4) == "value 1, counted as 0.5 (95 % interval): at least 0.4."
    assert said(result, at_least=3) == "value 1, counted as 0.5 (95 % interval): not at least 3."
    assert said(result, at_least=0.4, at_most=1.5).startswith(
        "value 1, counted as 2 (95 % interval): not shown"
    )
    assert said(gauge(0.25), field="share", at_least=0.2) == "share 0.25: at least 0.2."


def test_numbers_beside_a_bound_are_printed_to_the_last_digit(gauge):
    assert said(gauge(0.79999999), at_least=0.8) == "value 0.79999999: not at least 0.8."


def test_a_status_that_is_no_answer_fails(gauge):
    stuck = gauge(status=STUCK)
    assert ended(stuck, at_least=0) == "failed"
    assert "Status stuck" in said(stuck, at_least=0)
    assert "Knock on it." in said(stuck, at_least=0)
    assert ended(stuck, at_least=0, severity="warn") == "warned"


def test_the_status_of_a_part_counts_too(gauge, gauge_part):
    stuck = STUCK
    parts = (gauge_part(name="a", value=1.0), gauge_part(name="b", value=1.0, status=stuck))
    assert ended(gauge(parts=parts), field="parts.a.value", at_least=0) == "passed"
    assert ended(gauge(parts=parts), field="parts.b.value", at_least=0) == "failed"
    assert ended(gauge(parts=parts), field="parts.1.value", at_least=0) == "failed"


def test_rules_choose_results_by_name_and_measure(gauge, results):
    mixed = {"noise/mild": gauge(1.0), "noise/strong": gauge(2.0), "blur": gauge(3.0), **results}

    def chosen(**keys):
        rule = Rule(field="value", at_least=-1e9, using="value", **keys)
        checked = check_results(mixed, [rule])
        return [outcome.result for outcome in checked.outcomes if outcome.ended != "error"]

    assert chosen(result="noise/*") == []
    assert chosen(result="noise/mild") == ["noise/mild"]
    assert chosen(result="blur") == ["blur"]
    assert (
        chosen(measure="gauge")
        == chosen(measure="tests.gauge")
        == ["noise/mild", "noise/strong", "blur"]
    )
    assert chosen(measure="novelty") == ["novelty"]
    assert chosen(measure="kernel_entropic_novelty") == ["novelty"]
    assert chosen(measure="stability") == ["stability"]
    assert chosen(measure="gauge", result="blur") == ["blur"]
    assert len(chosen()) == len(mixed)


def test_names_with_brackets_are_themselves(gauge):
    checked = check_results({"runs[0]": gauge()}, [Rule(result="runs[0]", at_least=0)])
    assert checked.passed


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"measure": "posterior_agrement"}, "Did you mean 'posterior_agreement'"),
        ({"result": "agrement"}, "has the name 'agrement'. Did you mean 'agreement'"),
        (
            {"result": "novelty", "measure": "stability"},
            "has the name 'novelty'. There are 'stability'",
        ),
    ],
)
def test_a_rule_that_finds_nothing_is_an_error(keys, message, results):
    checked = check_results(results, [Rule(at_least=0, **keys)])
    assert not checked.passed
    assert checked.exit_code == 2
    assert message in checked.errors[0].text
    assert checked.unchecked == tuple(results)
    assert not check_results({}, [Rule(at_least=0)]).passed


def test_nan_never_passes(gauge):
    for keys in ({"at_least": -math.inf}, {"at_most": math.inf}):
        assert ended(gauge(math.nan), **keys) == "error"


def test_infinity_passes_lower_bounds(gauge):
    assert ended(gauge(math.inf), at_least=1e300) == "passed"
    assert ended(gauge(math.inf), at_least=math.inf) == "passed"
    assert ended(gauge(math.inf), at_most=1e300) == "failed"


def test_what_is_no_result_and_no_rule_is_refused(gauge):
    with pytest.raises(TypeError, match="results must be a mapping"):
        check_results([gauge()], [Rule(at_least=0)])
    with pytest.raises(TypeError, match=r"results\['it'\] must be a result"):
        check_results({"it": 1.0}, [Rule(at_least=0)])
    with pytest.raises(TypeError, match="rules must be rules, got dict"):
        check_results({"it": gauge()}, [{"at_least": 0}])
    with pytest.raises(ValueError, match="at least one rule"):
        check_results({"it": gauge()}, [])


def test_rules_hold_for_results_read_back(results, tmp_path):
    rules = [
        Rule(measure="posterior_agreement", field="normalized", at_least=0.1),
        Rule(result="compare", field="differences.upset-calm.difference", at_most=0),
        Rule(result="novelty", field="new.count", at_least=1),
        Rule(result="curve", field="points.stability.1", at_least=0),
    ]
    for name, result in results.items():
        result.to_json(tmp_path / f"{name}.json")
    back = {name: Result.from_json(tmp_path / f"{name}.json") for name in results}
    assert check_results(back, rules).equals(check_results(results, rules))
    assert check_results(back, rules).passed


def test_a_bound_that_lets_the_bad_side_pass_is_questioned(gauge, results):
    assert said(gauge(1.0), at_most=2).endswith("Higher is better here: did you mean at_least?")
    assert not said(gauge(1.0), at_most=2, at_least=0).endswith("?")
    risk = worst_case_risk(FixedLoss([0.0, 1.0]), 0.1)
    assert not said(risk, at_most=2).endswith("?")
    assert said(risk, at_least=0).endswith("Lower is better here: did you mean at_most?")
    assert not said(results["novelty"], at_most=9).endswith("?")
    assert not said(gauge(1.0), field="share", at_most=2).endswith("?")


def test_doubt_that_went_missing_in_a_file_is_an_error(gauge):
    result = gauge(1.0)
    object.__setattr__(result, "interval", 0.5)
    assert ended(result, at_least=0) == "error"
    object.__setattr__(result, "interval", None)
    object.__setattr__(result, "error_bound", "much")
    assert ended(result, at_least=0) == "error"


def test_no_default_of_a_rule_is_in_nats(results):
    assert results["agreement"].unit == results["novelty"].unit == "nats"
    expected = {
        "agreement": "changes.disagreement",
        "novelty": "fraction_interval.low",
        "stability": "value",
    }
    for name, field in expected.items():
        (outcome,) = check_results(results, [Rule(result=name, at_most=2.0)]).outcomes
        assert outcome.ended == "passed"
        assert outcome.text.startswith(field)
        assert outcome.value == find(results[name], field).value
    # the value of a comparison is that of what it compares
    (outcome,) = check_results(results, [Rule(result="compare", at_most=2.0)]).outcomes
    assert (outcome.ended, "must name a field" in outcome.text) == ("error", True)


def test_a_fraction_that_must_be_low_is_not_bounded_from_below(results):
    (outcome,) = check_results(results, [Rule(result="agreement", at_least=0.0)]).outcomes
    assert outcome.text.endswith("Lower is better here: did you mean at_most?")


def test_every_class_whose_value_is_in_nats_has_another_default():
    everything()
    for cls in subclasses(Result):
        if cls.unit == "nats" and cls.__module__.startswith("shiftmetrics."):
            assert cls.rule_field not in ("value", ""), cls.__name__


def subclasses(cls):
    found = set(cls.__subclasses__())
    return found.union(*map(subclasses, found))


def everything():
    for name in shiftmetrics.__all__:
        getattr(shiftmetrics, name)


def test_changes_are_judged_without_a_label():
    old = np.eye(4)[np.arange(40) % 4]
    new = old[[*range(37), 36, 36, 36]]
    unlabelled = shiftmetrics.diff_models(old, new, rng=0)
    assert not unlabelled.status.ok
    n_changed = unlabelled.changes.n_changed
    assert ended(unlabelled, field="changes.fraction", at_most=n_changed / 40) == "passed"
    assert ended(unlabelled, field="changes.n_changed", at_most=n_changed - 1) == "failed"
    assert ended(unlabelled, field="value", at_least=-1) == "failed"


def test_a_few_pairs_do_not_show_that_few_predictions_change():
    scores = np.eye(3)[np.arange(50) % 3]
    result = shiftmetrics.posterior_agreement(scores, scores + 0.1, resampling=0.95)
    assert ended(result, at_most=0.1) == "passed"
    assert ended(result, at_most=0.01) == "failed"
    assert ended(result, at_most=0.01, using="value") == "passed"
