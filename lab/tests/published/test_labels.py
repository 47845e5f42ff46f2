"""Agreement with labels: against grids over beta and closed forms; bad input."""

import math

import numpy as np
import pytest
from scipy.special import logsumexp

from shiftmetrics.agreement.channel import SymmetricChannel
from shiftmetrics_lab.published import label_agreement

RNG = np.random.default_rng(11)
LABELS = RNG.integers(3, size=250)
CLEAN = RNG.normal(size=(250, 3)) + 1.5 * np.eye(3)[LABELS]
NOISY = CLEAN + 0.8 * RNG.normal(size=(250, 3))
NOISIER = CLEAN + 2.0 * RNG.normal(size=(250, 3))


def overlap(scores: np.ndarray, reference: np.ndarray, beta: float, reference_beta: float) -> float:
    p, q = (
        b * s - logsumexp(b * s, axis=1, keepdims=True)
        for s, b in ((scores, beta), (reference, reference_beta))
    )
    return math.log(scores.shape[1]) + float(logsumexp(p + q, axis=1).mean())


@pytest.mark.parametrize("confidence", [0.4, 0.9, 1.0])
def test_labels_by_a_grid(confidence: float) -> None:
    result = label_agreement(NOISY, LABELS, confidence=confidence)
    q = np.full((250, 3), (1 - confidence) / 2)
    q[np.arange(250), LABELS] = confidence

    def value(beta: float) -> float:
        p = np.exp(beta * NOISY - logsumexp(beta * NOISY, axis=1, keepdims=True))
        return float(np.log(3 * (p * q).sum(axis=1)).mean())

    grid = max(value(beta) for beta in 10.0 ** np.linspace(-3, 2, 501))
    assert result.value >= grid - 1e-9
    assert result.value == pytest.approx(grid, abs=1e-4)
    assert result.value == pytest.approx(value(result.beta), abs=1e-12)
    assert result.per_sample.mean() == pytest.approx(result.value)
    assert result.accuracy == np.mean(NOISY.argmax(1) == LABELS)
    assert result.status.code == "converged"


def test_equal_margins_have_the_capacity_of_their_error_rate() -> None:
    scores = np.eye(4)[np.where(np.arange(200) < 40, (np.arange(200) + 1) % 4, np.arange(200) % 4)]
    result = label_agreement(scores, np.arange(200) % 4)
    assert result.value == pytest.approx(SymmetricChannel(4).capacity(0.2), abs=1e-6)
    assert result.equivalent_error == pytest.approx(0.2, abs=1e-3)


def test_label_edges() -> None:
    perfect = label_agreement(np.eye(3)[LABELS], LABELS)
    assert (perfect.beta, perfect.status.code) == (math.inf, "boundary")
    assert perfect.value == pytest.approx(math.log(3))
    assert perfect.per_sample == pytest.approx(np.full(250, math.log(3)))
    unsure = label_agreement(np.eye(3)[LABELS], LABELS, confidence=0.8)
    assert (unsure.beta, unsure.value) == (math.inf, pytest.approx(math.log(3 * 0.8)))
    wrong = label_agreement(-CLEAN, CLEAN.argmax(1))
    assert (wrong.beta, wrong.value) == (0.0, pytest.approx(0.0, abs=1e-12))
    chance = label_agreement(CLEAN, LABELS, confidence=1 / 3)
    assert chance.value == pytest.approx(0.0, abs=1e-12)
    prior = label_agreement(np.eye(3)[LABELS], LABELS, prior=np.bincount(LABELS))
    assert prior.value == pytest.approx(
        -np.log(np.bincount(LABELS) / 250) @ np.bincount(LABELS) / 250
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"confidence": 0.2},
            "confidence must be at least 0.333333, the prior of a label, got 0.2",
        ),
        ({"confidence": 1.1}, "confidence must be a number"),
        ({"prior": "predicted"}, "prior must be None or an array"),
        (
            {"prior": [0.0, 0.5, 0.5]},
            "prior must be positive for every class that is a label, got 0 for 0",
        ),
        ({"labels": np.full(250, 3)}, "labels must be classes of the scores"),
    ],
)
def test_bad_labels_are_named(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        label_agreement(**{"scores": NOISY, "labels": LABELS, **options})
