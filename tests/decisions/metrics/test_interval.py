"""The interval of the difference of a metric, and when there is none."""

import numpy as np
import pytest
from scipy import stats

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
        # The limit on the side of the longer tail alone stands farther out.
        out = (expected.low - interval.low, interval.high - expected.high)
        assert min(out) == pytest.approx(0.0, abs=1e-12)
        assert 0.0 <= max(out) < 0.05 * (expected.high - expected.low)
    assert found.reach == pytest.approx(1.0, abs=0.3)


def test_rare_losses_move_the_lower_limit_alone(inputs):
    labels = np.tile([0, 1], 500)
    new = np.where(np.arange(1000) < 40, 1 - labels, labels)
    found = effects_on_answers(
        named_metric("accuracy"),
        ClassInputs(labels=labels, old=labels, new=new, n_classes=2, positive=1),
    )
    interval = metric_interval(found, None, 0.95)
    # By hand: 40 differences of -1 among 1000, with one more row on either side.
    rows = np.r_[-np.ones(40), np.zeros(960), found.reach, -found.reach]
    mean = rows.mean()
    error = rows.std(ddof=1) / np.sqrt(1002)
    quantile = stats.t.ppf(0.975, 999)
    skewness = stats.skew(rows) / np.sqrt(1002)
    shift = error * skewness * (1.0 + 2.0 * quantile**2) / 6.0
    assert shift < -0.1 * error
    assert interval.low == pytest.approx(mean - quantile * error + shift, rel=1e-3)
    assert interval.high == pytest.approx(mean + quantile * error, rel=1e-3)


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
