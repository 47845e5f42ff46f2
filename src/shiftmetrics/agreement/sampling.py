"""Sampling intervals of posterior agreement: bootstrap where pairs disagree, exact binomial where none does.

Beta is found anew in each draw, from sums at a few common betas. Every pair's contribution and slope are taken at the
betas that the certified solve visited and at some around its solution. The sums of each draw are then one matrix
product; between two betas they follow a cubic. Where the maxima of draws fall into a wide gap, or beyond the last
beta, betas are added and the same draws summed again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Executor

import numpy as np

from shiftmetrics._core.arrays import FloatArray, to_float64
from shiftmetrics._core.blocks import map_blocks
from shiftmetrics._core.confidence import BiasCorrected, binomial_interval
from shiftmetrics._core.maximum import Maximum
from shiftmetrics._core.numerics import posteriors
from shiftmetrics._core.options import Resampling
from shiftmetrics._core.resampling import Draws, Units, resampled_sums
from shiftmetrics._core.result import Interval
from shiftmetrics.agreement.channel import prior_channel_capacity
from shiftmetrics.agreement.scores import ScorePairs
from shiftmetrics.agreement.statistic import AgreementLimits, block_agreement, row_agreement

Sums = Callable[[FloatArray], tuple[FloatArray, FloatArray]]

NEAR = 1.2
"""Largest ratio of the two betas around a maximum: the cubic between them errs by about 1e-6 nats."""

MAX_ROUNDS = 12
"""Times that betas are added; two or three suffice unless single pairs decide everything."""

ATOL = 1e-7
"""Agreement, in nats per sample, below which it does not matter where its beta is."""


def sample_agreement(
    pairs: ScorePairs,
    limits: AgreementLimits,
    best: Maximum,
    *,
    value: float,
    resampling: Resampling,
    predicted: bool = False,
    executor: Executor | None = None,
) -> tuple[Interval, FloatArray]:
    """Resample the pairs, or groups of pairs; return the interval and the agreement in each draw.

    Where every pair shares a predicted class all draws agree alike, which says nothing about contradictions that
    were not drawn: there the number of units limits the share of contradictions that can have been missed.
    """
    units = Units.of(resampling.groups, pairs.n_samples)
    bootstrap = Draws(units.n_units, resampling.n_draws, resampling.rng)
    values, influence = draw_agreement(pairs, best, bootstrap, units, predicted=predicted, executor=executor)
    if math.isinf(best.x):
        return unseen_contradictions(pairs, limits, units, value, resampling.level), values
    # At beta = 0 no pair has any influence: the shares of the draws are read as they are.
    center = value if value > 0.0 else float(np.median(values))
    low, high = BiasCorrected.of(center, values, influence).interval(resampling.level)
    what = "pairs" if units.codes is None else "groups"
    method = f"bias-corrected bootstrap of {units.n_units} {what}, {resampling.n_draws} draws"
    low = 0.0 if value <= 0.0 else low
    return Interval(low=low, high=high, level=resampling.level, method=method), values


def unseen_contradictions(
    pairs: ScorePairs, limits: AgreementLimits, units: Units, value: float, level: float
) -> Interval:
    """Bound the agreement below by the channel whose error none of the units would have shown."""
    weights = units.sums(np.ones(pairs.n_samples) if pairs.weights is None else pairs.weights)
    effective = float(weights.sum() ** 2 / (weights**2).sum())
    # Agreement cannot be underestimated here, so all of the error probability lies on one side.
    _, error = binomial_interval(0.0, effective, level, one_sided=True)
    shares = limits.predicted / limits.predicted.sum()
    used = pairs.prior > 0.0
    low = prior_channel_capacity(error, shares[used], pairs.prior[used])
    whole = prior_channel_capacity(0.0, shares[used], pairs.prior[used])
    what = "pairs" if units.codes is None else "groups"
    return Interval(
        low=min(value, value * low / whole) if whole > 0.0 else value,
        high=value,
        level=level,
        method=f"exact binomial through the channel identity, {effective:.6g} {what} without a contradiction",
    )


def draw_agreement(
    pairs: ScorePairs,
    best: Maximum,
    draws: Draws,
    units: Units,
    *,
    predicted: bool = False,
    executor: Executor | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Solve each draw; return its agreement in nats, and what the weight of each unit adds to the value.

    Parameters
    ----------
    pairs, best : ScorePairs, Maximum
        The pairs, as `survey` returns them, and their solution.
    draws, units : Draws, Units
        What is drawn.
    predicted : bool, default False
        Whether the prior was estimated from these pairs: its own sampling error then counts, to first order.
    executor : concurrent.futures.Executor, optional
        Threads that work on blocks.
    """
    n_samples = pairs.n_samples
    weights = np.ones(n_samples) if pairs.weights is None else pairs.weights
    limits = row_agreement(pairs, math.inf, executor=executor)
    disagrees = np.isneginf(limits)
    moved = _prior_influence(pairs, best.x, executor) if predicted else np.zeros(n_samples)
    fixed = weights * np.stack([np.ones(n_samples), disagrees, np.where(disagrees, 0.0, limits), moved])
    totals = resampled_sums(lambda rows: fixed[:, rows].T, draws, units, executor=executor)
    weight = np.maximum(totals[:, :1], 1e-300)
    disagreeing, limit, shift = totals[:, 1:].T

    def sums(betas: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return agreement and slope of each draw at ``betas``, each of shape (n_resamples, n_betas)."""

        def columns(rows: slice) -> FloatArray:
            return (np.concatenate(block_agreement(pairs, rows, list(betas))) * weights[rows]).T

        both = resampled_sums(columns, draws, units, executor=executor) / weight
        return both[:, : len(betas)], both[:, len(betas) :]

    at_limit = np.where(disagreeing > 0.0, -math.inf, limit / weight[:, 0])
    values = _maximise(sums, _first_betas(best), at_limit)
    mean_shift = float(np.mean(weights * moved))
    values = np.where(values > 0.0, np.maximum(values + shift / weight[:, 0] - mean_shift, 0.0), values)
    own = limits if math.isinf(best.x) else row_agreement(pairs, best.x, executor=executor)
    per_pair = weights * (own + moved - best.value - mean_shift)
    return values, units.sums(per_pair)


def _first_betas(best: Maximum) -> FloatArray:
    """Return the betas of the solve, and some around its solution in place of those nearby."""
    points = best.points[best.points > 0.0]
    if not (0.0 < best.x < math.inf):
        return points
    around = best.x * NEAR ** np.arange(-4.0, 5.0)
    return np.sort(np.concatenate([around, points[(points < around[0]) | (points > around[-1])]]))


def _maximise(sums: Sums, betas: FloatArray, at_limit: FloatArray) -> FloatArray:
    if not betas.size:  # one class, or scores that never differ: nothing to agree on
        return np.zeros(len(at_limit))
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
    counts = (best > ATOL) & (best > at_limit)
    more: list[float] = []
    for low, high in sorted(set(zip(left[counts], right[counts], strict=True))):
        if math.isinf(high):
            more.extend(low * 2.0 ** np.arange(1.0, 4.0))
        elif low == 0.0:
            more.extend(high * 2.0 ** -np.arange(1.0, 4.0))
        elif high > 1.01 * NEAR * low:
            pieces = math.ceil(math.log(high / low) / math.log(NEAR))
            more.extend(low * (high / low) ** (np.arange(1, pieces) / pieces))
    found = np.asarray(more)
    return found[(found < 1e300) & ~np.isin(found, betas)]


def _piecewise_maximum(
    betas: FloatArray, values: FloatArray, slopes: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Maximise the cubics between betas, and 0, draw by draw.

    Returns the maximum, and the evaluated betas to its left and right (infinity beyond the last).
    """
    x = np.concatenate([[0.0], betas])
    zero = np.zeros((len(values), 1))  # at beta = 0 both the agreement and its slope vanish
    values, slopes = np.concatenate([zero, values], axis=1), np.concatenate([zero, slopes], axis=1)
    width, step = np.diff(x), np.diff(values, axis=1)
    rise, fall = slopes[:, :-1] * width, slopes[:, 1:] * width
    square, cube = 3.0 * step - 2.0 * rise - fall, rise + fall - 2.0 * step
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        t = rise / (np.sqrt(square**2 - 3.0 * cube * rise) - square)
        inside = np.where(
            (t > 0.0) & (t < 1.0), values[:, :-1] + t * (rise + t * (square + t * cube)), -math.inf
        )
    rows = np.arange(len(values))
    piece, node = inside.argmax(axis=1), values.argmax(axis=1)
    peak, top = inside[rows, piece], values[rows, node]
    smooth = peak > top
    # A maximum at a node has no curvature to tell its side: the slope does.
    side = np.where(slopes[rows, node] > 0.0, node, np.maximum(node - 1, 0))
    piece = np.where(smooth, piece, side)
    left, right = x[piece], np.append(x[1:], math.inf)[piece]
    return np.where(smooth, peak, top), left, right


def _prior_influence(pairs: ScorePairs, beta: float, executor: Executor | None) -> FloatArray:
    """Return what each pair's predictions add to the agreement through the predicted prior, to first order.

    The derivative of the mean of L(a + b) - L(a) - L(b) by pi_k is that of the posteriors over pi_k.
    """
    prior = pairs.prior[pairs.prior > 0.0]
    slices = pairs.slices()

    def mean_change(rows: slice) -> FloatArray:
        block = to_float64(pairs.block(rows))
        terms = posteriors(block - block.max(axis=2, keepdims=True), prior, beta)
        weights = np.ones(len(block[0])) if pairs.weights is None else pairs.weights[rows]
        return np.asarray(weights @ (terms[2] - terms[0] - terms[1]))

    def shares(rows: slice) -> FloatArray:
        best = to_float64(pairs.block(rows)[:2, ...] == 0.0)
        return np.asarray((best / best.sum(axis=2, keepdims=True)).mean(axis=0))

    slope = sum(map_blocks(mean_change, slices, executor=executor)) / pairs.n_samples
    parts = [part @ (slope / prior) for part in map_blocks(shares, slices, executor=executor)]
    return np.concatenate(parts)
