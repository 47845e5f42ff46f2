"""Columns cut into cells: every choice of cells is a condition in words that holds for the same samples."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.decisions.audit.cause_cells import TimeSpan, cut_columns
from shiftmetrics.decisions.audit.timeline import Periods
from shiftmetrics.tables.encoder.roles import Column

COLUMNS = [
    Column("x", "number"),
    Column("k", "number"),
    Column("c", "category"),
    Column("d", "date"),
]


def frame(rng, n):
    days = pd.Timestamp("2024-03-01") + pd.to_timedelta(rng.integers(0, 40, n), "D")
    table = pd.DataFrame(
        {
            "x": rng.normal(0, 1e-3, n),
            "k": rng.integers(0, 7, n).astype(float),
            "c": rng.choice(["a", "b", "rare"], n, p=[0.6, 0.38, 0.02]),
            "d": days.astype("datetime64[ns]"),
        }
    )
    table.loc[::9, "x"] = np.nan
    return table


@pytest.mark.parametrize("is_fine", [False, True])
def test_conditions_hold_for_the_samples_of_their_cells(is_fine):
    rng = np.random.default_rng(0)
    sides = frame(rng, 150), frame(rng, 170)
    cuts = cut_columns(COLUMNS, sides, least=10)
    assert [cut.column.name for cut in cuts] == ["x", "k", "c", "d"]
    for cut in cuts:
        choices = cut.choices(is_fine=is_fine)
        for cells in choices[:: max(len(choices) // 40, 1)]:
            condition = cut.condition(cells)
            np.testing.assert_array_equal(cut.cells_of(condition), cells)
            for side, codes in zip(sides, cut.codes, strict=True):
                met = condition.is_met(side[cut.column.name])
                np.testing.assert_array_equal(met, cells[codes] > 0.0)


def test_ends_of_ranges_are_short_numbers():
    table = pd.DataFrame({"k": [1.0, 2.0, 5.0, 1_234.567, 1_300.0] * 20})
    (cut,) = cut_columns([Column("k", "number")], [table], least=10)
    ends = {cut.condition(cells).text for cells in cut.choices(is_fine=True)}
    assert {"k at most 2", "k at least 1000", "k from 3 to 1240"} & ends
    assert all(len(text) < 22 for text in ends), ends


def test_rare_levels_have_no_condition_and_missing_cells_have_one():
    rng = np.random.default_rng(1)
    number, _, category, _ = cut_columns(COLUMNS, [frame(rng, 300)], least=20)
    assert category.names == ("a", "b")
    assert number.names == ("missing",)
    assert number.condition(number.choices(is_fine=False)[-1]).text == "x missing"


def test_spans_of_time_say_since_when():
    labels = ("mon", "tue", "wed", "thu")
    spans = {(0, 1): "until tue", (1, 3): "since tue", (1, 2): "from tue to wed", (2, 2): "in wed"}
    for (first, last), words in spans.items():
        span = TimeSpan(labels, first, last)
        assert span.text == words
        assert span.is_met_by(np.array([-1, 0, 1, 2, 3])).sum() == last - first + 1
    periods = Periods(labels=labels, unit="day", of_sample=np.array([-1, 0, 1, 2, 3]))
    (cut,) = cut_columns([], [pd.DataFrame(index=range(5))], periods, least=1)
    assert cut.is_time
    # All spans of four periods but the whole.
    assert len(cut.choices(is_fine=False)) == 9


@pytest.mark.parametrize("n_levels", [2, 3, 4])
@pytest.mark.parametrize("has_rare", [False, True])
def test_levels_together_never_take_every_sample(n_levels, has_rare):
    rng = np.random.default_rng(1)
    levels = list("abcd"[:n_levels])
    tables = [pd.DataFrame({"c": rng.choice(levels, 200)}) for _ in range(2)]
    if has_rare:
        tables[1].loc[0, "c"] = "rare"
    (cut,) = cut_columns([Column("c", "category")], tables, least=10)
    worth = np.r_[np.arange(n_levels, dtype=float), -np.inf]
    found = cut.together(worth)
    expected = [set(cut.names[-size:]) for size in (2, 3) if size <= n_levels - (not has_rare)]
    assert [set(cut.condition(taken).levels) for taken in found] == expected
    joined = pd.concat(tables)["c"]
    assert all(0 < joined.isin(taken).sum() < len(joined) for taken in expected)
