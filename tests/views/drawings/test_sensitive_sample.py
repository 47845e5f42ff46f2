"""Drawings of the most sensitive sample, of thresholds and of prices: what is drawn is what the results say."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.stability import (
    FixedLoss,
    ZeroOneLoss,
    stability_criterion,
)
from shiftmetrics.views import plot

POINTS = np.random.default_rng(0).normal([1.0, 0.0], 1.0, size=(60, 2))
LOSS = ZeroOneLoss(np.maximum(POINTS[:, 0], 0.0))
MOVED = np.column_stack([np.minimum(POINTS[:, 0], 0.0), POINTS[:, 1]])
RESULT = stability_criterion(LOSS, 0.5)


def places() -> np.ndarray:
    first = np.where((RESULT.plan.distances > 0)[:, None], MOVED, POINTS)
    return (
        first
        if RESULT.plan.splits is None
        else np.concatenate([first, MOVED[RESULT.plan.splits.rows]])
    )


def clouds(ax) -> list[np.ndarray]:
    return [np.asarray(part.get_offsets()) for part in ax.collections if hasattr(part, "get_sizes")]


def test_rows_stand_where_they_stood_and_where_they_end():
    ax = plot(RESULT, table=POINTS, after=places(), kind="sample")
    before, *_, after = [cloud for cloud in clouds(ax) if len(cloud) >= 60]
    assert set(map(tuple, before.round(9))) == set(map(tuple, POINTS.round(9)))
    assert (after[:, 0] <= 1e-12).mean() > 0.3
    areas = next(
        part.get_sizes()
        for part in ax.collections
        if len(part.get_offsets()) == len(after) and len(np.unique(part.get_sizes())) > 1
    )
    assert areas.sum() == pytest.approx(14.0 * 60)
    ax.figure.canvas.draw()
    assert plot(RESULT, ax, table=POINTS, after=places(), kind="sample") is ax


def test_colours_tell_labels_or_moves():
    ax = plot(RESULT, table=POINTS, after=places(), kind="sample")
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["rows that change", "rows that stay", "as it was"]
    labelled = plot(RESULT, table=POINTS, labels=["cat", "dog"] * 30, kind="sample")
    assert [text.get_text() for text in labelled.get_legend().get_texts()] == [
        "cat",
        "dog",
        "as it was",
    ]
    weights = stability_criterion(FixedLoss(np.linspace(0, 1, 60)), 0.6)
    ax = plot(weights, table=POINTS, kind="sample")
    assert ax.get_legend().get_texts()[0].get_text() == "rows that stay"


def test_of_many_columns_two_are_drawn():
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(60, 4)), columns=list("abcd")).assign(
        ward=["A", "B"] * 30
    )
    ax = plot(RESULT, table=table, max_rows=20, kind="sample")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("a", "b")
    assert "(20 of 60 rows)" in ax.get_title(loc="left")
    ax = plot(RESULT, table=table[["b", "d"]], kind="sample")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("b", "d")


def test_the_columns_that_change_most_are_drawn_in_their_own_units():
    table = pd.DataFrame({"large": 1000.0 * POINTS[:, 1], "x": POINTS[:, 0], "still": POINTS[:, 1]})
    moved = table.assign(x=np.minimum(POINTS[:, 0], 0.0), large=table["large"] + 100.0)
    result = stability_criterion(LOSS, 0.5, theta2=np.inf)
    changed = result.plan.distances > 0
    after = table.copy()
    after.loc[changed] = moved.loc[changed]
    if result.plan.splits is not None:
        after = pd.concat([after, moved.iloc[result.plan.splits.rows]])
    ax = plot(result, table=table, after=after, kind="sample")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("large", "x")


def test_rows_with_missing_numbers_are_left_out_and_counted():
    table = pd.DataFrame({"a": POINTS[:, 0], "b": POINTS[:, 1], "ward": ["A", None] * 30})
    table.loc[:9, "a"] = np.nan
    ax = plot(RESULT, table=table, kind="sample")
    before = next(cloud for cloud in clouds(ax) if len(cloud) >= 50)
    np.testing.assert_allclose(
        np.unique(before, axis=0), np.unique(table[["a", "b"]].dropna(), axis=0)
    )
    assert "(50 of 60 rows)" in ax.get_title(loc="left")
    table["b"] = np.nan
    assert "(0 of 60 rows)" in plot(RESULT, table=table, kind="sample").get_title(loc="left")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "table must be the rows"),
        ({"table": POINTS, "labels": [0, 1]}, "labels must be of shape"),
        ({"table": pd.DataFrame({"w": ["A"] * 60})}, "at least two columns of numbers"),
        ({"table": POINTS, "max_rows": 0}, "max_rows must"),
    ],
)
def test_what_cannot_be_drawn_is_said(options, message):
    with pytest.raises(ValueError, match=message):
        plot(RESULT, **options, kind="sample")
