"""Calibration: the accuracy of sure predictions, against rates that are known."""

import numpy as np
import pytest

from shiftmetrics.decisions.calibration import Calibration, bounded_logarithms


def sample(n: int, temperature: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return stated probabilities, labels, and the true probability of the predicted class."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, 3))
    true = np.exp(logits)
    true /= true.sum(axis=1, keepdims=True)
    labels = (rng.random((n, 1)) > true.cumsum(axis=1)).sum(axis=1)
    # what is stated is too sure by the factor
    stated = np.exp(logits * temperature)
    stated /= stated.sum(axis=1, keepdims=True)
    return stated, labels, true.max(axis=1)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_the_temperature_that_was_put_in_is_found(temperature: float) -> None:
    stated, labels, true = sample(4000, temperature)
    fitted = Calibration.fit(stated, labels)
    assert fitted.temperature == pytest.approx(temperature, rel=0.15)
    # but for the few whose probabilities are below the least one
    assert np.abs(fitted.confidence(stated) - true).mean() < 0.02
    # of other rows: as often right as expected
    others, their_labels, _ = sample(4000, temperature, seed=1)
    accuracy = (others.argmax(axis=1) == their_labels).mean()
    assert fitted.expected_accuracy(others).mean() == pytest.approx(accuracy, abs=0.03)


def test_more_confidence_never_means_less_accuracy() -> None:
    stated, labels, _ = sample(300, 2.0)
    fitted = Calibration.fit(stated, labels)
    assert (np.diff(fitted.values) >= 0.0).all()
    expected = fitted.expected_accuracy(stated)
    assert ((expected >= 0.0) & (expected <= 1.0)).all()
    order = np.argsort(fitted.confidence(stated))
    assert (np.diff(expected[order]) >= 0.0).all()


def test_a_probability_of_zero_has_a_logarithm() -> None:
    np.testing.assert_allclose(bounded_logarithms(np.array([0.0, 1.0])), [np.log(1e-4), 0.0])
