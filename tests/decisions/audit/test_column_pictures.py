"""Pictures of changed columns: every cell is counted again by hand."""

import numpy as np
import pandas as pd

from shiftmetrics import Result
from shiftmetrics.decisions import audit_samples
from shiftmetrics.decisions.audit.column_pictures import (
    MOST_LEVELS,
    MOST_PICTURES,
    N_INTERVALS,
    column_pictures,
)


def table(seed, n=600):
    rng = np.random.default_rng(seed)
    letters = [f"level {place}" for place in range(20)]
    return pd.DataFrame(
        {
            "size": rng.normal(10.0, 3.0, n),
            "kind": rng.choice(letters, n, p=np.arange(20, 0, -1) / 210),
            "open": rng.random(n) < 0.3,
            "seen": pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
            "visits": rng.poisson(2, n).astype(float),
            "same": rng.normal(size=n),
        }
    )


def changed():
    now = table(1)
    day = pd.date_range("2024-10-01", periods=30).repeat(20)
    is_late = np.asarray(day >= "2024-10-16")
    now.loc[is_late, "size"] += 6.0
    now.loc[is_late, "kind"] = "quite new"
    now.loc[is_late, "open"] = True
    now.loc[is_late, "seen"] += pd.Timedelta(90, "D")
    now.loc[is_late & (np.arange(600) % 2 == 0), "visits"] = np.nan
    return now.assign(day=day.astype(str)), is_late


def test_each_cell_is_counted_on_each_side_and_in_both_halves_of_the_time():
    was = table(0)
    now, is_late = changed()
    result = audit_samples(was, now, time="day")
    pictures = {picture.column: picture for picture in result.changes.pictures}
    shown = [change.column for change in result.changes.changed_columns()]
    assert list(pictures) == shown[:MOST_PICTURES]
    assert "same" not in pictures
    parts = [was, now[~is_late], now[is_late]]
    for name, picture in pictures.items():
        assert picture.sides == ("reference", "until 2024-10-15", "from 2024-10-16")
        for side, part in enumerate(parts):
            values = part[name]
            assert picture.sizes[side] == len(values)
            assert picture.missing[side] == values.isna().sum()
            # every sample is in one cell, or missing
            assert picture.counts[side].sum() + picture.missing[side] == len(values)
    kinds = pictures["kind"]
    assert len(kinds.cells) == MOST_LEVELS + 1
    assert kinds.cells[0] == "quite new"
    for place, level in enumerate(kinds.cells[:-1]):
        counts = [sum(cell == level for cell in part["kind"]) for part in parts]
        assert kinds.counts[:, place].tolist() == counts
    for place, value in enumerate(pictures["visits"].cells):
        counts = [sum(cell == float(value) for cell in part["visits"]) for part in parts]
        assert pictures["visits"].counts[:, place].tolist() == counts
    sizes = pictures["size"]
    assert len(sizes.edges) == N_INTERVALS + 1
    for side, part in enumerate(parts):
        for place in range(1, N_INTERVALS - 1):
            low, high = sizes.edges[place : place + 2]
            assert sizes.counts[side, place] == sum(low <= x < high for x in part["size"])
    assert pictures["seen"].is_date
    days = pictures["seen"].edges.astype("datetime64[s]").astype("datetime64[D]")
    assert days[0] >= was["seen"].min().to_datetime64()
    assert days[-1] <= now["seen"].max().to_datetime64()
    back = Result.from_json(result.to_json())
    assert back.changes.pictures[0].equals(result.changes.pictures[0])


def test_without_times_there_are_two_sides_and_without_changes_no_pictures():
    was = table(0)
    now = changed()[0].drop(columns="day")
    result = audit_samples(was, now)
    assert {picture.sides for picture in result.changes.pictures} == {("reference", "current")}
    assert column_pictures((), (), was, now) == ()
