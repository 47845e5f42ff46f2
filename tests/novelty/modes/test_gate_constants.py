"""The gate's p-values by counting: which side is compared with which, and which ties count."""

import math

import numpy as np
import pytest

from shiftmetrics.novelty.modes.gate import likelihood_ratio, side_p_values


def test_either_side_has_to_beat_the_larger_one_of_each_permutation():
    # The true labels stand first; the larger sides are 3, 5, 3, 1 and 2.
    values = np.array([[3.0, 1.0, 2.0, 0.5, 2.0], [2.0, 5.0, 3.0, 1.0, 0.0]])
    new, missing = side_p_values(values)
    # Alone, the first side would be reached by one of five, and the second by three.
    assert new == 3 / 5
    assert missing == 4 / 5


def test_a_side_of_which_nothing_stands_out_has_a_p_value_of_one():
    values = np.array([[4.0, 1.0, 2.0], [0.0, 0.0, 0.0]])
    assert side_p_values(values) == (1 / 3, 1.0)


def test_values_equal_up_to_rounding_are_ties_and_others_are_not():
    below = np.array([[1.0, 1.0 - 1e-12, 1.0 - 1e-6], [0.0, 0.0, 0.0]])
    assert side_p_values(below)[0] == 2 / 3


def test_both_p_values_hold_together_over_all_permutations():
    """Whichever permutation is the true one, the smaller p-value is at most 1 / 20 for one in twenty."""
    values = np.random.default_rng(0).normal(size=(2, 100))
    smaller = []
    for place in range(100):
        true_first = np.roll(values, -place, axis=1)
        smaller.append(min(side_p_values(true_first)))
    assert sorted(smaller) == pytest.approx(np.arange(1, 101) / 100)


def test_the_likelihood_ratio_is_that_of_two_binomials():
    def log_likelihood(part, whole):
        return part * math.log(part / whole) + (whole - part) * math.log(1.0 - part / whole)

    # 8 of 10 rows inside, 12 of 90 outside.
    arguments = [np.array([value]) for value in (8.0, 10.0, 20.0, 100.0)]
    expected = log_likelihood(8, 10) + log_likelihood(12, 90) - log_likelihood(20, 100)
    assert likelihood_ratio(*arguments)[0] == pytest.approx(expected)
    # As many as expected, or fewer, are no excess.
    for inside in (2.0, 1.0):
        arguments[0] = np.array([inside])
        assert likelihood_ratio(*arguments)[0] == 0.0
