"""A rule is whole or it is refused: one bound, nothing contradictory, every part of its kind."""

import math

import pytest

from shiftmetrics.rules import Rule


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({"at_least": 0.8}, "at least 0.8"),
        ({"at_least": 0, "at_most": 1}, "at least 0 and at most 1"),
        ({"at_most": math.inf}, "at most inf"),
    ],
)
def test_bounds_in_words(bounds, words):
    assert Rule(**bounds).bound_in_words() == words


def test_a_rule_without_a_name_is_called_by_its_words():
    assert Rule(at_least=1).name == "every result: at least 1"
    rule = Rule(measure="comparison", result="cmp", field="difference", at_least=0)
    assert rule.name == "comparison, cmp: difference at least 0"
    assert Rule(name="gate", at_least=1).name == "gate"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({}, "at_least or at_most, or both, got none"),
        (
            {"at_least": 0.9, "at_most": 0.8},
            "leave something that passes, got at least 0.9 and at most 0.8",
        ),
        ({"at_least": math.nan}, "at_least must be a number"),
        ({"at_least": "0.8"}, "at_least must be a real number, got '0.8'"),
        ({"at_least": True}, "at_least must be a real number, got True"),
        ({"at_least": 1, "field": 3}, "field must be a string, got 3"),
        ({"at_least": 1, "severity": "maybe"}, "severity must be one of 'fail', 'warn'"),
        ({"at_least": 1, "using": "both"}, "using must be one of 'interval', 'value'"),
        ({"at_least": 1, "row": {"a": 1}}, "row"),
    ],
)
def test_what_is_no_rule_is_refused(keys, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Rule(**keys)
