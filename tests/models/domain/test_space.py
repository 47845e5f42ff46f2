"""Samples as a search sees them: smooth moves in units of cost, and jumps of categories and coarse integers."""

import numpy as np

from shiftmetrics.models.domain.domain import Domain, Flip
from shiftmetrics.models.domain.space import PerturbationSpace

ORIGIN = np.array([[10.0, 0.0, 2.0], [14.0, 2.0, 5.0], [np.nan, 1.0, 3.0]])
EVERYONE = np.arange(3)


def space() -> PerturbationSpace:
    """Return one smooth column in units of 2, one category of three states, and one coarse column of integers."""
    flip = Flip("state", np.array([1]), np.array([[0.0], [1.0], [2.0]]), distance=3.0)
    domain = Domain(
        names=("smooth", "state", "count"),
        unit=np.array([2.0, 1.0, 2.0]),
        mutable=np.ones(3, dtype=bool),
        lower=np.array([0.0, -np.inf, 0.0]),
        upper=np.array([20.0, np.inf, 6.0]),
        integer=np.array([False, False, True]),
        flips=(flip,),
    )
    return PerturbationSpace(domain, ORIGIN)


def test_columns_are_smooth_or_jump() -> None:
    held = space()
    np.testing.assert_array_equal(held.smooth, [0])
    assert [group.tolist() for group in held.jumping] == [[1], [2]]
    assert held.n_jumps == 2 + 2  # two other states, a step up and a step down


def test_moves_lead_to_their_points_and_stay_in_the_box() -> None:
    held = space()
    np.testing.assert_allclose(held.low[:, 0], [-5.0, -7.0, 0.0])
    np.testing.assert_allclose(held.high[:, 0], [5.0, 3.0, 0.0])
    moves = np.full((3, 2, 1), [[4.0], [-9.0]])
    inside = held.clip(moves, EVERYONE)
    np.testing.assert_allclose(inside[:, :, 0], [[4.0, -5.0], [3.0, -7.0], [0.0, 0.0]])
    points = held.points(ORIGIN, EVERYONE, inside)
    np.testing.assert_allclose(points[:2, :, 0], [[18.0, 0.0], [20.0, 0.0]])
    np.testing.assert_allclose(held.moves(points[:, 0], EVERYONE), inside[:, 0])


def test_costs_of_the_parts_add_up_to_the_squared_distance() -> None:
    held = space()
    points = np.array([[16.0, 1.0, 4.0], [14.0, 2.0, 1.0], [np.nan, 0.0, 3.0]])
    costs = held.squared_costs(points, EVERYONE)
    np.testing.assert_allclose(costs, [[9.0, 9.0, 1.0], [0.0, 0.0, 4.0], [0.0, 9.0, 0.0]])
    np.testing.assert_allclose(costs.sum(axis=1), held.distance(points, EVERYONE) ** 2)


def test_jumps_are_all_other_states_and_steps_or_some_of_them() -> None:
    held = space()
    jumps = held.some_jumps(ORIGIN, np.random.default_rng(0), 10)
    np.testing.assert_array_equal(
        jumps[0], [[10.0, 1.0, 2.0], [10.0, 2.0, 2.0], [10.0, 0.0, 3.0], [10.0, 0.0, 1.0]]
    )
    np.testing.assert_array_equal(jumps[1][:2, 1], [0.0, 1.0])
    some = held.some_jumps(ORIGIN, np.random.default_rng(0), 2)
    assert some.shape == (3, 2, 3)
    assert all((jumps[0] == option).all(axis=1).any() for option in some[0])
