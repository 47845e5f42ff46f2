"""Agreement where only part of the rows is shifted: the certified maximum and its interval at every ratio."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray, namespace
from shiftmetrics._core.confidence import binomial_interval
from shiftmetrics._core.maximum import Maximum
from shiftmetrics._core.options import Computing, Resampling
from shiftmetrics.agreement.channel import channel_of
from shiftmetrics.agreement.predictions import predicted_columns
from shiftmetrics.agreement.sampling import sample_agreement
from shiftmetrics.agreement.scores import ScorePairs
from shiftmetrics.agreement.solver import search_beta
from shiftmetrics.agreement.statistic import evaluator, limits_of


class Curve(NamedTuple):
    """All points of one model at one power; columns are of shape (n_ratios,)."""

    columns: dict[str, FloatArray]
    n_evaluations: int
    converged: bool


def solve_ratios(
    pairs: ScorePairs,
    segment: IntArray,
    n_ratios: int,
    truth: IntArray | None,
    resampling: Resampling,
    computing: Computing,
) -> Curve:
    """Solve at every ratio: row i is shifted from the ratio at position ``segment[i]`` on."""
    columns: dict[str, list[float]] = {}
    guesses: list[float] = []
    n_evaluations, converged = 0, True
    shifted, reference = predicted_columns(pairs)
    for j in range(n_ratios):
        moved = segment <= j
        some = _shifted_in_part(pairs, moved)
        limits = limits_of(some, executor=computing.executor)
        if moved.any():
            evaluate = evaluator(some, executor=computing.executor)
            best = search_beta(evaluate, limits, pairs.prior, None, computing, guesses=guesses)
        else:
            best = _at_infinity(limits.value)
        guesses = [best.x] if 0.0 < best.x < math.inf else []
        n_evaluations, converged = n_evaluations + best.n_evaluations, converged and best.converged
        channel = channel_of(pairs.prior, limits.shares)
        low, high = _sampling_ends(some, best, bool(moved.any()), resampling, computing)
        point = {
            "agreement": best.value,
            "agreement_low": low,
            "agreement_high": high,
            "errors": best.error_bound,
            "ceiling": channel.ceiling,
            "equivalent_error": channel.error(best.value),
            "beta": best.x * pairs.scale,
        }
        predicted = np.where(moved, shifted, reference)
        for name, expected in (("afr_p", reference), ("afr_t", truth)):
            if expected is not None:
                rate = float(np.mean(predicted == expected))
                ends = binomial_interval(rate, pairs.n_samples, resampling.level)
                point |= {name: rate, f"{name}_low": ends[0], f"{name}_high": ends[1]}
        for name, value in point.items():
            columns.setdefault(name, []).append(value)
    arrays = {name: np.asarray(part) for name, part in columns.items()}
    return Curve(arrays, n_evaluations, converged)


def _shifted_in_part(pairs: ScorePairs, moved: BoolArray) -> ScorePairs:
    """Return the pairs in which only some rows are shifted; the others are paired with themselves."""
    xp = namespace(pairs.scores)
    mask = moved if pairs.scores.ndim == 1 else moved[:, None]
    if xp is not namespace(mask):
        mask = xp.asarray(mask, device=pairs.scores.device)
    return pairs.replace(scores=xp.where(mask, pairs.scores, pairs.reference_scores))


def _at_infinity(value: float) -> Maximum:
    """Return the maximum of pairs of a row with itself, which rise without end: 2 (E_2beta[b] - E_beta[b]) >= 0."""
    zero = np.zeros(1)
    return Maximum(
        math.inf, value, 0.0, 1e-15 * abs(value), zero, zero, np.full(1, value), 0, 0, converged=True
    )


def _sampling_ends(
    pairs: ScorePairs, best: Maximum, moved: bool, resampling: Resampling, computing: Computing
) -> tuple[float, float]:
    """Return the sampling interval of a maximum: to first order, beta may stay where it is."""
    if not moved:
        return best.value, best.value  # rows paired with themselves cannot disagree
    options: dict[str, Any] = {"resampling": resampling, "anew": False, "executor": computing.executor}
    interval, _ = sample_agreement(pairs, best, value=best.value, **options)
    return (best.value, best.value) if interval is None else (interval.low, interval.high)
