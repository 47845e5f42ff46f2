"""Intervals of the difference of mean scores: by enumeration and simulation."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from shiftmetrics.decisions.labelling.paired import future_interval
from shiftmetrics.decisions.labelling.paired_mean import paired_mean_interval
from shiftmetrics.decisions.scores.intervals import (
    REPEATS,
    ScoreGains,
    mean_of_tasks,
    plain_variance,
    repeated_interval,
    score_interval,
    task_interval,
)


def gains_of(gains, *, tasks=None, groups=None, reach=1.0, are_signs=False):
    gains = np.asarray(gains, dtype=float)
    if tasks is None:
        tasks = np.zeros(len(gains), dtype=int)
    return ScoreGains(
        gains=gains, tasks=np.asarray(tasks), groups=groups, reach=reach, are_signs=are_signs
    )


def test_one_answer_of_0_or_1_has_the_interval_of_mcnemar():
    found = gains_of([1.0] * 4 + [-1.0] * 2 + [0.0] * 94, are_signs=True)
    interval = score_interval(found, 0.95)
    expected = future_interval(4, 2, 100)
    assert (interval.low, interval.high) == (expected.low, expected.high)


def test_all_else_has_one_more_on_either_side():
    gains = [0.5, -0.5, 0.25] + [0.0] * 40
    interval = score_interval(gains_of(gains), 0.95)
    # by hand: the two more gain and lose the whole range
    more = np.array([*gains, 1.0, -1.0])
    n = len(gains)
    mean = more.mean()
    error = math.sqrt((n + 2) / (n + 1) * ((more - mean) ** 2).sum()) / (n + 2)
    from scipy.special import stdtrit

    half = stdtrit(n - 1.0, 0.975) * error
    assert interval.low == pytest.approx(mean - half)
    assert interval.high == pytest.approx(mean + half)


def test_clusters_widen_the_interval_where_their_questions_agree():
    groups = np.repeat(np.arange(20), 5)
    gains = np.repeat(np.where(np.arange(20) % 4 == 0, 1.0, 0.0), 5)
    clustered = score_interval(gains_of(gains, groups=groups), 0.95)
    plain = score_interval(gains_of(gains), 0.95)
    assert clustered.high - clustered.low > 1.5 * (plain.high - plain.low)


def test_the_mean_over_tasks_weighs_tasks_not_questions():
    tasks = np.array([0] * 90 + [1] * 10)
    gains = np.where(tasks == 0, 0.0, 1.0)
    assert mean_of_tasks(gains, tasks) == 0.5


def test_errors_of_tasks_add_up_as_independent_ones():
    rng = np.random.default_rng(0)
    tasks = np.repeat(np.arange(4), 400)
    gains = rng.choice([-1.0, 0.0, 1.0], size=1600, p=[0.2, 0.6, 0.2])
    whole = score_interval(gains_of(gains, tasks=tasks), 0.95)
    single = paired_mean_interval(gains, 1.0, 0.95)
    assert whole.high - whole.low == pytest.approx(single.high - single.low, rel=0.05)


def test_a_task_of_one_cluster_counts_by_its_limits():
    tasks = np.array([0] * 100 + [1])
    interval = score_interval(gains_of(np.zeros(101), tasks=tasks), 0.95)
    assert interval.high >= 0.5


def test_intervals_of_tasks_are_those_of_their_questions():
    tasks = np.array([0, 0, 0, 1, 1, 1, 1])
    gains = np.array([1.0, 0.0, -1.0, 0.5, 0.0, 0.0, 0.0])
    interval = task_interval(gains_of(gains, tasks=tasks), 1, 0.9)
    expected = paired_mean_interval(gains[3:], 1.0, 0.9)
    assert (interval.low, interval.high) == (expected.low, expected.high)


def test_the_variance_of_0_and_1_is_changed_less_d_squared():
    gains = [1.0] * 3 + [-1.0] * 7 + [0.0] * 90
    assert plain_variance(gains_of(gains)) * 100 == pytest.approx(0.1 - 0.04**2)


# The true difference lies at what is allowed: SAFE and WORSE must each be said in at most 2.5 % of samples.
@pytest.mark.parametrize(
    ("n", "changed"),
    [(20, 0.1), (20, 0.3), (50, 0.1), (50, 0.3), pytest.param(200, 0.1, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("one_sided", [True, False])
def test_false_verdicts_on_half_points_are_rare_by_enumeration(n, changed, one_sided):
    """Enumerate all outcomes of gains of -.5, 0 and .5, whose mean is at the limit."""
    from scipy.stats import binom

    fall = changed if one_sided else 0.75 * changed
    rise = changed - fall
    limit = 0.5 * (rise - fall)
    safe = 0.0
    worse = 0.0
    reached = 0.0
    for n_changed in range(n + 1):
        weight = binom.pmf(n_changed, n, changed)
        if weight < 1e-6:
            continue
        for n_fallen in range(n_changed + 1):
            chance = weight * binom.pmf(n_fallen, n_changed, fall / changed)
            if chance < 1e-7:
                continue
            gains = np.zeros(n)
            gains[:n_fallen] = -0.5
            gains[n_fallen:n_changed] = 0.5
            interval = paired_mean_interval(gains, 1.0, 0.95)
            reached += chance
            safe += chance * (interval.low > limit)
            worse += chance * (interval.high < limit)
    assert reached > 0.999
    assert safe <= 0.025
    assert worse <= 0.025


def test_the_mean_over_tasks_covers():
    rng = np.random.default_rng(1)
    tasks = np.repeat(np.arange(3), [30, 60, 120])
    truth = np.array([-0.02, 0.0, -0.04])
    n_covered = 0
    n_samples = 400
    for _ in range(n_samples):
        rates = np.array([0.06, 0.08, 0.1])
        down = (rates - truth) / 2
        chances = rng.random(len(tasks))
        gains = np.where(chances < down[tasks], -1.0, 0.0)
        gains = np.where(chances > 1.0 - (rates - down)[tasks], 1.0, gains)
        interval = score_interval(gains_of(gains, tasks=tasks), 0.95)
        n_covered += interval.low <= truth.mean() <= interval.high
    assert n_covered / n_samples >= 0.93


def test_all_orders_of_the_questions_give_one_interval():
    gains = [0.5, 0.0, -0.25, 1.0]
    found = {
        round(score_interval(gains_of(order), 0.95).low, 12)
        for order in itertools.permutations(gains)
    }
    assert len(found) == 1


def test_the_interval_of_these_questions_is_that_of_the_answers_by_hand():
    old = np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    new = np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 0.0]])
    found = ScoreGains(
        gains=new.mean(axis=1) - old.mean(axis=1),
        tasks=np.zeros(2, dtype=np.int64),
        groups=None,
        reach=1.0,
        are_signs=False,
    )
    runs = np.full((2, 2), 3.0)
    variances = np.column_stack([old.var(axis=1, ddof=1), new.var(axis=1, ddof=1)]) / 3.0
    interval = repeated_interval(found, variances, runs, 0.95)
    # s^2 is 1/3 for two of the four samples of three answers
    error = np.sqrt(2.0 * (1.0 / 3.0) / 3.0) / 2.0
    freedom = 4.0  # two equal variances of two degrees of freedom each
    half = stats.t.ppf(0.975, freedom) * error
    assert interval.low == pytest.approx(1.0 / 3.0 - half)
    assert interval.high == pytest.approx(min(1.0 / 3.0 + half, 1.0))
    assert interval.method == REPEATS


def test_answers_that_never_change_are_known():
    found = ScoreGains(
        gains=np.array([1.0, 0.0]),
        tasks=np.zeros(2, dtype=np.int64),
        groups=None,
        reach=1.0,
        are_signs=False,
    )
    interval = repeated_interval(found, np.zeros((2, 2)), np.full((2, 2), 4.0), 0.95)
    assert interval.low == interval.high == 0.5


def test_repeats_cover_the_difference_on_these_questions():
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(200):
        p_old = rng.beta(0.6, 0.4, 60)
        p_new = np.clip(p_old + rng.normal(0.0, 0.1, 60), 0.0, 1.0)
        old = rng.random((60, 4)) < p_old[:, None]
        new = rng.random((60, 4)) < p_new[:, None]
        found = ScoreGains(
            gains=new.mean(axis=1) - old.mean(axis=1),
            tasks=np.zeros(60, dtype=np.int64),
            groups=None,
            reach=1.0,
            are_signs=False,
        )
        variances = np.column_stack([old.var(axis=1, ddof=1), new.var(axis=1, ddof=1)]) / 4.0
        interval = repeated_interval(found, variances, np.full((60, 2), 4.0), 0.95)
        covered += interval.low <= (p_new - p_old).mean() <= interval.high
    assert 0.91 <= covered / 200 <= 0.99
