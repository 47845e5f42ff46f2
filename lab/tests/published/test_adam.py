"""Algorithms 1 and 2 of the paper, corrected: they come near the exact value, and say how near where it is known."""

from collections.abc import Callable

import numpy as np
import pytest

from shiftmetrics import Result
from shiftmetrics.stability import HingeLoss, LogisticLoss, stability_criterion
from shiftmetrics_lab.published.adam import AdamSteps, stability_criterion_adam

INF = np.inf
WEIGHTS = np.array([0.9, -1.2])  # of norm 1.5
MARGINS = -0.5 + 0.1 * np.arange(30)
POINTS = MARGINS[:, None] * WEIGHTS / 2.25 + np.random.default_rng(0).normal(size=(30, 1)) * [
    1.2,
    0.9,
]


def logistic(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    odds = np.exp(-(points @ WEIGHTS))
    return np.log1p(odds), -(odds / (1.0 + odds))[:, None] * WEIGHTS


def hinge(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    margins = points @ WEIGHTS
    return np.maximum(1.0 - margins, 0.0), -(margins < 1.0).astype(float)[:, None] * WEIGHTS


def test_the_points_have_the_golden_margins() -> None:
    np.testing.assert_allclose(POINTS @ WEIGHTS, MARGINS, atol=1e-12)
    assert np.linalg.norm(WEIGHTS) == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("loss", "theta1", "theta2", "divergence", "expected", "excess"),
    [
        (logistic, 0.4, 0.4, "kl", 0.1866291329, 1e-6),
        (logistic, 0.4, 0.4, "chi2", 0.2215946359, 1e-6),
        (hinge, INF, 0.2, "kl", 0.1223363146, 1e-6),
        (hinge, INF, 0.2, "chi2", 0.2842105263, 1e-6),
        # Rows without a loss have no gradient, so that they stay where a jump would pay: too high, by up to a fifth.
        (hinge, 0.4, 0.4, "kl", 0.0690333595, 0.01),
        (hinge, 0.4, 0.4, "chi2", 0.0838184555, 0.01),
        (hinge, 0.2, INF, "kl", 0.0534814815, 0.02),
    ],
)
def test_golden_numbers(
    loss: Callable, theta1: float, theta2: float, divergence: str, expected: float, excess: float
) -> None:
    exact = {logistic: LogisticLoss, hinge: HingeLoss}[loss](MARGINS, 1.5)
    result = stability_criterion_adam(
        loss, POINTS, 1.0, theta1=theta1, theta2=theta2, divergence=divergence, exact=exact
    )
    assert expected - 1e-6 < result.value < expected + excess
    assert result.error_bound == pytest.approx(abs(result.value - expected), abs=1e-9)
    assert result.parts["exact_value"] == pytest.approx(expected, abs=1e-9)
    assert result.parts["upper_bound"] >= expected - 1e-9  # it is the cost of a shift
    # Without weights, points that fall short of the threshold by a hair do not reach it at all.
    assert result.parts["upper_bound"] <= result.value + 1e-6 or np.isinf(theta2)
    assert str(result.status) == "settled"
    assert result.parts["risk"] == pytest.approx(1.0, abs=0.01)
    assert result.parts["trace_risk"][-1] == pytest.approx(result.parts["risk"])
    assert result.parts["trace_value"][-1] == result.value
    assert result.parts["trace_dual"][0] == 1.0
    assert (
        result.parts["trace_dual"].shape
        == result.parts["trace_value"].shape
        == result.parts["trace_risk"].shape
        == (301,)
    )
    np.testing.assert_allclose(
        np.linalg.norm(result.parts["moved_points"] - POINTS, axis=1),
        result.parts["moved_distances"],
        atol=1e-12,
    )
    near = stability_criterion(exact, 1.0, theta1=theta1, theta2=theta2, divergence=divergence)
    fraction = 1.0 / np.mean(result.parts["weights"] ** 2)
    assert fraction == pytest.approx(near.plan.effective_sample_fraction, abs=0.05)
    if loss is logistic:
        assert result.standard_error == pytest.approx(near.standard_error, rel=1e-2)
    assert Result.from_json(result.to_json()).equals(result)
    assert f"gradient steps: {result.value:.4g}" in result.headline()
    assert "300 Adam steps" in result.headline()


def test_sums_in_place_of_means_would_be_off_by_the_logarithm_of_n() -> None:
    """What is corrected: at any price the printed objective of Algorithm 1 is lower by theta2 log n."""
    result = stability_criterion_adam(logistic, POINTS, 1.0, steps=AdamSteps(n_steps=2))
    dual, losses = result.parts["dual"], logistic(result.parts["moved_points"])[0]
    scores = (dual * losses - 0.4 * result.parts["moved_distances"] ** 2) / 0.4
    printed = dual * 1.0 - 0.4 * np.log(np.exp(scores).sum())
    assert result.value == pytest.approx(printed + 0.4 * np.log(30))


def test_weights_units_and_frozen_columns() -> None:
    counts = np.random.default_rng(2).integers(0, 4, 30)
    rows = np.repeat(np.arange(30), counts)
    options = {"steps": AdamSteps(n_steps=60, n_inner=5, dual_learning_rate=0.1)}
    weighted = stability_criterion_adam(logistic, POINTS, 1.0, sample_weight=counts, **options)
    repeated = stability_criterion_adam(logistic, POINTS[rows], 1.0, **options)
    assert weighted.value == pytest.approx(repeated.value, rel=1e-6)
    assert weighted.parts["upper_bound"] == pytest.approx(repeated.parts["upper_bound"], rel=1e-6)
    frozen = stability_criterion_adam(logistic, POINTS, 1.0, unit=[2.0, 0.0])
    np.testing.assert_array_equal(frozen.parts["moved_points"][:, 1], POINTS[:, 1])
    exact = stability_criterion(LogisticLoss(MARGINS, 2.0 * 0.9), 1.0)
    assert frozen.value == pytest.approx(exact.value, abs=1e-3)


def test_ends_that_are_no_answer_say_so() -> None:
    short = stability_criterion_adam(logistic, POINTS, 1.0, steps=AdamSteps(n_steps=3))
    assert str(short.status) == "unsettled"
    assert not short.status.ok
    assert short.error_bound == INF
    assert short.interval is None
    assert short.standard_error is None
    at_risk = stability_criterion_adam(logistic, POINTS, 0.2)
    assert str(at_risk.status) == "already_at_risk"
    assert at_risk.value == pytest.approx(0.0, abs=1e-9)
    beyond = stability_criterion_adam(
        hinge,
        POINTS,
        9.0,
        theta1=INF,
        steps=AdamSteps(n_steps=50),
        exact=HingeLoss(MARGINS + 0.0, 0.0),
    )
    assert str(beyond.status) == "unsettled"
    assert beyond.parts["exact_value"] == INF == beyond.parts["upper_bound"]
    assert beyond.error_bound == INF


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"loss": 3.0}, TypeError, "loss must be callable, got float"),
        (
            {"loss": lambda p: p[:, 0]},
            TypeError,
            "loss must be a function that returns a pair of losses",
        ),
        (
            {"loss": lambda p: (p[:, 0], p[:, 0])},
            ValueError,
            "loss must be a function that returns a pair",
        ),
        (
            {"loss": lambda p: (-1.0 + 0 * p[:, 0], p)},
            ValueError,
            "losses of the points must be at least 0",
        ),
        ({"points": [1.0, 2.0]}, ValueError, "points must be an array of shape"),
        ({"points": [[np.nan, 0.0]]}, ValueError, "losses of the points must be finite"),
        ({"unit": [1.0]}, ValueError, "unit must be of length 2"),
        ({"unit": [1.0, -1.0]}, ValueError, "unit must be at least 0"),
        ({"sample_weight": [1.0]}, ValueError, "sample_weight must be of length 30"),
        ({"divergence": "js"}, ValueError, "divergence must be one of"),
    ],
)
def test_bad_input(change: dict, error: type[Exception], message: str) -> None:
    call = {
        "loss": logistic,
        "points": POINTS,
        "threshold": 1.0,
        "steps": AdamSteps(n_steps=1),
        **change,
    }
    with pytest.raises(error, match=message):
        stability_criterion_adam(
            call.pop("loss"), call.pop("points"), call.pop("threshold"), **call
        )


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_steps": 0}, ValueError, "n_steps must be an integer at least 1"),
        ({"n_inner": 1.5}, TypeError, "n_inner must be an integer"),
        ({"learning_rate": 0.0}, ValueError, "learning_rate must be"),
        ({"initial_dual": -1.0}, ValueError, "initial_dual must be"),
    ],
)
def test_bad_steps(options: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        AdamSteps(**options)
