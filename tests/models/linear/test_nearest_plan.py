"""The best way of each row: shorter ways replace longer ones, and nothing else does."""

from types import SimpleNamespace

import numpy as np

from shiftmetrics.models.linear.nearest_plan import NearestPlan


def test_a_way_is_kept_only_where_it_is_shorter() -> None:
    geometry = SimpleNamespace(n_samples=3, flips=["smoker"], whole=np.array([True, False]))
    best = NearestPlan.unknown(geometry)
    assert np.isinf(best.distance).all()
    plan = SimpleNamespace(distance=np.array([0.0, 3.0, 0.0]), flipped=np.array([[0], [1], [0]]))
    rows = np.array([1, 1, 2])
    steps = np.array([[5.0], [6.0], [7.0]])
    place = np.array([0.1, 0.2, 0.3])
    best.improve(rows, 4, plan, place, np.array([25.0, 16.0, 4.0]), steps)
    # the shorter of the two ways of row 1, flips and numbers together
    np.testing.assert_array_equal(best.distance, [np.inf, 5.0, 2.0])
    np.testing.assert_array_equal(best.steps[:, 0], [0.0, 6.0, 7.0])
    np.testing.assert_array_equal(best.rival, [0, 4, 4])
    np.testing.assert_array_equal(best.flipped[:, 0], [False, True, False])
    # equally long or longer ways change nothing
    best.improve(rows[1:], 5, plan, place[1:], np.array([16.0, 9.0]), steps[1:] + 1.0)
    np.testing.assert_array_equal(best.rival, [0, 4, 4])
    np.testing.assert_array_equal(best.place, [0.0, 0.2, 0.3])
