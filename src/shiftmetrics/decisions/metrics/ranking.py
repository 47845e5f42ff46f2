"""Areas under curves: how the rows of a positive class rank, and what each row adds to the area."""

from __future__ import annotations

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray
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
