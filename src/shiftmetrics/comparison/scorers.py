"""Known scores as a fitted classifier, which every scorer of scikit-learn takes; its inputs are row numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.comparison.counts import confusions_of, scorer_of_confusions


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

WeightedScores: TypeAlias = Callable[[FloatArray], FloatArray]
"""The scores of all models as a function of the weights of the rows."""


def resampled_scorer(
    name: str, models: Sequence[KnownScores], labels: IntArray
) -> WeightedScores | None:
    """Return the quick form of a scorer of scikit-learn, which looks at scores once; None where there is none.

    All models have the same classes, 0 to their number less one, and each occurs among the labels.
    """
    n_classes = len(models[0].classes_)
    rows = np.arange(len(labels))
    of_confusions = scorer_of_confusions(name, n_classes)
    if of_confusions is not None:
        predictions = np.stack([model.predict(rows) for model in models])
        confusions = confusions_of(labels, predictions, n_classes)
        return lambda weights: of_confusions(confusions(weights))
    if name in _MEANS:
        of_rows = np.stack([_MEANS[name](model, labels) for model in models])
        return lambda weights: np.asarray(of_rows @ weights / weights.sum())
    if n_classes == 2 and name in _RANKINGS:
        scores = [_RANKINGS[name](model, labels) for model in models]
        return lambda weights: np.array([score(weights) for score in scores])
    return None


def log_probabilities(model: KnownScores, labels: IntArray) -> FloatArray:
    """Return the log probability of the label of each row: their mean is ``neg_log_loss``."""
    rows = np.arange(len(labels))
    columns = np.searchsorted(model.classes_, labels)
    # Clipped as scikit-learn does, so that no logarithm is infinite.
    rounding = float(np.finfo(np.float64).eps)
    of_labels = model.predict_proba(rows)[rows, columns]
    return np.asarray(np.log(np.clip(of_labels, rounding, 1.0 - rounding)))


def brier_scores(model: KnownScores, labels: IntArray) -> FloatArray:
    """Return minus the squared error of the probabilities of each row: their mean is ``neg_brier_score``.

    The sum over classes; of two classes half of it, which is the squared error of either.
    """
    probabilities = model.predict_proba(np.arange(len(labels)))
    errors = probabilities - (labels[:, None] == model.classes_)
    squared = (errors**2).sum(axis=1)
    if len(model.classes_) == 2:
        squared = 0.5 * squared
    return np.asarray(-squared)


def weighted_area_under_curve(model: KnownScores, labels: IntArray) -> WeightedScore:
    """Return the area under the ROC curve of two classes as a function of the weights of the rows.

    The scores are sorted once. The area is the weighted fraction of pairs of a positive and a negative row in which
    the positive one has the higher score; equal scores count half.
    """
    scores = model.decision_function(np.arange(len(labels)))
    return _area_of(scores, labels == model.classes_[1])


def area_of_probabilities(model: KnownScores, labels: IntArray) -> WeightedScore:
    """Return the same of the probabilities, some of which may be equal where scores are not.

    Of two classes one against one, one against the rest, and their averages are this area.
    """
    scores = model.predict_proba(np.arange(len(labels)))[:, 1]
    return _area_of(scores, labels == model.classes_[1])


def _area_of(scores: FloatArray, positive: BoolArray) -> WeightedScore:
    """Return the area under the curve as a function of weights."""
    levels, level = np.unique(scores, return_inverse=True)

    def area(weights: FloatArray) -> float:
        above = np.bincount(level[positive], weights[positive], minlength=len(levels))
        below = np.bincount(level[~positive], weights[~positive], minlength=len(levels))
        # Negative weight under each level, half of that at the level itself.
        lower = np.cumsum(below) - 0.5 * below
        return float(above @ lower / (above.sum() * below.sum()))

    return area


def weighted_average_precision(model: KnownScores, labels: IntArray) -> WeightedScore:
    """Return the average precision of two classes as a function of the weights of the rows.

    The scores are sorted once. It is the mean, over the weight of the positive rows, of the precision among the rows
    that score at least as high.
    """
    scores = model.decision_function(np.arange(len(labels)))
    # Levels from the highest score down.
    levels, level = np.unique(-scores, return_inverse=True)
    positive = labels == model.classes_[1]

    def average(weights: FloatArray) -> float:
        hits = np.bincount(level[positive], weights[positive], minlength=len(levels))
        counted = np.bincount(level, weights, minlength=len(levels))
        taken = np.cumsum(counted)
        found = np.cumsum(hits)
        precision = np.divide(found, taken, out=np.zeros_like(found), where=taken > 0.0)
        return float(hits @ precision / hits.sum())

    return average


_MEANS = {"neg_log_loss": log_probabilities, "neg_brier_score": brier_scores}
_RANKINGS = {
    "roc_auc": weighted_area_under_curve,
    "roc_auc_ovo": area_of_probabilities,
    "roc_auc_ovo_weighted": area_of_probabilities,
    "roc_auc_ovr": area_of_probabilities,
    "roc_auc_ovr_weighted": area_of_probabilities,
    "average_precision": weighted_average_precision,
}
