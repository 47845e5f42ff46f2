"""What to choose a model by, from predicted classes: scores of a confusion, a weighted vote, a chained confusion.

A confusion is the matrix of the shares of rows that are of class j by one source and of class k by another: labels
and predictions, or predictions before and after a shift. Classes are numbered from 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray


def confusion(first: IntArray, second: IntArray, n_classes: int, weights: FloatArray) -> FloatArray:
    """Return the weighted shares of rows, classes of ``first`` along the rows and of ``second`` along the columns."""
    # The pair of classes (j, k) is numbered n_classes * j + k.
    cells = np.bincount(first * n_classes + second, weights=weights, minlength=n_classes**2)
    return np.asarray(cells.reshape(n_classes, n_classes) / cells.sum())


def accuracy(shares: FloatArray) -> float:
    """Return the share of rows on which both sides agree."""
    return float(np.trace(shares))


def balanced_accuracy(shares: FloatArray) -> float:
    """Return the mean recall of the classes of the first side."""
    of_class = shares.sum(axis=1)
    seen = of_class > 0.0
    recall = np.diagonal(shares)[seen] / of_class[seen]
    return float(recall.mean())


def f1_macro(shares: FloatArray) -> float:
    """Return the mean of ``2 hits / (rows of the class on one side + on the other)`` over classes on either side."""
    of_class = shares.sum(axis=0) + shares.sum(axis=1)
    seen = of_class > 0.0
    f1 = 2.0 * np.diagonal(shares)[seen] / of_class[seen]
    return float(f1.mean())


def kappa(shares: FloatArray) -> float:
    """Return Cohen's kappa: agreement beyond that of independent predictions, as a fraction of what is possible.

    0 where one side is constant (J. Cohen, Educational and Psychological Measurement 20, 1960,
    doi:10.1177/001316446002000104).
    """
    # (observed - expected) / (1 - expected)
    by_chance = float(shares.sum(axis=0) @ shares.sum(axis=1))
    if by_chance >= 1.0 - 1e-12:
        return 0.0
    return (accuracy(shares) - by_chance) / (1.0 - by_chance)


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


def weighted_vote(
    predictions: IntArray, n_classes: int, weights: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Return the vote of all models in each row, weighted by how far each agrees with the vote of the others.

    The weight of a model is the positive part of its kappa with that vote, squared: a constant model has none, and
    one that guesses next to none. It is found in four rounds, from the mean of its kappas with each other model. This
    is a one-coin model of annotators (A. Dawid and A. Skene, Applied Statistics 28, 1979, doi:10.2307/2346806).

    Parameters
    ----------
    predictions : ndarray of shape (n_models, n_samples)
        Predicted classes, of at least two models.
    n_classes : int
        Number of classes.
    weights : ndarray of shape (n_samples,)
        Weights of the rows.

    Returns
    -------
    vote : ndarray of shape (n_samples,)
        The first class where they are even.
    trust : ndarray of shape (n_models,)
        The weight of each model.
    """
    models = range(len(predictions))

    def agreed(first: IntArray, second: IntArray) -> float:
        return max(0.0, kappa(confusion(first, second, n_classes, weights)))

    def vote(of: list[int]) -> IntArray:
        tally = np.zeros((predictions.shape[1], n_classes))
        for model in of:
            tally[np.arange(len(tally)), predictions[model]] += trust[model]
        return np.asarray(tally.argmax(axis=1))

    # One model at a time is set against the vote of the others, so that none votes for itself.
    others = [[other for other in models if other != model] for model in models]
    # Start: the mean kappa with each other model.
    trust = np.zeros(len(predictions))
    for model in models:
        kappas = [agreed(predictions[model], predictions[other]) for other in others[model]]
        trust[model] = np.mean(kappas) ** 2
    # Each round: the kappa with the vote of the others, by the trust of the round before.
    for _ in range(4):
        trust = np.array([agreed(predictions[model], vote(others[model])) ** 2 for model in models])
    return vote(list(models)), trust


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
    # P(y | b): the columns of the labelled confusion, each over its sum.
    predicted = labelled.sum(axis=0)
    seen = predicted > 0.0
    of_prediction = labelled / np.where(seen, predicted, 1.0)
    of_average = labelled.sum(axis=1)[:, None]
    return np.where(seen, of_prediction, of_average) @ moved
