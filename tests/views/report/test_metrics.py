"""A comparison by a metric: its tiles hold the metric of both models, counted again."""

import numpy as np
import pytest

from shiftmetrics.decisions.metrics.metrics import diff_metric
from shiftmetrics.views.report.metrics import answer_of_metric

TRUTH = np.array(["a", "b"] * 50)
OLD = np.where(np.arange(100) < 10, "b", TRUTH)
NEW = np.where(np.arange(100) < 30, "b", TRUTH)


def recall(predicted):
    of_class = [(p, t) for p, t in zip(predicted, TRUTH, strict=True) if t == "a"]
    return sum(p == t for p, t in of_class) / len(of_class)


def test_the_tiles_hold_the_metric_of_both_models():
    result = diff_metric(OLD, NEW, "recall", labels=TRUTH, positive="a", allow=0.01)
    tiles = {tile.name: tile for tile in answer_of_metric(result).tiles}
    assert float(tiles["Old"].value.split()[0]) == pytest.approx(100 * recall(OLD), abs=0.06)
    assert float(tiles["New"].value.split()[0]) == pytest.approx(100 * recall(NEW), abs=0.06)
    assert float(tiles["Difference"].value.split()[0]) == pytest.approx(
        100 * (recall(NEW) - recall(OLD)), abs=0.6
    )
    assert tiles["Difference"].meaning.startswith("95 %: ")
    # ten rows of class a are wrong only in the new model
    assert tiles["Changed"].value == "10"
    assert tiles["Changed"].meaning == "0 raise it, 10 lower it"
