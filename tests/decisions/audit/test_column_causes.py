"""Where a column changed: the level of another column that holds the change."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp

from shiftmetrics.decisions.audit.column_causes import with_causes
from shiftmetrics.decisions.audit.column_changes import compared_columns
from shiftmetrics.decisions.audit.timeline import Periods
from shiftmetrics.tables.encoder.roles import Column

COLUMNS = [
    Column("temp", "number"),
    Column("origin", "category"),
    Column("carrier", "category"),
    Column("wind", "number"),
]


def flights(n, rng):
    return pd.DataFrame(
        {
            "temp": rng.normal(12, 8, n).round(1),
            "origin": rng.choice(["EWR", "JFK", "LGA"], n),
            "carrier": rng.choice(["AA", "B6", "DL"], n),
            "wind": rng.exponential(10, n).round(1),
        }
    )


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    return flights(900, rng), flights(900, rng)


def causes(reference, current):
    changes = compared_columns(reference, current, COLUMNS)
    return {
        change.column: change.cause for change in with_causes(changes, COLUMNS, reference, current)
    }


def test_a_unit_of_one_station_is_named_with_its_counts(samples):
    reference, current = samples
    at_lga = current["origin"] == "LGA"
    current.loc[at_lga, "temp"] = current.loc[at_lga, "temp"] * 1.8 + 32
    found = causes(reference, current)
    assert found["temp"].startswith("where origin = LGA: median ")
    assert f"({at_lga.sum()} samples, effect " in found["temp"]
    assert "as if x 1.8 + 32 (" in found["temp"]
    assert "; elsewhere effect 0.0" in found["temp"]
    median = current.loc[at_lga, "temp"].median()
    was = reference.loc[reference["origin"] == "LGA", "temp"].median()
    assert f"median {median:.4g}, was {was:.4g}" in found["temp"]
    # Columns that did not change have no cause.
    assert found["origin"] == found["carrier"] == found["wind"] == ""


def test_a_change_everywhere_has_no_place_but_a_map(samples):
    reference, current = samples
    current["temp"] = current["temp"] * 1.8 + 32
    assert causes(reference, current)["temp"].startswith("as if x 1.8 + 32 (")


def test_gaps_and_levels_of_one_place_are_named(samples):
    reference, current = samples
    of_dl = current["carrier"] == "DL"
    current.loc[of_dl, "wind"] = np.nan
    current.loc[of_dl, "origin"] = "LGA"
    found = causes(reference, current)
    assert found["wind"].startswith("where carrier = DL: missing in 100 %, was 0 %")
    share = (reference.loc[reference["carrier"] == "DL", "origin"] == "LGA").mean()
    assert found["origin"].startswith(f"where carrier = DL: LGA 100 %, was {100 * share:.0f} %")


def test_a_text_has_no_cause_beside_its_words(samples):
    reference, current = samples
    columns = [*COLUMNS, Column("remark", "text")]
    frames = reference.assign(remark="on time"), current.assign(remark="late again")
    changes = with_causes(compared_columns(*frames, columns), columns, *frames)
    found = {change.column: change for change in changes}["remark"]
    assert found.is_shown
    assert "'late' in 100 %, was 0 %" in found.text
    assert found.cause == ""


def counted_again(cause, reference, current, column, before, now):
    """Recompute the figures of a cause by pandas: its samples, their medians and effect; return that elsewhere."""
    found = re.search(
        r": median (\S+), was (\S+) \(([\d,]+) samples, effect (\S+), held out", cause
    )
    inside = current.loc[now, column]
    known = reference.loc[before, column]
    assert float(found[1].replace(",", "")) == pytest.approx(inside.median(), rel=1e-3)
    assert float(found[2]) == pytest.approx(known.median(), rel=1e-3)
    assert int(found[3].replace(",", "")) == now.sum()
    assert float(found[4]) == pytest.approx(ks_2samp(known, inside).statistic, abs=0.0051)
    return float(re.search(r"(?:elsewhere|otherwise) effect (\S+)$", cause)[1])


def test_a_level_and_a_range_are_named_with_counts_that_pandas_gives(samples):
    reference, current = samples
    rng = np.random.default_rng(5)
    for frame in samples:
        frame["delay"] = rng.integers(0, 60, len(frame))
    late = (current["carrier"] == "B6") & (current["delay"] >= 25)
    current.loc[late, "temp"] = current.loc[late, "temp"] * 1.8 + 32
    columns = [*COLUMNS, Column("delay", "number")]
    changes = compared_columns(reference, current, columns)
    found = {each.column: each.cause for each in with_causes(changes, columns, reference, current)}
    cause = found["temp"]
    where = re.match(r"where carrier = B6 and delay at least (\d+): ", cause)
    assert where, cause
    edge = int(where[1])
    assert abs(edge - 25) <= 2
    before = (reference["carrier"] == "B6") & (reference["delay"] >= edge)
    now = (current["carrier"] == "B6") & (current["delay"] >= edge)
    told = counted_again(cause, reference, current, "temp", before, now)
    outside = ks_2samp(reference.loc[~before, "temp"], current.loc[~now, "temp"]).statistic
    assert told == pytest.approx(outside, abs=0.0051)


def test_a_station_since_a_date_is_named_with_counts_that_pandas_gives(samples):
    reference, current = samples
    rng = np.random.default_rng(6)
    day = pd.Series(rng.integers(0, 20, len(current)))
    labels = tuple(f"2024-10-{place + 1:02d}" for place in range(20))
    periods = Periods(labels=labels, unit="day", of_sample=day.to_numpy())
    at_lga = current["origin"] == "LGA"
    late = at_lga & (day >= 8)
    current.loc[late, "temp"] = current.loc[late, "temp"] * 1.8 + 32
    changes = compared_columns(reference, current, COLUMNS)
    changed = with_causes(changes, COLUMNS, reference, current, periods)
    cause = {each.column: each.cause for each in changed}["temp"]
    assert cause.startswith("where origin = LGA since 2024-10-09: median "), cause
    assert ", as if x 1.8 + 32 (effect " in cause
    known = reference["origin"] == "LGA"
    told = counted_again(cause, reference, current, "temp", known, late)
    earlier = ks_2samp(
        reference.loc[known, "temp"], current.loc[at_lga & (day < 8), "temp"]
    ).statistic
    elsewhere = ks_2samp(reference.loc[~known, "temp"], current.loc[~at_lga, "temp"]).statistic
    assert told == pytest.approx(max(earlier, elsewhere), abs=0.0051)


def test_a_date_alone_is_named(samples):
    reference, current = samples
    day = np.arange(len(current)) % 10
    periods = Periods(labels=tuple("abcdefghij"), unit="value", of_sample=day)
    current.loc[day >= 4, "temp"] *= 1_000
    changes = compared_columns(reference, current, COLUMNS)
    changed = with_causes(changes, COLUMNS, reference, current, periods)
    cause = {each.column: each.cause for each in changed}["temp"]
    assert cause.startswith("since e: median ")
    told = counted_again(
        cause, reference, current, "temp", np.ones(900, dtype=bool), pd.Series(day >= 4)
    )
    earlier = ks_2samp(reference["temp"], current.loc[day < 4, "temp"]).statistic
    assert told == pytest.approx(earlier, abs=0.0051)


@pytest.mark.parametrize("seed", range(4))
def test_changes_of_samples_that_no_column_tells_have_no_place(samples, seed):
    reference, current = samples
    rng = np.random.default_rng(seed)
    at_random = rng.random(len(current)) < 0.4
    current.loc[at_random, "temp"] = current.loc[at_random, "temp"] * 1.8 + 32
    assert "where" not in causes(reference, current)["temp"]


def test_a_missing_cell_tells_where_a_column_changed(samples):
    reference, current = samples
    for frame in samples:
        frame.loc[frame.index[::3], "wind"] = np.nan
    current.loc[current["wind"].isna(), "temp"] += 40
    assert causes(reference, current)["temp"].startswith("where wind missing: median ")
