"""The fraction that is new: the cut by brute force, planted fractions, what only changed, and the error of it."""

import math

import numpy as np
import pytest

from calls import novelty
from shiftmetrics.novelty.modes.fraction_estimate import MOST_ABOVE, FractionEstimate, best_bin


def scored(
    seed: int, n: int = 300, m: int = 200, fraction: float = 0.2, apart: float = 2.5
) -> tuple[np.ndarray, np.ndarray]:
    """Scores of both samples, rounded so that some tie, and weights."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n + m)
    scores[: round(fraction * n)] += apart
    return scores.round(1), rng.uniform(0.5, 1.5, n + m)


def by_brute_force(scores: np.ndarray, weights: np.ndarray, n: int, sizes: tuple) -> float:
    """Try every score as a cut, and count by loops."""
    best, found = math.inf, 0.0
    slack = sum(3.0 * math.sqrt(math.log(40.0) / 2.0 / size) for size in sizes)
    for cut in np.unique(scores):
        below, total = [0.0, 0.0], [0.0, 0.0]
        for row, score in enumerate(scores):
            side = int(row >= n)
            total[side] += weights[row]
            below[side] += weights[row] * (score <= cut)
        own, other = below[0] / total[0], below[1] / total[1]
        if 1.0 - other <= 0.25 and (own + slack) / other < best:
            best, found = (own + slack) / other, 1.0 - own / other
    return max(0.0, found)


@pytest.mark.parametrize("seed", range(6))
def test_the_cut_is_the_one_of_the_least_ratio(seed: int) -> None:
    scores, weights = scored(seed, apart=(0.0, 1.0, 3.0)[seed % 3])
    estimate = best_bin(scores, weights, 300, (250.0, 180.0))
    expected = by_brute_force(scores, weights, 300, (250.0, 180.0))
    assert estimate.fraction == pytest.approx(expected, abs=1e-12)
    assert (weights @ (estimate.above & (np.arange(500) >= 300))) <= MOST_ABOVE * weights[
        300:
    ].sum()


def test_rows_without_weight_do_not_count() -> None:
    scores, weights = scored(7)
    extra = np.concatenate([scores, np.full(50, 9.0)])
    with_extra = best_bin(extra, np.append(weights, np.zeros(50)), 300, (300.0, 200.0))
    assert with_extra.fraction == best_bin(scores, weights, 300, (300.0, 200.0)).fraction
    assert not with_extra.above[500:].any()
    weights[:300] = 0.0
    assert best_bin(scores, weights, 300, (300.0, 200.0)).fraction == 0.0


@pytest.mark.parametrize("fraction", [0.05, 0.1, 0.2, 0.3, 0.5])
def test_planted_fractions_are_told(fraction: float) -> None:
    errors = []
    for seed in range(40):
        scores, _ = scored(seed, 400, 400, fraction, apart=3.0)
        estimate = best_bin(scores, np.ones(800), 400, (400.0, 400.0))
        errors.append(estimate.fraction - fraction)
    # The count of rows alone has a standard deviation of .025 at most.
    assert abs(np.mean(errors)) <= 0.03
    assert np.mean(np.abs(errors)) <= 0.04


def test_what_lies_apart_is_counted_and_nothing_beside_it() -> None:
    """The least of many ratios is too small by chance: a cut among the known rows says too much is new."""
    errors = []
    for seed in range(30):
        scores = np.random.default_rng(seed).normal(size=8000)
        scores[:400] += 8.0
        estimate = best_bin(scores, np.ones(8000), 4000, (4000.0, 4000.0))
        errors.append(estimate.fraction - 0.1)
    assert -0.002 <= np.mean(errors) <= 0.006


def test_a_known_part_that_is_rarer_is_not_taken_for_all_that_is_known() -> None:
    # A fifth of the reference, with the lowest scores, is nearly missing from the sample: nothing is new.
    rng = np.random.default_rng(3)
    sample, reference = rng.uniform(size=(2, 2000))
    sample = sample[(sample > 0.2) | (rng.uniform(size=2000) < 0.1)]
    scores = np.concatenate([sample, reference])
    estimate = best_bin(scores, np.ones(len(scores)), len(sample), (len(sample), 2000.0))
    assert estimate.fraction < 0.15
    # Without the limit the nearly missing part would say that 9 of 10 are new.
    below = (sample <= 0.2).mean() / (reference <= 0.2).mean()
    assert 1.0 - below > 0.85


def test_influences_are_the_derivatives_by_weights() -> None:
    rng = np.random.default_rng(1)
    weights = rng.uniform(0.5, 1.5, 50)
    estimate = FractionEstimate(
        rng.uniform(size=50) < np.where(np.arange(50) < 30, 0.5, 0.1), weights, 30
    )
    assert estimate.fraction > 0.0
    step = 1e-6
    slopes = []
    for row in range(50):
        more = weights.copy()
        more[row] += step
        changed = FractionEstimate(estimate.above, more, 30).fraction
        slopes.append(weights[row] * (changed - estimate.fraction) / step)
    np.testing.assert_allclose(np.concatenate(estimate.influences()), slopes, atol=1e-6)
    nothing = FractionEstimate.nothing(weights, 30)
    assert nothing.fraction == 0.0
    assert not np.concatenate(nothing.influences()).any()


def test_the_printed_fraction_is_that_of_the_rows_and_at_least_the_bound() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(2, 150, 3))
    x[:30, 0] += 5.0
    result = novelty(x, y, n_resamples=99)
    estimate = result.source.estimate
    assert result.fraction == max(estimate.fraction, result.fraction_interval.low)
    assert result.fraction == pytest.approx(0.2, abs=0.05)
    np.testing.assert_array_equal(result.influence, estimate.influences()[0])
    np.testing.assert_array_equal(result.reference_influence, estimate.influences()[1])
    ranked = result.ranked(0.9)
    assert ranked.interval.low <= ranked.value == result.fraction <= ranked.interval.high


def test_where_nothing_is_new_the_fraction_is_zero() -> None:
    x, y = np.random.default_rng(6).normal(size=(2, 120, 3))
    result = novelty(x, y, n_resamples=99)
    assert result.p_value > 0.05
    assert result.fraction == 0.0
    assert not np.concatenate([result.influence, result.reference_influence]).any()
