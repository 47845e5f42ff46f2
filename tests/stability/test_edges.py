"""Edge cases: risks reached already, out of reach or only in a limit; losses without bound; extremes."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from shiftmetrics import Computing
from shiftmetrics.stability import (
    CandidateLoss,
    FixedLoss,
    HingeLoss,
    LogisticLoss,
    PiecewiseLinearLoss,
    SquaredLoss,
    ZeroOneLoss,
    stability_criterion,
    stability_curve,
    worst_case_risk,
)
from shiftmetrics.stability.losses import Loss, Reach, Transform

INF = np.inf
DIVERGENCES = ("kl", "chi2")


def assert_no_nan(result: Any) -> None:
    for name, value in result.to_dict().items():
        if isinstance(value, float):
            assert not math.isnan(value), name
        elif isinstance(value, np.ndarray):
            assert not np.isnan(value).any(), name


# --- already at risk -------------------------------------------------------------------------------------


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize(("theta1", "theta2"), [(0.4, 0.4), (INF, 0.4), (0.4, INF), (INF, INF)])
def test_a_risk_that_is_there_already(
    make_loss: Callable[..., Loss], theta1: float, theta2: float, divergence: str
) -> None:
    loss = make_loss()
    risk = loss.base(slice(0, 40)).mean()
    for threshold in (0.0, 0.5 * risk, risk):
        result = stability_criterion(
            loss, threshold, theta1=theta1, theta2=theta2, divergence=divergence
        )
        assert result.status.code == "already_at_risk"
        assert result.status.ok
        assert (result.value, result.error_bound, result.slopes.threshold) == (0.0, 0.0, 0.0)
        assert result.plan.risk == result.base_risk == pytest.approx(risk)
        np.testing.assert_array_equal(result.plan.weights, 1.0)
        assert (
            result.plan.rms_distance,
            result.plan.changed_fraction,
            result.plan.effective_sample_fraction,
        ) == (
            0.0,
            0.0,
            1.0,
        )
        assert result.standard_error is None
        assert "already" in result.summary()
        assert_no_nan(result)


# --- out of reach ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_thresholds_that_nothing_reaches(divergence: str) -> None:
    candidates = CandidateLoss([[0.0, 2.0], [1.0, 3.0]], [[0.0, 1.0], [0.0, INF]])
    cases = [
        # loss, prices, highest risk
        (FixedLoss([0.1, 0.4, 2.0]), (0.4, 0.4), 2.0),
        (FixedLoss([0.1, 0.4, 2.0]), (INF, 0.4), 2.0),
        (FixedLoss([0.1, 0.5, 2.4]), (0.4, INF), 1.0),
        (LogisticLoss([-1.0, 2.0], 1.5), (INF, 0.4), math.log1p(math.e)),
        (HingeLoss([-1.0, 2.0], 0.0), (0.4, 0.4), 2.0),
        (SquaredLoss([-1.0, 2.0], 1.5), (INF, 0.4), 4.0),
        (PiecewiseLinearLoss([[1.0, 0.0]], [0.0, 0.0]), (0.4, 0.4), 1.0),
        (ZeroOneLoss([0.0, 0.3, INF, INF]), (0.4, INF), 0.5),
        (candidates, (0.4, 0.4), 2.0),
        (CandidateLoss([[0.0, 2.0], [1.5, 3.0]], [[0.0, 1.0], [0.0, INF]]), (INF, 0.4), 1.5),
        (candidates, (0.4, INF), 1.5),
        (HingeLoss([-1.0, 2.0], 1.0), (INF, INF), 1.0),
    ]
    for loss, (theta1, theta2), highest in cases:
        result = stability_criterion(
            loss, highest + 0.01, theta1=theta1, theta2=theta2, divergence=divergence
        )
        assert result.status.code == "unattainable"
        assert result.value == result.slopes.threshold == INF
        assert result.error_bound == 0.0
        assert result.plan.risk == pytest.approx(
            highest, rel=1e-12
        )  # of the plan that comes nearest
        assert np.mean(result.plan.weights) == pytest.approx(1.0)
        assert result.n_passes <= 12  # found from the bound, not from divergence
        assert_no_nan(result)
        assert "No allowed shift" in result.headline()


def test_when_nothing_may_change() -> None:
    loss = FixedLoss([0.0, 1.0])
    assert stability_criterion(loss, 0.5, theta1=INF, theta2=INF).value == 0.0
    result = stability_criterion(loss, 0.51, theta1=INF, theta2=INF)
    assert (result.value, result.status.code, result.plan.risk) == (INF, "unattainable", 0.5)
    np.testing.assert_array_equal(result.plan.weights, 1.0)


# --- exactly the highest risk ----------------------------------------------------------------------------


def test_the_highest_risk_itself_is_a_limit() -> None:
    for divergence in DIVERGENCES:
        for errors in (1, 3):
            loss = FixedLoss(np.arange(10) < errors)
            result = stability_criterion(loss, 1.0, theta1=INF, theta2=0.3, divergence=divergence)
            assert result.status.code == "boundary"
            expected = oracles.zero_one_stability(errors / 10, 1.0, 0.3, divergence)
            assert result.value == pytest.approx(expected, rel=1e-13)
            assert result.slopes.threshold == INF
            np.testing.assert_allclose(
                result.plan.weights, np.where(np.arange(10) < errors, 10 / errors, 0)
            )
            below = stability_criterion(
                loss, 1.0 - 1e-9, theta1=INF, theta2=0.3, divergence=divergence
            )
            assert below.status.code == "converged"
            assert below.value == pytest.approx(result.value, rel=1e-6)
            assert below.value < result.value
            assert_no_nan(result)


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize(("theta1", "theta2"), [(0.4, 0.4), (0.4, INF), (2.0, 0.05)])
def test_the_highest_risk_by_moves_and_weights(
    theta1: float, theta2: float, divergence: str
) -> None:
    losses = np.array([[0.0, 1.0, 2.0], [0.5, 2.0, 2.0], [0.1, 1.5, 0.0], [2.0, 0.0, 0.0]])
    distances = np.array([[0.0, 0.2, 0.9], [0.0, 0.8, 0.5], [0.0, 0.7, INF], [0.0, 1.0, 1.0]])
    loss = CandidateLoss(losses, distances)
    highest = 7.5 / 4 if np.isinf(theta2) else 2.0
    result = stability_criterion(loss, highest, theta1=theta1, theta2=theta2, divergence=divergence)
    assert result.status.code == "boundary"
    primal = oracles.candidate_primal(losses, distances, highest, theta1, theta2, divergence)
    assert result.value == pytest.approx(primal, abs=1e-7)
    np.testing.assert_array_equal(
        result.plan.choices[[0, 1, 3]], [2, 2, 0]
    )  # the nearest of the highest
    below = stability_criterion(
        loss, highest * (1 - 1e-7), theta1=theta1, theta2=theta2, divergence=divergence
    )
    assert below.value == pytest.approx(result.value, rel=1e-4)


def test_rounding_in_the_mean_does_not_put_a_threshold_out_of_reach() -> None:
    rng = np.random.default_rng(0)
    losses = np.concatenate([np.zeros((1000, 1)), rng.exponential(size=(1000, 1))], axis=1)
    loss = CandidateLoss(losses, np.tile([0.0, 1.0], (1000, 1)))
    highest = losses.max(axis=1).sum() / 1000 * (1 + 2e-16)
    result = stability_criterion(loss, highest, theta2=INF)
    assert result.status.code == "boundary"
    assert result.value == pytest.approx(0.4, rel=1e-12)


@given(
    errors=st.integers(1, 20), gap=st.floats(1e-16, 0.5), divergence=st.sampled_from(DIVERGENCES)
)
def test_near_the_highest_risk(errors: int, gap: float, divergence: str) -> None:
    loss = FixedLoss(np.arange(21) < errors)
    threshold = 1.0 - gap
    if threshold <= errors / 21:
        return
    result = stability_criterion(loss, threshold, theta1=INF, theta2=0.3, divergence=divergence)
    assert result.status.ok
    expected = oracles.zero_one_stability(errors / 21, threshold, 0.3, divergence)
    assert result.value == pytest.approx(expected, rel=1e-8)


# --- losses that grow as fast as the cost, or faster -----------------------------------------------------


@dataclass(frozen=True, eq=False)
class ExponentialLoss(Loss):
    """exp(-margin) of a linear score: it grows faster than any square. Also: how to write a loss."""

    margins: np.ndarray

    @property
    def n_samples(self) -> int:
        return len(self.margins)

    def base(self, rows):
        return np.exp(-self.margins[rows])

    def _perturbed(self, dual, theta1, rows):
        raise AssertionError("its worst case is infinite")

    def _reach(self, rows):
        loss = self.base(rows)
        return Reach(np.full_like(loss, INF), np.zeros_like(loss))

    def take(self, rows):
        return type(self)(self.margins[rows])

    def largest_dual(self, theta1):
        return INF if math.isinf(theta1) else 0.0


def test_a_loss_that_grows_faster_than_the_cost() -> None:
    loss = ExponentialLoss(np.linspace(0, 2, 9))
    result = stability_criterion(loss, 5.0)
    assert (result.value, result.status.code) == (0.0, "unbounded_loss")
    assert any("faster" in line for line in result.summary().splitlines())
    worst = worst_case_risk(loss, 1e-3)
    assert (worst.value, worst.status.code) == (INF, "unbounded_loss")
    # Where rows may not move it is a loss like any other.
    fixed = stability_criterion(FixedLoss(np.exp(-loss.margins)), 0.6, theta1=INF)
    assert stability_criterion(loss, 0.6, theta1=INF).value == fixed.value
    assert stability_criterion(loss, 5.0, theta1=INF).status.code == "unattainable"
    assert_no_nan(result)
    assert_no_nan(worst)


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_squared_loss_stays_below_its_pole(divergence: str) -> None:
    loss = SquaredLoss([0.5, -1.0, 0.2], 1.5)
    for threshold in (0.5, 10.0, 1e6):
        result = stability_criterion(loss, threshold, divergence=divergence)
        assert result.status.code == "converged"
        assert result.slopes.threshold < 0.4 / 1.5**2
        assert result.plan.risk == pytest.approx(threshold, rel=1e-9)
        # Moving every row alike is a feasible plan.
        feasible = 0.4 * np.mean((np.sqrt(threshold) - np.abs([0.5, -1.0, 0.2])) ** 2) / 1.5**2
        assert 0.0 < result.value <= feasible


@pytest.mark.parametrize("theta2", [0.4, INF])
@pytest.mark.parametrize("size", [0.0, 1e-300, 1e-160, 1e-20])
def test_residuals_that_vanish(size: float, theta2: float) -> None:
    loss = SquaredLoss(np.array([1.0, -0.5, 0.0]) * size, 1.5)
    result = stability_criterion(loss, 2.0, theta2=theta2)
    assert result.status.code == "boundary"
    assert result.value == pytest.approx(0.4 * 2.0 / 1.5**2, rel=1e-12)
    assert result.slopes.threshold == pytest.approx(0.4 / 1.5**2)
    assert result.error_bound < 1e-12
    np.testing.assert_allclose(result.plan.distances, math.sqrt(2.0) / 1.5)
    np.testing.assert_allclose(result.plan.losses, 2.0)
    assert result.standard_error is None
    worst = worst_case_risk(loss, result.value, theta2=theta2)
    assert worst.value == pytest.approx(2.0, rel=1e-10)
    assert worst.status.code == "converged"
    assert_no_nan(result)
    assert_no_nan(worst)


def test_small_residuals_are_not_nothing() -> None:
    for size in (1e-9, 1e-6, 1e-3):
        result = stability_criterion(SquaredLoss([size, 0.0], 1.0), 1.0)
        assert result.status.code == "converged"
        assert result.value == pytest.approx(0.4, rel=2.1 * size + 1e-9)
        assert result.value < 0.4
        assert result.plan.risk == pytest.approx(1.0, rel=1e-9)


# --- no error seen ---------------------------------------------------------------------------------------


def test_no_error_and_no_moves() -> None:
    for loss in (FixedLoss(np.zeros(100, dtype=bool)), ZeroOneLoss(np.full(100, 0.3))):
        result = stability_criterion(loss, 0.2, theta1=INF)
        assert (result.value, result.status.code, result.standard_error) == (
            INF,
            "unattainable",
            None,
        )
        upper = 1 - 0.025 ** (1 / 100)  # the largest error rate that 100 hits do not rule out
        assert result.interval.low == pytest.approx(
            oracles.zero_one_stability(upper, 0.2, 0.4, "kl"), rel=1e-9
        )
        assert result.interval.high == INF
        assert "None of the 100 samples is an error" in result.warnings[0]
        assert result.interval.method == "exact binomial"
    moving = stability_criterion(ZeroOneLoss(np.full(100, 0.3)), 0.2)
    assert moving.status.code == "converged"
    assert moving.value < 0.4 * 0.09


@pytest.mark.parametrize(
    "loss",
    [
        ZeroOneLoss([0.0, 0.3]),
        ZeroOneLoss([0.1, INF]),
        FixedLoss([True, False]),
        CandidateLoss([[0.0, 1.0], [1.0, 1.0]], [[0.0, 0.5], [0.0, 0.1]]),
    ],
)
@pytest.mark.parametrize("theta1", [0.4, INF])
def test_percent_is_not_an_error_rate(loss: Loss, theta1: float) -> None:
    for threshold in (1.01, 50):
        with pytest.raises(ValueError, match="threshold must be an error rate.*got.*0.2 for 20 %"):
            stability_criterion(loss, threshold, theta1=theta1)
    with pytest.raises(ValueError, match="threshold"):
        stability_curve(loss, [0.6, 40.0], theta1=theta1)


def test_other_losses_may_have_thresholds_above_one() -> None:
    for loss in (FixedLoss([0.2, 0.7]), HingeLoss([1.0, 2.0], 1.0), FixedLoss([0.0, 3.0])):
        assert stability_criterion(loss, 2.0).n_samples == 2


# --- weights ---------------------------------------------------------------------------------------------


def test_rows_without_sample_weight_are_not_there(make_loss: Callable[..., Loss], between) -> None:
    loss = make_loss(seed=2)
    weights = np.ones(40)
    weights[[0, 7, 39]] = 0.0
    kept = np.flatnonzero(weights)
    threshold = between(loss.take(kept), 0.4, 0.4, 0.6)
    result = stability_criterion(loss, threshold, sample_weight=weights)
    alone = stability_criterion(loss.take(kept), threshold)
    assert result.value == pytest.approx(alone.value, rel=1e-10)
    assert result.n_samples == 40
    np.testing.assert_array_equal(result.plan.weights[[0, 7, 39]], 0.0)
    np.testing.assert_array_equal(result.plan.distances[[0, 7, 39]], 0.0)
    np.testing.assert_array_equal(
        result.plan.losses[[0, 7, 39]], loss.base(slice(0, 40))[[0, 7, 39]]
    )
    np.testing.assert_allclose(result.plan.weights[kept], alone.plan.weights, rtol=1e-6)
    if alone.plan.splits is not None:
        np.testing.assert_array_equal(result.plan.splits.rows, kept[alone.plan.splits.rows])
    if alone.plan.choices is not None:
        np.testing.assert_array_equal(result.plan.choices[kept], alone.plan.choices)


def test_a_row_without_weight_cannot_be_the_highest() -> None:
    result = stability_criterion(FixedLoss([0.0, 1.5, 9.0]), 2.0, sample_weight=[1, 1, 0])
    assert result.status.code == "unattainable"


# --- extremes --------------------------------------------------------------------------------------------


@given(
    seed=st.integers(0, 20),
    exponent1=st.integers(-12, 12),
    exponent2=st.integers(-12, 12),
    unit=st.integers(-8, 8),
    kind=st.sampled_from(
        ["fixed", "zero_one", "hinge", "logistic", "squared", "piecewise", "candidate"]
    ),
    divergence=st.sampled_from(DIVERGENCES),
)
def test_prices_of_any_magnitude(
    loss_of, between, seed, exponent1, exponent2, unit, kind, divergence
) -> None:
    loss, theta1, theta2 = loss_of(kind, seed, 20), 10.0**exponent1, 10.0**exponent2
    if kind == "candidate":
        loss = CandidateLoss(10.0**unit * loss.losses, loss.distances)
    rows = slice(0, 20)
    base, highest = (
        loss.base(rows).mean(),
        min(loss.reach(theta1, rows).loss.max(), loss.base(rows).mean() + 3),
    )
    threshold = base + 0.4 * (highest - base)
    result = stability_criterion(
        loss, threshold, theta1=theta1, theta2=theta2, divergence=divergence
    )
    assert result.status.ok
    assert result.plan.risk == pytest.approx(threshold, rel=1e-7)
    # Prices of very different size cancel in the dual, never in the cost of the plan.
    assert result.error_bound <= 1e-6 * result.value + 1e-13 * theta2
    assert_no_nan(result)


def test_one_row() -> None:
    result = stability_criterion(HingeLoss([0.0], 1.0), 2.0)
    assert result.value == pytest.approx(0.4)  # nothing to reweight: it moves by 1
    assert result.standard_error == pytest.approx(0.0, abs=1e-9)
    assert stability_criterion(FixedLoss([0.5]), 0.6).status.code == "unattainable"


def test_all_rows_alike() -> None:
    result = stability_criterion(FixedLoss(np.full(10, 0.5)), 0.6)
    assert result.status.code == "unattainable"
    np.testing.assert_allclose(result.plan.weights, 1.0)


def test_too_few_iterations_are_said() -> None:
    loss = ZeroOneLoss(np.random.default_rng(0).exponential(size=100))
    exact = stability_criterion(loss, 0.33)
    for limit in (1, 2, 3, 4):
        result = stability_criterion(loss, 0.33, computing=Computing(max_iter=limit))
        assert result.status.code == "max_iter"
        assert not result.status.ok
        assert abs(result.value - exact.value) <= result.error_bound
        assert "Raise max_iter" in result.summary()
        assert_no_nan(result)
    rough = stability_criterion(loss, 0.33, computing=Computing(rtol=1e-2))
    assert rough.status.code == "converged"
    assert abs(rough.value - exact.value) <= rough.error_bound
    assert rough.n_passes <= exact.n_passes


def test_a_largest_dual_needs_a_lift() -> None:
    class Flat(ExponentialLoss):
        def _perturbed(self, dual, theta1, rows):
            zero = np.zeros(len(self.margins[rows]))
            return Transform(zero, zero, zero)

        def base(self, rows):
            return np.zeros(len(self.margins[rows]))

        def largest_dual(self, theta1):
            return 1.0

    with pytest.raises(TypeError, match="must implement lift"):
        stability_criterion(Flat(np.zeros(3)), 1.0)


def test_the_error_of_a_boundary_counts_the_rounding_of_large_costs() -> None:
    """Weights at the end of the curve, where one row carries all, cost 1e12: their rounding is not nothing."""
    loss = FixedLoss([1.0e6, 1.1e6, 1.2e6, 1.3e6])
    result = stability_criterion(loss, 1.3e6, theta2=1e12)
    exact = 1e12 * np.log(4.0)
    assert result.status.code == "boundary"
    assert abs(result.value - exact) <= result.error_bound
    assert result.error_bound >= 1e12 * np.finfo(float).eps


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize("theta2", [1e-12, 1e-6, 0.4])
def test_no_interval_is_narrower_than_the_numerical_error(divergence: str, theta2: float) -> None:
    rng = np.random.default_rng(0)
    margins = np.linspace(-0.5, 2.4, 300)
    samples = {
        "errors": (FixedLoss(margins < 0.0), INF),
        "hinge": (HingeLoss(margins, 1.5), 0.4),
        "large": (FixedLoss(1e6 * rng.exponential(size=300)), INF),
    }
    for loss, theta1 in samples.values():
        options = {"theta1": theta1, "theta2": theta2, "divergence": divergence}
        threshold = 1.2 * float(loss.base(slice(0, 300)).mean())
        found = (
            stability_criterion(loss, threshold, **options),
            worst_case_risk(loss, 0.01, **options),
        )
        for result in found:
            assert result.status.ok
            if result.interval is not None:
                assert result.interval.low <= max(result.value - result.error_bound, 0.0)
                assert result.interval.high >= result.value + result.error_bound


@pytest.mark.parametrize("theta2", [1e-300, 1e-13, 1e21])
def test_prices_beyond_what_floating_point_numbers_tell_apart_are_refused(theta2: float) -> None:
    with pytest.raises(ValueError, match=r"theta2 must be between 1e-12 and 1e\+20, or inf, got"):
        stability_criterion(FixedLoss([0.0, 1.0]), 0.7, theta2=theta2)


# --- numbers that floating point cannot hold -------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 1e4, 1e10, 1e20, 1e40, 1e74])
@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_no_certificate_is_wrong_at_any_scale(scale: float, divergence: str) -> None:
    """Where reweighting costs next to nothing, the cheapest shift moves the sample nearest to an error."""
    distances = scale * np.linspace(0.1, 2.4, 30)
    found = stability_criterion(ZeroOneLoss(distances), 0.5, divergence=divergence, resampling=None)
    exact = stability_criterion(ZeroOneLoss(distances), 0.5, resampling=None)
    limit = 0.4 * 0.5 * distances[0] ** 2
    if scale >= 1e10:
        assert exact.value == pytest.approx(limit, rel=1e-9)
        assert abs(found.value - limit) <= found.error_bound + 1e-9 * limit
    if found.status.ok:
        assert found.plan.risk == pytest.approx(0.5, rel=1e-6)
    else:
        assert found.status.code == "imprecise"
        assert "larger unit" in found.summary()


def test_distances_that_overflow_are_refused() -> None:
    for distances in ([0.1, 1e80], [1e76, INF]):
        with pytest.raises(ValueError, match=r"distances must be at most 1e\+75 or inf"):
            ZeroOneLoss(distances)
    with pytest.raises(ValueError, match="distances must be at most"):
        CandidateLoss([[0.0, 1.0]], [[0.0, 1e80]])
    assert ZeroOneLoss([0.0, 1e75, INF]).n_samples == 3
