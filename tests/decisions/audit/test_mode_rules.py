"""The rule of a mode: what it says, which cells meet it, and how it is chosen."""

import numpy as np
import pandas as pd
import pytest

from planted_modes import mixed, with_planted
from shiftmetrics.decisions.audit.mode_rules import ModeSide, RuleCondition, rows_of_rule, rule_of
from shiftmetrics.tables.encoder.roles import Column

NUMBER = Column("x", "number")
CATEGORY = Column("job", "category")
DAY = Column("day", "date")
COLUMNS = [
    Column("x0", "number"),
    Column("x1", "number"),
    Column("x2", "number"),
    Column("c", "category"),
    Column("d", "category"),
    Column("k", "number"),
]
SECONDS = 86_400.0


@pytest.mark.parametrize(
    ("condition", "text", "met"),
    [
        (RuleCondition(NUMBER, low=1.5), "x at least 1.5", [False, True, True, False]),
        (RuleCondition(NUMBER, high=1.5), "x at most 1.5", [True, True, False, False]),
        (RuleCondition(NUMBER, 1.5, 2.0), "x from 1.5 to 2", [False, True, False, False]),
        (RuleCondition(NUMBER, 1.5, 1.5), "x 1.5", [False, True, False, False]),
        (RuleCondition(CATEGORY, levels=("cook",)), "job = cook", [True, False, False, False]),
        (
            RuleCondition(CATEGORY, levels=("clerk", "cook")),
            "job = clerk or cook",
            [True, True, False, False],
        ),
        (RuleCondition(CATEGORY, levels=("missing",)), "job missing", [False, False, False, True]),
        (
            # To the end of the second day, as people read it.
            RuleCondition(DAY, low=SECONDS, high=SECONDS),
            "day 1970-01-02",
            [False, True, True, False],
        ),
    ],
)
def test_a_condition_is_met_as_it_is_said(condition, text, met):
    frame = pd.DataFrame(
        {
            "x": [1.0, 1.5, 3.0, np.nan],
            "job": ["cook", "clerk", "guard", None],
            "day": pd.to_datetime(
                ["1970-01-01 23:00", "1970-01-02 00:00", "1970-01-02 20:00", None]
            ),
        }
    )
    assert condition.text == text
    assert condition.is_met(frame[condition.column.name]).tolist() == met


def test_ends_are_said_without_loss():
    for end in (0.1 + 0.2, 1234567.25, 1e-7, 3.0):
        said = RuleCondition(NUMBER, low=end).text.removeprefix("x at least ")
        assert float(said) == end


@pytest.fixture(scope="module")
def planted():
    return with_planted(4000, "inside")


def sides(reference, current):
    return ModeSide(current, len(current)), ModeSide(reference, len(reference))


def around(frame):
    """Return a soft neighbourhood of the mode, as kernels give it."""
    return frame[(frame["x0"] - 1.5) ** 2 + (frame["x1"] + 1.4) ** 2 < 0.8**2]


def test_the_rule_of_a_planted_mode_names_its_columns_and_its_rows(planted):
    reference, current, rows = planted
    near = ModeSide(around(current), len(current)), ModeSide(around(reference), len(reference))
    first = rule_of(COLUMNS, *near)
    rule = rule_of(COLUMNS, *sides(reference, current), first)
    assert len(first) >= 2
    assert {condition.column.name for condition in rule} == {"x0", "x1", "c"}
    members = rows_of_rule(rule, current, np.arange(len(current)))
    assert np.isin(members, rows).mean() >= 0.95
    assert np.isin(rows, members).mean() >= 0.95
    # What is said tells which rows: count again with the words alone.
    met = np.ones(len(current), dtype=bool)
    for condition in rule:
        name, _, words = condition.text.partition(" ")
        if words.startswith("= "):
            met &= current[name].isin(words.removeprefix("= ").split(" or ")).to_numpy()
        else:
            low, high = words.removeprefix("from ").split(" to ")
            met &= current[name].between(float(low), float(high)).to_numpy()
    np.testing.assert_array_equal(np.flatnonzero(met), members)


def test_two_samples_of_one_source_have_no_rule():
    rng = np.random.default_rng(3)
    found = []
    for _ in range(20):
        reference, current = mixed(400, rng), mixed(400, rng)
        found.append(rule_of(COLUMNS, *sides(reference, current)))
    # By chance alone a rule may be chosen: not in one of ten pairs.
    assert sum(map(bool, found)) <= 2


def test_a_small_other_side_counts_in_proportion(planted):
    reference, current, _ = planted
    few = reference.iloc[:1000]
    near = ModeSide(around(current), len(current)), ModeSide(around(few), len(few))
    rule = rule_of(COLUMNS, *sides(few, current), rule_of(COLUMNS, *near))
    assert {condition.column.name for condition in rule} >= {"x0", "x1"}


def test_a_mode_that_the_other_side_has_too_has_no_rule(planted):
    _, current, _ = planted
    near = ModeSide(around(current), len(current))
    assert rule_of(COLUMNS, near, near) == ()
