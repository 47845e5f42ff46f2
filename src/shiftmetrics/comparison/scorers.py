"""Known scores as a fitted classifier, which every scorer of scikit-learn takes; its inputs are row numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin

from shiftmetrics._core.arrays import FloatArray, IntArray


class KnownScores(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that answers row numbers with scores that were computed before."""

    def __init__(self, scores: FloatArray, classes: IntArray) -> None:
        order = np.argsort(classes)
        # Scorers expect the columns in the order of the sorted classes.
        self.scores = scores[:, order]
        self.classes_ = classes[order]

    def predict(self, rows: IntArray) -> Any:
        """Return the class of the largest score."""
        return self.classes_[self.scores[rows].argmax(axis=1)]

    def predict_proba(self, rows: IntArray) -> Any:
        """Return the posteriors at an inverse temperature of 1."""
        return softmax(self.scores[rows], axis=1)

    def decision_function(self, rows: IntArray) -> Any:
        """Return the scores; of two classes their difference."""
        scores = self.scores[rows]
        if scores.shape[1] == 2:
            return scores[:, 1] - scores[:, 0]
        return scores


WeightedScore: TypeAlias = Callable[[FloatArray], float]
"""A score as a function of the weights of the rows."""


def resampled_scorer(
    name: str, n_classes: int
) -> Callable[[KnownScores, IntArray], WeightedScore] | None:
    """Return the quick form of a scorer of scikit-learn, which looks at the scores once; None where there is none."""
    if name == "roc_auc" and n_classes == 2:
        return weighted_area_under_curve
    if name == "neg_log_loss":
        return mean_log_probability
    return None


def mean_log_probability(model: KnownScores, labels: IntArray) -> WeightedScore:
    """Return the mean log probability of the labels as a function of the weights of the rows."""
    rows = np.arange(len(labels))
    columns = np.searchsorted(model.classes_, labels)
    # Clipped as scikit-learn does, so that no logarithm is infinite.
    rounding = float(np.finfo(np.float64).eps)
    logs = np.log(np.clip(model.predict_proba(rows)[rows, columns], rounding, 1.0 - rounding))

    def mean(weights: FloatArray) -> float:
        return float(weights @ logs / weights.sum())

    return mean


def weighted_area_under_curve(model: KnownScores, labels: IntArray) -> WeightedScore:
    """Return the area under the ROC curve of two classes as a function of the weights of the rows.

    The scores are sorted once. The area is the weighted fraction of pairs of a positive and a negative row in which
    the positive one has the higher score; equal scores count half.
    """
    scores = model.decision_function(np.arange(len(labels)))
    levels, level = np.unique(scores, return_inverse=True)
    positive = labels == model.classes_[1]

    def area(weights: FloatArray) -> float:
        above = np.bincount(level[positive], weights[positive], minlength=len(levels))
        below = np.bincount(level[~positive], weights[~positive], minlength=len(levels))
        # Negative weight under each level, half of that at the level itself.
        lower = np.cumsum(below) - 0.5 * below
        return float(above @ lower / (above.sum() * below.sum()))

    return area
