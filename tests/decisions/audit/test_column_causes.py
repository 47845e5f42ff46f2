"""Where a column changed: the level of another column that holds the change."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.decisions.audit.column_causes import with_causes
from shiftmetrics.decisions.audit.column_changes import compared_columns
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
