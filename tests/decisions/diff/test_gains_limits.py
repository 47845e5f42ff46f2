"""The interval of a difference from some labels: what is certain, and where the sequence pays for the rest."""

import numpy as np
import pytest

from shiftmetrics._core.result import Interval
from shiftmetrics.decisions.diff.gains import GONE_THROUGH, LEVEL, Gains, sampled_difference
from shiftmetrics.decisions.labelling.anytime import mean_sequence
from shiftmetrics.decisions.labelling.exact import Outcomes, difference_interval
from shiftmetrics.decisions.labelling.plan import LabelPlan


def gains_of(low, high, *, n_samples, are_signs, least=-1.0, most=1.0):
    """Return the gains of some rows that change, followed by others that do not."""
    n = len(low)
    rest = np.zeros(n_samples - n)
    low = np.concatenate([low, rest])
    high = np.concatenate([high, rest])
    return Gains(
        n_samples=n_samples,
        positions=np.arange(n_samples),
        known=low == high,
        low=low,
        high=high,
        bound=Interval(low=-1.0, high=1.0, confidence_level=1.0, method="certain"),
        least=least,
        most=most,
        scale=1.0,
        candidates=np.arange(n),
        are_signs=are_signs,
        two_classes=False,
        weights=np.ones(2),
        reach=1.0,
    )


def plan_of(n, n_labels, *, n_samples, mode):
    return LabelPlan(
        order=np.arange(n),
        n_labels=n_labels,
        mode=mode,
        seed=0,
        digest="0" * 64,
        n_samples=n_samples,
    )


def test_the_interval_is_cut_at_what_is_certain_on_both_sides():
    # One row may gain or lose 10, nine others .1: labels of two of those leave less than ten rows of 10.
    reach = np.array([0.1, 0.1, 10.0, *[0.1] * 7])
    low = -reach
    high = reach.copy()
    low[:2] = high[:2] = (0.1, -0.05)
    gains = gains_of(low, high, n_samples=40, are_signs=False, least=-10.0, most=10.0)
    plan = plan_of(10, 6, n_samples=40, mode="anytime")
    value, interval, used = sampled_difference(gains, plan)
    rest = 10.0 + 7 * 0.1
    assert interval.low == pytest.approx((0.05 - rest) / 40)
    assert interval.high == pytest.approx((0.05 + rest) / 40)
    assert value == pytest.approx(0.025 * 10 / 40)
    assert used.tolist() == [0, 1]
    assert interval.confidence_level == LEVEL


def test_each_side_is_cut_alone():
    # Two rows of four are labelled, and the others can no longer lose: the lower limit is certain.
    low = np.array([1.0, 1.0, 0.0, 0.0])
    high = np.ones(4)
    gains = gains_of(low, high, n_samples=8, are_signs=True)
    plan = plan_of(4, 3, n_samples=8, mode="anytime")
    interval = sampled_difference(gains, plan)[1]
    assert interval.low == 2 / 8
    assert interval.high == 4 / 8
    turned = gains_of(-high, -low, n_samples=8, are_signs=True)
    interval = sampled_difference(turned, plan)[1]
    assert (interval.low, interval.high) == (-4 / 8, -2 / 8)


def anytime_signs():
    known = np.array([1.0, 0.0, 1.0, 1.0, -1.0] * 12)
    low = np.concatenate([known, -np.ones(240)])
    high = np.concatenate([known, np.ones(240)])
    return known, gains_of(low, high, n_samples=500, are_signs=True)


def test_an_anytime_interval_is_the_sequence_of_all_candidates():
    known, gains = anytime_signs()
    plan = plan_of(300, 100, n_samples=500, mode="anytime")
    value, interval, used = sampled_difference(gains, plan)
    low, high = mean_sequence(0.5 * (known + 1), 0.5 * (known + 1), 300, 0.95)
    assert interval.low == pytest.approx(300 * (2 * low[-1] - 1) / 500)
    assert interval.high == pytest.approx(300 * (2 * high[-1] - 1) / 500)
    assert value == pytest.approx(known.mean() * 300 / 500)
    assert len(used) == 60
    assert interval.method == "anytime"


def test_an_exact_interval_is_given_from_nine_tenths_of_the_plan_on():
    known, gains = anytime_signs()
    assert GONE_THROUGH == 0.9
    # 60 of 66 labels are more than nine tenths, 60 of 67 are fewer.
    for n_labels, method in ((66, "exact"), (67, "anytime")):
        plan = plan_of(300, n_labels, n_samples=500, mode="exact")
        interval = sampled_difference(gains, plan)[1]
        assert interval.method == method
    outcomes = Outcomes(fixed=36, broken=12, neither=12, missing=6)
    plan = plan_of(300, 66, n_samples=500, mode="exact")
    low, high = difference_interval(300, outcomes, 0.95)
    interval = sampled_difference(gains, plan)[1]
    assert (interval.low, interval.high) == (low / 500, high / 500)
    assert (known > 0).sum() == 36


def test_exactly_nine_tenths_of_the_plan_finish_it():
    low, high = np.full(300, -1.0), np.ones(300)
    low[:63] = 1.0
    gains = gains_of(low, high, n_samples=500, are_signs=True)
    plan = plan_of(300, 70, n_samples=500, mode="exact")
    assert sampled_difference(gains, plan)[1].method == "exact"


def test_rows_that_are_no_candidates_and_not_known_count_with_their_limits():
    low = np.array([0.5, -0.5, 0.0, 0.25])
    gains = gains_of(low, low, n_samples=8, are_signs=False, least=-0.5, most=0.5)
    gains.low[6] = -0.2
    gains.high[6] = 0.1
    gains.known[6] = False
    value, interval, _ = sampled_difference(gains, plan_of(4, 3, n_samples=8, mode="anytime"))
    assert interval.low == pytest.approx((0.25 - 0.2) / 8)
    assert interval.high == pytest.approx((0.25 + 0.1) / 8)
    assert value == pytest.approx((0.25 - 0.05) / 8)
    assert interval.method == "exact"
    # The same where a candidate has no label.
    gains.low[3] = -0.5
    gains.high[3] = 0.5
    gains.known[3] = False
    interval = sampled_difference(gains, plan_of(4, 3, n_samples=8, mode="anytime"))[1]
    assert interval.low == pytest.approx((0.0 - 0.5 - 0.2) / 8)
    assert interval.high == pytest.approx((0.0 + 0.5 + 0.1) / 8)
