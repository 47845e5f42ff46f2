"""Permuted labels: what stays together stays, and what has no weight keeps its label."""

import numpy as np
from scipy.stats import binomtest

from shiftmetrics.novelty.modes.permutations import (
    PermutationUnits,
    differences,
    near_level,
    permuted_labels,
)


def test_permutations_keep_the_sizes_of_both_samples() -> None:
    in_test = np.arange(10) < 3
    labels = permuted_labels(in_test, None, 200, np.random.default_rng(0))
    assert labels.shape == (200, 10)
    assert (labels.sum(axis=1) == 3).all()
    # each unit is as often of the test sample
    np.testing.assert_allclose(labels.mean(axis=0), 0.3, atol=0.12)


def test_pairs_are_swapped_and_nothing_else() -> None:
    in_test = np.array([True, True, True, False, False, False])
    pairs = np.array([0, 1, 2, 0, 1, 2])
    labels = permuted_labels(in_test, pairs, 100, np.random.default_rng(0))
    np.testing.assert_array_equal(labels[:, :3], ~labels[:, 3:])
    assert len(np.unique(labels, axis=0)) == 8
    units = PermutationUnits(pairs, in_test, paired=True)
    by_units = units.permuted(np.ones(6), 100, np.random.default_rng(0))
    np.testing.assert_array_equal(by_units[:, :3], ~by_units[:, 3:])
    half = units.half(np.random.default_rng(1))
    np.testing.assert_array_equal(half[:3], half[3:])


def test_units_without_weight_keep_their_labels() -> None:
    in_test = np.array([True, True, True, False, False, False, False])
    weights = np.array([1.0, 0.0, 2.0, 1.0, 0.0, 1.0, 3.0])
    units = PermutationUnits(np.arange(7), in_test, paired=False)
    labels = units.permuted(weights, 50, np.random.default_rng(0))
    assert labels[:, 1].all()
    assert not labels[:, 4].any()
    assert (labels.sum(axis=1) == 3).all()
    half = units.half(np.random.default_rng(1))
    assert half[:3].sum() in (1, 2)
    assert half[3:].sum() == 2


def test_coefficients_of_each_side_sum_to_one() -> None:
    labels = np.array([[True, False, True], [False, False, True]])
    weights = np.array([1.0, 4.0, 3.0])
    found = differences(labels, weights)
    np.testing.assert_allclose(found, [[0.25, -0.25, 0.25], [-0.2, -0.2, 1 / 3]])
    assert np.isfinite(differences(np.array([[True, True]]), np.ones(2))).all()


def test_a_p_value_is_near_a_level_that_its_exact_interval_holds() -> None:
    for reached in range(0, 100, 7):
        low, high = binomtest(reached, 99).proportion_ci(0.95)
        p_value = (1 + reached) / 100
        assert near_level(p_value, 99, 0.05) == (low < 0.05 < high)
    assert not near_level(1.0, 0, 0.05)  # nothing was permuted
