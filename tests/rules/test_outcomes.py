"""Outcomes: what follows for the release, as text and JSON."""

import json

import numpy as np
import pytest

from shiftmetrics import posterior_agreement
from shiftmetrics.rules import Rule, check_results


@pytest.fixture
def checked(gauge):
    rules = [
        Rule(name="holds", at_least=0.5, reason="Agreed."),
        Rule(name="fails", at_least=5, reason="Too low."),
        Rule(name="warns", at_least=float("inf"), severity="warn"),
        Rule(name="lost", result="nowhere", at_most=0),
    ]
    return check_results({"it": gauge(1.0, interval=(0.5, 2.0))}, rules)


def test_the_gate_adds_up(checked, gauge):
    assert [len(part) for part in (checked.failed, checked.warned, checked.errors)] == [1, 1, 1]
    assert (
        checked.headline()
        == "Error: 4 checks of 4 rules, 1 passed, 1 failed, 1 warned, 1 could not be made."
    )
    assert (checked.passed, checked.exit_code) == (False, 2)
    alone = {
        name: check_results({"it": gauge()}, [Rule(at_least=bound)])
        for name, bound in (("a", 0), ("b", 9))
    }
    assert (alone["a"].passed, alone["a"].exit_code) == (True, 0)
    assert (alone["b"].passed, alone["b"].exit_code) == (False, 1)
    warned = check_results({"it": gauge()}, [Rule(at_least=9, severity="warn")])
    assert (warned.passed, warned.exit_code, warned.headline()) == (
        True,
        0,
        "Passed: 1 check of 1 rule, 1 warned.",
    )


def test_the_text_names_what_stands_in_the_way(checked):
    lines = str(checked).splitlines()
    assert lines[0] == checked.headline()
    assert (
        lines[1]
        == "fails: failed. it: value 1, counted as 0.5 (95 % interval): not at least 5. Too low."
    )
    assert len(lines) == 4


def test_outcomes_over_a_result_leave_no_arrays(checked, tmp_path):
    """Arrays that no JSON file names would pass for somebody's own, and stand in the way of every later result."""
    path = tmp_path / "gate.json"
    result = posterior_agreement(np.eye(3), np.eye(3))
    result.to_json(path)
    assert path.with_suffix(".npz").exists()
    checked.to_json(path)
    assert [file.name for file in tmp_path.iterdir()] == ["gate.json"]
    result.to_json(path)


def test_json_holds_the_outcomes(checked, tmp_path):
    text = checked.to_json(tmp_path / "gate.json")
    document = json.loads((tmp_path / "gate.json").read_text())
    assert document == json.loads(text)
    assert (document["passed"], document["exit_code"]) == (False, 2)
    assert [part["ended"] for part in document["outcomes"]] == [
        "passed",
        "failed",
        "warned",
        "error",
    ]
    assert document["outcomes"][2]["rule"]["at_least"] == "inf"
