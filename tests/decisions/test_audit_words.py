"""What an audit says first: the column that explains a change, one line for one mode, copies before any p-value."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.decisions import audit_samples
from shiftmetrics.decisions.audit.conditions import ModeRows, joined_modes
from shiftmetrics.decisions.audit.new_modes import contrasts_of
from shiftmetrics.encoding import TableEncoder


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
def test_conditions_within_a_mode_of_the_search_are_part_of_it():
    rng = np.random.default_rng(2)
    reference, current = orders(rng, 1200), orders(rng, 1200)
    rows = rng.choice(1200, 100, replace=False)
    # A part of the mode lies below all known weights.
    current.loc[rows, "weight"] = np.exp(rng.normal(-2.3, 0.25, 100)).round(3)
    current.loc[rows, "items"] = 6 + rng.poisson(1, 100)
    beyond = current.loc[rows, "weight"] < reference["weight"].min()
    assert 10 < beyond.sum() < 50
    (mode,) = audit_samples(reference, current).changes.new
    members = np.isin(np.arange(1200), mode.rows)
    assert members[rows].mean() > 0.9
    assert np.isin(mode.rows, rows).mean() > 0.8


def test_modes_of_the_same_samples_are_joined():
    large, small, other = (np.arange(*ends) for ends in ((0, 100), (60, 100), (200, 230)))
    parts = [
        ModeRows(rows, rows[:0], p) for rows, p in ((small, 0.001), (large, 0.01), (other, 0.02))
    ]
    first, second = joined_modes(parts)
    assert (len(first.own), first.p_value) == (100, 0.001)
    np.testing.assert_array_equal(second.own, other)


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
            assert "of the current sample are copies of others" in result.sentence
            assert "groups" not in result.sentence
    assert changed == 0


def test_levels_that_only_one_side_has_count_together():
    rng = np.random.default_rng(4)
    codes = [f"C{number}" for number in range(40)]
    other = pd.DataFrame(
        {"code": rng.choice(codes, 400), "flag": [None] * 400, "size": rng.normal(size=400)}
    )
    own = other.copy()
    own["code"] = [f"X{number}" for number in range(400)]
    own["flag"] = 1.0
    columns = TableEncoder.fit(other, own).columns
    every = np.arange(400)
    texts = [contrast.text for contrast in contrasts_of(columns, own, other, every, every)]
    assert texts == ["code with levels of their own, such as X0", "flag not missing"]
    # As many as any sample has by chance say nothing.
    names = [f"name {number}" for number in rng.permutation(800)]
    other["code"], own["code"] = names[:400], names[400:]
    found = contrasts_of(TableEncoder.fit(other, own).columns, own, other, every, every)
    assert [contrast.column for contrast in found] == ["flag"]


def test_a_category_of_rare_levels_is_said():
    rng = np.random.default_rng(5)
    reference, current = orders(rng, 60), orders(rng, 60)
    for side in (reference, current):
        side["price"] = [f"€{value:,.2f}" for value in np.exp(rng.normal(3, 1, 60))]
    (note,) = [part for part in TableEncoder.fit(reference, current).notes() if "price" in part]
    assert "60 levels" in note or "59 levels" in note
