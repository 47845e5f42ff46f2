"""Known scores as a fitted classifier, which every scorer of scikit-learn takes; its inputs are row numbers."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics.comparison.areas import ScoreLevels
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


WeightedScores: TypeAlias = Callable[[FloatArray], FloatArray]
"""The scores of all models as a function of the weights of the rows."""

_MEASURES_SOMETHING_ELSE = re.compile(r"sklearn\.metrics\.(_regression|cluster)\b")
"""Modules of scikit-learn whose scores take predictions as numbers, or as groups without names."""


def scorer_of_classes(name: str) -> Any:
    """Return the scorer of scikit-learn of this name.

    Raises
    ------
    ValueError
        If there is none, or it is no score of predicted classes. One of numbers would take the numbers of the classes
        for numbers, which say nothing.
    """
    from sklearn.metrics import get_scorer

    try:
        scorer = get_scorer(name)
    except ValueError as error:
        expected = "a criterion of compare_agreement, or the name of a scorer of scikit-learn"
        raise ArgumentValueError("criterion", expected, value=name) from error
    module = str(getattr(scorer._score_func, "__module__", ""))
    if _MEASURES_SOMETHING_ELSE.match(module):
        remedy = "Compare predicted numbers with compare_regressions."
        raise ArgumentValueError("criterion", "a score of predicted classes", repr(name), remedy)
    return scorer


def asked_scorer(name: str, models: Sequence[KnownScores], labels: IntArray) -> WeightedScores:
    """Return a scorer without a quick form, which is asked once for each model.

    Raises
    ------
    ValueError
        If it knows no weights of rows; and later, if it is not defined for these classes.
    """
    scorer = scorer_of_classes(name)
    if "sample_weight" not in inspect.signature(scorer._score_func).parameters:
        expected = "a scorer that takes weights of rows, or one of two classes"
        raise ArgumentValueError("criterion", expected, value=name)
    # The "inputs" of the scorer are row numbers, by which the classifier looks its scores up.
    rows = np.arange(len(labels))

    def scores(weights: FloatArray) -> FloatArray:
        try:
            return np.array(
                [scorer(model, rows, labels, sample_weight=weights) for model in models]
            )
        except ValueError as error:
            expected = "a scorer for these classes and labels"
            raise ArgumentValueError(
                "criterion", expected, f"{name!r}: {str(error).rstrip('.')}"
            ) from error

    return scores


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
    if name in _EXPLAINED:
        of_row, of_fractions = _EXPLAINED[name]
        of_rows = np.stack([of_row(model, labels) for model in models])
        return _explained(of_rows, of_fractions, labels)
    if name in _AREAS or (name == "roc_auc" and n_classes == 2):
        return _areas(name, models, labels)
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
    squared = _squared_errors(model, labels)
    if len(model.classes_) == 2:
        squared = 0.5 * squared
    return -squared


def _squared_errors(model: KnownScores, labels: IntArray) -> FloatArray:
    """Return the squared error of the probabilities of each row, summed over classes."""
    probabilities = model.predict_proba(np.arange(len(labels)))
    errors = probabilities - (labels[:, None] == model.classes_)
    return np.asarray((errors**2).sum(axis=1))


def _among_first_two(model: KnownScores, labels: IntArray) -> FloatArray:
    """Return 1 for each row whose label has one of the two largest scores: their mean is ``top_k_accuracy``.

    Of equal scores the later class counts as the larger, as in scikit-learn.
    """
    own = np.searchsorted(model.classes_, labels)[:, None]
    scores = model.scores
    of_label = np.take_along_axis(scores, own, axis=1)
    later = np.arange(scores.shape[1]) > own
    larger = (scores > of_label) | ((scores == of_label) & later)
    return np.asarray(larger.sum(axis=1) < 2, dtype=np.float64)


def _negative_log_probabilities(model: KnownScores, labels: IntArray) -> FloatArray:
    return -log_probabilities(model, labels)


def _entropy(fractions: FloatArray) -> float:
    """Return the log loss of always predicting these fractions, on rows that have them."""
    positive = fractions[fractions > 0.0]
    return float(-(positive * np.log(positive)).sum())


def _gini(fractions: FloatArray) -> float:
    """Return the squared error of always predicting these fractions, on rows that have them."""
    return float(1.0 - (fractions**2).sum())


def _explained(
    of_rows: FloatArray, of_fractions: Callable[[FloatArray], float], labels: IntArray
) -> WeightedScores:
    """Return which fraction of the loss of the best constant prediction each model saves: a D^2 score."""

    def saved(weights: FloatArray) -> FloatArray:
        fractions = np.bincount(labels, weights) / weights.sum()
        return np.asarray(1.0 - of_rows @ weights / weights.sum() / of_fractions(fractions))

    return saved


def _areas(name: str, models: Sequence[KnownScores], labels: IntArray) -> WeightedScores:
    """Return the area under a curve of each model: of two classes that of the second, of more an average."""
    curve, _, average = name.partition("_auc_")
    rows = np.arange(len(labels))
    columns = []
    for model in models:
        # Names with an average, such as roc_auc_ovr, are scorers of probabilities in scikit-learn.
        of_rows = model.predict_proba(rows) if average else model.scores
        if len(model.classes_) == 2:
            # Margins order rows like probabilities, but some of these are equal where margins are not.
            second = of_rows[:, 1] if average else model.decision_function(rows)
            columns.append((rows, second, labels == 1))
            continue
        for one in range(len(model.classes_)):
            # Each class against all others together, or against each of them.
            others = [labels != one]
            if average.startswith("ovo"):
                others = [labels == other for other in range(len(model.classes_)) if other != one]
            for against in others:
                chosen = np.flatnonzero((labels == one) | against)
                columns.append((chosen, of_rows[chosen, one], labels[chosen] == one))
    levels = ScoreLevels(columns)
    area = levels.average_precision if curve == "average_precision" else levels.area_under_roc

    def averages(weights: FloatArray) -> FloatArray:
        areas = area(weights).reshape(len(models), -1)
        share = np.ones_like(areas)
        if average.endswith("_weighted"):
            # By the weight of the class, or of both classes of a pair.
            positive, negative = levels.totals(weights)
            total = positive + negative if average.startswith("ovo") else positive
            share = total.reshape(areas.shape)
        return np.asarray((share * areas).sum(axis=1) / share.sum(axis=1))

    return averages


_MEANS = {
    "neg_log_loss": log_probabilities,
    "neg_brier_score": brier_scores,
    "top_k_accuracy": _among_first_two,
}
_EXPLAINED = {
    "d2_log_loss_score": (_negative_log_probabilities, _entropy),
    "d2_brier_score": (_squared_errors, _gini),
}
_AREAS = (
    "average_precision",
    "roc_auc_ovo",
    "roc_auc_ovo_weighted",
    "roc_auc_ovr",
    "roc_auc_ovr_weighted",
)
