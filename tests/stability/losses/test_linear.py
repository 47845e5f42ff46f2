"""Linear losses: their worst cases against grids, and their limits."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from shiftmetrics.stability import HingeLoss, LogisticLoss, PiecewiseLinearLoss, SquaredLoss
from shiftmetrics.stability.losses import Loss

INF = np.inf


def everything(loss: Loss) -> slice:
    return slice(0, loss.n_samples)


@pytest.mark.parametrize("theta1", [0.05, 0.4, 3.0])
@pytest.mark.parametrize("dual", [1e-3, 0.3, 2.0, 30.0])
@pytest.mark.parametrize("name", ["hinge", "logistic", "squared", "piecewise"])
def test_closed_forms_agree_with_a_grid(name: str, dual: float, theta1: float) -> None:
    starts, norm = np.array([-3.0, -0.4, 0.0, 0.7, 1.0, 2.5, 6.0]), 1.3
    if name == "squared":  # below the pole
        dual = theta1 / norm**2 * dual / (0.1 + dual)
    loss = {
        "hinge": HingeLoss(starts, norm),
        "logistic": LogisticLoss(starts, norm),
        "squared": SquaredLoss(starts, norm),
        "piecewise": PiecewiseLinearLoss(
            np.stack([1 - starts, 0 * starts + 0.5], axis=1), [norm, 0.0]
        ),
    }[name]
    value, losses, squared, *_ = loss.transform(dual, theta1, everything(loss))
    for i, start in enumerate(starts):
        of_move: Any = {
            "hinge": lambda t, m=start: np.maximum(1 - m + norm * t, 0),
            "logistic": lambda t, m=start: np.logaddexp(0, norm * t - m),
            "squared": lambda t, m=start: (abs(m) + norm * t) ** 2,
            "piecewise": lambda t, m=start: np.maximum(1 - m + norm * t, 0.5),
        }[name]
        best, _, _ = oracles.worst_case_on_grid(
            of_move, dual, theta1, longest=1.01 * np.sqrt(squared[i]) + 3.0
        )
        assert value[i] == pytest.approx(best, rel=1e-7, abs=1e-9)
        assert of_move(np.sqrt(squared[i])) == pytest.approx(losses[i], rel=1e-9, abs=1e-12)


@given(
    margin=st.floats(-700, 700),
    norm=st.floats(1e-3, 50),
    dual=st.floats(1e-6, 1e3),
    theta1=st.floats(1e-3, 1e3),
)
def test_the_logistic_maximum_is_global(
    margin: float, norm: float, dual: float, theta1: float
) -> None:
    loss = LogisticLoss([margin], norm)
    value = loss.transform(dual, theta1, slice(0, 1)).value[0]
    longest = dual * norm / (2 * theta1)  # no stationary point is farther away
    moves = np.concatenate([np.linspace(0, longest, 2001), longest * np.geomspace(1e-9, 1, 500)])
    scores = dual * np.logaddexp(0, moves * norm - margin) - theta1 * moves**2
    assert value >= scores.max() - 1e-12 * (1 + dual * (longest * norm + abs(margin)))


def test_a_degenerate_logistic_row_has_two_equal_maxima() -> None:
    # gain 8: two maxima meet at margin 4, mirror images of one another
    dual, theta1, norm = 8.0, 0.5, 1.0
    below, above = LogisticLoss([4 - 1e-9], norm), LogisticLoss([4 + 1e-9], norm)
    near, far = (loss.transform(dual, theta1, slice(0, 1)) for loss in (above, below))
    assert far.squared_distance[0] > 10 * near.squared_distance[0]
    assert far.value[0] == pytest.approx(near.value[0], rel=1e-7)
    # gain 4: all three stationary points are one
    flat = LogisticLoss([2.0], norm).transform(4.0, theta1, slice(0, 1))
    assert flat.squared_distance[0] == pytest.approx(4.0, rel=1e-4)


def test_squared_keeps_its_digits_near_the_pole() -> None:
    loss = SquaredLoss([1e-9], 1.5)
    pole = loss.largest_dual(0.4)
    assert pole == pytest.approx(0.4 / 2.25)
    dual = pole * (1 - 2.0**-40)
    value, losses, squared, *_ = loss.transform(dual, 0.4, slice(0, 1))
    assert losses[0] == pytest.approx(1e-18 * 2.0**80, rel=1e-3)
    assert np.sqrt(squared[0]) == pytest.approx((np.sqrt(losses[0]) - 1e-9) / 1.5, rel=1e-9)
    assert value[0] > 0


def test_a_weight_norm_of_zero_means_that_nothing_moves() -> None:
    for loss in (HingeLoss([0.3], 0.0), LogisticLoss([0.3], 0.0), SquaredLoss([0.3], 0.0)):
        value, losses, squared, *_ = loss.transform(0.7, 0.4, slice(0, 1))
        assert losses[0] == loss.base(slice(0, 1))[0] == loss.reach(0.4, slice(0, 1)).loss[0]
        assert (value[0], squared[0]) == (pytest.approx(0.7 * losses[0]), 0.0)
        assert loss.largest_dual(0.4) == INF


def test_hinge_is_piecewise_linear() -> None:
    margins = np.random.default_rng(2).normal(size=50)
    values = np.stack([np.zeros(50), 1 - margins], axis=1)
    for norms in (np.array([0.0, 1.7]), np.tile([0.0, 1.7], (50, 1))):
        pieces = PiecewiseLinearLoss(values, norms)
        for mine, theirs in zip(
            pieces.transform(0.3, 0.4, slice(0, 50))[:3],
            HingeLoss(margins, 1.7).transform(0.3, 0.4, slice(0, 50))[:3],
            strict=True,
        ):
            np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-14)
    moved = pieces.transform(0.3, 0.4, slice(0, 50)).squared_distance > 0
    np.testing.assert_array_equal(pieces.transform(0.3, 0.4, slice(0, 50)).choice, moved)
