"""The greatest agreement of every resample at once, from cubics between a few betas that all of them share.

The agreement of a resample as a function of beta is known by its value and slope at some betas. Between two of them
it is taken for the cubic that has both values and both slopes. Betas are added where the maximum of any resample lies
between two that are too far apart, and beyond the last one.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.maximum import Maximum

Sums = Callable[[FloatArray], tuple[FloatArray, FloatArray]]

NEAR = 1.2
"""Largest ratio of the two betas around a maximum: the cubic between them errs by about 1e-6 nats."""

MAX_ROUNDS = 12
"""Times that betas are added; two or three suffice unless single pairs decide everything."""

ATOL = 1e-7
"""Agreement, in nats per sample, below which it does not matter where its beta is."""


def first_betas(best: Maximum) -> FloatArray:
    """Return the betas of the solve, and some around its solution in place of those nearby."""
    points = best.points[best.points > 0.0]
    if not (0.0 < best.x < math.inf):
        return points
    around = best.x * NEAR ** np.arange(-4.0, 5.0)
    return np.sort(np.concatenate([around, points[(points < around[0]) | (points > around[-1])]]))


def maxima_of_cubics(sums: Sums, betas: FloatArray, at_limit: FloatArray) -> FloatArray:
    """Return the greatest agreement of each resample, over all betas and the limit of infinite beta.

    Parameters
    ----------
    sums : callable
        Maps betas to the means of f and of its slopes in each resample, two arrays of shape (n_resamples, n_betas).
    betas : ndarray of shape (n_betas,)
        Where to start, in increasing order.
    at_limit : ndarray of shape (n_resamples,)
        The agreement towards infinite beta.
    """
    if not betas.size:  # one class, or scores that never differ: nothing to agree on
        return np.zeros(len(at_limit))
    # Betas are added until the maximum of every resample lies between two that are close.
    values, slopes = sums(betas)
    for _ in range(MAX_ROUNDS):
        best, left, right = _piecewise_maximum(betas, values, slopes)
        more = _missing_betas(betas, best, left, right, at_limit)
        if not more.size:
            break
        new_values, new_slopes = sums(more)
        betas = np.concatenate([betas, more])
        order = np.argsort(betas)
        betas = betas[order]
        values = np.concatenate([values, new_values], axis=1)[:, order]
        slopes = np.concatenate([slopes, new_slopes], axis=1)[:, order]
    best, _, _ = _piecewise_maximum(betas, values, slopes)
    return np.maximum(best, at_limit)


def _missing_betas(
    betas: FloatArray, best: FloatArray, left: FloatArray, right: FloatArray, at_limit: FloatArray
) -> FloatArray:
    """Return betas between those around a maximum that are far apart, and beyond the last one."""
    # Resamples that hardly agree, or agree most towards infinity, need no beta near their maximum.
    counts = (best > ATOL) & (best > at_limit)
    # Beyond the last beta, below the first one, or inside a gap.
    more: list[float] = []
    for low, high in sorted(set(zip(left[counts], right[counts], strict=True))):
        if math.isinf(high):
            more.extend(low * 2.0 ** np.arange(1.0, 4.0))
        elif low == 0.0:
            more.extend(high * 2.0 ** -np.arange(1.0, 4.0))
        # Pieces that were cut to this ratio may exceed it by rounding: the margin keeps them from being cut again.
        elif high > 1.01 * NEAR * low:
            pieces = math.ceil(math.log(high / low) / math.log(NEAR))
            more.extend(low * (high / low) ** (np.arange(1, pieces) / pieces))
    found = np.asarray(more)
    return found[(found < 1e300) & ~np.isin(found, betas)]


def _piecewise_maximum(
    betas: FloatArray, values: FloatArray, slopes: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Maximise the cubics between betas, and 0, resample by resample.

    Returns the maximum, and the evaluated betas to its left and right (infinity beyond the last).
    """
    x = np.concatenate([[0.0], betas])
    zero = np.zeros((len(values), 1))  # at beta = 0 both the agreement and its slope vanish
    values = np.concatenate([zero, values], axis=1)
    slopes = np.concatenate([zero, slopes], axis=1)
    # On each piece the cubic is rise t + square t^2 + cube t^3, t from 0 to 1.
    width = np.diff(x)
    step = np.diff(values, axis=1)
    rise = slopes[:, :-1] * width
    fall = slopes[:, 1:] * width
    square = 3.0 * step - 2.0 * rise - fall
    cube = rise + fall - 2.0 * step
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # Of both roots of the slope rise + 2 square t + 3 cube t^2 the one at which the cubic turns down, in the
        # form that also holds where cube is 0. No root, or none inside, leaves the ends of the piece.
        t = rise / (np.sqrt(square**2 - 3.0 * cube * rise) - square)
        inside = np.where(
            (t > 0.0) & (t < 1.0), values[:, :-1] + t * (rise + t * (square + t * cube)), -math.inf
        )
    # The highest vertex inside a piece, or the highest node.
    rows = np.arange(len(values))
    piece = inside.argmax(axis=1)
    node = values.argmax(axis=1)
    peak = inside[rows, piece]
    top = values[rows, node]
    smooth = peak > top
    # A maximum at a node has no curvature to tell its side: the slope does.
    side = np.where(slopes[rows, node] > 0.0, node, np.maximum(node - 1, 0))
    piece = np.where(smooth, piece, side)
    left, right = x[piece], np.append(x[1:], math.inf)[piece]
    return np.where(smooth, peak, top), left, right
