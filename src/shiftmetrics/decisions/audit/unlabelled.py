"""How accurate is a model on new samples without their labels: a range with its condition, or a refusal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import format_percent
from shiftmetrics.decisions.calibration import Calibration

MOST_UNMATCHED = 0.2
"""Fraction of samples without counterpart, above which no range is given.

On 453 cells of real shifts this refused none without shift, 43 % of those that cost at most 3 points of accuracy and
82 % of those that cost over 10; the range covered .965 of what was kept.
"""
_DENSITY_RATIO = 10.0
"""How many times denser the current samples must be than the reference where a sample counts as alone."""
_FOLDS = 3
ASSUMPTION = "A change of the answers themselves (concept drift) is invisible without labels."


@dataclass(frozen=True, eq=False, kw_only=True)
class UnlabelledAccuracy(Record):
    """What can be said of a model's accuracy on samples without labels.

    Attributes
    ----------
    estimate : float
        Expected accuracy, if the answers still mean what they meant in the reference.
    low, high : float or None
        The range; None where it is refused.
    reference_accuracy : float
        Accuracy on the labelled reference.
    unmatched_fraction : float
        Fraction of current samples without counterpart in the reference.
    reason : str
        Why there is no range; empty where there is one.
    assumption : str
        What no method without labels can see.
    """

    estimate: float
    low: float | None
    high: float | None
    reference_accuracy: float
    unmatched_fraction: float
    reason: str = ""
    assumption: str = ASSUMPTION

    def sentence(self) -> str:
        """Say the range with its condition, or why there is none."""
        if self.low is None or self.high is None:
            return f"The accuracy cannot be told without labels: {self.reason}."
        before = format_percent(self.reference_accuracy)
        return (
            "If answers still mean what they meant in the reference, the model is right in "
            f"{format_percent(self.low)} to {format_percent(self.high)} of these samples "
            f"({before} in the reference)."
        )


def estimate_without_labels(
    reference_probabilities: FloatArray,
    reference_labels: IntArray,
    probabilities: FloatArray,
    *,
    unmatched_fraction: float,
    partners: Sequence[tuple[npt.NDArray[Any], npt.NDArray[Any]]] = (),
    why_unmatched: str = "",
) -> UnlabelledAccuracy:
    """Estimate accuracy on samples without labels, with a range, or refuse.

    The estimate is the mean calibrated confidence. Two or more other models give a second one: the accuracy on the
    reference plus the mean change of their agreement with the model; the average of both is taken then. The range
    lets samples without counterpart be right or wrong at will, and the others differ by a margin that was measured
    on real shifts: 3 points, half of the estimated change, and 1.3 standard errors.

    Parameters
    ----------
    reference_probabilities : array of shape (n_reference, n_classes)
        The model's probabilities on the labelled reference.
    reference_labels : array of int of shape (n_reference,)
        Positions of the true classes.
    probabilities : array of shape (n_samples, n_classes)
        The model's probabilities on the current sample.
    unmatched_fraction : float
        Fraction of the current sample without counterpart, such as from `alone_fraction` or a test of novelty.
    partners : sequence of pairs of arrays, optional
        Predicted classes of other models on the reference and on the current sample; used from two models on.
    why_unmatched : str, optional
        What the reason of a refusal adds.
    """
    # The mean probability of being right, as the reference has calibrated it.
    calibration = Calibration.fit(reference_probabilities, reference_labels)
    predicted_reference = reference_probabilities.argmax(axis=1)
    predicted = probabilities.argmax(axis=1)
    accuracy = float((predicted_reference == reference_labels).mean())
    estimate = float(calibration.expected_accuracy(probabilities).mean())
    # One other model alone did not help: on 453 cells the average with two or more erred least.
    if len(partners) >= 2:
        changes = [
            float((now == predicted).mean() - (before == predicted_reference).mean())
            for before, now in partners
        ]
        by_agreement = float(np.clip(accuracy + np.mean(changes), 0.0, 1.0))
        estimate = 0.5 * (estimate + by_agreement)
    low: float | None = None
    high: float | None = None
    reason = ""
    # Where samples have no counterpart the error was 8 to 60 points, and no range was both right and of use.
    if unmatched_fraction > MOST_UNMATCHED:
        unmatched = format_percent(unmatched_fraction)
        reason = f"{unmatched} of the samples have no counterpart in the reference"
        if why_unmatched:
            reason += f" ({why_unmatched})"
    else:
        variance = estimate * (1.0 - estimate) / len(probabilities)
        variance += accuracy * (1.0 - accuracy) / len(reference_labels)
        error = math.sqrt(variance)
        # Samples without counterpart may be right or wrong at will, the others differ by a margin.
        margin = 0.03 + 0.5 * abs(estimate - accuracy) + 1.3 * error
        matched = (1.0 - unmatched_fraction) * estimate
        low = max(0.0, matched - margin)
        high = min(1.0, matched + unmatched_fraction + margin)
    return UnlabelledAccuracy(
        estimate=estimate,
        low=low,
        high=high,
        reference_accuracy=accuracy,
        unmatched_fraction=unmatched_fraction,
        reason=reason,
    )


@dataclass(frozen=True, eq=False)
class DomainClassifier:
    """How well boosted trees can tell the two samples apart, each sample scored by trees that were not trained on it.

    Attributes
    ----------
    auc : float
        Area under the ROC curve, cross-validated: .5 where the samples cannot be told apart, 1 where they can.
    alone_fraction : float
        Fraction of current samples where the current density is over 10 times that of the reference.
    """

    auc: float
    alone_fraction: float


def tell_apart(reference: FloatArray, current: FloatArray, *, seed: int = 0) -> DomainClassifier:
    """Train boosted trees to tell two samples apart, in three folds.

    Parameters
    ----------
    reference, current : arrays of shape (n, n_features)
        Features of both samples.
    seed : int, default 0
        Deals the samples to folds.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    features = np.concatenate([reference, current])
    is_current: BoolArray = np.arange(len(features)) >= len(reference)
    folds = min(_FOLDS, len(reference), len(current))
    # A single sample cannot be used for training and scored at once.
    if folds < 2:
        return DomainClassifier(auc=0.5, alone_fraction=0.0)
    split = StratifiedKFold(folds, shuffle=True, random_state=seed)
    model = HistGradientBoostingClassifier(random_state=seed)
    fitted = cross_val_predict(model, features, is_current, cv=split, method="predict_proba")
    probability = np.asarray(fitted, dtype=np.float64)[:, 1]
    # The odds of "current" are the ratio of the densities, times that of the sample sizes.
    now = probability[len(reference) :]
    odds = now / np.maximum(1.0 - now, 1e-12)
    ratio = odds * len(reference) / len(current)
    return DomainClassifier(
        auc=float(roc_auc_score(is_current, probability)),
        alone_fraction=float((ratio > _DENSITY_RATIO).mean()),
    )
