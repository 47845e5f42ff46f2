"""Stability: golden numbers, closed forms, an independent convex solver, and the laws that it obeys."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from shiftmetrics import Computing
from shiftmetrics.stability import (
    CandidateLoss,
    FixedLoss,
    HingeLoss,
    PiecewiseLinearLoss,
    StabilityResult,
    ZeroOneLoss,
    stability_criterion,
)
from shiftmetrics.stability.losses import Loss

INF = np.inf
DIVERGENCES = ("kl", "chi2")

GOLDEN = [
    # loss, threshold, theta1, theta2, KL, chi2
    ("hinge", 1.0, 0.4, 0.4, 0.0690333595, 0.0838184555),
    ("hinge", 1.0, 0.2, INF, 0.0534814815, 0.0534814815),
    ("hinge", 1.0, INF, 0.2, 0.1223363146, 0.2842105263),
    ("logistic", 1.0, 0.4, 0.4, 0.1866291329, 0.2215946359),
    ("zero_one", 0.5, 0.4, 0.4, 0.0126505092, 0.0143562399),
    ("squared", 1.0, 0.4, 0.4, 0.0272017560, 0.0280163416),
]


@pytest.mark.parametrize(("name", "threshold", "theta1", "theta2", "kl", "chi2"), GOLDEN)
def test_golden_numbers(
    golden: Callable[[str], Loss],
    name: str,
    threshold: float,
    theta1: float,
    theta2: float,
    kl: float,
    chi2: float,
) -> None:
    for divergence, expected in (("kl", kl), ("chi2", chi2)):
        result = stability_criterion(
            golden(name),
            threshold,
            theta1=theta1,
            theta2=theta2,
            divergence=divergence,
            computing=Computing(rtol=1e-14),
        )
        assert result.value == pytest.approx(expected, abs=6e-11)
        assert result.error_bound < 1e-14
        assert result.status.code == "converged"
        assert result.plan.risk == pytest.approx(threshold, rel=1e-14)
        assert result.kind == "exact"


def test_the_logistic_loss_of_the_golden_margins_cannot_reach_one_by_weights(
    golden: Callable[[str], Loss],
) -> None:
    for divergence in DIVERGENCES:
        result = stability_criterion(
            golden("logistic"), 1.0, theta1=INF, theta2=0.2, divergence=divergence
        )
        assert result.status.code == "unattainable"
        assert result.value == INF


# --- against an independent convex solver ----------------------------------------------------------------

PRICES = [(0.4, 0.4), (0.2, INF), (INF, 0.3), (2.0, 0.1), (0.1, 5.0)]


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize(("theta1", "theta2"), PRICES)
@pytest.mark.parametrize("seed", [0, 1])
def test_piecewise_linear_losses_against_the_primal(
    seed: int, theta1: float, theta2: float, divergence: str, between: Callable[..., float]
) -> None:
    rng = np.random.default_rng(seed)
    n = 14
    values = np.concatenate([rng.normal(size=(n, 2)), np.zeros((n, 1))], axis=1)
    norms = np.array([1.2, 0.5, 0.0]) if seed else rng.uniform(0.2, 1.5, size=(n, 3))
    loss = PiecewiseLinearLoss(values, norms)
    threshold = between(loss, theta1, theta2, 0.3)
    result = stability_criterion(
        loss, threshold, theta1=theta1, theta2=theta2, divergence=divergence
    )
    primal = oracles.stability_primal(values, norms, threshold, theta1, theta2, divergence)
    assert result.value == pytest.approx(primal, abs=1e-7)


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize(("theta1", "theta2"), PRICES)
def test_candidates_against_the_primal(
    theta1: float, theta2: float, divergence: str, between: Callable[..., float]
) -> None:
    rng = np.random.default_rng(5)
    losses = np.round(rng.exponential(size=(12, 4)), 1)
    distances = np.round(rng.uniform(0.2, 1.5, size=(12, 4)), 1)
    distances[:, 0], distances[2, 1:] = 0.0, INF
    loss = CandidateLoss(losses, distances)
    threshold = between(loss, theta1, theta2, 0.6)
    result = stability_criterion(
        loss, threshold, theta1=theta1, theta2=theta2, divergence=divergence
    )
    primal = oracles.candidate_primal(losses, distances, threshold, theta1, theta2, divergence)
    assert result.value == pytest.approx(primal, abs=1e-7)
    assert result.kind == "upper_bound"


# --- closed forms ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize("threshold", [0.151, 0.3, 0.77, 0.999999])
def test_a_zero_one_loss_whose_rows_cannot_move(threshold: float, divergence: str) -> None:
    errors = np.arange(20) < 3
    expected = oracles.zero_one_stability(0.15, threshold, 0.3, divergence)
    for loss in (
        FixedLoss(errors),
        FixedLoss(errors.astype(int)),
        ZeroOneLoss(np.where(errors, 0.0, 2.0)),
    ):
        result = stability_criterion(loss, threshold, theta1=INF, theta2=0.3, divergence=divergence)
        assert result.value == pytest.approx(expected, rel=1e-9)
        assert abs(result.value - expected) <= result.error_bound
        np.testing.assert_allclose(result.plan.weights[errors], threshold / 0.15, rtol=1e-8)


@pytest.mark.parametrize("threshold", [0.21, 0.25, 0.3, 0.5, 0.77, 0.9])
def test_a_zero_one_loss_whose_weights_cannot_change(threshold: float) -> None:
    rng = np.random.default_rng(0)
    distances = np.concatenate(
        [np.zeros(8), 0.1 + np.round(rng.exponential(size=28), 1), [INF, INF, INF, INF]]
    )
    result = stability_criterion(ZeroOneLoss(distances), threshold, theta1=0.7, theta2=INF)
    assert result.value == pytest.approx(
        oracles.zero_one_corruption(distances, threshold, 0.7), rel=1e-9, abs=1e-15
    )
    assert result.plan.risk == pytest.approx(threshold, rel=1e-14)
    np.testing.assert_array_equal(result.plan.weights, np.ones(40))
    # At most one distance is shared out; all nearer rows move and all farther ones stay.
    split = result.plan.splits.rows if result.plan.splits is not None else np.array([], dtype=int)
    assert len(np.unique(distances[split])) <= 1


def test_hinge_in_the_linear_range_moves_every_row_alike() -> None:
    # All rows have a loss, so R = theta1 (r - mean)^2 / w^2 where weights stay.
    margins = np.linspace(-3, 0, 11)
    result = stability_criterion(HingeLoss(margins, 2.0), 4.0, theta1=0.3, theta2=INF)
    assert result.value == pytest.approx(0.3 * ((4.0 - 2.5) / 2.0) ** 2, rel=1e-10)
    np.testing.assert_allclose(result.plan.distances, 0.75, rtol=1e-8)
    assert (result.plan.changed_fraction, result.plan.effective_sample_fraction) == (1.0, 1.0)


# --- what the plan says about itself ---------------------------------------------------------------------


def check_plan(
    result: StabilityResult, threshold: float, theta1: float, theta2: float, divergence: str
) -> None:
    """Recompute cost and risk from the rows alone."""
    splits = result.plan.splits
    places = (
        []
        if splits is None
        else list(zip(splits.rows, splits.weights, splits.distances, strict=True))
    )
    cost = oracles.plan_cost(
        result.plan.weights, places, result.plan.distances, theta1, theta2, divergence
    )
    assert cost == pytest.approx(result.value, rel=1e-4, abs=1e-12)
    assert np.mean(result.plan.weights) == pytest.approx(1.0, abs=1e-10)
    atoms = pd.DataFrame(result.plan.places())
    assert atoms.groupby("row")["weight"].sum().to_numpy() == pytest.approx(
        np.array(result.plan.weights), rel=1e-12
    )
    n = result.n_samples
    assert (atoms["weight"] * atoms["loss"]).sum() / n == pytest.approx(threshold, rel=1e-5)
    assert result.plan.rms_distance**2 == pytest.approx(
        (atoms["weight"] * atoms["distance"] ** 2).sum() / n, rel=1e-3, abs=1e-12
    )


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize(("theta1", "theta2"), PRICES)
def test_the_rows_add_up(
    make_loss: Callable[..., Loss],
    theta1: float,
    theta2: float,
    divergence: str,
    between: Callable[..., float],
) -> None:
    loss = make_loss(seed=4)
    threshold = between(loss, theta1, theta2)
    result = stability_criterion(
        loss, threshold, theta1=theta1, theta2=theta2, divergence=divergence
    )
    if threshold <= loss.base(slice(0, 40)).mean():  # nothing can change
        assert isinstance(loss, FixedLoss)
        assert np.isinf(theta2)
        assert (result.value, result.status.code) == (0.0, "already_at_risk")
        np.testing.assert_array_equal(result.plan.weights, np.ones(40))
        np.testing.assert_array_equal(result.plan.losses, result.plan.base_losses)
        return
    assert result.status.code == "converged"
    assert result.plan.risk == pytest.approx(threshold, rel=1e-12)
    assert result.error_bound <= 2e-10 * result.value + 1e-13
    check_plan(result, threshold, theta1, theta2, divergence)
    # Homogeneous of degree one in the prices: the sensitivities, times the prices, are the value.
    parts = [
        price * slope
        for price, slope in (
            (theta1, result.slopes.theta1),
            (theta2, result.slopes.theta2),
        )
        if np.isfinite(price)
    ]
    assert sum(parts) == pytest.approx(result.value, rel=1e-12)
    excess = result.plan.excess_risk
    assert excess.corruption + excess.reweighting == pytest.approx(
        threshold - result.base_risk, rel=1e-9
    )
    assert excess.reweighting_first + excess.corruption_after == pytest.approx(
        threshold - result.base_risk, rel=1e-9
    )
    if np.isinf(theta1):
        assert (result.plan.changed_fraction, result.plan.rms_distance) == (0.0, 0.0)
        assert excess.corruption == pytest.approx(0, abs=1e-14)
    if np.isinf(theta2):
        assert result.plan.effective_sample_fraction == 1.0
        assert excess.reweighting == pytest.approx(0, abs=1e-14)


def test_rows_alone_can_be_left_out(golden: Callable[[str], Loss]) -> None:
    with_rows = stability_criterion(golden("zero_one"), 0.5)
    without = with_rows.without_rows()
    assert without.value == with_rows.value
    assert without.plan.rms_distance == with_rows.plan.rms_distance
    assert without.plan.excess_risk.equals(with_rows.plan.excess_risk)
    assert (
        without.plan.weights
        is without.plan.losses
        is without.plan.distances
        is without.plan.splits
        is None
    )
    with pytest.raises(ValueError, match="without_rows"):
        without.plan.places()


def test_candidates_that_are_taken(
    between: Callable[..., float], loss_of: Callable[..., Loss]
) -> None:
    loss = loss_of("candidate", 3)
    result = stability_criterion(loss, between(loss, 0.4, INF), theta2=INF)
    losses, distances = loss.losses, loss.distances
    atoms = pd.DataFrame(result.plan.places())
    np.testing.assert_allclose(losses[atoms["row"], atoms["choice"]], atoms["loss"], rtol=1e-12)
    np.testing.assert_allclose(
        distances[atoms["row"], atoms["choice"]], atoms["distance"], rtol=1e-12
    )
    assert result.plan.splits is not None
    assert len(atoms) == 40 + len(result.plan.splits.rows)


# --- laws ------------------------------------------------------------------------------------------------

prices = st.sampled_from([(0.4, 0.4), (0.2, INF), (INF, 0.3), (3.0, 0.1)])
kinds = st.sampled_from(
    ["fixed", "zero_one", "hinge", "logistic", "squared", "piecewise", "candidate"]
)
divergences = st.sampled_from(DIVERGENCES)


def solve(
    loss: Loss, threshold: float, theta1: float, theta2: float, divergence: str, **options
) -> StabilityResult:
    return stability_criterion(
        loss, threshold, theta1=theta1, theta2=theta2, divergence=divergence, **options
    )


@given(kind=kinds, price=prices, divergence=divergences, seed=st.integers(0, 50))
@settings(max_examples=20)
def test_convex_and_rising_in_the_threshold(
    loss_of, between, kind, price, divergence, seed
) -> None:
    loss = loss_of(kind, seed, 25)
    thresholds = [between(loss, *price, depth) for depth in (0.2, 0.5, 0.8)]
    first, middle, last = (solve(loss, r, *price, divergence) for r in thresholds)
    assert first.value <= middle.value <= last.value
    assert middle.value <= 0.5 * (first.value + last.value) * (1 + 1e-9) + 1e-12
    # The dual is the slope: the tangent lies below the curve.
    for other, r in ((first, thresholds[0]), (last, thresholds[2])):
        if np.isfinite(middle.slopes.threshold) and np.isfinite(other.value):
            assert other.value >= middle.value + middle.slopes.threshold * (
                r - thresholds[1]
            ) - 1e-8 * (1 + other.value)


@given(kind=kinds, seed=st.integers(0, 50), divergence=divergences, scale=st.floats(1e-3, 1e3))
@settings(max_examples=20)
def test_homogeneous_and_concave_in_the_prices(
    loss_of, between, kind, seed, divergence, scale
) -> None:
    loss = loss_of(kind, seed, 25)
    threshold = between(loss, 0.4, 0.4)
    at = {
        price: solve(loss, threshold, *price, divergence).value
        for price in ((0.4, 0.4), (1.0, 0.1), (0.7, 0.25))
    }
    scaled = solve(loss, threshold, 0.4 * scale, 0.4 * scale, divergence).value
    assert scaled == pytest.approx(scale * at[0.4, 0.4], rel=1e-8)
    assert at[0.7, 0.25] >= 0.5 * (at[0.4, 0.4] + at[1.0, 0.1]) * (1 - 1e-9)


@given(kind=kinds, price=prices, divergence=divergences, seed=st.integers(0, 50))
@settings(max_examples=20)
def test_order_and_repetition_do_not_matter(
    loss_of, between, kind, price, divergence, seed
) -> None:
    loss = loss_of(kind, seed, 25)
    rng = np.random.default_rng(seed)
    threshold = between(loss, *price)
    value = solve(loss, threshold, *price, divergence).value
    shuffled = loss.take(rng.permutation(25))
    assert solve(shuffled, threshold, *price, divergence).value == pytest.approx(value, rel=1e-8)
    times = rng.integers(0, 4, size=25)
    times[0] = 1
    repeated = solve(loss.take(np.repeat(np.arange(25), times)), threshold, *price, divergence)
    weighted = solve(loss, threshold, *price, divergence, sample_weight=7.0 * times)
    assert weighted.status is repeated.status
    assert weighted.value == pytest.approx(repeated.value, rel=1e-8)
    # Which rows move is not unique where moves cost the same; what they cost and how weights change is.
    assert weighted.plan.rms_distance == pytest.approx(
        repeated.plan.rms_distance, rel=1e-4, abs=1e-9
    )
    assert weighted.plan.effective_sample_fraction == pytest.approx(
        repeated.plan.effective_sample_fraction, rel=1e-6
    )
    assert np.average(weighted.plan.weights, weights=times) == pytest.approx(1.0, abs=1e-9)


@given(
    kind=st.sampled_from(["zero_one", "candidate"]),
    seed=st.integers(0, 50),
    scale=st.floats(1e-3, 1e3),
)
def test_the_unit_of_distance_is_its_price(loss_of, between, kind, seed, scale) -> None:
    loss = loss_of(kind, seed, 25)
    threshold = between(loss, 0.4, 0.4)
    if kind == "zero_one":
        scaled = ZeroOneLoss(scale * np.asarray(loss.distances))
    else:
        scaled = CandidateLoss(loss.losses, scale * loss.distances)
    first = stability_criterion(loss, threshold)
    second = stability_criterion(scaled, threshold, theta1=0.4 / scale**2)
    assert second.value == pytest.approx(first.value, rel=1e-8)
    assert second.plan.rms_distance == pytest.approx(scale * first.plan.rms_distance, rel=1e-4)


@given(seed=st.integers(0, 50), scale=st.floats(1e-3, 1e3), divergence=divergences)
def test_the_unit_of_the_loss_does_not_matter(loss_of, between, seed, scale, divergence) -> None:
    loss = loss_of("candidate", seed, 25)
    threshold = between(loss, 0.4, 0.4)
    scaled = CandidateLoss(scale * loss.losses, loss.distances)
    first, second = (
        solve(x, r, 0.4, 0.4, divergence)
        for x, r in ((loss, threshold), (scaled, scale * threshold))
    )
    assert second.value == pytest.approx(first.value, rel=1e-8)
    assert second.slopes.threshold == pytest.approx(first.slopes.threshold / scale, rel=1e-4)


@given(seed=st.integers(0, 100), divergence=divergences)
def test_more_candidates_never_raise_it(loss_of, between, seed, divergence) -> None:
    loss = loss_of("candidate", seed, 25)
    rng = np.random.default_rng(seed)
    threshold = between(loss, 0.4, 0.4)
    before = solve(loss, threshold, 0.4, 0.4, divergence)
    more = loss.appended(rng.exponential(size=(25, 2)), rng.uniform(0.05, 1.0, size=(25, 2)))
    after = solve(more, threshold, 0.4, 0.4, divergence)
    assert after.value <= before.value * (1 + 1e-9)
    nearer = ZeroOneLoss(rng.exponential(size=25))
    farther = ZeroOneLoss(np.asarray(nearer.distances) * rng.uniform(1.0, 2.0, size=25))
    assert (
        solve(nearer, 0.4, 0.4, 0.4, divergence).value
        <= solve(farther, 0.4, 0.4, 0.4, divergence).value
    )


# --- how it runs -----------------------------------------------------------------------------------------


def test_blocks_and_threads_do_not_change_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    loss = ZeroOneLoss(np.maximum(rng.normal(1.0, 1.0, 3001), 0))
    whole = stability_criterion(loss, 0.4)
    monkeypatch.setattr(ZeroOneLoss, "row_bytes", 1 << 12)  # 256 rows a block
    blocks = stability_criterion(loss, 0.4)
    with ThreadPoolExecutor(3) as pool:
        threads = stability_criterion(loss, 0.4, computing=Computing(executor=pool))
    assert threads.equals(blocks)
    assert blocks.value == pytest.approx(whole.value, rel=1e-10)
    np.testing.assert_allclose(blocks.plan.weights, whole.plan.weights, rtol=1e-6)
    assert blocks.plan.splits is None or np.all(np.diff(blocks.plan.splits.rows) > 0)


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_few_passes_are_enough(
    divergence: str, make_loss: Callable[..., Loss], between: Callable[..., float]
) -> None:
    loss = make_loss(seed=1, n=4000)
    threshold = between(loss, 0.4, 0.4)
    assert (
        stability_criterion(loss, threshold, divergence=divergence, resampling=None).n_passes <= 50
    )
    assert (
        stability_criterion(loss, threshold, divergence=divergence).n_passes <= 100
    )  # with the interval


@pytest.mark.parametrize("theta2", [1e-3, 0.4, 1e3, 1e6])
@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_the_error_bound_holds_in_extended_precision(
    divergence: str, theta2: float, between
) -> None:
    rng = np.random.default_rng(2)
    losses = rng.exponential(size=200)
    threshold = between(FixedLoss(losses), INF, theta2, 0.3)
    result = stability_criterion(
        FixedLoss(losses), threshold, theta1=INF, theta2=theta2, divergence=divergence
    )
    wide, r, t = losses.astype(np.longdouble), np.longdouble(threshold), np.longdouble(theta2)
    if divergence == "kl":
        duals = result.slopes.threshold * (1 + np.linspace(-1e-7, 1e-7, 41)).astype(np.longdouble)
        top = wide.max()
        exact = max(
            h * r - h * top - t * np.log(np.mean(np.exp(h * (wide - top) / t))) for h in duals
        )
    else:  # solve the weights on their active rows
        active = result.plan.weights > 0
        a = wide[active]
        n = np.longdouble(len(wide))
        # W = b + s l on the active rows, with mean W = 1 and mean W l = r
        system = np.array([[len(a), a.sum()], [a.sum(), (a * a).sum()]], dtype=np.longdouble) / n
        det = system[0, 0] * system[1, 1] - system[0, 1] ** 2
        b, s = (system[1, 1] - system[0, 1] * r) / det, (system[0, 0] * r - system[0, 1]) / det
        exact = t * (np.sum((b + s * a - 1) ** 2) + (n - len(a))) / n
    assert abs(result.value - float(exact)) <= result.error_bound + 1e-18
    assert result.error_bound <= 1e-9 * result.value + 1e-13 * max(theta2, 1.0)


def test_without_a_threshold_it_is_ten_points_more_errors() -> None:
    rng = np.random.default_rng(0)
    distances = np.maximum(rng.normal(1.0, 1.0, 60), 0.0)
    weights = rng.uniform(0.5, 2.0, 60)
    now = float(np.average(distances == 0.0, weights=weights))
    default = stability_criterion(ZeroOneLoss(distances), sample_weight=weights)
    assert default.equals(
        stability_criterion(ZeroOneLoss(distances), now + 0.1, sample_weight=weights)
    )
    # no error rate is above 1
    nearly_all = np.where(np.arange(60) < 57, 0.0, 1.0)
    assert stability_criterion(ZeroOneLoss(nearly_all)).settings["threshold"] == 1.0


def test_only_an_error_rate_has_a_default_threshold(golden: Callable[[str], Loss]) -> None:
    for name in ("hinge", "logistic"):
        with pytest.raises(ValueError, match="threshold must be given"):
            stability_criterion(golden(name))
