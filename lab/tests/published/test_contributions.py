"""The papers' approximation of contributions: its formula, where it is exact, and where it is undefined."""

import math

import numpy as np
import pytest

from shiftmetrics.agreement import agreement_contributions
from shiftmetrics_lab.published import approximate_contributions

RNG = np.random.default_rng(3)
LABELS = RNG.integers(5, size=400)
REFERENCE = RNG.normal(size=(400, 5)) + 2.5 * np.eye(5)[LABELS]
SCORES = REFERENCE + 1.3 * RNG.normal(size=(400, 5))


def softmax(scores: np.ndarray, beta: float) -> np.ndarray:
    terms = np.exp(beta * (scores - scores.max(axis=1, keepdims=True)))
    return terms / terms.sum(axis=1, keepdims=True)


def members() -> dict[str, np.ndarray]:
    right, kept = REFERENCE.argmax(1) == LABELS, REFERENCE.argmax(1) == SCORES.argmax(1)
    return {
        "right": right & kept,
        "wrong": ~right & kept,
        "misled": right & ~kept,
        "changed": ~right & ~kept,
    }


def test_the_approximation_by_its_formula() -> None:
    split = agreement_contributions(SCORES, REFERENCE, LABELS)
    beta, groups = split.beta, members()
    accuracy = np.mean(REFERENCE.argmax(1) == LABELS)
    kept = np.mean(REFERENCE.argmax(1) == SCORES.argmax(1))
    lack = {
        name: 1
        - softmax(SCORES if name == "misled" else REFERENCE, beta).max(axis=1)[groups[name]].mean()
        for name in ("right", "wrong", "misled")
    }
    expected = {
        "right": 400 * accuracy * kept * math.log(1 - 2 * lack["right"]),
        "wrong": None
        if lack["wrong"] >= 0.5
        else 400 * (1 - accuracy) * kept * math.log(1 - 2 * lack["wrong"]),
        "misled": 400 * accuracy * (1 - kept) * math.log(lack["misled"]),
    }
    for name, value in expected.items():
        assert approximate_contributions(split)[name].paper_log_pa == (
            None if value is None else pytest.approx(value, rel=1e-9)
        )
    d = lack["right"]
    assert approximate_contributions(split)["right"].overlap_log_pa == pytest.approx(
        groups["right"].sum() * math.log((1 - d) ** 2 + d**2), rel=1e-9
    )


def test_the_approximation_is_exact_where_posteriors_are_alike_and_binary() -> None:
    margins = np.full(1000, 1.0)
    shifted = np.where(np.arange(1000) < 300, -1.0, 1.0)
    split = agreement_contributions(shifted, margins, np.ones(1000, dtype=int))
    approximate = approximate_contributions(split)
    for name, group in split.contributions.groups.items():
        assert approximate[name].overlap_log_pa == pytest.approx(group.log_pa, rel=1e-9)
    # At 2 d = 0.46 the papers' log(1 - 2d) is already far from log((1-d)^2 + d^2); see the thesis's table.
    d = split.contributions.groups["right"].reference_lack
    assert approximate_contributions(split)["right"].paper_log_pa == pytest.approx(
        1000 * 0.7 * math.log(1 - 2 * d)
    )
    assert math.log(1 - 0.82) == pytest.approx(-1.71, abs=5e-3)
    assert math.log(0.59**2 + 0.41**2) == pytest.approx(-0.66, abs=5e-3)


def test_an_undefined_approximation_is_none() -> None:
    """Ten classes, flat posteriors: the predicted class holds less than half."""
    rng = np.random.default_rng(0)
    labels = rng.integers(10, size=200)
    reference = np.eye(10)[labels]
    scores = np.eye(10)[np.where(rng.random(200) < 0.15, labels, rng.integers(10, size=200))]
    split = agreement_contributions(scores, reference, labels)
    assert approximate_contributions(split)["right"].paper_log_pa is None
    assert approximate_contributions(split)["right"].overlap_log_pa < 0.0


def test_the_approximation_needs_a_uniform_prior() -> None:
    split = agreement_contributions(SCORES, REFERENCE, LABELS, prior="predicted")
    with pytest.raises(ValueError, match="contributions with a uniform prior"):
        approximate_contributions(split)


def test_the_approximation_of_equal_samples_is_zero() -> None:
    split = agreement_contributions(REFERENCE * 2, REFERENCE, REFERENCE.argmax(1))
    assert sum(part.paper_log_pa for part in approximate_contributions(split).values()) == 0.0
