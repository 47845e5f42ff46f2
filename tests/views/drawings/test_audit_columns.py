"""Drawings of changed columns: bars and steps are the fractions of the pictures."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.decisions import audit_samples
from shiftmetrics.views import plot
from shiftmetrics.views.report import render_report


def table(seed, moved, n=400):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"size": rng.normal(moved, 1.0, n), "open": rng.random(n) < 0.2 + moved / 4}
    )
    frame["seen"] = pd.Timestamp("2023-01-01") + pd.to_timedelta(
        rng.integers(0, 300, n) + 100 * moved, "D"
    )
    frame["open"] = frame["open"].astype(object)
    frame.loc[: 40 * moved, "open"] = None
    return frame


@pytest.fixture(scope="module")
def audited():
    return audit_samples(table(0, 0), table(1, 2))


def test_bars_and_steps_are_the_fractions(audited):
    pictures = {picture.column: picture for picture in audited.changes.pictures}
    assert set(pictures) == {"size", "open", "seen"}
    ax = plot(audited, kind="column", column="open")
    assert ax.get_title(loc="left") == "open"
    picture = pictures["open"]
    for side, bars in enumerate(ax.containers):
        expected = [*picture.fractions[side], picture.missing[side] / picture.sizes[side]]
        np.testing.assert_allclose([bar.get_width() for bar in bars], expected)
    assert [label.get_text() for label in ax.get_yticklabels()] == [*picture.cells, "missing"]
    for name in ("size", "seen"):
        ax = plot(audited, kind="column", column=name)
        for side, steps in enumerate(ax.patches):
            np.testing.assert_allclose(steps.get_data().values, pictures[name].fractions[side])
    assert ax.get_xticklabels()[0].get_text().startswith("2023-")


def test_a_column_that_did_not_change_is_refused_with_those_that_did(audited):
    assert plot(audited, kind="column").get_title(loc="left") == audited.changes.pictures[0].column
    with pytest.raises(ValueError, match="seen"):
        plot(audited, kind="column", column="no such")
    same = audit_samples(table(0, 0), table(2, 0))
    with pytest.raises(ValueError, match="no column changed"):
        plot(same, kind="column")


def test_the_page_has_each_changed_column_by_name(audited):
    page = render_report(audited)
    for picture in audited.changes.pictures:
        assert f'aria-label="{picture.column}: ' in page
    assert "Before and after" in page
