"""The interval of a difference from some labels: what is certain, and where the sequence pays for the rest."""

from dataclasses import replace

import numpy as np
import pytest

from shiftmetrics import diff_models
from shiftmetrics.decisions.diff.gains import GONE_THROUGH, LEVEL, Gains, sampled_difference
from shiftmetrics.decisions.labelling.anytime import (
    mean_sequence,
    planned_bets,
    weighted_sequence,
)
from shiftmetrics.decisions.labelling.exact import Outcomes, difference_interval
from shiftmetrics.decisions.labelling.paired import future_interval
from shiftmetrics.decisions.labelling.paired_mean import paired_mean_interval
from shiftmetrics.decisions.labelling.plan import LabelPlan
from two_predictions import GAINS, LABELS, NEW, OLD, prices


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
    value, interval, _ = sampled_difference(gains, plan_of(4, 3, n_samples=8, mode="anytime"))
    assert value == pytest.approx((0.0 - 0.05) / 8)
    assert interval.low == pytest.approx((0.0 - 0.5 - 0.2) / 8)
    assert interval.high == pytest.approx((0.0 + 0.5 + 0.1) / 8)


def test_without_labels_the_estimate_is_the_middle_of_what_is_certain():
    gains = gains_of(-np.ones(3), np.ones(3), n_samples=10, are_signs=True)
    value, interval, used = sampled_difference(gains, plan_of(3, 3, n_samples=10, mode="anytime"))
    assert (value, interval.low, interval.high, len(used)) == (0.0, -0.3, 0.3, 0)
    assert (gains.certain.low, gains.certain.high, gains.certain.confidence_level) == (
        -0.3,
        0.3,
        1.0,
    )
    sizes = np.array([4.0, 2.0, 1.0])
    gains = gains_of(-sizes, sizes, n_samples=10, are_signs=False, least=-4.0, most=4.0)
    plan = plan_of(3, 3, n_samples=10, mode="anytime")
    for drawn in (plan, replace(plan, sizes=sizes)):
        value, interval, used = sampled_difference(gains, drawn)
        assert (value, interval.low, interval.high, len(used)) == (0.0, -0.7, 0.7, 0)


@pytest.mark.parametrize("mode", ["exact", "anytime"])
def test_rows_sampled_by_size_are_a_weighted_sequence(mode):
    rng = np.random.default_rng(0)
    sizes = rng.uniform(0.5, 4.0, size=200)
    gain = sizes * rng.uniform(-1.0, 0.9, size=200)
    low, high = -sizes, sizes.copy()
    labelled = np.arange(100) != 7  # one planned row has no label, and may be anything
    low[:100][labelled] = high[:100][labelled] = gain[:100][labelled]
    gains = gains_of(low, high, n_samples=500, are_signs=False, least=-4.0, most=4.0)
    plan = replace(plan_of(200, 100, n_samples=500, mode=mode), sizes=sizes)
    value, interval, used = sampled_difference(gains, plan)
    lowest = 0.5 * (low / sizes + 1.0)[:100]
    highest = 0.5 * (high / sizes + 1.0)[:100]
    bets = planned_bets(lowest, labelled, 100, LEVEL) if mode == "exact" else None
    ends = weighted_sequence(lowest, highest, sizes[:100], sizes.sum(), LEVEL, bets=bets)
    total = sizes.sum() / 500
    assert interval.low == pytest.approx(max(total * (2 * ends[0][-1] - 1), low.sum() / 500))
    assert interval.high == pytest.approx(min(total * (2 * ends[1][-1] - 1), high.sum() / 500))
    assert interval.method == mode
    assert interval.low > low.sum() / 500
    assert interval.high < high.sum() / 500
    assert used.tolist() == np.flatnonzero(labelled).tolist()
    # D. Raj: before each draw, what was seen, and the row over its probability among those left.
    estimates = []
    seen = 0.0
    for place in range(100):
        gained = gain[place] if labelled[place] else 0.0
        estimates.append(seen + gained / (sizes[place] / sizes[place:].sum()))
        seen += gained
    assert value == pytest.approx(np.mean(estimates) / 500)


def test_future_rows_have_the_interval_of_all_differences():
    wins, losses = (GAINS > 0).sum(), (GAINS < 0).sum()
    found = diff_models(OLD, NEW, labels=LABELS).interval
    expected = future_interval(wins, losses, 400, LEVEL)
    assert (found.low, found.high) == (expected.low, expected.high)
    costs = np.array([1.0, 5.0, 1.0, 0.0])
    wrong = [costs[LABELS] * (side.argmax(axis=1) != LABELS) for side in (OLD, NEW)]
    result = diff_models(OLD, NEW, labels=LABELS, costs={"1": 5.0, "3": 0.0})
    expected = paired_mean_interval(wrong[0] - wrong[1], 5.0, LEVEL)
    assert result.interval.low == pytest.approx(expected.low)
    assert result.interval.high == pytest.approx(expected.high)
    truth, old, new = (side / 1e4 for side in prices())
    errors = [np.abs(truth - side) for side in (old, new)]
    result = diff_models(old, new, labels=truth)
    expected = paired_mean_interval(errors[0] - errors[1], np.max(errors), LEVEL)
    assert result.interval.low == pytest.approx(expected.low)
    assert result.interval.high == pytest.approx(expected.high)


def test_a_plan_without_sizes_takes_the_most_extreme_row_of_costs_and_of_outputs():
    # As one that was drawn for the accuracy, before there were costs.
    plan = diff_models(OLD, NEW, plan="anytime", rng=0).plan
    rows = plan.order[:30]
    costs = np.array([1.0, 5.0, 2.0, 1.0])
    gain = costs[LABELS] * (NEW.argmax(axis=1) == LABELS)
    gain -= costs[LABELS] * (OLD.argmax(axis=1) == LABELS)
    labels = np.full(400, -1.0)
    labels[rows] = LABELS[rows]
    found = diff_models(
        OLD, NEW, labels=np.where(labels < 0, np.nan, labels), plan=plan, costs={"1": 5.0, "2": 2.0}
    )
    low, high = mean_sequence(*[(gain[rows] + 5.0) / 10.0] * 2, plan.n_population, LEVEL)
    n = plan.n_population / 400
    assert found.interval.low == pytest.approx(max(n * (10 * low[-1] - 5), found.certain.low))
    assert found.interval.high == pytest.approx(min(n * (10 * high[-1] - 5), found.certain.high))

    truth, old, new = prices()
    plan = replace(diff_models(old, new, plan="anytime", rng=0).plan, sizes=None)
    rows = plan.order[:60]
    labels = np.full(300, np.nan)
    labels[rows] = truth[rows]
    found = diff_models(old, new, labels=labels, plan=plan)
    most = np.abs(new - old).max()
    gain = np.abs(truth - old) - np.abs(truth - new)
    low, high = mean_sequence(*[(gain[rows] + most) / (2 * most)] * 2, plan.n_population, LEVEL)
    n = plan.n_population * most / 300
    assert found.interval.low == pytest.approx(max(n * (2 * low[-1] - 1), found.certain.low))
    assert found.interval.high == pytest.approx(min(n * (2 * high[-1] - 1), found.certain.high))


def test_anytime_limits_of_gains_up_to_a_half_either_way():
    low, high = np.full(100, -0.5), np.full(100, 0.5)
    low[:60] = high[:60] = np.tile([0.5, 0.25, 0.0, 0.5, -0.25], 12)
    gains = gains_of(low, high, n_samples=200, are_signs=False, least=-0.5, most=0.5)
    interval = sampled_difference(gains, plan_of(100, 90, n_samples=200, mode="anytime"))[1]
    ends = mean_sequence(low[:60] + 0.5, low[:60] + 0.5, 100, LEVEL)
    assert interval.low == pytest.approx(100 * (ends[0][-1] - 0.5) / 200)
    assert interval.high == pytest.approx(100 * (ends[1][-1] - 0.5) / 200)
    assert interval.low > gains.certain.low


def test_outputs_are_known_without_a_label_only_where_they_do_not_change():
    old = np.array([0.0, 3.0, 5.0, 7.0])
    # 1 in one row, 0.5 in another; two stay.
    new = np.array([1.0, 3.0, 5.5, 7.0])
    result = diff_models(old, new, tolerance=0.0, rng=0)
    assert (result.certain.low, result.certain.high) == (-1.5 / 4, 1.5 / 4)
    assert sorted(result.plan.order.tolist()) == [0, 2]


def test_limits_of_gains_have_the_unit_of_costs():
    plan = diff_models(OLD, NEW, plan="anytime", rng=0).plan
    labels = np.full(400, np.nan)
    labels[plan.order[:30]] = LABELS[plan.order[:30]]
    whole = diff_models(OLD, NEW, labels=labels, plan=plan).interval
    costs = dict.fromkeys("0123", 0.5)
    half = diff_models(OLD, NEW, labels=labels, plan=plan, costs=costs).interval
    assert (half.low, half.high) == pytest.approx((0.5 * whole.low, 0.5 * whole.high))


@pytest.mark.parametrize("step", [0.1, 1.0, 3.0])
def test_limits_of_gains_have_the_unit_of_outputs(step):
    old = np.arange(200.0)
    new = old + step
    plan = replace(diff_models(old, new, plan="anytime", tolerance=0.0, rng=0).plan, sizes=None)
    labels = np.full(200, np.nan)
    labels[plan.order[:120]] = new[plan.order[:120]]
    found = diff_models(old, new, labels=labels, plan=plan, tolerance=0.0)
    # The new output is right in all rows with a label; the others may gain or lose the step.
    low = mean_sequence(np.ones(120), np.ones(120), 200, LEVEL)[0][-1]
    assert found.interval.low == pytest.approx(step * (2.0 * low - 1.0))
    assert found.interval.low > found.certain.low
    assert found.interval.high == found.value == pytest.approx(step)
    assert found.labelled.n_labelled == 120


def test_of_two_classes_one_of_both_models_is_right():
    old = np.tile([0.6, 0.4], (60, 1))
    new = old[:, ::-1]
    asked = diff_models(old, new, plan=40, rng=0)
    labels = np.full(60, np.nan)
    labels[asked.plan.rows] = np.repeat([1.0, 0.0], [10, 30])
    found = diff_models(old, new, labels=labels, plan=asked.plan)
    outcomes = Outcomes(fixed=10, broken=30, neither=0, missing=0)
    expected = difference_interval(60, outcomes, LEVEL, two_classes=True)
    assert expected != difference_interval(60, outcomes, LEVEL)
    assert (found.interval.low * 60, found.interval.high * 60) == pytest.approx(expected)
