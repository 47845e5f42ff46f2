"""Areas under curves: how the rows of a positive class rank, and what each row adds to the area."""

from __future__ import annotations

import itertools

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.decisions.diff.evidence import area_under_curve
from shiftmetrics.decisions.metrics.sums import RowEffects


def effects_on_area(scores: FloatArray, positive: BoolArray) -> RowEffects:
    """Return the area under the ROC curve and what each row adds.

    The area is the mean over positive and negative rows of 1 where the positive one has the higher score, one half
    where both are equal. A row adds its own mean, less the area, over the fraction of its class: the placement values
    of DeLong, DeLong and Clarke-Pearson (Biometrics 44, 1988).
    """
    n = len(scores)
    area = area_under_curve(scores, positive)
    n_positive = int(positive.sum())
    n_negative = n - n_positive
    below = _fraction_below(scores[~positive], scores[positive])
    above = 1.0 - _fraction_below(scores[positive], scores[~positive])
    # As the jackknife does: a mean over n_positive rows less one of them.
    effects = np.empty(n)
    effects[positive] = (below - area) * ((n - 1.0) / max(n_positive - 1.0, 1.0))
    effects[~positive] = (above - area) * ((n - 1.0) / max(n_negative - 1.0, 1.0))
    return RowEffects(score=area, effects=effects)


def effects_of_one_against_rest(
    probabilities: FloatArray, labels: IntArray, *, is_weighted: bool
) -> RowEffects:
    """Return the mean area of one class against the rest, with the rates of the labels as weights if so asked."""
    n = len(labels)
    n_classes = probabilities.shape[1]
    score = 0.0
    effects = np.zeros(n)
    for code in range(n_classes):
        positive = labels == code
        part = effects_on_area(probabilities[:, code], positive)
        weight = 1.0 / n_classes
        if is_weighted:
            weight = float(positive.mean())
            # The weight of a class rises with its rows.
            effects += part.score * (positive - weight)
        score += weight * part.score
        effects += weight * part.effects
    return RowEffects(score=score, effects=effects)


def effects_of_pairs(
    probabilities: FloatArray, labels: IntArray, *, is_weighted: bool
) -> RowEffects:
    """Return the mean area of one class against another one (Hand and Till, Machine Learning 45, 2001).

    Of two classes, the area is the mean of the rankings by the probability of either; it counts by the rows of both
    if so asked.
    """
    n = len(labels)
    n_classes = probabilities.shape[1]
    pairs = list(itertools.combinations(range(n_classes), 2))
    total = 0.0
    # what a row adds to the sum of the areas, or to that of areas times rows
    added = np.zeros(n)
    for first, second in pairs:
        rows = np.flatnonzero((labels == first) | (labels == second))
        is_first = labels[rows] == first
        of_first = effects_on_area(probabilities[rows, first], is_first)
        of_second = effects_on_area(probabilities[rows, second], ~is_first)
        area = 0.5 * (of_first.score + of_second.score)
        # the effects are times the rows of both less one
        moved = 0.5 * (of_first.effects + of_second.effects)
        if is_weighted:
            total += len(rows) * area
            added[rows] += area + moved
        else:
            total += area
            added[rows] += moved * (n - 1.0) / (len(rows) - 1.0)
    if not is_weighted:
        return RowEffects(score=total / len(pairs), effects=added / len(pairs))
    # Each row stands in as many pairs as there are other classes, so that the weights sum to n times these.
    score = total / (n * (n_classes - 1.0))
    return RowEffects(score=score, effects=added / (n_classes - 1.0) - score)


def reach_of_areas(name: str, counts: IntArray) -> float:
    """Return how far a row of the rarest class moves the mean area, from last to first among the others, times n."""
    n = int(counts.sum())
    n_classes = len(counts)
    rarest = int(counts.min())
    # the class counts by its rate, and by its weight in the mean
    weight = 1.0 / n_classes
    if name == "roc_auc_ovr_weighted":
        weight = rarest / n
    elif name == "roc_auc_ovo":
        weight = 2.0 / n_classes
    elif name == "roc_auc_ovo_weighted":
        weight = ((n_classes - 2.0) * rarest + n) / ((n_classes - 1.0) * n)
    return weight * (n - 1.0) / max(rarest - 1.0, 1.0)


def _fraction_below(of: FloatArray, scores: FloatArray) -> FloatArray:
    """Return which fraction of some scores lies below each of others; equal ones count half."""
    ordered = np.sort(of)
    below = np.searchsorted(ordered, scores, side="left")
    up_to = np.searchsorted(ordered, scores, side="right")
    return np.asarray(0.5 * (below + up_to) / len(of))


def effects_on_average_precision(scores: FloatArray, positive: BoolArray) -> RowEffects:
    """Return the average precision and what each row adds.

    With T(s) positive rows of Q(s) rows that score at least s, the average precision is the mean of T/Q over the
    positive rows. A row of its own score adds to T and Q at all levels up to its score, and one more term if it is
    positive itself.
    """
    n = len(scores)
    levels, level = np.unique(-scores, return_inverse=True)
    level = level.ravel()
    hits = np.bincount(level[positive], minlength=len(levels)).astype(np.float64)
    counts = np.bincount(level, minlength=len(levels)).astype(np.float64)
    found = np.cumsum(hits)
    taken = np.cumsum(counts)
    precision = found / taken
    n_positive = float(hits.sum())
    average = float(hits @ precision) / n_positive
    # d(T/Q) = (y - T/Q) / Q for one row more at or above the level; summed over the positive rows at lower levels.
    first = hits / taken
    second = hits * found / taken**2
    first_below = np.cumsum(first[::-1])[::-1]
    second_below = np.cumsum(second[::-1])[::-1]
    own = np.where(positive, precision[level] - average, 0.0)
    effects = own + np.where(positive, first_below[level], 0.0) - second_below[level]
    return RowEffects(score=average, effects=effects * (n / n_positive))
