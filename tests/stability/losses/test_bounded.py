"""Moves within bounds: paths against a convex program, losses against grids, alternatives against candidates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftmetrics.stability import HingeLoss, LogisticLoss, SquaredLoss, stability_criterion
from shiftmetrics.stability.losses import (
    BoundedHingeLoss,
    BoundedLogisticLoss,
    BoundedSquaredLoss,
    ScorePath,
)

BOUNDED = {
    "hinge": BoundedHingeLoss,
    "logistic": BoundedLogisticLoss,
    "squared": BoundedSquaredLoss,
}


def random_path(
    seed: int, n: int = 12, d: int = 4, unbounded: float = 0.3
) -> tuple[ScorePath, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    slopes = np.abs(rng.normal(size=(n, d))) * (rng.random((n, d)) > 0.1)
    room = rng.exponential(1.0, (n, d))
    room[rng.random((n, d)) < unbounded] = np.inf
    room[rng.random((n, d)) < 0.1] = 0.0
    return ScorePath.of(slopes, room), slopes, room


def test_the_least_move_for_a_gain_is_that_of_a_convex_program() -> None:
    cvxpy = pytest.importorskip("cvxpy")
    path, slopes, room = random_path(0)
    highest, _ = path.furthest()
    for share in (0.3, 0.9):
        gain = share * np.where(np.isinf(highest), 2.0, highest)
        squared = path.squared_of_gain(gain)
        for row in range(path.n_samples):
            move = cvxpy.Variable(slopes.shape[1], nonneg=True)
            limited = np.isfinite(room[row])
            constraints = [slopes[row] @ move >= gain[row]]
            if limited.any():
                constraints.append(move[limited] <= room[row, limited])
            problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(move)), constraints)
            problem.solve(solver=cvxpy.CLARABEL)
            assert squared[row] == pytest.approx(problem.value, rel=1e-5, abs=1e-7)


@given(seed=st.integers(0, 10_000))
def test_places_gains_and_distances_agree(seed: int) -> None:
    path, slopes, room = random_path(seed)
    place = np.random.default_rng(seed).exponential(1.0, path.n_samples)
    gain, squared = path.at(place)
    move = np.minimum(slopes * place[:, None], room)
    np.testing.assert_allclose(gain, (slopes * move).sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(squared, (move**2).sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(path.squared_of_gain(gain), squared, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        path.at(path.place_of_squared(squared))[0], gain, rtol=1e-7, atol=1e-9
    )


def test_a_gain_out_of_reach_is_infinitely_far() -> None:
    path = ScorePath.of(np.array([[1.0, 2.0], [1.0, 2.0]]), np.array([[1.0, 1.0], [1.0, np.inf]]))
    assert np.isinf(path.squared_of_gain(np.array([3.1, 3.1]))).tolist() == [True, False]
    assert path.squared_of_gain(np.array([3.0, 0.0])).tolist() == [2.0, 0.0]
    assert path.furthest()[0].tolist() == [3.0, np.inf]
    assert path.endless.tolist() == [0.0, 4.0]


@pytest.mark.parametrize("name", BOUNDED)
@pytest.mark.parametrize("unbounded", [0.0, 0.3])
def test_worst_cases_are_those_of_a_grid(name: str, unbounded: float) -> None:
    path, _, _ = random_path(3, n=40, unbounded=unbounded)
    scores = np.random.default_rng(4).normal(-1.0, 2.0, 40)
    loss = BOUNDED[name](scores, path)
    places = np.concatenate([np.linspace(0.0, 5.0, 4001), np.geomspace(5.0, 400.0, 2000)])
    grid = [path.at(place) for place in places]
    for dual in (0.05, 0.7, 3.0, 20.0):
        if dual >= loss.largest_dual(0.4):
            continue
        found = loss.transform(dual, 0.4, slice(0, 40))
        best = np.max(
            [dual * loss._loss(scores + gain) - 0.4 * squared for gain, squared in grid], axis=0
        )
        assert (found.value >= best - 1e-9 * (1 + np.abs(best))).all()
        np.testing.assert_allclose(found.value, best, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(
            found.value, dual * found.loss - 0.4 * found.squared_distance, rtol=1e-9, atol=1e-9
        )
        slope = (
            loss.transform(dual * (1 + 1e-6), 0.4, slice(0, 40)).value
            - loss.transform(dual * (1 - 1e-6), 0.4, slice(0, 40)).value
        ) / (2e-6 * dual)
        assert np.mean(np.abs(slope - found.loss) < 1e-3 * (1 + np.abs(found.loss))) > 0.9, (
            "kinks are rare"
        )


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("hinge", lambda scores: HingeLoss(-scores, 1.5)),
        ("logistic", lambda scores: LogisticLoss(-scores, 1.5)),
        ("squared", lambda scores: SquaredLoss(np.abs(scores), 1.5)),
    ],
)
@pytest.mark.parametrize("thetas", [(0.4, 0.4), (0.2, np.inf), (np.inf, 0.2)])
def test_without_bounds_they_are_the_closed_forms(
    name: str, plain: object, thetas: tuple[float, float]
) -> None:
    scores = np.random.default_rng(0).normal(-1.0, 1.0, 50)
    if name == "squared":
        scores = np.abs(scores)
    path = ScorePath.of(np.full((50, 1), 1.5), np.full((50, 1), np.inf))
    theta1, theta2 = thetas
    # A bound that nobody reaches makes segments, and no difference.
    wide = ScorePath.of(np.full((50, 2), 1.5 / np.sqrt(2.0)), np.array([[1e6, np.inf]] * 50))
    expected = stability_criterion(plain(scores), 1.2, theta1=theta1, theta2=theta2)  # type: ignore[operator]
    for other in (path, wide):
        found = stability_criterion(BOUNDED[name](scores, other), 1.2, theta1=theta1, theta2=theta2)
        assert found.value == pytest.approx(expected.value, rel=1e-8)
        assert found.status.code == expected.status.code


def test_bounds_limit_what_is_reached() -> None:
    path = ScorePath.of(np.ones((4, 1)), np.full((4, 1), 0.5))
    loss = BoundedHingeLoss(np.full(4, -1.0), path)
    assert stability_criterion(loss, 0.5).status.code == "boundary"
    assert stability_criterion(loss, 0.51).status.code == "unattainable"
    assert stability_criterion(loss, 0.5, theta2=np.inf, theta1=1.0).value == pytest.approx(0.25)
    assert loss.take(np.array([1, 3])).n_samples == 2
