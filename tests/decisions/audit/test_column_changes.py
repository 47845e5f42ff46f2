"""Changes of single columns: effects, adjusted p-values, words."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from shiftmetrics.decisions.audit.column_changes import compared_columns, ks_effect
from shiftmetrics.tables.encoder import TableEncoder


def table(rng, n):
    return pd.DataFrame(
        {
            "age": rng.normal(40, 10, n),
            "job": rng.choice(["cook", "nurse", "clerk"], n, p=[0.6, 0.3, 0.1]),
            "city": rng.choice([f"city {k}" for k in range(40)], n),
        }
    )


def changes_of(reference, current):
    columns = TableEncoder.fit(reference, current).columns
    return {change.column: change for change in compared_columns(reference, current, columns)}


def test_effects_are_largest_differences_of_distributions():
    rng = np.random.default_rng(0)
    reference, current = table(rng, 500), table(rng, 400)
    current["age"] += 5.0
    current.loc[:39, "job"] = "courier"
    found = changes_of(reference, current)
    expected = stats.ks_2samp(reference["age"], current["age"])
    assert found["age"].effect == pytest.approx(expected.statistic)
    fractions = [part["job"].value_counts(normalize=True) for part in (reference, current)]
    apart = fractions[1].subtract(fractions[0], fill_value=0.0)
    assert found["job"].effect == pytest.approx(apart.abs().sum() / 2)
    assert found["job"].new_levels == ("courier",)
    assert "courier 10 %, was 0 %" in found["job"].text
    assert (
        f"{current['age'].median():.4g}, was {reference['age'].median():.4g}" in found["age"].text
    )
    assert found["age"].p_value < 1e-6
    assert found["city"].p_value > 0.01
    assert next(iter(found)) == max(found, key=lambda name: found[name].effect)


def test_a_change_of_what_is_missing_is_found():
    rng = np.random.default_rng(1)
    reference, current = table(rng, 500), table(rng, 500)
    current.loc[:99, "age"] = np.nan
    change = changes_of(reference, current)["age"]
    assert change.missing == (0.0, 0.2)
    assert change.effect == pytest.approx(0.2, abs=0.05)
    assert change.text == "missing in 20 %, was 0 %"
    assert change.p_value < 1e-6


@pytest.mark.slow
def test_no_column_is_called_changed_where_none_is():
    rng = np.random.default_rng(2)
    calls = 0
    for _ in range(200):
        found = changes_of(table(rng, 200), table(rng, 150))
        calls += min(change.p_value for change in found.values()) <= 0.05
    assert calls <= 18  # 5 % of 200, and two standard deviations


def test_one_sample_a_side():
    frame = pd.DataFrame({"x": [1.0], "c": ["a"]})
    other = pd.DataFrame({"x": [2.0], "c": ["b"]})
    found = changes_of(frame, other)
    assert found["x"].p_value == 1.0
    assert found["c"].p_value == 1.0


@pytest.mark.parametrize("size", [1e-320, 1.5e308])
def test_medians_of_the_largest_and_smallest_numbers_are_said(size):
    values = np.linspace(0.5, 1.0, 40) * size
    reference = pd.DataFrame({"x": values})
    current = pd.DataFrame({"x": -values})
    with np.errstate(all="raise", under="ignore"):
        text = changes_of(reference, current)["x"].text
    middle = 0.75 * size
    assert float(text.removeprefix("median ").split(",")[0]) == pytest.approx(-middle, rel=0.01)
    assert float(text.rpartition(" ")[2]) == pytest.approx(middle, rel=0.01)


def test_the_effect_is_that_of_kolmogorov_and_smirnov():
    rng = np.random.default_rng(5)
    one, other = np.sort(rng.integers(0, 9, 40)), np.sort(rng.integers(2, 12, 30))
    assert ks_effect(one, other) == pytest.approx(stats.ks_2samp(one, other).statistic)
