"""Where a mode lies: every count of the sentence is recomputed from the table."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.decisions import audit_samples
from shiftmetrics.decisions.audit.mode_causes import with_cause
from shiftmetrics.decisions.audit.new_modes import TableMode
from shiftmetrics.tables.encoder.roles import Column

COLUMNS = [
    Column("temp", "number"),
    Column("origin", "category"),
    Column("carrier", "category"),
    Column("delay", "number"),
]


@pytest.fixture
def flights():
    rng = np.random.default_rng(0)
    n = 900
    return pd.DataFrame(
        {
            "temp": rng.normal(12, 8, n).round(1),
            "origin": rng.choice(["EWR", "JFK", "LGA"], n),
            "carrier": rng.choice(["AA", "B6", "DL"], n),
            "delay": rng.integers(0, 60, n),
        }
    )


def mode_of(is_member, **fields):
    rows = np.flatnonzero(is_member)
    return TableMode(
        missing=False,
        fraction=len(rows) / len(is_member),
        other_fraction=0.0,
        rows=rows,
        order=rows,
        names=rows.astype(str),
        p_value=0.0,
        contrasts=(),
        **fields,
    )


def counts_of(text):
    """Return rule and counts of a sentence: members, all of them, others, all of these."""
    found = re.match(
        r"(\S+ %) of it where (.+): (\S+) of (\S+) samples, (\S+) of (\S+) others", text
    )
    return found[1], found[2], [int(each.replace(",", "")) for each in found.groups()[2:]]


def recounted(met, is_member):
    return [(met & is_member).sum(), is_member.sum(), (met & ~is_member).sum(), (~is_member).sum()]


def test_one_condition_is_named_with_its_counts(flights):
    rng = np.random.default_rng(1)
    at_lga = (flights["origin"] == "LGA").to_numpy()
    is_member = at_lga & (rng.random(900) < 0.8)
    is_member[np.flatnonzero(~at_lga)[:3]] = True
    mode = with_cause(mode_of(is_member), COLUMNS, flights, None)
    rate, rule, counts = counts_of(mode.cause)
    assert rule == "origin = LGA"
    assert counts == recounted(at_lga, is_member)
    assert rate == f"{100 * (at_lga & is_member).sum() / is_member.sum():.0f} %"


def test_two_conditions_are_named_with_their_counts(flights):
    of_aa = (flights["carrier"] == "AA").to_numpy()
    is_member = of_aa & (flights["delay"] >= 30).to_numpy()
    mode = with_cause(mode_of(is_member), COLUMNS, flights, None)
    _, rule, counts = counts_of(mode.cause)
    assert sorted(rule.split(" and ")) == ["carrier = AA", "delay at least 30"]
    assert counts == recounted(is_member, is_member)


@pytest.mark.parametrize("seed", range(5))
def test_members_at_random_have_no_cause(flights, seed):
    is_member = np.random.default_rng(seed).random(900) < 0.2
    assert with_cause(mode_of(is_member), COLUMNS, flights, None).cause == ""


def test_few_members_and_their_own_columns_have_no_cause(flights):
    at_lga = (flights["origin"] == "LGA").to_numpy()
    mode = mode_of(at_lga, defined_by=("origin",))
    assert with_cause(mode, COLUMNS, flights, None).cause == ""
    few = at_lga & (np.cumsum(at_lga) <= 20)
    assert with_cause(mode_of(few), COLUMNS, flights, None).cause == ""


def test_an_audit_says_where_a_mode_lies_since_its_date(flights):
    rng = np.random.default_rng(2)
    reference = flights.sample(frac=1.0, random_state=0).reset_index(drop=True)
    day = pd.Series(pd.Timestamp("2024-10-01") + pd.to_timedelta(rng.integers(0, 20, 900), "D"))
    changed = (flights["origin"] == "LGA") & (day >= "2024-10-09")
    flights.loc[changed, "temp"] += 60
    current = flights.assign(day=day.dt.strftime("%Y-%m-%d"))
    result = audit_samples(reference, current, time="day")
    mode = result.changes.new[0]
    _, rule, counts = counts_of(mode.cause)
    assert rule == "origin = LGA"
    assert "others since 2024-10-09 (held out: " in mode.cause
    late = (day >= "2024-10-09").to_numpy()
    is_member = mode.is_member(900)
    met = (flights["origin"] == "LGA").to_numpy()
    assert counts == recounted(met[late], is_member[late])
    # The report of the terminal says it below the mode.
    notes = result.notes()
    assert notes[notes.index(result.mode_line(0)) + 1] == f"   {mode.cause}."
    assert replace(mode, cause="").cause == ""
