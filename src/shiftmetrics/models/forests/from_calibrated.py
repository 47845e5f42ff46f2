"""Calibrated trees as a `Forest`: leaves may be calibrated one by one, sums by a sigmoid of each class.

The probability of a single tree is that of a leaf, so that any calibration is one of leaves, and an average of
several calibrated trees a forest. The sigmoid of a sum of trees rises with it, so that the classes of one calibrated
forest are compared by ``-(a_k s_k + b_k)``, which is a sum of trees again. An average of sigmoids of sums is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.models.forests.forest import Forest
from shiftmetrics.models.forests.from_committees import Read, joined_forests
from shiftmetrics.models.forests.from_one_vs_rest import with_ties_of_sigmoids


def read_calibrated(model: Any, read: Read) -> Forest | None:
    """Return a `CalibratedClassifierCV` of trees as a forest, or None where it is no sum of trees.

    Parameters
    ----------
    model : object
        A fitted `sklearn.calibration.CalibratedClassifierCV`.
    read : callable
        From the model inside to its forest.
    """
    parts = model.calibrated_classifiers_
    forests = []
    for part in parts:
        forest = read(part.estimator)
        if forest is None:
            return None
        forests.append(forest)
    if all(forest.n_trees == 1 and forest.link == "probability" for forest in forests):
        return _of_leaves(parts, forests, model.classes_)
    if len(parts) == 1:
        return _of_sums(parts[0], forests[0], model.classes_)
    return None


def _of_leaves(parts: Sequence[Any], forests: Sequence[Forest], classes: Any) -> Forest | None:
    """Calibrate the leaves of single trees, and average these."""
    values = []
    for part, forest in zip(parts, forests, strict=True):
        leaf = forest.feature < 0
        frequencies = forest.total(np.arange(len(leaf))[:, None])
        known = np.searchsorted(classes, part.estimator.classes_)
        calibrated = _probabilities(part, frequencies, known, len(classes))
        if calibrated is None:
            return None
        values.append(np.where(leaf[:, None], calibrated, 0.0) / len(parts))
    base = np.zeros(len(classes))
    return joined_forests(forests, values, base, "probability", forests[0].n_features)


def _probabilities(
    part: Any, frequencies: FloatArray, known: Any, n_classes: int
) -> FloatArray | None:
    """Return the calibrated probabilities of frequencies, as scikit-learn computes them."""
    if part.method == "temperature":
        return np.asarray(part.calibrators[0].predict(frequencies), dtype=np.float64)
    if part.method not in ("sigmoid", "isotonic"):
        return None
    columns = frequencies.T
    if n_classes == 2:
        # Both classes have one calibrator, of the probability of the second.
        columns = columns[-1:]
        known = [1]
    probability = np.zeros((len(frequencies), n_classes))
    for place, column, calibrator in zip(known, columns, part.calibrators, strict=True):
        probability[:, place] = calibrator.predict(column)
    if n_classes == 2:
        probability[:, 0] = 1.0 - probability[:, 1]
        return probability
    total = probability.sum(axis=1, keepdims=True)
    uniform = np.full_like(probability, 1.0 / n_classes)
    np.divide(probability, total, out=uniform, where=total != 0.0)
    return uniform


def _of_sums(part: Any, forest: Forest, classes: Any) -> Forest | None:
    """Return the logits of the sigmoids of one calibrated forest, by which its classes are compared."""
    n_classes = len(classes)
    if part.method != "sigmoid" or n_classes < 3 or len(part.calibrators) != n_classes:
        return None
    # What the calibrators take: probabilities, or the sums of a model that has a decision function.
    if forest.link != "probability" and not hasattr(part.estimator, "decision_function"):
        return None
    slope = np.array([calibrator.a_ for calibrator in part.calibrators])
    start = np.array([calibrator.b_ for calibrator in part.calibrators])
    values = [-slope * forest.factor * forest.value]
    base = -(slope * forest.base + start)
    logits = joined_forests([forest], values, base, "softmax", forest.n_features)
    return with_ties_of_sigmoids(logits)
