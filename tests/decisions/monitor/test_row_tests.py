"""Readings of samples, and tests that count them."""

import numpy as np

from shiftmetrics.decisions.monitor.row_tests import Count, RowTest, distances_to, unsure_of


def test_distances_are_those_to_the_nearest_centre():
    rng = np.random.default_rng(0)
    rows, centres = rng.normal(size=(20, 3)), rng.normal(size=(4, 3))
    expected = np.linalg.norm(rows[:, None] - centres[None], axis=2).min(axis=1)
    np.testing.assert_allclose(distances_to(rows, centres), expected)
    assert distances_to(rows[:0], centres).shape == (0,)
    assert unsure_of(None, None) == {}


def test_only_what_lies_beyond_the_threshold_counts():
    test = RowTest("far", 0.5, 2.0, Count(1, 4))
    count = test.count({"far": np.array([1.0, 2.0, 2.5, np.nan])})
    assert (count.hits, count.n) == (1, 4)
    assert "50 %" in test.name
