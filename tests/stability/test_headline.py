"""Every number of a headline, recomputed from the arrays of the plan by brute force, with ties and splits."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftmetrics.stability import CandidateLoss, StabilityResult, ZeroOneLoss, stability_criterion
from shiftmetrics.stability.losses import Loss

INF = np.inf


def figures(result: StabilityResult) -> dict[str, float]:
    """Return what the headline is about, row by row from the arrays of the plan."""
    plan = result.plan
    places = [
        [(plan.weights[i], plan.losses[i], plan.distances[i])] for i in range(result.n_samples)
    ]
    if plan.splits is not None:
        for row, weight, loss, distance in zip(
            plan.splits.rows,
            plan.splits.weights,
            plan.splits.losses,
            plan.splits.distances,
            strict=True,
        ):
            whole, first_loss, first_distance = places[row][0]
            places[row] = [(whole - weight, first_loss, first_distance), (weight, loss, distance)]
    changed = 0.0
    largest = 0.0
    risk = 0.0
    for parts in places:
        whole = sum(weight for weight, _, _ in parts)
        for weight, loss, distance in parts:
            risk += weight * loss
            if distance > 0.0 and weight > 0.0:
                changed += weight / whole
                largest = max(largest, distance)
    n = result.n_samples
    squared = sum(w**2 for w in plan.weights)
    return {
        "risk": risk / n,
        "changed": changed / n,
        "largest": largest,
        "effective": n / squared,
        "base": float(np.mean(plan.base_losses)),
    }


def check(result: StabilityResult) -> None:
    """Compare the printed numbers with the recomputed ones, to the digits that are printed."""
    text = result.headline()
    true = figures(result)
    numbers = [float(number) for number in re.findall(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?", text)]
    reached, now, *rest = numbers
    scale = 100.0 if result.settings["errors"] else 1.0
    assert reached == pytest.approx(scale * true["risk"], rel=6e-3, abs=1e-9)
    assert now == pytest.approx(scale * true["base"], rel=0.06, abs=1e-9)
    if "change by at most" in text:
        changed, largest, *rest = rest
        assert changed == pytest.approx(100.0 * true["changed"], rel=0.06, abs=1e-9)
        assert true["largest"] <= largest * (1.0 + 1e-12)
        assert largest <= 1.11 * true["largest"]
    if "effective" in text:
        assert rest[0] == pytest.approx(100.0 * true["effective"], rel=0.06)
    assert result.plan.changed_fraction == pytest.approx(true["changed"], rel=1e-6, abs=1e-9)


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 10_000),
    ties=st.integers(1, 6),
    kind=st.sampled_from(["zero_one", "candidates"]),
    prices=st.sampled_from([(0.4, 0.4), (0.4, INF), (1.0, 0.25), (INF, 0.4)]),
    divergence=st.sampled_from(["kl", "chi2"]),
    height=st.floats(0.05, 0.9),
)
def test_every_number_is_that_of_the_plan(seed, ties, kind, prices, divergence, height) -> None:
    rng = np.random.default_rng(seed)
    # few different distances, so that many samples tie and must be split
    distances = rng.integers(0, ties + 1, 40) / 2.0
    distances[0] = 0.0
    loss: Loss = ZeroOneLoss(distances)
    if kind == "candidates":
        losses = np.column_stack([np.zeros(40), rng.integers(0, 3, 40), np.full(40, 2.0)])
        losses[0] = 1.0
        far = np.column_stack([np.zeros(40), distances + 0.25, distances + 1.0])
        loss = CandidateLoss(losses, far)
    base = float(loss.base(slice(0, 40)).mean())
    threshold = base + height * (1.0 - base)
    result = stability_criterion(
        loss, threshold, theta1=prices[0], theta2=prices[1], divergence=divergence
    )
    if result.status.code == "converged":
        check(result)


def test_equal_samples_of_which_few_change_are_not_said_to_stay() -> None:
    result = stability_criterion(ZeroOneLoss([0.0] * 5 + [1.0] * 95), 0.4)
    assert "change by at most 1 in" in result.headline()
    check(result)


@pytest.mark.parametrize("n_samples", [200_000, 1_000_000])
def test_one_of_many_equal_samples_changes(n_samples: int) -> None:
    distances = np.ones(n_samples)
    distances[: n_samples // 10] = 0.0
    threshold = 0.1 + 1.0 / n_samples
    result = stability_criterion(ZeroOneLoss(distances), threshold, theta2=INF, resampling=None)
    assert result.plan.largest_distance == 1.0
    moved = float(np.count_nonzero(result.plan.distances))
    if result.plan.splits is not None:
        assert len(result.plan.splits.rows) == 1
        moved += float(result.plan.splits.weights.sum())
    assert moved == pytest.approx(1.0, rel=1e-6)
