"""Columns that have other values in every sample: another code, another unit, gaps; and what the others say."""

import numpy as np
import pandas as pd
import pytest

from people import JOBS
from shiftmetrics.decisions import audit_samples
from shiftmetrics.decisions.audit.search import detected, find_changed_modes
from shiftmetrics.tables.encoder import TableEncoder


def drawn(seed, n=300):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "plan": rng.choice(["A", "B", "C"], n, p=[0.5, 0.3, 0.2]),
            "income": rng.uniform(20_000, 90_000, n).round(),
            "age": rng.normal(40, 10, n).round(),
            "region": rng.choice(["north", "south"], n),
        }
    )


def lower_case(frame):
    frame["plan"] = frame["plan"].str.lower()


def in_thousands(frame):
    frame["income"] /= 1000


def gone(frame):
    frame["income"] = np.nan


def one_value(frame):
    frame["region"] = "east"


CASES = {"plan": lower_case, "income": in_thousands, "region": one_value}


@pytest.mark.parametrize("column", CASES)
def test_a_column_with_other_values_is_named_and_modes_are_looked_for_without_it(column):
    reference, current = drawn(0), drawn(1)
    CASES[column](current)
    result = audit_samples(reference, current)
    assert result.verdict == "CHANGED"
    assert [change.column for change in result.changes.replaced] == [column]
    assert column in result.sentence
    assert "By the other columns nothing is shown to be new." in result.notes()[0]
    assert any(column in step and "--exclude" in step for step in result.next_steps)
    # All samples are new by that column, and a rule on what is new has to see it.
    assert not result.changes.new
    assert result.new_fraction == 1.0
    assert result.interval.low > 0.4
    assert result.changes.unmatched_fraction > 0.98


def test_a_few_samples_that_kept_their_values_are_not_denied():
    reference, current = drawn(0, 500), drawn(1, 500)
    current["plan"] = np.where(np.arange(500) < 498, "D", "A")
    result = audit_samples(reference, current)
    assert result.sentence.startswith("One column has other values in nearly every sample: plan")


def test_gaps_in_every_sample_are_other_values():
    reference, current = drawn(0), drawn(1)
    gone(current)
    result = audit_samples(reference, current)
    assert [change.column for change in result.changes.replaced] == ["income"]
    assert "missing in 100 %, was 0 %" in result.changes.replaced[0].text


@pytest.mark.slow
def test_a_mode_is_found_beside_a_column_with_other_values():
    reference, current = drawn(0, 600), drawn(1, 600)
    lower_case(current)
    current.loc[:59, "age"] = 88.0
    current.loc[:59, "region"] = "west"
    result = audit_samples(reference, current)
    (mode,) = result.changes.new
    assert set(range(60)) <= set(mode.rows.tolist())
    assert len(mode.rows) <= 66
    said = result.notes()[0]
    assert "10 %" in said
    assert "one mode" in said


def test_most_samples_with_other_values_are_modes():
    """Ninety of a hundred is no new code of the column: the samples that kept the old one tell."""
    reference, current = drawn(0), drawn(1)
    current["plan"] = np.where(np.arange(300) < 270, "D", current["plan"])
    result = audit_samples(reference, current)
    assert not result.changes.replaced
    assert result.changes.new[0].contrasts[0].text == "plan = D"


def test_a_table_of_nothing_but_other_values_keeps_its_modes():
    reference, current = drawn(0)[["plan"]], drawn(1)[["plan"]]
    lower_case(current)
    result = audit_samples(reference, current)
    assert [change.column for change in result.changes.replaced] == ["plan"]
    assert not any("other columns" in note for note in result.notes())
    assert sorted(mode.contrasts[0].text for mode in result.changes.new) == [
        "plan = a",
        "plan = b",
        "plan = c",
    ]


def test_few_samples_that_happen_to_lie_apart_are_not_called_other_values():
    reference, current = drawn(0, 3), drawn(1, 3)
    current["age"] += 100
    assert not audit_samples(reference, current).changes.replaced


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


@pytest.mark.slow
@pytest.mark.parametrize(("levels", "fraction"), [(0, 0.0), (1, 0.1), (3, 0.12)])
def test_lower_limits_of_what_is_new_hold(levels, fraction):
    """Modes of single columns and of the search share 5 %; of 60 audits 3 may be wrong on average, 8 by chance."""
    rng = np.random.default_rng(11)
    wrong = 0
    for _ in range(60):
        reference, current = (
            pd.DataFrame({"x": rng.normal(size=150), "job": rng.choice(JOBS, 150)})
            for _ in range(2)
        )
        # Each sample is new with this probability: by a job of its own, or else far away.
        new = np.flatnonzero(rng.random(150) < fraction)
        for place in range(levels):
            rows = new[place :: max(levels, 1)]
            if place == 2:
                current.loc[rows, "x"] = rng.normal(2.5, 0.2, len(rows))
            else:
                current.loc[rows, "job"] = f"rider {place}"
        encoder = TableEncoder.fit(reference, current)
        found = find_changed_modes(encoder, reference, current, rng)
        wrong += found.interval.low > fraction
    assert wrong <= 8


def words(rng, n_words, n):
    """Return lines of words whose frequencies fall as in a language."""
    places = np.minimum(rng.zipf(1.3, (n, n_words)), 300)
    return pd.Series([" ".join(f"w{place}" for place in line) for line in places.tolist()])


def rare_levels(rng, n):
    """Return six columns whose rare levels stand a few times: in one half or the other by chance."""
    levels = [np.minimum(rng.zipf(1.6, n), 400) for _ in range(6)]
    return pd.DataFrame({f"code {place}": each.astype(str) for place, each in enumerate(levels)})


def addresses(rng, n):
    numbers = pd.Series(rng.integers(1, 400, n).astype(str))
    places = pd.Series(rng.integers(10_000, 99_999, n).astype(str))
    return pd.DataFrame({"address": numbers + " " + words(rng, 2, n) + " street " + places})


def heavy_tails(rng, n):
    return pd.DataFrame(rng.standard_cauchy((n, 3)), columns=list("abc"))


@pytest.mark.slow
@pytest.mark.parametrize("columns", [rare_levels, addresses, heavy_tails])
def test_random_halves_of_one_sample_are_exchangeable_after_the_encoding(columns):
    rng = np.random.default_rng(0)
    false = 0
    for seed in range(40):
        whole = columns(rng, 300).assign(x=rng.normal(size=300))
        halves = whole[:150], whole[150:].reset_index(drop=True)
        encoder = TableEncoder.fit(*halves)
        features = [encoder.transform(half) for half in halves]
        test = detected(*features, encoder.names, np.random.default_rng(seed)).test
        false += min(test.p_value, test.missing_p_value) <= 0.05
    # Two are expected; seven or more come by chance in 3 of 1,000 runs.
    assert false <= 6


@pytest.mark.parametrize("cell", [np.inf, -np.inf])
def test_infinite_cells_are_named(cell):
    rng = np.random.default_rng(1)
    reference, current = (
        pd.DataFrame({"x": rng.normal(size=300), "y": rng.normal(size=300)}) for _ in range(2)
    )
    current.loc[:40, "x"] = cell
    result = audit_samples(reference, current)
    (mode,) = result.changes.new
    assert mode.description == "x infinite"
    np.testing.assert_array_equal(np.sort(mode.rows), np.arange(41))
    (change,) = result.changes.changed_columns()
    assert (change.column, change.effect) == ("x", pytest.approx(41 / 300))
    assert change.text == "infinite in 14 %, was 0 %"
    # In all rows it is the column that has other values.
    current["x"] = cell
    result = audit_samples(reference, current)
    assert [change.column for change in result.changes.replaced] == ["x"]
