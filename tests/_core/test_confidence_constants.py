"""Tails, levels and streams of intervals and p-values, each against a value worked out by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from shiftmetrics._core.confidence import (
    HALF,
    BootstrapWeights,
    ResamplingUnits,
    binomial_interval,
    normal_interval,
    rate_ratio_p_value,
    resampled_interval,
    resampled_p_value,
    resampled_sums,
    skewed_errors,
    student_quantile,
)


def test_each_block_of_units_has_a_stream_of_its_own():
    resamples = BootstrapWeights(n_units=600, n_resamples=2000, seed=5)
    blocks = resamples.blocks
    assert len(blocks) > 2
    width = min(blocks[0].stop, blocks[-1].stop - blocks[-1].start)
    drawn = [resamples.weights(number)[:3, :width] for number in range(len(blocks))]
    for first in range(len(blocks)):
        for second in range(first):
            assert not np.isin(drawn[first], drawn[second]).any()
    # In any order, and again.
    last = len(blocks) - 1
    np.testing.assert_array_equal(resamples.weights(last)[:3, :width], drawn[last])
    other = BootstrapWeights(n_units=600, n_resamples=2000, seed=6)
    assert not np.isin(other.weights(0)[:3, :width], drawn[0]).any()


def test_blocks_do_not_cancel_each_other():
    """Units of 1 in the first block and of -1 in the second: one stream for both would give 0 everywhere."""
    resamples = BootstrapWeights(n_units=1024, n_resamples=512, seed=0)
    first, second = resamples.blocks[:2]
    width = min(first.stop, second.stop - second.start)
    values = np.zeros((1024, 1))
    values[:width] = 1.0
    values[second.start : second.start + width] = -1.0
    sums = resampled_sums(values.__getitem__, resamples, ResamplingUnits(1024, 1024))
    # The variance of a sum of as many independent exponential weights.
    expected = 2.0 * width
    assert sums.var() == pytest.approx(expected, rel=0.3)


def test_weights_are_standard_exponential():
    weights = BootstrapWeights(n_units=400, n_resamples=500, seed=1).weights(0)
    assert stats.kstest(weights.ravel(), "expon").pvalue > 1e-3


@pytest.mark.parametrize(
    ("n_resamples", "confidence_level", "place"),
    # The tail times one more than the resamples, rounded down.
    [(39, 0.95, 0), (78, 0.95, 0), (79, 0.95, 1), (99, 0.9, 4), (19, 0.9, 0), (999, 0.95, 24)],
)
def test_the_ends_of_resamples(n_resamples, confidence_level, place):
    values = np.random.default_rng(0).permutation(np.arange(float(n_resamples)))
    found = resampled_interval(values, values + 0.5, confidence_level)
    assert found == (place, n_resamples - 1 - place + 0.5)
    with pytest.raises(ValueError, match="at least 19"):
        resampled_interval(values[:18], values[:18], 0.9)


def test_a_p_value_counts_the_far_side_twice_and_the_sample_itself():
    values = np.array([-2.0, -1.0, 0.0, *range(1, 97)])
    # 3 of 99 resamples are at 0 or below.
    assert resampled_p_value(values, values) == pytest.approx(2 * 4 / 100)
    assert resampled_p_value(-values, -values) == pytest.approx(2 * 4 / 100)
    # Each side is counted at its own end.
    assert resampled_p_value(values - 2.0, values + 2.0) == pytest.approx(2 * 6 / 100)
    assert resampled_p_value(-values - 2.0, 2.0 - values) == pytest.approx(2 * 6 / 100)


def test_the_normal_interval_and_its_cut():
    interval = normal_interval(3.0, 2.0, 0.95, "normal")
    assert interval.low == pytest.approx(3.0 - 2.0 * 1.959963985)
    assert interval.high == pytest.approx(3.0 + 2.0 * 1.959963985)
    assert normal_interval(3.0, 2.0, 0.95, "normal", least=0.0).low == 0.0
    assert normal_interval(3.0, 2.0, 0.95, "normal", least=0.0).high == interval.high


@pytest.mark.parametrize("freedom", [1.0, 7.5, 39.9, 40.0, 41.0, 100.0, 1e6])
@pytest.mark.parametrize("probability", [0.6, 0.9, 0.975, 0.995, 0.9999, 0.99999])
def test_quantiles_of_student(freedom, probability):
    expected = stats.t.ppf(probability, freedom)
    assert student_quantile(probability, freedom) == pytest.approx(expected, rel=2e-6)


def test_the_terms_of_the_expansion():
    """At 40 degrees of freedom the fourth term is 1e-7: an error in any of them shows beyond the tolerance."""
    for probability in (0.75, 0.975, 0.9995):
        expected = stats.t.ppf(probability, 40.0)
        remaining = abs(student_quantile(probability, 40.0) / expected - 1.0)
        assert remaining < 3e-7
    # In the middle the terms that are left out are below 1e-9, and a sign within the fourth is not.
    for probability in (0.8, 0.9):
        expected = stats.t.ppf(probability, 40.0)
        assert student_quantile(probability, 40.0) == pytest.approx(expected, rel=1e-9)


def test_errors_of_a_skewed_influence_by_the_transformation_itself():
    influence = np.array([5.0, 1.0, -1.0, -1.5, -0.5, -3.0])
    below, above = skewed_errors(influence, 12.0, 0.9)
    spread = math.sqrt((influence**2).sum())
    a = ((influence / spread) ** 3).sum()
    quantile = stats.t.ppf(0.95, 11)

    def transformed(u):
        return u + a * u**2 / 3.0 + a**2 * u**3 / 27.0 + a / 6.0

    # The truth lies below where the studentised value is high, and above where it is low.
    assert transformed(below / spread) == pytest.approx(quantile)
    assert transformed(-above / spread) == pytest.approx(-quantile)
    mirrored = skewed_errors(-influence, 12.0, 0.9)
    assert mirrored == pytest.approx((above, below))


def test_errors_of_a_symmetric_influence_are_those_of_student():
    influence = np.array([2.0, -2.0, 1.0, -1.0])
    expected = stats.t.ppf(0.975, 3) * math.sqrt(10.0)
    assert skewed_errors(influence, 4.0, 0.95) == pytest.approx((expected, expected))
    assert skewed_errors(np.zeros(4), 4.0, 0.95) == (0.0, 0.0)
    # Of one unit nothing is known: one degree of freedom at the least.
    assert skewed_errors(influence, 1.0, 0.95)[0] == pytest.approx(
        stats.t.ppf(0.975, 1) * math.sqrt(10.0)
    )


@pytest.mark.parametrize(("having", "n"), [(0, 12), (1, 12), (7, 12), (11, 12), (12, 12)])
def test_tails_of_the_binomial_interval(having, n):
    """Each end is where the tail of the count that was seen is half of the error, or all of it for one side."""
    for one_sided, tail in ((False, 0.05), (True, 0.1)):
        low, high = binomial_interval(having / n, n, 0.9, one_sided=one_sided)
        if having == 0:
            assert low == 0.0
        else:
            assert stats.binom.sf(having - 1, n, low) == pytest.approx(tail)
        if having == n:
            assert high == 1.0
        else:
            assert stats.binom.cdf(having, n, high) == pytest.approx(tail)


def test_the_p_value_of_a_ratio_of_rates_sums_a_binomial_tail():
    # Of 9 + 4 events; the first sample is 30, the other 50, and rates may be 1.5 times as high.
    chance = 1.5 * 30 / (1.5 * 30 + 50)
    tail = sum(math.comb(13, k) * chance**k * (1.0 - chance) ** (13 - k) for k in range(9, 14))
    assert rate_ratio_p_value(9.0, 4.0, 30.0, 50.0, 1.5) == pytest.approx(tail)
    assert rate_ratio_p_value(0.0, 4.0, 30.0, 50.0, 1.5) == 1.0
    assert rate_ratio_p_value(0.5, 0.0, 30.0, 50.0, 1.0) < 1.0


def test_half_a_unit_more_gives_intervals_of_jeffreys():
    assert HALF == 0.5
