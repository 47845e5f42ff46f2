"""Metrics that are functions of sums over rows, and what each row adds to them by the jackknife.

A confusion, a mean loss, an R2: each is a short function of sums of a few features of the rows. Leaving out a row
subtracts its features, so that all jackknife values of a metric take one call on as many sums as there are distinct
rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics.comparison.counts import scorer_of_margins

OfSums: TypeAlias = Callable[[FloatArray], FloatArray]
"""From sums of shape (n_sums, n_features) to a score for each."""

MOST_ENTRIES = 4_000_000
"""Entries of sums that are held at once."""

ROUNDING = 1e-12
"""Effects that are smaller, beside the score, are those of rounding."""


@dataclass(frozen=True, eq=False, kw_only=True)
class RowEffects:
    """What each row adds to the metric of one model.

    Attributes
    ----------
    score : float
        The metric.
    effects : ndarray of shape (n_samples,)
        How much the metric is above that without the row, times n - 1: their mean is almost 0, and the metric with a
        row more or less follows from them.
    """

    score: float
    effects: FloatArray


@dataclass(frozen=True, eq=False)
class MarginRows:
    """Hits, labels and predictions of each class that single rows add; of many classes a block of rows at a time.

    Attributes
    ----------
    labels, answers : ndarray of int of shape (n_rows,)
    n_classes : int
    """

    labels: IntArray
    answers: IntArray
    n_classes: int

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, block: slice) -> FloatArray:
        return margin_features(self.labels[block], self.answers[block], self.n_classes)

    def total(self, counts: FloatArray) -> FloatArray:
        """Return the sums over rows that stand so many times."""
        parts = (
            (self.labels, counts * (self.labels == self.answers)),
            (self.labels, counts),
            (self.answers, counts),
        )
        sums = [
            np.bincount(codes, weights=weights, minlength=self.n_classes)
            for codes, weights in parts
        ]
        return np.concatenate(sums)


Features: TypeAlias = FloatArray | MarginRows
"""What rows add to the sums, of shape (n_rows, n_features)."""


def _total(features: Features, kinds: IntArray) -> FloatArray:
    counts = np.bincount(kinds, minlength=len(features)).astype(np.float64)
    if isinstance(features, MarginRows):
        return features.total(counts)
    return np.asarray(counts @ features)


def effects_of_sums(of_sums: OfSums, features: Features, kinds: IntArray) -> RowEffects:
    """Return the jackknife of a metric.

    Parameters
    ----------
    of_sums : callable
        The metric.
    features : ndarray of shape (n_kinds, n_features), or MarginRows
        What a row of each kind adds to the sums.
    kinds : ndarray of int of shape (n_samples,)
        The kind of each row.
    """
    total = _total(features, kinds)
    score = float(of_sums(total[None])[0])
    without = _scores_beside(of_sums, total, features, -1.0)
    effects = (len(kinds) - 1.0) * (score - without)
    # Rows of equal losses move no mean. What rounding leaves of them must not pass for a reach, which would make an
    # interval of almost no width, nor for rows that cost. The difference of two scores is exact to eps, times n - 1.
    rounding = max(ROUNDING, 4.0 * len(kinds) * np.finfo(np.float64).eps) * abs(score)
    effects[np.abs(effects) <= rounding] = 0.0
    return RowEffects(score=score, effects=effects[kinds])


def added_effects(
    of_sums: OfSums, features: Features, kinds: IntArray, more: Features
) -> FloatArray:
    """Return by how much the metric rises with one more row of each kind in ``more``, times n + 1."""
    total = _total(features, kinds)
    score = float(of_sums(total[None])[0])
    return (len(kinds) + 1.0) * (_scores_beside(of_sums, total, more, 1.0) - score)


def _scores_beside(of_sums: OfSums, total: FloatArray, steps: Features, sign: float) -> FloatArray:
    """Return the metric of the total with, or without, each row, in blocks."""
    n_rows = max(1, MOST_ENTRIES // len(total))
    scores = np.empty(len(steps))
    for start in range(0, len(steps), n_rows):
        block = slice(start, start + n_rows)
        scores[block] = of_sums(total + sign * steps[block])
    return scores


def margin_features(labels: IntArray, answers: IntArray, n_classes: int) -> FloatArray:
    """Return hits, labels and predictions of each class that single rows add."""
    rows = np.arange(len(labels))
    features = np.zeros((len(labels), 3 * n_classes))
    features[rows, labels] = labels == answers
    features[rows, n_classes + labels] = 1.0
    features[rows, 2 * n_classes + answers] = 1.0
    return features


def margins_metric(name: str, n_classes: int) -> OfSums | None:
    """Return a metric of answers as a function of hits, labels and predictions; None where there is none."""
    # Labels and predictions each sum to n, so that the sum of both is halved.
    if name == "accuracy":
        return lambda sums: sums[:, :n_classes].sum(axis=1) / sums[:, n_classes:].sum(axis=1) * 2.0
    if name == "balanced_accuracy":
        return lambda sums: _balanced_accuracy(sums, n_classes)
    of_margins = scorer_of_margins(name, n_classes)
    if of_margins is None:
        return None
    return lambda sums: of_margins(
        sums[:, :n_classes], sums[:, n_classes : 2 * n_classes], sums[:, 2 * n_classes :]
    )


def _balanced_accuracy(sums: FloatArray, n_classes: int) -> FloatArray:
    """Return the mean recall of the classes that have a label."""
    hits = sums[:, :n_classes]
    labels = sums[:, n_classes : 2 * n_classes]
    there = labels > 0.0
    recalls = np.divide(hits, labels, out=np.zeros_like(hits), where=there)
    return np.asarray(recalls.sum(axis=1) / there.sum(axis=1))


def grade_features(labels: FloatArray, answers: FloatArray) -> FloatArray:
    """Return the moments of grades that single rows add."""
    ones = np.ones(len(labels))
    return np.stack([ones, labels, labels**2, answers, answers**2, labels * answers], axis=1)


def quadratic_kappa(sums: FloatArray) -> FloatArray:
    """Return Cohen's kappa with squared distances of grades: 0 where both are one and the same constant."""
    n, of_labels, of_labels_2, of_answers, of_answers_2, products = sums.T
    seen = of_labels_2 + of_answers_2 - 2.0 * products
    # by chance: sum_ij n_i m_j (i - j)^2 / n
    chance = of_labels_2 + of_answers_2 - 2.0 * of_labels * of_answers / n
    # Rounding leaves a little of a chance that is 0.
    ratio = np.divide(seen, chance, out=np.ones_like(seen), where=chance > 1e-9 * n)
    return np.asarray(1.0 - ratio)


def mean_score(sums: FloatArray) -> FloatArray:
    """Return a mean; features are 1 and the score of the row."""
    return np.asarray(sums[:, 1] / sums[:, 0])


def minus_root_mean(sums: FloatArray) -> FloatArray:
    """Return minus the root of a mean; features are 1 and the squared error of the row."""
    return np.asarray(-np.sqrt(np.maximum(sums[:, 1], 0.0) / sums[:, 0]))


def coefficient_of_determination(sums: FloatArray) -> FloatArray:
    """Return R2; features are 1, the squared error, the centred true value and its square."""
    n, errors, values, squares = sums.T
    # Sums of squares about the mean. The values were centred before, so that little is lost here.
    spread = squares - values**2 / n
    ratio = np.divide(errors, spread, out=np.full_like(errors, np.nan), where=spread > 0.0)
    return np.asarray(1.0 - ratio)


def explained_variance(sums: FloatArray) -> FloatArray:
    """Return the explained variance; features are 1, the error, its square, the centred true value and its square."""
    n, errors, squared_errors, values, squares = sums.T
    return _explained(squared_errors - errors**2 / n, squares - values**2 / n)


def explained_error(sums: FloatArray) -> FloatArray:
    """Return which part of the error of a constant is explained; features are the errors of model and constant."""
    return _explained(sums[:, 0], sums[:, 1])


def explained_log_loss(sums: FloatArray) -> FloatArray:
    """Return which part of the log loss of the labels' rates is explained; features are the loss and the label."""
    counts = sums[:, 1:]
    n = counts.sum(axis=1, keepdims=True)
    logs = np.log(np.divide(counts, n, out=np.ones_like(counts), where=counts > 0.0))
    return _explained(sums[:, 0], -(counts * logs).sum(axis=1))


def explained_brier_score(sums: FloatArray) -> FloatArray:
    """Return which part of the Brier score of the labels' rates is explained; features are the loss and the label."""
    counts = sums[:, 1:]
    n = counts.sum(axis=1)
    # Of the rates r_k = n_k / n: the sum over rows of sum_k (r_k - y_k)^2.
    of_rates = n - (counts**2).sum(axis=1) / n
    if counts.shape[1] == 2:
        of_rates = 0.5 * of_rates
    return _explained(sums[:, 0], of_rates)


def _explained(errors: FloatArray, of_constant: FloatArray) -> FloatArray:
    ratio = np.divide(
        errors, of_constant, out=np.full_like(errors, np.nan), where=of_constant > 0.0
    )
    return np.asarray(1.0 - ratio)
