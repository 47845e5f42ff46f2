"""Sums of agreement on a grid of betas: against the exact sums at each beta, whatever holds the arrays."""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import oracles
from optional import array_api_strict
from shiftmetrics.agreement.grid import BETA_RANGE, check_range, grid_betas, grid_statistic
from shiftmetrics.agreement.scores import ScorePairs, prepare_pairs
from shiftmetrics.agreement.statistic import evaluator, limits_of

GRID = grid_betas(*BETA_RANGE)


def slopes(pairs: ScorePairs, betas: np.ndarray) -> np.ndarray:
    statistic = evaluator(pairs)(betas)
    return statistic.pair_slope - statistic.single_slope


# --- the grid --------------------------------------------------------------------------------------------


def test_default_grid_spans_nearly_six_decades_in_half_octaves() -> None:
    assert len(GRID) == 39
    assert GRID[-1] / GRID[0] > 5e5
    np.testing.assert_array_equal(GRID[2:], 2.0 * GRID[:-2])


def test_high_moves_up_to_a_whole_step() -> None:
    betas = grid_betas(0.3, 7.0)
    assert betas[0] == 0.3
    assert betas[-2] < 7.0 <= betas[-1]
    np.testing.assert_allclose(np.diff(np.log2(betas)), 0.5, rtol=1e-12)


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ((0.0, 1.0), r"beta_range\[0\] must be a number at least"),
        ((-1.0, 1.0), r"beta_range\[0\] must be"),
        ((np.nan, 1.0), r"beta_range\[0\] must be"),
        ((2.0, 1.0), r"beta_range\[1\] must be a number greater than 2"),
        ((1.0, np.inf), r"beta_range\[1\] must be"),
        (("1", 2.0), r"beta_range\[0\] must be a real number"),
        (64, r"beta_range must be two numbers \(low, high\), got 64"),
    ],
)
def test_bad_grids(ends: object, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        check_range(ends)


# --- the sums --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_sums_are_those_at_each_beta(seed: int) -> None:
    pairs = prepare_pairs(*oracles.hard_pairs(seed))
    statistic, exact, limits = grid_statistic(pairs, GRID), evaluator(pairs)(GRID), limits_of(pairs)
    assert statistic.weight == limits.weight
    assert statistic.disagreeing == limits.disagreeing
    np.testing.assert_allclose(statistic.predicted, limits.predicted, rtol=1e-12)
    value = exact.pair - exact.single
    np.testing.assert_allclose(statistic.value, value, rtol=1e-11, atol=1e-11 * pairs.n_samples)
    slope = slopes(pairs, GRID)
    np.testing.assert_allclose(GRID * statistic.slope, GRID * slope, rtol=1e-11, atol=1e-9)
    step = 1e-4  # the curvature, by differences of exact slopes
    ends = [slopes(pairs, GRID * (1.0 + sign * step)) for sign in (1, -1)]
    curvature = (ends[0] - ends[1]) / (2.0 * step * GRID)
    scale = GRID**2
    np.testing.assert_allclose(scale * statistic.curvature, scale * curvature, rtol=1e-6, atol=1e-3)


def test_curvature_at_zero_is_twice_the_covariance() -> None:
    scores, reference = oracles.hard_pairs(2)
    expected = 2.0 * sum(
        np.cov(a, b, bias=True)[0, 1] for a, b in zip(scores, reference, strict=True)
    )
    found = grid_statistic(prepare_pairs(scores, reference), GRID).start_curvature
    assert found == pytest.approx(expected, rel=1e-9)


def test_a_prior_stands_inside() -> None:
    scores, reference = oracles.hard_pairs(1)
    prior = np.array([0.2, 0.0, 0.8])
    grid = grid_betas(0.1, 10.0)
    statistic = grid_statistic(prepare_pairs(scores, reference, prior=prior), grid)
    expected = [np.sum(oracles.agreement_rows(scores, reference, beta, prior)) for beta in grid]
    np.testing.assert_allclose(statistic.value, np.asarray(expected, float), rtol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_priors_may_be_tiny(n_classes: int) -> None:
    scores, reference = oracles.noisy_pairs(0, 40, n_classes)
    prior = np.array([1e-200, 1.0, 1.0][:n_classes])
    pairs, grid = prepare_pairs(scores, reference, prior=prior), grid_betas(0.5, 4096.0)
    # In most rows the two samples both predict the class that the prior all but excludes.
    sums = grid_statistic(pairs, grid).value
    single = [oracles.agreement(scores, reference, beta, prior=pairs.prior) * 40 for beta in grid]
    np.testing.assert_allclose(sums, single, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", [0, 1, 4])
def test_other_array_libraries_give_the_same(seed: int) -> None:
    scores, reference = oracles.hard_pairs(seed)
    pairs = prepare_pairs(scores, reference)
    other = pairs.replace(
        scores=array_api_strict.asarray(scores),
        reference_scores=array_api_strict.asarray(reference),
    )
    first, second = grid_statistic(pairs, GRID), grid_statistic(other, GRID)
    for name in first.field_names():
        a, b = getattr(first, name), getattr(second, name)
        np.testing.assert_allclose(
            a, b, rtol=1e-9, atol=1e-12 * max(1.0, np.abs(a).max()), err_msg=name
        )


def test_threads_and_blocks_do_not_matter() -> None:
    rng = np.random.default_rng(0)
    reference = rng.normal(size=(20_000, 3))
    pairs = prepare_pairs(reference + rng.normal(size=reference.shape), reference)
    alone = grid_statistic(pairs, GRID)
    with ThreadPoolExecutor(3) as executor:
        np.testing.assert_array_equal(
            alone.pack(), grid_statistic(pairs, GRID, executor=executor).pack()
        )


def test_memory_is_bounded_by_the_block() -> None:
    reference = np.random.default_rng(0).normal(size=(50_000, 20))
    pairs = prepare_pairs(reference + 0.1, reference)
    with ThreadPoolExecutor(1) as executor:
        tracemalloc.start()
        grid_statistic(pairs, grid_betas(0.1, 10.0), executor=executor)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 0.5 * reference.nbytes


def test_scores_beyond_squaring_are_refused() -> None:
    with pytest.raises(ValueError, match="scores must be within 1e100 of each other"):
        grid_statistic(prepare_pairs([[1e150, -1e150]], [[1.0, 0.0]]), GRID)
