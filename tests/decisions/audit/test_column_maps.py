"""Maps that explain a changed column: units, signs, clocks and spellings; and changes that no map explains."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp

from shiftmetrics.decisions.audit.column_maps import explaining_map
from shiftmetrics.tables.encoder.roles import Column

NUMBER = Column("x", "number")
LEVELS = Column("c", "category")


def degrees(rng, n=300):
    return pd.Series(rng.normal(11, 7, n).round(1))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (lambda x: x * 1.8 + 32, "x 1.8 + 32"),
        (lambda x: (x - 32) / 1.8, "(x - 32) / 1.8"),
        (lambda x: x + 273.15, "+ 273.15"),
        (lambda x: x * 1_000, "x 1,000"),
        (lambda x: x / 60, "/ 60"),
        (lambda x: -x, "-x"),
    ],
)
def test_units_and_signs_are_named(changed, words):
    rng = np.random.default_rng(0)
    before, now = degrees(rng), changed(degrees(rng))
    found = explaining_map(NUMBER, before, now)
    assert found.startswith(f"as if {words} (effect ")
    # The effect that is left, counted by another route, on a map written a second time.
    left = ks_2samp(changed(before), now).statistic
    assert f"(effect {left:.2f} is left)" in found


def test_codes_in_the_reverse_order_are_named():
    rng = np.random.default_rng(1)
    before, now = (
        pd.Series(rng.choice(5, 300, p=[0.5, 0.3, 0.1, 0.06, 0.04]) + 1) for _ in range(2)
    )
    assert explaining_map(NUMBER, before, 6 - now).startswith("as if 6 - x (")


def test_a_clock_of_another_zone_is_named():
    rng = np.random.default_rng(2)
    weights = np.r_[np.full(7, 0.5), np.full(17, 3.0)]
    before, now = (pd.Series(rng.choice(24, 500, p=weights / weights.sum())) for _ in range(2))
    found = explaining_map(NUMBER, before, (now + 20) % 24)
    assert found.startswith("as if shifted by -4 hours (")


def test_changes_of_other_kinds_have_no_map():
    rng = np.random.default_rng(3)
    before = degrees(rng)
    for now in (
        degrees(rng),
        degrees(rng) + 30,
        degrees(rng) * 5,
        pd.Series(rng.exponential(90, 300)),
    ):
        assert explaining_map(NUMBER, before, now) == ""
    assert explaining_map(NUMBER, before, (degrees(rng) * 1_000)[:10]) == ""
    assert explaining_map(Column("d", "date"), before, now) == ""


@pytest.mark.parametrize(
    ("known", "spelled", "words"),
    [
        (["Ada", "Ben"], str.upper, "in upper case"),
        (["Ada", "Ben"], str.lower, "in lower case"),
        (["007", "013"], lambda level: level.lstrip("0"), "without leading zeros"),
        (["7", "13"], lambda level: level.zfill(4), "with leading zeros"),
        (["New York", "Los Angeles"], lambda level: level.replace(" ", "_"), "with other blanks"),
    ],
)
def test_other_spellings_are_named_with_their_counts(known, spelled, words):
    rng = np.random.default_rng(4)
    before, now = (pd.Series(rng.choice(known, 200)) for _ in range(2))
    found = explaining_map(LEVELS, before, now.map(spelled))
    assert found.startswith("100 % of 200 new cells are known levels")
    assert words in found
    # A quarter of the cells: they are the ones that are counted.
    mixed = now.copy()
    mixed[:50] = now[:50].map(spelled)
    assert "of 50 new cells" in explaining_map(LEVELS, before, mixed)


def test_new_levels_that_are_no_spelling_have_no_map():
    before = pd.Series(["red", "blue"] * 50)
    assert explaining_map(LEVELS, before, pd.Series(["RED", "green"] * 50)) == ""
    # Known levels that a spelling makes one could explain anything.
    assert explaining_map(LEVELS, pd.Series(["a", "A"] * 50), pd.Series(["á"] * 100)) == ""


def test_two_levels_that_were_exchanged_are_named():
    before = pd.Series(["no"] * 80 + ["yes"] * 20)
    now = pd.Series(["no"] * 21 + ["yes"] * 79)
    assert (
        explaining_map(LEVELS, before, now)
        == "as if no and yes were exchanged (effect 0.01 is left)"
    )
    assert explaining_map(LEVELS, before, pd.Series(["no"] * 50 + ["yes"] * 50)) == ""


def test_two_of_several_levels_and_the_reverse_order_are_named():
    sizes = {"a": 60, "b": 25, "c": 10, "d": 5}

    def cells(numbers):
        return pd.Series([level for level, n in numbers.items() for _ in range(4 * n)])

    before = cells(sizes)
    exchanged = cells({**sizes, "a": 10, "c": 60})
    assert explaining_map(LEVELS, before, exchanged) == (
        "as if a and c were exchanged (effect 0.00 is left)"
    )
    turned = cells(dict(zip(sizes, [5, 10, 25, 60], strict=True)))
    assert explaining_map(LEVELS, before, turned) == (
        "as if the order of the levels were reversed (effect 0.00 is left)"
    )
    # three levels that moved round, and one level that took from all others, are neither
    assert explaining_map(LEVELS, before, cells({"a": 5, "b": 60, "c": 25, "d": 10})) == ""
    assert explaining_map(LEVELS, before, cells({"a": 20, "b": 15, "c": 5, "d": 60})) == ""
