"""The result of a comparison by a metric."""

import numpy as np
import pytest

from shiftmetrics.decisions import diff_metric


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    old, new = (np.where(rng.random(100) < 0.8, y, 1 - y) for _ in range(2))
    return diff_metric(old, new, "f1", labels=y, allow=0.2)


def test_without_a_limit_the_exit_code_is_0(result):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    assert diff_metric(y, 1 - y, "f1", labels=y).exit_code == 0
    assert diff_metric(y, 1 - y, "f1", labels=y, allow=0.1).exit_code == 1


def test_it_speaks_of_future_rows_and_of_one_metric(result):
    assert result.population == "future"
    assert result.comparable["metric"][0] == "f1"
    assert result.secondary_metrics["old_score"] == result.old_score
    assert result.value == pytest.approx(result.new_score - result.old_score)


def test_the_table_has_the_changed_rows(result):
    frame = result.to_frame()
    assert list(frame.columns) == ["id", "label", "old", "new", "effect"]
    assert (frame["old"] != frame["new"]).all()


def test_the_card_and_the_summary_show_the_verdict(result):
    assert result.verdict in result.summary()
    assert "f1" in result._repr_html_()


def test_details_count_the_rows_that_move_the_metric(result):
    details = " ".join(result.details())
    assert "jackknife" in details
    raised = int((result.rows.effect > 0.0).sum())
    lowered = int((result.rows.effect < 0.0).sum())
    assert f"{raised} raise the metric and {lowered} lower it" in details
