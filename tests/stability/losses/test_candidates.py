"""Candidates: the worst of a list, however the list is built."""

import numpy as np
import pytest

from shiftmetrics.stability import CandidateLoss, SquaredLoss, ZeroOneLoss, stability_criterion
from shiftmetrics.stability.losses import AlternativesLoss, Loss

INF = np.inf


def test_appending_equals_building_at_once() -> None:
    rng = np.random.default_rng(0)
    losses, distances = rng.exponential(size=(20, 12)), rng.uniform(0.1, 2, size=(20, 12))
    distances[:, 0] = 0
    distances[3, 4:] = INF
    whole = CandidateLoss(losses, distances)
    grown = CandidateLoss(losses[:, :1], distances[:, :1])
    for column in range(1, 9):
        grown = grown.appended(losses[:, column], distances[:, column])
    grown = grown.appended(losses[:, 9:], distances[:, 9:])
    assert grown.n_candidates == whole.n_candidates == 12
    np.testing.assert_array_equal(grown.losses, losses)
    np.testing.assert_array_equal(grown.distances, distances)
    for dual in (0.0, 0.3, 5.0):
        for mine, theirs in zip(
            grown.transform(dual, 0.4, slice(0, 20)),
            whole.transform(dual, 0.4, slice(0, 20)),
            strict=True,
        ):
            np.testing.assert_array_equal(mine, theirs)
    for mine, theirs in zip(
        grown.reach(0.4, slice(0, 20)), whole.reach(0.4, slice(0, 20)), strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)


def test_choices_point_at_the_worst_case() -> None:
    rng = np.random.default_rng(1)
    losses, distances = rng.exponential(size=(30, 6)), rng.uniform(0.1, 2, size=(30, 6))
    distances[:, 0] = 0
    loss = CandidateLoss(losses, distances)
    for dual in (0.3, 5.0):
        choice = loss.transform(dual, 0.4, slice(0, 30)).choice
        np.testing.assert_array_equal(choice, (dual * losses - 0.4 * distances**2).argmax(axis=1))
    np.testing.assert_array_equal(loss.reach(0.4, slice(0, 30)).choice, losses.argmax(axis=1))
    np.testing.assert_array_equal(loss.transform(0.3, INF, slice(0, 30)).choice, 0)


def test_free_moves_count_as_the_row_itself() -> None:
    loss = CandidateLoss([[0.0, 2.0, 3.0], [1.0, 0.5, 9.0]], [[0.0, 0.0, 1.0], [0.0, 1.0, INF]])
    np.testing.assert_array_equal(loss.base(slice(0, 2)), [2.0, 1.0])
    np.testing.assert_array_equal(loss.transform(0.0, 0.4, slice(0, 2)).choice, [1, 0])
    assert stability_criterion(loss, 1.5).status.code == "already_at_risk"
    later = CandidateLoss([[0.0], [1.0]], [[0.0], [0.0]]).appended([4.0, 0.0], [0.0, INF])
    np.testing.assert_array_equal(later.base(slice(0, 2)), [4.0, 1.0])


def test_padding_may_hold_anything() -> None:
    clean = CandidateLoss([[0.5, 2.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, INF]])
    for junk in (np.nan, INF, -1.0, 1e300):
        loss = CandidateLoss([[0.5, 2.0], [1.0, junk]], [[0.0, 1.0], [0.0, INF]])
        for dual in (0.0, 0.3, 7.0):
            for mine, theirs in zip(
                loss.transform(dual, 0.4, slice(0, 2)),
                clean.transform(dual, 0.4, slice(0, 2)),
                strict=True,
            ):
                np.testing.assert_array_equal(mine, theirs)
        np.testing.assert_array_equal(loss.reach(0.4, slice(0, 2)).loss, [2.0, 1.0])


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
