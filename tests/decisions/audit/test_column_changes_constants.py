"""The factors of the p-values of columns: two questions of one column, many columns, and which test has how many."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from shiftmetrics.decisions.audit.column_changes import ColumnChange, compared_columns
from shiftmetrics.tables.encoder.roles import Column


def change_of(reference, current, role="number"):
    """Compare one column, so that Holm's factor is 1."""
    frames = [pd.DataFrame({"x": list(side)}) for side in (reference, current)]
    return compared_columns(*frames, [Column("x", role)])[0]


def two_sided_fisher(table):
    """Sum the probabilities of all tables of the same margins that are no more probable."""
    (a, b), (c, d) = table
    ways = [
        math.comb(a + b, k) * math.comb(c + d, a + c - k)
        for k in range(max(0, a + c - c - d), min(a + b, a + c) + 1)
    ]
    own = math.comb(a + b, a) * math.comb(c + d, c)
    return sum(way for way in ways if way <= own) / math.comb(a + b + c + d, a + c)


def test_the_smaller_p_value_of_two_questions_counts_twice():
    # The values are alike; 1 of 20 cells is missing, then 7 of 20.
    values = np.arange(20.0)
    reference = np.where(values == 3.0, np.nan, values)
    current = np.where(np.isin(values, [1, 4, 7, 10, 13, 16, 19]), np.nan, values + 0.5)
    missing = two_sided_fisher([[1, 19], [7, 13]])
    apart = stats.ks_2samp(
        reference[~np.isnan(reference)], current[~np.isnan(current)], method="exact"
    ).pvalue
    assert missing < apart
    assert change_of(reference, current).p_value == pytest.approx(2.0 * missing, rel=1e-9)
    # And the other way round: the values are far apart, and one cell is missing on either side.
    moved = np.where(values == 5.0, np.nan, values + 9.0)
    apart = stats.ks_2samp(
        reference[~np.isnan(reference)], moved[~np.isnan(moved)], method="exact"
    ).pvalue
    assert change_of(reference, moved).p_value == pytest.approx(2.0 * apart, rel=1e-9)


def test_without_gaps_one_question_is_asked_and_counts_once():
    # The extreme order of 4 and 5 values: 2 of the 126 ways to mix them.
    assert change_of(range(4), range(10, 15)).p_value == pytest.approx(2 / 126)


def test_a_p_value_is_at_most_one():
    values = [1.0, 2.0, 3.0, math.nan]
    assert change_of(values, values).p_value == 1.0


def test_the_exact_distribution_up_to_200_rows_and_the_limit_beyond():
    for n, method in ((200, "exact"), (201, "asymp")):
        reference = np.arange(n, dtype=float)
        current = reference[: n // 2] + 20.5
        expected = stats.ks_2samp(reference, current, method=method).pvalue
        other = stats.ks_2samp(
            reference, current, method="asymp" if method == "exact" else "exact"
        ).pvalue
        found = change_of(reference, current).p_value
        assert found == pytest.approx(expected, rel=1e-9)
        assert found != pytest.approx(other, rel=1e-4)


def test_two_levels_by_fisher_and_three_by_chi_squared():
    reference = ["a"] * 12 + ["b"] * 18
    current = ["a"] * 24 + ["b"] * 11
    found = change_of(reference, current, "category")
    assert found.p_value == pytest.approx(two_sided_fisher([[12, 18], [24, 11]]), rel=1e-9)
    assert found.effect == pytest.approx(24 / 35 - 12 / 30)
    found = change_of(
        [*reference, *["c"] * 10],
        [*current, *["c"] * 20],
        "category",
    )
    table = np.array([[12, 18, 10], [24, 11, 20]])
    expected = table.sum(axis=1)[:, None] * table.sum(axis=0) / table.sum()
    statistic = ((table - expected) ** 2 / expected).sum()
    assert found.p_value == pytest.approx(math.exp(-0.5 * statistic))  # two degrees of freedom


def test_levels_of_fewer_than_five_expected_cells_are_one_cell():
    # Of 40 and 40 rows a level of 10 has 5 expected, and one of 9 has 4.5.
    reference = ["a"] * 20 + ["b"] * 10 + ["c"] * 5 + ["d"] * 5
    current = ["a"] * 27 + ["c"] * 9 + ["d"] * 4
    cells = {"a": (20, 27), "b": (10, 0), "c": (5, 9)}
    table = np.array([[20, 10, 5 + 5], [27, 0, 9 + 4]])
    assert sum(cells["b"]) == 10
    found = change_of(reference, current, "category")
    # "c" has 14 rows, 7 expected: a cell of its own; "d" has 9.
    own = np.array([[20, 10, 5, 5], [27, 0, 9, 4]])
    assert found.p_value == pytest.approx(stats.chi2_contingency(own).pvalue)
    assert found.p_value != pytest.approx(stats.chi2_contingency(table).pvalue)


def test_a_column_has_changed_at_one_per_cent_and_is_replaced_from_99():
    def change(p_value, effect):
        return ColumnChange(column="x", effect=effect, p_value=p_value, missing=(0.0, 0.0))

    assert change(0.01, 0.5).is_shown
    assert not change(0.0101, 1.0).is_shown
    assert change(0.01, 0.99).is_replaced
    assert not change(0.01, 0.989).is_replaced
    assert not change(0.0101, 1.0).is_replaced
