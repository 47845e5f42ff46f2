"""What a monitor counts: samples that lie far from a reference, or that the model is unsure of, and its errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.record import Record
from shiftmetrics.decisions.calibration import Calibration
from shiftmetrics.decisions.predictions.model_outputs import ModelOutputs

Readings = Mapping[str, FloatArray]
"""What is read off each sample: "far", the distance to the nearest centre, and "unsure", minus the confidence."""


@dataclass(frozen=True, eq=False)
class Count(Record):
    """How many of n samples count, for one test."""

    hits: int
    n: int

    def __add__(self, other: Count) -> Count:
        return Count(self.hits + other.hits, self.n + other.n)


@dataclass(frozen=True, eq=False)
class RowTest(Record):
    """What is counted of the samples: readings beyond a quantile of the reference."""

    kind: str
    quantile: float
    threshold: float
    reference: Count

    def count(self, readings: Readings) -> Count:
        """Count the samples whose reading lies beyond the threshold."""
        beyond = readings[self.kind] > self.threshold
        return Count(int(beyond.sum()), len(beyond))

    @property
    def name(self) -> str:
        """What is counted, in words that follow "samples that are"."""
        if self.kind == "far":
            return f"farther from the reference than {100 * self.quantile:g} % of its own samples"
        return f"predicted with less confidence than {100 * self.quantile:g} % of the reference"


def readings_of(
    features: FloatArray,
    centres: FloatArray,
    calibration: Calibration | None,
    outputs: ModelOutputs | None,
) -> dict[str, FloatArray]:
    """Read off how far each sample lies from its nearest centre, and how unsure the model is of it."""
    return {"far": distances_to(features, centres), **unsure_of(calibration, outputs)}


def unsure_of(
    calibration: Calibration | None, outputs: ModelOutputs | None
) -> dict[str, FloatArray]:
    """Read off how unsure the model is of each sample; nothing without its probabilities."""
    if calibration is None or outputs is None or outputs.probabilities is None:
        return {}
    # The negative confidence, so that what is unusual lies beyond a quantile as distances do.
    return {"unsure": -calibration.confidence(outputs.probabilities)}


def distances_to(features: FloatArray, centres: FloatArray) -> FloatArray:
    """Return how far each sample lies from its nearest centre.

    It stands for density: far samples are those of which the reference has few like them.
    """
    from sklearn.metrics import pairwise_distances_argmin_min

    if not len(features):
        return np.zeros(0)
    return np.asarray(pairwise_distances_argmin_min(features, centres)[1], dtype=np.float64)
