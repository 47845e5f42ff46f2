"""A lower bound of the fraction that is new, from scores of all samples that none of them had a part in.

For each of several folds classifiers of the two samples are fitted on the others, and with them a threshold that
promises the largest bound; the samples of the fold are then counted above it. Whatever samples are called members
before they are seen, a fraction a of the test sample and b of the reference, a is at most s + (1 - s) b where a
fraction s is new. So ``1 - (1 - a) / (1 - b)`` is at most s, up to chance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.result import Interval
from shiftmetrics.novelty.modes.ridge import RidgeClassifier

N_FOLDS = 10

RARE = 0.25
"""What is new is at most so many times as frequent in the reference."""

_MOST_FITTED = 4000
"""Samples that a fold's classifiers are fitted on, evenly spaced if there are more."""

_THRESHOLDS = 100


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """What classifiers say of rows that they were not fitted on.

    Attributes
    ----------
    members : ndarray of shape (n_rows,)
        Whether each row is above the threshold of the fold without it.
    scores : ndarray of shape (n_rows,)
        How much like the test sample each row looks, in standard deviations; 0 for rows that are left out.
    """

    members: BoolArray
    scores: FloatArray


def crossfitted(
    fitted: list[tuple[FloatArray, float]],
    labels: BoolArray,
    folds: IntArray,
    weights: FloatArray,
    confidence_level: float,
) -> CrossFitted:
    """Return how new each row looks to the classifiers of the other folds, and whether it is above their threshold.

    Parameters
    ----------
    fitted : list of tuple
        What classifiers are fitted on: coordinates of all rows, and a ridge.
    labels : ndarray of shape (n_rows,)
        Whether each row is of the test sample.
    folds : ndarray of shape (n_rows,)
        The fold of each row; -1 for rows that are left out.
    weights : ndarray of shape (n_rows,)
        Weights of the rows.
    confidence_level : float
        Of the bound that thresholds are chosen for.
    """
    members = np.zeros(len(labels), bool)
    all_scores = np.zeros(len(labels))
    for fold in range(int(folds.max()) + 1):
        inside = folds == fold
        others = np.flatnonzero((folds >= 0) & ~inside)
        others = others[:: len(others) // _MOST_FITTED + 1]
        if not (labels[others].any() and (~labels[others]).any()):
            continue
        # Scores of the fitted rows leave out their own label; those of the fold have none to leave out. The mean
        # of all classifiers bounds as much as the best of them would, which chance would choose too.
        known = np.zeros(len(others))
        applied = np.zeros(int(inside.sum()))
        for values, ridge in fitted:
            # A ridge is set for all rows; what it is added to grows with their number.
            part = ridge * len(others) / len(labels)
            classifier = RidgeClassifier(values[others], weights[others], part)
            scores = classifier.scores(labels[None, others])[0]
            scale = scores.std() + 1e-300
            known += scores / scale
            coefficients = classifier.coefficients(labels[None, others])[0]
            applied += values[inside] @ coefficients / scale
        threshold = _best_threshold(known, labels[others], weights[others], confidence_level)
        members[inside] = applied > threshold
        all_scores[inside] = applied
    return CrossFitted(members, all_scores)


def lower_bound(
    a: FloatArray, b: FloatArray, n: float, m: float, confidence_level: float
) -> FloatArray:
    """Return the lower bound of the fraction that is new, from fractions of n and m samples that are members.

    The ratio of the samples outside has a log-normal interval (D. Katz et al., Biometrics 34, 1978).
    """
    from scipy.special import ndtri

    # With s new, 1 - a = (1 - s)(1 - b) at most, so that 1 - s is at least the ratio of those outside.
    outside = ((1.0 - a) * n + 0.5) / (n + 0.5)
    other = ((1.0 - b) * m + 0.5) / (m + 0.5)
    variance = (1.0 - outside) / (outside * n)
    variance += (1.0 - other) / (other * m)
    most = outside / other * np.exp(ndtri(confidence_level) * np.sqrt(variance))
    return np.asarray(1.0 - most)


def fraction_interval(a: float, b: float, n: float, m: float, confidence_level: float) -> Interval:
    """Return the interval of the fraction that is new: a lower bound, and 1."""
    low = 0.0
    if math.isfinite(a) and math.isfinite(b):
        bound = lower_bound(np.asarray(a), np.asarray(b), n, m, confidence_level)
        low = float(bound)
    return Interval(
        low=max(low, 0.0),
        high=1.0,
        confidence_level=confidence_level,
        method="cross-fitted scores, lower bound",
    )


def _best_threshold(
    scores: FloatArray, labels: BoolArray, weights: FloatArray, confidence_level: float
) -> float:
    """Return the threshold of the scores that gives the largest bound; infinite where none gives any."""
    # Quantiles of the test sample's scores: a threshold between two of them calls the same samples members.
    thresholds = np.quantile(scores[labels], np.linspace(0.0, 1.0, _THRESHOLDS, endpoint=False))
    fractions = []
    sizes = []
    for side in (labels, ~labels):
        above = scores[side][:, None] > thresholds
        fractions.append(weights[side] @ above / weights[side].sum())
        sizes.append(float(side.sum()))
    bounds = lower_bound(fractions[0], fractions[1], sizes[0], sizes[1], confidence_level)
    # What is frequent in the reference is not new, however much more of it the sample has.
    bounds[fractions[1] > RARE * fractions[0]] = -np.inf
    best = int(np.argmax(bounds))
    return float(thresholds[best]) if bounds[best] > 0.0 else math.inf
