"""Drawings of two models' predictions: bars and lines are the figures of the result."""

import numpy as np
import pytest

from shiftmetrics import diff_models
from shiftmetrics.views import plot
from two_predictions import LABELS, NEW, OLD, prices


@pytest.fixture(scope="module")
def labelled():
    return diff_models(OLD, NEW, labels=LABELS, allow=0.02)


def spans(ax):
    """Return both ends of each horizontal line."""
    return [
        part.get_segments()[0][:, 0].tolist()
        for part in ax.collections
        if hasattr(part, "get_segments")
    ]


def test_the_difference_lies_in_its_limits_in_points(labelled):
    ax = plot(labelled)
    certain, sampled = spans(ax)[-2:]
    assert certain == pytest.approx([100 * labelled.certain.low, 100 * labelled.certain.high])
    assert sampled == pytest.approx([100 * labelled.interval.low, 100 * labelled.interval.high])
    dot = next(line for line in ax.lines if line.get_marker() == "o")
    assert dot.get_xdata()[0] == pytest.approx(100 * labelled.value)
    lines = [line.get_xdata()[0] for line in ax.lines if line is not dot]
    assert lines == pytest.approx([0.0, -2.0])
    assert [text.get_text() for text in ax.texts] == ["no difference", "", "allowed"]


def test_without_labels_there_is_no_interval():
    result = diff_models(OLD, NEW, rng=0)
    ax = plot(result)
    (certain,) = spans(ax)
    assert certain == pytest.approx([100 * result.certain.low, 100 * result.certain.high])
    assert not [line for line in ax.lines if line.get_marker() == "o"]


def test_errors_of_a_regression_keep_their_unit():
    truth, old, new = prices()
    result = diff_models(old, new, labels=truth)
    ax = plot(result)
    assert spans(ax)[-1] == pytest.approx([result.interval.low, result.interval.high])
    assert ax.get_xlabel() == "decrease of mean absolute error"


def test_bars_of_changes_add_up(labelled):
    ax = plot(labelled, kind="changes")
    counts = labelled.changes.frequent
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        f"{part.old} → {part.new}" for part in counts
    ]
    widths = np.array([[bar.get_width() for bar in bars] for bars in ax.containers])
    assert widths.sum(axis=0).tolist() == [part.n for part in counts]
    assert widths[0].tolist() == [part.fixed for part in counts]
    assert widths[1].tolist() == [part.broken for part in counts]
