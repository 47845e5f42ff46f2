"""Curves over thresholds and prices: each point is the answer of the criterion, the rest follows from convexity."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftmetrics import Computing, Resampling
from shiftmetrics.stability import (
    FixedLoss,
    HingeLoss,
    LogisticLoss,
    ZeroOneLoss,
    stability_criterion,
    stability_curve,
    trade_off,
    worst_case_risk,
)
from shiftmetrics.stability.losses import Loss

INF = np.inf
PRICES = [(0.4, 0.4), (0.2, INF), (INF, 0.3), (3.0, 0.1)]
KINDS = ("fixed", "zero_one", "hinge", "logistic", "squared", "piecewise", "candidate")


@pytest.mark.parametrize("divergence", ["kl", "chi2"])
@pytest.mark.parametrize(("theta1", "theta2"), PRICES)
def test_every_point_is_the_criterion(
    make_loss: Callable[..., Loss],
    between: Callable[..., float],
    theta1: float,
    theta2: float,
    divergence: str,
) -> None:
    loss = make_loss(seed=2, n=40)
    options = {"theta1": theta1, "theta2": theta2, "divergence": divergence}
    thresholds = [
        between(loss, theta1, theta2, depth) for depth in (-0.1, 0.05, 0.3, 0.6, 0.95, 1.0, 1.3)
    ]
    highest = 1.0 if isinstance(loss, ZeroOneLoss) else INF  # of an error rate
    thresholds = [min(max(r, 0.0), highest) for r in thresholds]
    curve = stability_curve(loss, thresholds, **options)
    assert curve.status.ok
    frame = curve.to_frame()
    for place, threshold in enumerate(np.unique(thresholds)):
        point = stability_criterion(loss, threshold, **options)
        assert curve.points.stability[place] == pytest.approx(point.value, rel=1e-8, abs=1e-14)
        assert curve.points.status[place] == str(point.status)
        if not np.isfinite(point.value):
            continue
        assert (
            abs(curve.points.stability[place] - point.value)
            <= curve.points.error_bound[place] + point.error_bound
        )
        assert curve.points.risk[place] == pytest.approx(point.plan.risk, rel=1e-9)
        assert frame["rms_distance"][place] == pytest.approx(
            point.plan.rms_distance, rel=1e-4, abs=1e-7
        )
        if point.standard_error is not None:
            assert frame["standard_error"][place] == pytest.approx(
                point.standard_error, rel=1e-4, abs=1e-9
            )
        if point.interval is not None:
            near = {"rel": 1e-2, "abs": 0.1 * (point.interval.high - point.interval.low)}
            assert frame["interval_low"][place] == pytest.approx(point.interval.low, **near)
            assert frame["interval_high"][place] == pytest.approx(point.interval.high, **near)
    np.testing.assert_allclose(
        curve.points.corruption + curve.points.reweighting,
        curve.points.risk - curve.base_risk,
        rtol=1e-6,
        atol=1e-9,
    )


@given(
    kind=st.sampled_from(KINDS),
    price=st.sampled_from(PRICES),
    divergence=st.sampled_from(["kl", "chi2"]),
    seed=st.integers(0, 50),
)
@settings(max_examples=15)
def test_convex_rising_and_its_slope_is_the_dual(loss_of, kind, price, divergence, seed) -> None:
    loss = loss_of(kind, seed, 25)
    options = {"theta1": price[0], "theta2": price[1], "divergence": divergence}
    curve = stability_curve(loss, n_points=9, **options)
    assert curve.value == curve.points.stability[-1]
    r, value, dual = curve.points.threshold, curve.points.stability, curve.points.slope_threshold
    for i, k in itertools.pairwise(range(len(r))):
        rise, slack = value[k] - value[i], 1e-8 * (1.0 + value[k])
        assert dual[i] * (r[k] - r[i]) <= rise + slack
        if np.isfinite(dual[k]):
            assert rise <= dual[k] * (r[k] - r[i]) + slack
    # The inverse of the curve lies between its chords and its end.
    finite = np.isfinite(value)
    for budget in np.linspace(0.0, 0.9, 4) * value[finite][-1]:
        exact = worst_case_risk(loss, float(budget), **options).value
        assert np.interp(budget, value[finite], r[finite]) <= exact * (1 + 1e-8) + 1e-12
        assert exact <= curve.highest_risk * (1 + 1e-8) + 1e-12


@pytest.mark.parametrize("divergence", ["kl", "chi2"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_sweep_takes_fewer_passes_than_its_points(loss_of, kind: str, divergence: str) -> None:
    loss = loss_of(kind, 0, 200)
    options = {"divergence": divergence, "resampling": None}
    curve = stability_curve(loss, **options)
    alone = sum(
        stability_criterion(loss, float(r), **options).n_passes for r in curve.points.threshold
    )
    assert curve.n_passes < 0.85 * alone


def test_the_default_thresholds_span_what_shifts_reach() -> None:
    bounded = stability_curve(ZeroOneLoss([0.0, 1.0, 2.0, INF]), n_points=4)
    np.testing.assert_allclose(bounded.points.threshold, [0.25, 0.5, 0.75, 1.0])
    assert (bounded.points.stability[0], bounded.points.status[0]) == (0.0, "already_at_risk")
    assert bounded.highest_risk == 1.0
    losses = np.array([0.0, 1.0, 2.0])
    unbounded = stability_curve(HingeLoss(1.0 - losses, 1.0))
    assert unbounded.points.threshold[-1] == pytest.approx(losses.mean() + 2 * losses.std())
    assert unbounded.highest_risk == INF
    same = stability_curve(HingeLoss([0.5, 0.5], 1.0), n_points=3)
    np.testing.assert_allclose(same.points.threshold, [0.5, 1.0, 1.5])
    nothing = stability_curve(FixedLoss([1.0, 1.0]))
    assert (list(nothing.points.threshold), nothing.value) == ([1.0], 0.0)


def test_rows_with_weights_and_in_groups() -> None:
    rng = np.random.default_rng(0)
    loss, weights = HingeLoss(rng.normal(1, 1, 60), 1.0), rng.uniform(0, 2, 60)
    weights[:5] = 0.0
    groups = np.arange(60) // 3
    curve = stability_curve(
        loss, [0.8, 1.2], sample_weight=weights, resampling=Resampling(groups=groups)
    )
    for place, threshold in enumerate((0.8, 1.2)):
        point = stability_criterion(
            loss, threshold, sample_weight=weights, resampling=Resampling(groups=groups)
        )
        assert curve.points.stability[place] == pytest.approx(point.value, rel=1e-9)
        assert curve.points.standard_error[place] == pytest.approx(point.standard_error, rel=1e-6)


@pytest.mark.parametrize("divergence", ["kl", "chi2"])
def test_every_pair_of_prices_is_the_criterion(
    make_loss: Callable[..., Loss], between: Callable[..., float], divergence: str
) -> None:
    loss = make_loss(seed=3)
    threshold = between(loss, 0.4, INF, 0.3)
    surface = trade_off(loss, threshold, cheapness=np.linspace(0, 1, 5), divergence=divergence)
    np.testing.assert_allclose(1 / surface.points.theta1 + 1 / surface.points.theta2, 5.0)
    for place, (theta1, theta2) in enumerate(
        zip(surface.points.theta1, surface.points.theta2, strict=True)
    ):
        point = stability_criterion(
            loss, threshold, theta1=float(theta1), theta2=float(theta2), divergence=divergence
        )
        assert surface.points.stability[place] == pytest.approx(point.value, rel=1e-8)
        assert surface.points.corruption[place] == pytest.approx(
            point.plan.excess_risk.corruption, rel=1e-4, abs=1e-7
        )
    assert surface.value == surface.points.stability.min()
    assert surface.points.corruption[0] == 0.0
    assert surface.points.effective_sample_fraction[-1] == 1.0


@given(
    kind=st.sampled_from(KINDS),
    divergence=st.sampled_from(["kl", "chi2"]),
    seed=st.integers(0, 50),
    factor=st.floats(0.1, 10.0),
)
@settings(max_examples=15)
def test_concave_and_homogeneous_in_the_prices(
    loss_of, between, kind, divergence, seed, factor
) -> None:
    loss = loss_of(kind, seed, 25)
    threshold = between(loss, 0.4, 0.4, 0.3)
    surface = trade_off(loss, threshold, cheapness=np.linspace(0, 1, 7), divergence=divergence)
    finite = np.isfinite(surface.points.theta1) & np.isfinite(surface.points.theta2)
    # Euler: R = theta1 dR/dtheta1 + theta2 dR/dtheta2
    theta1, theta2 = surface.points.theta1[finite], surface.points.theta2[finite]
    parts = (
        theta1 * surface.points.slope_theta1[finite] + theta2 * surface.points.slope_theta2[finite]
    )
    np.testing.assert_allclose(parts, surface.points.stability[finite], rtol=1e-8)
    scaled = trade_off(
        loss,
        threshold,
        cheapness=np.linspace(0, 1, 7),
        theta1=0.4 * factor,
        theta2=0.4 * factor,
        divergence=divergence,
    )
    np.testing.assert_allclose(
        scaled.points.stability, factor * surface.points.stability, rtol=1e-7
    )


def test_sensitivities_are_derivatives() -> None:
    loss = LogisticLoss(np.random.default_rng(0).normal(1, 1, 200), 1.5)
    surface = trade_off(loss, 0.7, cheapness=[0.2, 0.5, 0.8])
    for place in range(3):
        theta1, theta2 = float(surface.points.theta1[place]), float(surface.points.theta2[place])
        step = 1e-4

        def value(first: float, second: float) -> float:
            return stability_criterion(
                loss, 0.7, theta1=first, theta2=second, computing=Computing(rtol=1e-13)
            ).value

        slope1 = (value(theta1 * (1 + step), theta2) - value(theta1 * (1 - step), theta2)) / (
            2 * step * theta1
        )
        slope2 = (value(theta1, theta2 * (1 + step)) - value(theta1, theta2 * (1 - step))) / (
            2 * step * theta2
        )
        assert surface.points.slope_theta1[place] == pytest.approx(slope1, rel=1e-4)
        assert surface.points.slope_theta2[place] == pytest.approx(slope2, rel=1e-4)


def test_prices_that_never_reach_the_threshold() -> None:
    fixed = trade_off(FixedLoss([0.0, 1.5]), 2.0, cheapness=[0, 0.5, 1])
    assert fixed.value == INF
    assert "No allowed shift" in fixed.headline()


def test_excess_risk_trades_places_along_the_line() -> None:
    loss = HingeLoss(np.random.default_rng(0).normal(1.5, 1, 300), 1.0)
    surface = trade_off(loss, 1.0, cheapness=np.linspace(0, 1, 21))
    assert (np.diff(surface.points.corruption) > -1e-9).all()
    assert (np.diff(surface.points.reweighting) < 1e-9).all()
    assert "The cheapest way to" in surface.headline()


def test_the_spread_between_samples_grows_as_moves_are_forbidden() -> None:
    """The observation of section 4.1 of the paper, relative to the value as well, on one population."""
    surface = trade_off(
        LogisticLoss(np.random.default_rng(0).normal(1.5, 1, 2000), 1.5),
        1.0,
        cheapness=[0.0, 0.5, 0.95],
    )
    spread = surface.points.standard_error / surface.points.stability
    assert spread[0] > spread[1]
    assert surface.points.standard_error[0] > surface.points.standard_error[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"thresholds": [-0.1]}, "thresholds must be at least 0"),
        ({"thresholds": [np.nan]}, "thresholds must"),
        ({"thresholds": []}, "thresholds must"),
        ({"n_points": 1}, "n_points must be"),
        ({"theta1": 0.0}, "theta1 must be"),
    ],
)
def test_bad_curves(arguments, message) -> None:
    with pytest.raises(ValueError, match=message):
        stability_curve(FixedLoss([0.0, 1.0]), **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cheapness": [1.2]}, "cheapness must be"),
        ({"cheapness": [-0.2]}, "cheapness must be"),
        ({"theta1": INF, "theta2": INF, "cheapness": [0.5]}, "theta1 must be finite, or theta2"),
        ({"threshold": -0.5}, "threshold must be a number at least 0"),
    ],
)
def test_bad_curves_over_prices(arguments, message) -> None:
    with pytest.raises(ValueError, match=message):
        trade_off(FixedLoss([0.0, 1.0]), **{"threshold": 0.7, **arguments})
    with pytest.raises(TypeError, match="loss must be a loss object"):
        trade_off([0.0, 1.0], 0.7, cheapness=[0.5])
