"""What to choose a model by, from predicted classes: scores of a confusion, a weighted vote, a chained confusion.

A confusion is the matrix of the shares of rows that are of class j by one source and of class k by another: labels
and predictions, or predictions before and after a shift. Classes are numbered from 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import softmax

from shiftmetrics._core.arrays import FloatArray, IntArray

ROUNDS = 10
"""Rounds in which the vote and what each model's predictions mean are found."""


def confusion(first: Any, second: IntArray, n_classes: int, weights: FloatArray) -> FloatArray:
    """Return the weighted shares of rows, classes of ``first`` along the rows and of ``second`` along the columns.

    ``first`` may tell how likely each class is in each row, as an array of shape (n_samples, n_classes).
    """
    if first.ndim == 2:
        shares = (first * weights[:, None]).T
        cells = np.stack([np.bincount(second, weights=row, minlength=n_classes) for row in shares])
    else:
        cells = np.bincount(first * n_classes + second, weights=weights, minlength=n_classes**2)
    return np.asarray(cells.reshape(n_classes, n_classes) / cells.sum())


def accuracy(shares: FloatArray) -> float:
    """Return the share of rows on which both sides agree."""
    return float(np.trace(shares))


def balanced_accuracy(shares: FloatArray) -> float:
    """Return the mean recall of the classes of the first side."""
    of_class = shares.sum(axis=1)
    seen = of_class > 0.0
    return float(np.mean(np.diagonal(shares)[seen] / of_class[seen]))


def f1_macro(shares: FloatArray) -> float:
    """Return the mean of ``2 hits / (rows of the class on one side + on the other)`` over classes on either side."""
    of_class = shares.sum(axis=0) + shares.sum(axis=1)
    seen = of_class > 0.0
    return float(np.mean(2.0 * np.diagonal(shares)[seen] / of_class[seen]))


def kappa(shares: FloatArray) -> float:
    """Return Cohen's kappa: agreement beyond that of independent draws, as a share of what is possible.

    0 where one side is constant (J. Cohen, Educational and Psychological Measurement 20, 1960,
    doi:10.1177/001316446002000104).
    """
    by_chance = float(shares.sum(axis=0) @ shares.sum(axis=1))
    return (accuracy(shares) - by_chance) / (1.0 - by_chance) if by_chance < 1.0 - 1e-12 else 0.0


def accuracy_and_f1(shares: FloatArray) -> float:
    """Return the mean of accuracy and macro F1: frequent classes count, and rare ones too."""
    return (accuracy(shares) + f1_macro(shares)) / 2.0


SCORES: dict[str, Callable[[FloatArray], float]] = {
    "accuracy_and_f1": accuracy_and_f1,
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
    "f1_macro": f1_macro,
}
"""Scores of a confusion; all but the first have the names of scorers of scikit-learn."""


def weighted_vote(predictions: IntArray, n_classes: int, weights: FloatArray) -> FloatArray:
    """Return how likely each class is in each row, by what all models predict there.

    The model of Dawid and Skene: given the class models predict independently, each with a confusion of its own, so
    that a constant model or one that guesses counts nothing, and one that confuses two classes counts for the others.
    Ten rounds of expectation and maximisation start at the vote weighted by the squared mean of each model's kappas
    with the others. Each confusion gets one row for each class as if it predicted independently of the class.

    Parameters
    ----------
    predictions : ndarray of shape (n_models, n_samples)
        Predicted classes, of at least two models.
    n_classes : int
        Number of classes.
    weights : ndarray of shape (n_samples,)
        Weights of the rows, of mean 1.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        With sum 1 in each row.

    References
    ----------
    A. Dawid and A. Skene, Applied Statistics 28, 1979, doi:10.2307/2346806.
    """
    n = float(weights.sum())
    kappas = [
        [max(0.0, kappa(confusion(row, other, n_classes, weights))) for other in predictions]
        for row in predictions
    ]
    trust = ((np.sum(kappas, axis=1) - np.diagonal(kappas)) / (len(predictions) - 1)) ** 2
    tally = np.zeros((predictions.shape[1], n_classes))
    for row, part in zip(predictions, trust, strict=True):
        tally[np.arange(len(tally)), row] += part
    vote = np.eye(n_classes)[tally.argmax(axis=1)]
    for _ in range(ROUNDS):
        prior = (weights @ vote + 1.0) / (n + n_classes)
        likely = np.tile(np.log(prior), (len(vote), 1))
        for row in predictions:
            counts = n * confusion(vote, row, n_classes, weights)
            by_chance = n_classes * prior[:, None] * (counts.sum(axis=0) + 1.0) / (n + n_classes)
            counts += by_chance
            likely += np.log(counts / counts.sum(axis=1, keepdims=True)).T[row]
        vote = softmax(likely, axis=1)
    return vote


def chained_confusion(labelled: FloatArray, moved: FloatArray) -> FloatArray:
    """Estimate the confusion of labels and shifted predictions, from labelled rows that were not shifted.

    ``E[y, k] = sum_b P(y | b) moved[b, k]``: what a prediction b means is read from the labelled rows, and where it
    goes from the pairs. It holds if a prediction moves independently of whether it was right, given what it was.

    Parameters
    ----------
    labelled : ndarray of shape (n_classes, n_classes)
        Confusion of labels and predictions on the labelled rows.
    moved : ndarray of shape (n_classes, n_classes)
        Confusion of predictions before and after the shift on the pairs.

    Returns
    -------
    ndarray of shape (n_classes, n_classes)
        Of labels along the rows; a prediction that no labelled row has means what an average row is.
    """
    predicted = labelled.sum(axis=0)
    means = np.where(
        predicted > 0.0, labelled / np.where(predicted > 0.0, predicted, 1.0), labelled.sum(axis=1)[:, None]
    )
    return means @ moved
