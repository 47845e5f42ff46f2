"""The dual of a sample: moments against a search over weights, and passes that are made once."""

import numpy as np
import pytest
from scipy.optimize import minimize

from shiftmetrics.stability import FixedLoss, ZeroOneLoss
from shiftmetrics.stability.divergence import divergence_of
from shiftmetrics.stability.dual import Dual
from shiftmetrics.stability.losses import Loss
from shiftmetrics.stability.passes import passes_over

LOSSES = np.array([0.1, 0.4, 0.9, 2.0])


def dual_of(
    loss: Loss, *, theta1: float = np.inf, theta2: float = 0.5, name: str = "kl", **options
) -> Dual:
    return Dual(passes_over(loss, None), theta1, divergence_of(name, theta2), **options)


def penalty(weights: np.ndarray, name: str) -> float:
    if name == "chi2":
        return float(np.mean((weights - 1.0) ** 2))
    logs = np.log(np.maximum(weights, 1e-300))
    return float(np.mean(weights * logs - weights + 1.0))


@pytest.mark.parametrize("name", ["kl", "chi2"])
@pytest.mark.parametrize("price", [0.2, 0.7])
def test_a_moment_is_the_best_reweighting_at_its_price(name: str, price: float) -> None:
    """Equation (2.2) as it is written: the greatest mean(W h loss) - theta2 mean(phi(W)) over weights of mean 1."""
    moment = dual_of(FixedLoss(LOSSES), name=name).moment(price)

    def negative(weights: np.ndarray) -> float:
        return -(price * np.mean(weights * LOSSES) - 0.5 * penalty(weights, name))

    best = minimize(
        negative,
        np.ones(4),
        bounds=[(0.0, None)] * 4,
        constraints={"type": "eq", "fun": lambda weights: weights.mean() - 1.0},
        tol=1e-12,
    )
    assert moment.conjugate == pytest.approx(-best.fun, abs=1e-6)
    assert moment.risk == pytest.approx(np.mean(best.x * LOSSES), abs=1e-4)
    assert moment.cost == pytest.approx(0.5 * penalty(best.x, name), abs=1e-4)


def test_the_risk_is_the_slope_of_the_conjugate() -> None:
    dual = dual_of(ZeroOneLoss([0.0, 0.3, 0.8, 1.2]), theta1=0.4)
    step = 1e-5
    low, mid, high = (dual.moment(price) for price in (0.5 - step, 0.5, 0.5 + step))
    assert (high.conjugate - low.conjugate) / (2 * step) == pytest.approx(mid.risk, rel=1e-6)


def test_a_moment_is_computed_once_and_passes_are_counted() -> None:
    told = []
    dual = dual_of(FixedLoss(LOSSES), on_pass=lambda: told.append(None))
    first = dual.moment(0.3)
    passes = dual.n_passes
    assert dual.moment(0.3) is first
    assert dual.n_passes == passes == len(told)
    assert dual.moment(0.0) is dual.at_rest
    assert dual.at_rest.risk == pytest.approx(LOSSES.mean())


@pytest.mark.parametrize("theta2", [0.5, np.inf])
def test_the_highest_risk_is_the_highest_loss_where_weights_may_change(theta2: float) -> None:
    dual = dual_of(FixedLoss(LOSSES), theta2=theta2)
    assert dual.weights_may_change == (theta2 < np.inf)
    assert dual.highest_risk == pytest.approx(2.0 if theta2 < np.inf else LOSSES.mean())


@pytest.mark.parametrize("name", ["kl", "chi2"])
def test_prices_lead_to_the_risk_and_the_cost_that_were_asked_for(name: str) -> None:
    bracket = dual_of(FixedLoss(LOSSES), name=name).price_of_risk(1.2)
    assert bracket.closed
    assert bracket.low.state.risk == pytest.approx(1.2, rel=1e-6)
    cost = bracket.low.state.cost
    back = dual_of(FixedLoss(LOSSES), name=name).price_of_cost(cost)
    assert back.closed
    assert back.low.state.risk == pytest.approx(1.2, rel=1e-4)
    assert back.low.state.cost == pytest.approx(cost, rel=1e-4)
