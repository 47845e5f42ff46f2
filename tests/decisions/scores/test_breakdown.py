"""What stands beside the verdict on scores."""

import numpy as np
import pytest

from shiftmetrics.decisions.scores.breakdown import questions_that_decide
from shiftmetrics.decisions.scores.intervals import ScoreGains


def gains_of(gains, groups=None):
    gains = np.asarray(gains, dtype=float)
    tasks = np.zeros(len(gains), dtype=int)
    return ScoreGains(gains=gains, tasks=tasks, groups=groups, reach=1.0, are_signs=True)


def test_the_number_that_decides_is_that_of_the_formula():
    gains = gains_of([1.0] * 31 + [-1.0] * 38 + [0.0] * 1250)
    n = questions_that_decide(gains, 0.01, 0.0)
    d = -7 / 1319
    assert n == pytest.approx((1.96 / 0.01) ** 2 * (69 / 1319 - d**2), rel=0.06)


def test_none_decides_near_the_limit():
    assert questions_that_decide(gains_of([-1.0] * 3 + [0.0] * 97), 0.03, -0.03) is None


def test_no_change_at_all_needs_more_than_were_asked():
    assert questions_that_decide(gains_of(np.zeros(50)), 0.01, 0.0) == pytest.approx(368, rel=0.1)
    assert questions_that_decide(gains_of(np.zeros(5000)), 0.01, 0.0) >= 5500


def test_clusters_that_agree_need_more_questions():
    gains = np.repeat([1.0, -1.0] + [0.0] * 18, 5)
    plain = questions_that_decide(gains_of(gains), 0.02, 0.0)
    clustered = questions_that_decide(gains_of(gains, np.repeat(np.arange(20), 5)), 0.02, 0.0)
    assert clustered == pytest.approx(5 * plain, rel=0.1)
