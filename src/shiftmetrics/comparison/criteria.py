"""What to choose a model by, from predicted classes: scores of a confusion, a weighted vote, a chained confusion.

A confusion is a matrix: entry (j, k) is the fraction of samples that one source puts into class j and another into
class k. The sources are labels and predictions, or predictions before and after a shift. Classes are numbered from 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.probabilities import cohen_kappa


def confusion(
    first: IntArray, second: IntArray, shape: int | tuple[int, int], weights: FloatArray
) -> FloatArray:
    """Return the weighted fractions of rows, classes of ``first`` along the rows, of ``second`` along the columns.

    ``shape`` is the number of classes, or the numbers of states of both sides.
    """
    # Counted in one pass, however many classes there are.
    n_first, n_second = (shape, shape) if isinstance(shape, int) else shape
    # The pair of states (j, k) is numbered n_second * j + k.
    cells = np.bincount(first * n_second + second, weights=weights, minlength=n_first * n_second)
    return np.asarray(cells.reshape(n_first, n_second) / cells.sum())


def accuracy(fractions: FloatArray) -> float:
    """Return the fraction of samples on which both sides agree."""
    return float(np.trace(fractions))


def balanced_accuracy(fractions: FloatArray) -> float:
    """Return the mean recall of the classes of the first side."""
    of_class = fractions.sum(axis=1)
    seen = of_class > 0.0
    recall = np.diagonal(fractions)[seen] / of_class[seen]
    return float(recall.mean())


def f1_macro(fractions: FloatArray) -> float:
    """Return the mean of ``2 hits / (rows of the class on one side + on the other)`` over classes on either side."""
    of_class = fractions.sum(axis=0) + fractions.sum(axis=1)
    seen = of_class > 0.0
    f1 = 2.0 * np.diagonal(fractions)[seen] / of_class[seen]
    return float(f1.mean())


def kappa(fractions: FloatArray) -> float:
    """Return Cohen's kappa of a confusion; 0 where one side is constant."""
    by_chance = float(fractions.sum(axis=0) @ fractions.sum(axis=1))
    return cohen_kappa(accuracy(fractions), by_chance) or 0.0


def accuracy_and_f1(fractions: FloatArray) -> float:
    """Return the mean of accuracy and macro F1: frequent classes count, and rare ones too."""
    return (accuracy(fractions) + f1_macro(fractions)) / 2.0


SCORES: dict[str, Callable[[FloatArray], float]] = {
    "accuracy_and_f1": accuracy_and_f1,
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
    "f1_macro": f1_macro,
}
"""Scores of a confusion; all but the first have the names of scorers of scikit-learn."""


def weighted_vote(
    predictions: IntArray, n_classes: int, weights: FloatArray, *, from_kappas: bool = False
) -> tuple[IntArray, FloatArray]:
    """Return the vote of all models in each row, weighted by how far each agrees with the vote of the others.

    The weight of a model is the positive part of its kappa with that vote, squared: a constant model has none, and
    one that guesses next to none. Weights start at 1 (of three models, where two equal votes decide nothing, from the
    mean kappas) and are found in four rounds. This is a one-coin model of annotators (A. Dawid and A. Skene, Applied
    Statistics 28, 1979, doi:10.2307/2346806).

    A heuristic, measured on 24 tasks: started from the mean kappas in place of 1, a camp of models that agree with
    each other, and are wrong together, may capture the vote. Where the two starts choose differently there are two
    camps.

    Parameters
    ----------
    predictions : ndarray of shape (n_models, n_samples)
        Predicted classes, of at least two models.
    n_classes : int
        Number of classes.
    weights : ndarray of shape (n_samples,)
        Weights of the rows.
    from_kappas : bool, default False
        Start from the mean kappa of each model with the others, squared.

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

    trust = np.ones(len(predictions))
    if from_kappas or len(predictions) < 4:
        for model in models:
            others = [other for other in models if other != model]
            kappas = [agreed(predictions[model], predictions[other]) for other in others]
            trust[model] = np.mean(kappas) ** 2
    # Each round: the kappa with the vote of the others, so that none votes for itself.
    for _ in range(4):
        kappas = []
        for model in models:
            vote = vote_of(predictions, n_classes, trust, without=model)
            kappas.append(agreed(predictions[model], vote))
        trust = np.square(kappas)
    return vote_of(predictions, n_classes, trust), trust


def vote_of(
    predictions: IntArray, n_classes: int, trust: FloatArray, *, without: int | None = None
) -> IntArray:
    """Return the class of most trust in each row, the first where they are even; one model may be left out."""
    rows = np.arange(predictions.shape[1])
    tally = np.zeros((len(rows), n_classes))
    for model, classes in enumerate(predictions):
        if model != without:
            tally[rows, classes] += trust[model]
    return np.asarray(tally.argmax(axis=1))


def chained_confusion(labelled: FloatArray, transitions: FloatArray) -> FloatArray:
    """Estimate the confusion of labels and shifted predictions, from labelled rows that were not shifted.

    ``E[y, k] = sum_b P(y | b) transitions[b, k]``: what a state b means is read from the labelled rows, and what it
    changes to from the pairs. A state is a prediction, or a prediction and the third that its confidence is in. The
    estimate holds if, given its state, a prediction changes independently of whether it was right.

    Parameters
    ----------
    labelled : ndarray of shape (n_classes, n_states)
        Confusion of labels and states on the labelled rows.
    transitions : ndarray of shape (n_states, n_classes)
        Confusion of states before and predictions after the shift on the pairs.

    Returns
    -------
    ndarray of shape (n_classes, n_classes)
        Of labels along the rows. A state that no labelled row has means what its prediction means, and a prediction
        that none has what an average row is.
    """
    # P(y | state), where no labelled row has the state: P(y | prediction), else P(y).
    n_classes = transitions.shape[1]
    # The states of one class, by thirds of its confidence, stand side by side.
    by_class = labelled.reshape(n_classes, n_classes, -1).sum(axis=2)
    of_average = labelled.sum(axis=1)[:, None]
    of_prediction = np.repeat(
        _given_columns(by_class, of_average), len(transitions) // n_classes, axis=1
    )
    return np.asarray(_given_columns(labelled, of_prediction) @ transitions)


def _given_columns(fractions: FloatArray, otherwise: FloatArray) -> FloatArray:
    """Return P(row | column), or ``otherwise`` where nothing is in a column."""
    total = fractions.sum(axis=0)
    seen = total > 0.0
    return np.where(seen, fractions / np.where(seen, total, 1.0), otherwise)
