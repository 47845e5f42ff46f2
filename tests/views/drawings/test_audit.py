"""Drawings of an audit: bars, curves and marks are the figures of the results."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.decisions import audit_samples
from shiftmetrics.views import plot


def table(seed, n=160):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "city": rng.choice(["A", "B"], n),
            "day": pd.date_range("2024-10-01", periods=20).repeat(n // 20).astype(str),
        }
    )


@pytest.fixture(scope="module")
def audited():
    current = table(1)
    current.loc[100:139, "city"] = "C"
    return audit_samples(table(0), current, time="day")


def test_modes_are_drawn_in_every_period(audited):
    ax = plot(audited)
    timeline = audited.changes.timeline
    (mode,) = audited.changes.new
    curve = ax.lines[0]
    np.testing.assert_allclose(curve.get_ydata(), timeline.n_members[0] / timeline.n_samples)
    assert mode.change.p_value <= 0.05
    assert ax.lines[1].get_xdata()[0] == timeline.periods.index(mode.change.period) - 0.5
    assert ax.get_ylabel() == f"a {timeline.unit}"


def test_without_times_modes_stand_beside_the_reference(audited):
    changes = dataclasses.replace(audited.changes, timeline=None)
    ax = plot(dataclasses.replace(audited, changes=changes))
    (mode,) = audited.changes.new
    assert [bars[0].get_width() for bars in ax.containers] == [mode.fraction, mode.other_fraction]


def test_without_modes_the_columns_are_drawn(audited):
    changes = dataclasses.replace(audited.changes, new=())
    ax = plot(dataclasses.replace(audited, changes=changes))
    assert ax.get_title(loc="left").startswith("Columns")


def test_columns_that_changed_are_coloured(audited):
    ax = plot(audited, kind="columns")
    columns = audited.changes.columns
    assert [label.get_text() for label in ax.get_yticklabels()] == [each.column for each in columns]
    assert [bar.get_width() for bar in ax.patches] == [each.effect for each in columns]
    shown = audited.changes.changed_columns()
    colours = {
        each in shown: bar.get_facecolor() for each, bar in zip(columns, ax.patches, strict=True)
    }
    assert len(set(colours.values())) == len(colours) == 2
