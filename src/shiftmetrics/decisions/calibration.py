"""How often a model is right where it is so sure: its confidence, calibrated on a labelled reference."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.record import Record

_LEAST_PROBABILITY = 1e-4


@dataclass(frozen=True, eq=False)
class Calibration(Record):
    """A model's confidence, made comparable with its accuracy on a labelled reference.

    Attributes
    ----------
    temperature : float
        What the log-probabilities are divided by, chosen by the likelihood of the labels.
    knots, values : arrays of shape (n_knots,)
        The isotonic regression of "the prediction is right" on the tempered confidence.
    """

    temperature: float
    knots: FloatArray
    values: FloatArray

    @classmethod
    def fit(cls, probabilities: FloatArray, labels: IntArray) -> Calibration:
        """Fit on the reference: probabilities of shape (n, n_classes), labels as positions of classes."""
        from scipy.optimize import minimize_scalar
        from sklearn.isotonic import IsotonicRegression

        logs = bounded_logarithms(probabilities)
        rows = np.arange(len(labels))

        # First one temperature for all classes, by the likelihood; then how often such a confidence is right.

        def loss(log_temperature: float) -> float:
            tempered = _tempered(logs, math.exp(log_temperature))
            return -float(tempered[rows, labels].mean())

        found = minimize_scalar(loss, bounds=(math.log(0.05), math.log(20.0)), method="bounded")
        temperature = math.exp(float(found.x))
        confidence = np.exp(_tempered(logs, temperature)).max(axis=1)
        right = (logs.argmax(axis=1) == labels).astype(np.float64)
        # A steady curve that never falls with the confidence; beyond its ends it stays level.
        regression = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
        regression.fit(confidence, right)
        return cls(
            temperature,
            np.asarray(regression.X_thresholds_, dtype=np.float64),
            np.asarray(regression.y_thresholds_, dtype=np.float64),
        )

    def confidence(self, probabilities: FloatArray) -> FloatArray:
        """Return the tempered probability of the predicted class."""
        tempered = _tempered(bounded_logarithms(probabilities), self.temperature)
        highest: FloatArray = np.exp(tempered).max(axis=1)
        return highest

    def expected_accuracy(self, probabilities: FloatArray) -> FloatArray:
        """Return the probability that each prediction is right, if the reference's calibration holds."""
        return np.interp(self.confidence(probabilities), self.knots, self.values)


def bounded_logarithms(probabilities: FloatArray) -> FloatArray:
    """Return logarithms of probabilities, none below 1e-4."""
    return np.log(np.maximum(probabilities, _LEAST_PROBABILITY))


def _tempered(logs: FloatArray, temperature: float) -> FloatArray:
    """Return the log-softmax of logs / temperature."""
    from scipy.special import log_softmax

    return np.asarray(log_softmax(logs / temperature, axis=1))
