"""One more row on either side: formulas by hand, coverage where few answers change, clusters."""

import numpy as np
import pytest
from scipy.stats import binom, t

from shiftmetrics.decisions.labelling.paired_mean import paired_mean_interval


def test_rows_of_0_and_1_are_counted_with_one_more_on_either_side() -> None:
    fixed, broken, n = 4, 7, 60
    differences = np.repeat([1.0, -1.0, 0.0], [fixed, broken, n - fixed - broken])
    with_both = np.append(differences, [1.0, -1.0])
    half = t.ppf(0.975, n - 1) * with_both.std(ddof=1) / np.sqrt(n + 2)
    interval = paired_mean_interval(differences, 1.0)
    assert interval.low == pytest.approx(with_both.mean() - half)
    assert interval.high == pytest.approx(with_both.mean() + half)


def test_clusters_of_one_row_are_rows() -> None:
    differences = np.random.default_rng(0).uniform(-1.0, 1.0, 50)
    alone = paired_mean_interval(differences, 1.0)
    numbered = paired_mean_interval(differences, 1.0, clusters=np.arange(50) + 3)
    assert (alone.low, alone.high) == pytest.approx((numbered.low, numbered.high))


def test_equal_clusters_are_their_means() -> None:
    differences = np.random.default_rng(1).uniform(-1.0, 1.0, 90)
    means = differences.reshape(30, 3).mean(axis=1)
    of_rows = paired_mean_interval(differences, 1.0, clusters=np.repeat(np.arange(30), 3))
    of_means = paired_mean_interval(means, 1.0)
    assert (of_rows.low, of_rows.high) == pytest.approx((of_means.low, of_means.high))


def test_one_cluster_says_nothing() -> None:
    interval = paired_mean_interval(np.full(9, 0.5), 2.0, clusters=np.zeros(9, dtype=np.int64))
    assert (interval.low, interval.high) == (-2.0, 2.0)


@pytest.mark.parametrize("n", [20, 50, 200, 1000])
@pytest.mark.parametrize("change", [0.01, 0.02, 0.1, 0.3])
def test_coverage_where_few_rows_change_by_enumeration(n: int, change: float) -> None:
    # all changes lose, the hardest case: the number of rows that lose is binomial
    held = 0.0
    for lost in range(int(binom.ppf(1.0 - 1e-9, n, change)) + 1):
        interval = paired_mean_interval(np.repeat([-1.0, 0.0], [lost, n - lost]), 1.0)
        held += binom.pmf(lost, n, change) * (interval.low <= -change <= interval.high)
    assert held >= 0.94


def test_coverage_of_scores_of_a_judge() -> None:
    rng = np.random.default_rng(2)
    values = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    chances = np.array([0.005, 0.01, 0.97, 0.01, 0.005])
    held = 0
    for _ in range(2000):
        interval = paired_mean_interval(rng.choice(values, 200, p=chances), 1.0)
        held += interval.low <= 0.0 <= interval.high
    assert held / 2000 >= 0.94


@pytest.mark.slow
def test_coverage_of_clusters() -> None:
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(2000):
        sizes = rng.integers(1, 13, 40)
        clusters = np.repeat(np.arange(40), sizes)
        effects = rng.choice([-1.0, 0.0, 1.0], 40, p=[0.1, 0.8, 0.1])
        interval = paired_mean_interval(effects[clusters], 1.0, clusters=clusters)
        held += interval.low <= 0.0 <= interval.high
    assert held / 2000 >= 0.93
