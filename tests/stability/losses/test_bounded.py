"""Moves within bounds: paths against a convex program, losses against grids, alternatives against candidates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftmetrics.stability import (
    CandidateLoss,
    HingeLoss,
    LogisticLoss,
    SquaredLoss,
    ZeroOneLoss,
    stability_criterion,
)
from shiftmetrics.stability.losses import (
    AlternativesLoss,
    BoundedHingeLoss,
    BoundedLogisticLoss,
    BoundedSquaredLoss,
    Loss,
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


# --- the path ----------------------------------------------------------------------------------------------


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


# --- losses along it ---------------------------------------------------------------------------------------


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


# --- alternatives ------------------------------------------------------------------------------------------


def alternatives(kind: str, seed: int) -> tuple[list[Loss], np.ndarray]:
    rng = np.random.default_rng(seed)
    offsets = np.round(rng.uniform(0.1, 2.0, (15, 3)), 1)
    offsets[rng.random((15, 3)) < 0.2] = np.inf
    offsets[:, 0] = 0.0
    if kind == "zero_one":
        return [ZeroOneLoss(np.round(rng.exponential(1.0, 15), 1)) for _ in range(3)], offsets
    return [CandidateLoss(*_candidates(rng)) for _ in range(3)], offsets


def _candidates(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    distances = rng.uniform(0.1, 2.0, (15, 4))
    distances[:, 0] = 0.0
    return rng.exponential(1.0, (15, 4)), distances


@pytest.mark.parametrize("kind", ["zero_one", "candidates"])
@pytest.mark.parametrize("thetas", [(0.4, 0.4), (0.2, np.inf), (np.inf, 0.2)])
def test_alternatives_are_candidates_at_the_joint_distance(
    kind: str, thetas: tuple[float, float]
) -> None:
    parts, offsets = alternatives(kind, 1)
    losses, distances = [], []
    for k, part in enumerate(parts):
        if kind == "zero_one":
            losses += [np.zeros(15), np.ones(15)]
            distances += [offsets[:, k], np.hypot(offsets[:, k], part.distances)]
        else:
            losses += list(part.losses.T)
            distances += list(np.hypot(offsets[:, [k]], part.distances).T)
    together = CandidateLoss(np.stack(losses, axis=1), np.stack(distances, axis=1))
    loss = AlternativesLoss(parts, offsets)
    rows = slice(0, 15)
    np.testing.assert_allclose(loss.base(rows), together.base(rows))
    np.testing.assert_allclose(loss.reach(0.4, rows).loss, together.reach(0.4, rows).loss)
    threshold = 0.5 * (loss.base(rows).mean() + loss.reach(thetas[0], rows).loss.mean())
    one = stability_criterion(loss, threshold, theta1=thetas[0], theta2=thetas[1])
    other = stability_criterion(together, threshold, theta1=thetas[0], theta2=thetas[1])
    assert one.value == pytest.approx(other.value, rel=1e-8)


def test_alternatives_of_some_rows_and_of_an_unbounded_loss() -> None:
    residuals = np.linspace(-1.0, 1.0, 9)
    loss = AlternativesLoss(
        [SquaredLoss(residuals, 1.0), SquaredLoss(residuals + 1.0, 1.0)], [[0.0, 0.5]] * 9
    )
    assert loss.largest_dual(0.4) == pytest.approx(0.4)
    assert stability_criterion(loss, 2.0).value < stability_criterion(loss.parts[0], 2.0).value
    assert loss.take(np.array([2, 4])).offsets.shape == (2, 2)
    nothing = AlternativesLoss([SquaredLoss(np.zeros(3), 1.0)] * 2, [[0.0, 0.5]] * 3)
    assert stability_criterion(nothing, 1.0).value == pytest.approx(0.4)
