"""The interval of the difference of a metric, and when there is none."""

import numpy as np
import pytest

from shiftmetrics.decisions.labelling.paired_mean import paired_mean_interval
from shiftmetrics.decisions.metrics.effects import ClassInputs, MetricEffects, effects_on_answers
from shiftmetrics.decisions.metrics.interval import (
    LEAST_CLUSTERS,
    LEAST_ROWS,
    metric_interval,
    shortage,
)
from shiftmetrics.decisions.metrics.names import named_metric
from shiftmetrics.decisions.metrics.sums import RowEffects


@pytest.fixture(scope="module")
def inputs():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 200)
    old, new = (np.where(rng.random(200) < 0.8, labels, 1 - labels) for _ in range(2))
    return ClassInputs(labels=labels, old=old, new=new, n_classes=2, positive=1)


def effects(score=0.5, reach=1.0, rarest=50):
    side = RowEffects(score=score, effects=np.zeros(100))
    return MetricEffects(old=side, new=side, reach=reach, rarest=rarest)


def test_of_accuracy_it_is_the_interval_of_the_mean_difference(inputs):
    found = effects_on_answers(named_metric("accuracy"), inputs)
    gains = (inputs.new == inputs.labels).astype(float) - (inputs.old == inputs.labels)
    groups = np.arange(200) // 4
    for clusters in (None, groups):
        # One row more is worth a little less than 1 where rows are right already.
        expected = paired_mean_interval(gains, found.reach, clusters=clusters)
        interval = metric_interval(found, clusters, 0.95)
        assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high))
    assert found.reach == pytest.approx(1.0, abs=0.3)


def test_equal_models_have_an_interval_that_is_no_point(inputs):
    same = ClassInputs(
        labels=inputs.labels, old=inputs.old, new=inputs.old, n_classes=2, positive=1
    )
    for name in ("f1", "recall", "balanced_accuracy", "matthews_corrcoef"):
        interval = metric_interval(effects_on_answers(named_metric(name), same), None, 0.95)
        assert interval.low < -0.01
        assert interval.high > 0.01


def test_there_is_none_where_a_row_decides():
    assert shortage(effects(), None) is None
    assert "smallest class" in str(shortage(effects(rarest=LEAST_ROWS - 1), None))
    assert "groups" in str(shortage(effects(), np.arange(100) % (LEAST_CLUSTERS - 1)))
    assert "defined" in str(shortage(effects(score=float("nan")), None))
    assert "no row" in str(shortage(effects(reach=0.0), None))
