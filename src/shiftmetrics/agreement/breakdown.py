"""The map step of contributions: sums over the four groups of pairs, and mean posteriors of the right rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray, to_float64
from shiftmetrics._core.statistics import Statistic
from shiftmetrics.agreement.scores import ScorePairs

GROUPS = ("right", "wrong", "misled", "changed")
"""By the reference prediction (right or wrong), first where the shift keeps it, then where it changes it."""


@dataclass(frozen=True, eq=False)
class Breakdown(Statistic):
    """Weighted sums over groups of pairs; sides are the shifted and the reference sample, betas that of PA and 1.

    A lack of confidence is 1 minus the posterior of the predicted class, kept as such because it may be tiny.

    Attributes
    ----------
    count, weight, weight_square : ndarray of shape (4,)
        Rows of each group, sums of their weights and of squared weights.
    total : ndarray of shape (4,)
        Sums of the contributions f.
    lack, lack_weighted, lack_square : ndarray of shape (2 betas, 2 sides, 4)
        Sums of w d, w^2 d and w^2 d^2, with d the lack of confidence.
    right : ndarray of shape (2 sides,)
        Weight of the rows predicted right.
    posterior : ndarray of shape (2 betas, 2 sides, n_classes)
        Sums of their posteriors.
    """

    count: FloatArray
    weight: FloatArray
    weight_square: FloatArray
    total: FloatArray
    lack: FloatArray
    lack_weighted: FloatArray
    lack_square: FloatArray
    right: FloatArray
    posterior: FloatArray


def posteriors(block: FloatArray, prior: FloatArray, beta: float) -> FloatArray:
    """Return p ~ prior exp(beta s) for centred scores of any shape (..., n_classes); beta may be infinite."""
    if math.isinf(beta):
        terms = prior * (block == 0.0)
    else:
        with np.errstate(under="ignore"):
            terms = prior * np.exp(beta * block)
    return np.asarray(terms / terms.sum(axis=-1, keepdims=True))


def block_breakdown(
    pairs: ScorePairs, rows: slice, beta: float, labels: IntArray, parts: FloatArray
) -> tuple[Breakdown, IntArray]:
    """Return the sums of a slice of pairs, and the group of each pair.

    ``beta`` is in the units of the scores as given, ``labels`` are columns and ``parts`` the contributions f.
    """
    block = to_float64(pairs.block(rows)[:2, ...])
    weights = np.ones(len(labels)) if pairs.weights is None else pairs.weights[rows]
    prior = pairs.prior[pairs.prior > 0.0]
    top = block.argmax(axis=2)  # ties go to the first class
    predicted = top if pairs.classes is None else pairs.classes[top]
    right = predicted == labels
    group = np.where(predicted[0] == predicted[1], 0, 2) + np.where(right[1], 0, 1)
    member = (group == np.arange(4)[:, None]).astype(np.float64)
    lacks, sums = [], []
    for factor in (beta / pairs.scale, 1.0 / pairs.scale):
        p = posteriors(block, prior, factor)
        sums.append(np.einsum("srk,sr->sk", p, right * weights))
        np.put_along_axis(p, top[:, :, None], 0.0, axis=2)
        lacks.append(p.sum(axis=2))
    lack = np.stack(lacks)  # (betas, sides, rows)
    posterior = np.zeros((2, 2, pairs.n_classes))
    posterior[..., pairs.prior > 0.0] = np.stack(sums)
    breakdown = Breakdown(
        count=member.sum(axis=1),
        weight=member @ weights,
        weight_square=member @ weights**2,
        total=member @ (weights * parts),
        lack=(lack * weights) @ member.T,
        lack_weighted=(lack * weights**2) @ member.T,
        lack_square=(lack**2 * weights**2) @ member.T,
        right=right @ weights,
        posterior=posterior,
    )
    return breakdown, group
