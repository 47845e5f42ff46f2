"""Scorers of scikit-learn that depend on predicted classes alone, computed from the confusions of all models at once.

A confusion holds the weight of every pair of a label and a prediction, so that a resample costs one pass over the
rows, whatever the number of models and whatever is computed from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray

OfConfusions: TypeAlias = Callable[[FloatArray], FloatArray]
"""From confusions of shape (n_models, n_classes, n_classes), labels along the rows, to a score for each model."""

OfMargins: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""From hits, labels and predictions, each of shape (n_models, n_classes), to a score for each model."""

_RATES = ("precision", "recall", "f1", "jaccard")
_AVERAGES = ("binary", "macro", "micro", "weighted")


def scorer_of_confusions(name: str, n_classes: int) -> OfConfusions | None:
    """Return the scorer of this name as a function of confusions; None where there is none.

    ``f1`` is that of the second of two classes, ``f1_macro`` the mean over classes, ``f1_weighted`` that mean with
    the weights of the labels, ``f1_micro`` that of the sums over classes; likewise for precision, recall and the
    Jaccard index. Likelihood ratios are those of the second of two classes.
    """
    if name in _LIKELIHOOD_RATIOS and n_classes == 2:
        return _LIKELIHOOD_RATIOS[name]
    of_margins = scorer_of_margins(name, n_classes)
    if of_margins is None:
        return None

    def of_confusions(confusions: FloatArray) -> FloatArray:
        hits = np.diagonal(confusions, axis1=1, axis2=2)
        return of_margins(hits, confusions.sum(axis=2), confusions.sum(axis=1))

    return of_confusions


def scorer_of_margins(name: str, n_classes: int) -> OfMargins | None:
    """Return the scorer of this name as a function of hits, labels and predictions of each class."""
    if name == "matthews_corrcoef":
        return _matthews_corrcoef
    rate, _, average = name.partition("_")
    if rate not in _RATES or (average or "binary") not in _AVERAGES or average == "binary":
        return None
    if not average and n_classes != 2:
        return None
    return lambda hits, labels, predictions: _averaged(
        hits, labels, predictions, rate, average or "binary"
    )


def _averaged(
    hits: FloatArray, labels: FloatArray, predictions: FloatArray, rate: str, average: str
) -> FloatArray:
    """Return a rate of the classes of each model, averaged."""
    if average == "micro":
        hits = hits.sum(axis=1, keepdims=True)
        labels = labels.sum(axis=1, keepdims=True)
        predictions = predictions.sum(axis=1, keepdims=True)
    if rate == "precision":
        rates = _ratio(hits, predictions)
    elif rate == "recall":
        rates = _ratio(hits, labels)
    elif rate == "f1":
        # One quotient in place of the harmonic mean, which is undefined where both rates are 0.
        rates = _ratio(2.0 * hits, labels + predictions)
    else:
        rates = _ratio(hits, labels + predictions - hits)
    averaged: FloatArray
    if average == "binary":
        averaged = rates[:, 1]
    elif average == "weighted":
        averaged = (rates * labels).sum(axis=1) / labels.sum(axis=1)
    else:
        # Sums over classes are a single column, which this mean leaves as it is.
        averaged = rates.mean(axis=1)
    return averaged


def _ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return the quotient; as in scikit-learn, 0 where there is nothing to divide by."""
    return np.divide(part, whole, out=np.zeros_like(whole), where=whole > 0.0)


def _matthews_corrcoef(hits: FloatArray, labels: FloatArray, predictions: FloatArray) -> FloatArray:
    """Return the correlation of labels and predictions as indicators of all classes; 0 where one side is constant."""
    total = labels.sum(axis=1)
    # Covariance and variances of the indicators, summed over classes, each times the squared total.
    both = hits.sum(axis=1) * total - (labels * predictions).sum(axis=1)
    of_labels = total**2 - (labels**2).sum(axis=1)
    of_predictions = total**2 - (predictions**2).sum(axis=1)
    return _ratio(both, np.sqrt(np.maximum(of_labels * of_predictions, 0.0)))


def _positive_likelihood_ratio(confusions: FloatArray) -> FloatArray:
    """Return how much more often the second class is predicted where it is true; not defined without false ones."""
    rates = confusions[:, :, 1] / confusions.sum(axis=2)
    return _quotient(rates[:, 1], rates[:, 0])


def _negative_likelihood_ratio(confusions: FloatArray) -> FloatArray:
    """Return minus how much more often the first class is predicted where the second is true."""
    rates = confusions[:, :, 0] / confusions.sum(axis=2)
    return -_quotient(rates[:, 1], rates[:, 0])


def _quotient(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return the quotient, NaN where there is nothing to divide by: a perfect model has no finite ratio."""
    return np.divide(part, whole, out=np.full_like(whole, np.nan), where=whole > 0.0)


_LIKELIHOOD_RATIOS = {
    "positive_likelihood_ratio": _positive_likelihood_ratio,
    "neg_negative_likelihood_ratio": _negative_likelihood_ratio,
}


def confusions_of(
    labels: IntArray, predictions: IntArray, n_classes: int
) -> Callable[[FloatArray], FloatArray]:
    """Return the confusions of all models as a function of the weights of the rows.

    ``predictions`` has the shape (n_models, n_samples).
    """
    n_models = len(predictions)
    n_cells = n_classes * n_classes
    # The cell (label, prediction) of each row, those of one model after those of the one before.
    first_cells = n_cells * np.arange(n_models)[:, None]
    cells = (first_cells + n_classes * labels + predictions).ravel()

    def confusions(weights: FloatArray) -> FloatArray:
        counted = np.bincount(
            cells, weights=np.tile(weights, n_models), minlength=n_models * n_cells
        )
        return np.asarray(counted.reshape(n_models, n_classes, n_classes))

    return confusions
