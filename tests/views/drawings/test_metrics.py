"""The drawing of a comparison by a metric: the interval and the limit of the result, in its unit."""

import numpy as np
import pytest

from shiftmetrics.decisions.metrics.metrics import diff_metric

TRUTH = np.arange(120) % 3


def answers(n_wrong):
    return np.where(np.arange(120) < n_wrong, (TRUTH + 1) % 3, TRUTH)


@pytest.mark.parametrize(
    ("metric", "unit"), [("f1_macro", 100.0), ("neg_mean_absolute_error", 1.0)]
)
def test_the_interval_and_what_is_allowed_are_drawn(metric, unit):
    old, new = answers(5), answers(30)
    if unit == 1.0:
        old, new = old.astype(float) + 0.5, new.astype(float) + 0.5
    result = diff_metric(old, new, metric, labels=TRUTH, allow=0.05)
    ax = result.plot()
    lines = [part.get_segments()[0] for part in ax.collections if hasattr(part, "get_segments")]
    ends = [unit * result.interval.low, unit * result.interval.high]
    assert lines[0][:, 0].tolist() == pytest.approx(ends)
    assert any(line.get_xdata()[0] == pytest.approx(-5.0 * unit / 100.0) for line in ax.lines)
    assert ("points of" in ax.get_xlabel()) == (unit == 100.0)
