"""Drawings of a comparison of scores: lines and bars are the figures of the result."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.decisions import diff_scores
from shiftmetrics.views import plot

GRADES = np.tile([0.0, 0.5, 1.0, 1.0], 60)


def table(grades):
    task = np.repeat(["logic", "maths"], 120)
    return pd.DataFrame({"id": range(240), "task": task, "score": grades})


@pytest.fixture(scope="module")
def result():
    new = GRADES.copy()
    new[:40] = 0.0
    new[-8:] = 1.0
    return diff_scores(table(GRADES), table(new), allow=0.05)


def spans(ax):
    return [
        part.get_segments()[0][:, 0].tolist()
        for part in ax.collections
        if hasattr(part, "get_segments")
    ]


def test_the_interval_is_drawn_in_points(result):
    ax = plot(result)
    (sampled,) = spans(ax)
    assert sampled == pytest.approx([100 * result.interval.low, 100 * result.interval.high])
    dot = next(line for line in ax.lines if line.get_marker() == "o")
    assert dot.get_xdata()[0] == pytest.approx(100 * result.value)
    assert "points of score" in ax.get_xlabel()


def test_each_task_has_its_line_below_that_of_all(result):
    ax = plot(result, kind="parts")
    assert [text.get_text() for text in ax.get_yticklabels()] == ["all", "logic", "maths"]
    expected = [result.interval, *(part.interval for part in result.parts)]
    assert spans(ax) == [
        pytest.approx([100 * interval.low, 100 * interval.high]) for interval in expected
    ]


def test_bars_count_the_questions_that_changed(result):
    ax = plot(result, kind="sizes")
    fell = sum(bar.get_height() for bar in ax.patches if bar.get_x() < -1e-9)
    rose = sum(bar.get_height() for bar in ax.patches if bar.get_x() > -1e-9)
    assert (fell, rose) == (result.counts.worse, result.counts.better)
    colors = {bar.get_facecolor() for bar in ax.patches if bar.get_x() < -1e-9}
    assert len(colors) == 1


def test_costs_fall_where_they_are_better():
    costs = 100.0 * table(GRADES).score + 600.0
    frame = table(costs)
    result = diff_scores(
        frame, frame.assign(score=costs - 20.0), score_range=(0, 1000), higher_is_better=False
    )
    for kind in ("difference", "parts", "sizes"):
        assert plot(result, kind=kind).get_xlabel() == "decrease of score"
    dots = [line for line in plot(result, kind="parts").lines if line.get_marker() == "o"]
    assert [dot.get_xdata()[0] for dot in dots] == pytest.approx([20.0] * 3)


def test_equal_scores_can_be_drawn():
    result = diff_scores(table(GRADES), table(GRADES))
    assert plot(result, kind="sizes").get_title(loc="left") == "0 of 240 questions changed"
