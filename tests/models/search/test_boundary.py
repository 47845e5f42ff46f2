"""The nearest error known of each row, and steps to a nearer one, where the boundary is a plane."""

import numpy as np

from shiftmetrics.models.domain.domain import Domain
from shiftmetrics.models.domain.space import PerturbationSpace
from shiftmetrics.models.search.boundary import NearestSoFar, shorten, slide, take_back

ROWS = np.array([[0.0, 0.0], [0.5, -1.0]])
ALL = np.arange(2)


def nearest_beyond(normal: list[float], n_queries: int = 200) -> NearestSoFar:
    """Return rows whose errors are the points with ``x @ normal > 1``."""
    domain = Domain(
        names=("a", "b"),
        unit=np.ones(2),
        mutable=np.ones(2, dtype=bool),
        lower=np.full(2, -np.inf),
        upper=np.full(2, np.inf),
        integer=np.zeros(2, dtype=bool),
    )

    def is_wrong(points: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return points @ np.array(normal) > 1.0

    return NearestSoFar(is_wrong, PerturbationSpace(domain, ROWS), ALL, n_queries)


def test_the_nearest_error_of_a_row_is_kept() -> None:
    nearest = nearest_beyond([1.0, 0.0])
    tried = np.array([[[3.0, 0.0], [2.0, 0.0], [0.5, 0.0]], [[0.5, -1.0], [0.9, 0.0], [0.0, 0.0]]])
    wrong = nearest.evaluate(ALL, tried)
    np.testing.assert_array_equal(wrong, [[True, True, False], [False, False, False]])
    np.testing.assert_array_equal(nearest.distance, [2.0, np.inf])
    np.testing.assert_array_equal(nearest.point[0], [2.0, 0.0])
    np.testing.assert_array_equal(nearest.queries, [3, 2])  # the row itself is free
    np.testing.assert_array_equal(nearest.unsettled(), [0])


def test_beyond_the_budget_all_points_count_as_right() -> None:
    nearest = nearest_beyond([1.0, 0.0], n_queries=1)
    far = np.full((2, 2, 2), 9.0)
    np.testing.assert_array_equal(nearest.evaluate(ALL, far), [[True, False], [True, False]])
    np.testing.assert_array_equal(nearest.queries, [1, 1])
    assert not nearest.unsettled().size


def test_moves_are_shortened_to_the_boundary() -> None:
    nearest = nearest_beyond([1.0, 0.0])
    nearest.evaluate(ALL, np.array([[[8.0, 0.0]], [[8.5, -1.0]]]))
    shorten(nearest, ALL, leap=0.5)
    exact = 1.0 - ROWS[:, 0]
    assert (nearest.distance > exact).all()
    assert (nearest.distance <= exact + 8.0 / 2**5).all()


def test_what_is_not_needed_is_taken_back() -> None:
    nearest = nearest_beyond([1.0, 0.0])
    nearest.evaluate(ALL, np.array([[[1.5, 7.0]], [[1.5, 4.0]]]))
    take_back(nearest, ALL)
    np.testing.assert_array_equal(nearest.point, [[1.5, 0.0], [1.5, -1.0]])


def test_a_slide_goes_towards_the_foot_of_the_plane() -> None:
    nearest = nearest_beyond([1.0, 1.0])
    nearest.evaluate(ALL, np.array([[[1.1, 0.0]], [[2.1, -1.0]]]))
    before = nearest.distance.copy()
    for width in (0.5, 0.2, 0.1):
        slide(nearest, ALL, np.random.default_rng(0), width=width)
    exact = (1.0 - ROWS.sum(axis=1)) / np.sqrt(2.0)
    assert (nearest.distance < before).all()
    assert (nearest.distance >= exact).all()
    assert (nearest.distance <= 1.1 * exact).all()
