"""From statistics to the certified maximum: the same solve for arrays, partitions and processes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.branching import Samples, Tail
from shiftmetrics._core.maximum import Maximum, maximize_difference
from shiftmetrics._core.numerics import UNIT_ROUNDOFF
from shiftmetrics._core.validation import describe
from shiftmetrics.agreement.scores import ScorePairs
from shiftmetrics.agreement.statistic import AgreementLimits, AgreementStatistic, evaluator, limits_of

Evaluate = Callable[[FloatArray], AgreementStatistic]

LARGEST_ATOL = 0.01
"""Largest gap, in nats per sample, at which 0 still tells that pairs agree no better than chance."""

PILOT_ROWS = 1000
"""Rows of the pilot solve that places the betas of a large one."""

PILOT_MARGIN = 0.1
"""Relative distance from the pilot's peak within which the full problem places its own betas."""


def solve_agreement(
    evaluate: Evaluate,
    limits: AgreementLimits,
    *,
    prior: FloatArray,
    atol: float = 1e-6,
    max_iter: int = 200,
    guesses: Sequence[float] = (),
) -> Maximum:
    """Maximise the agreement over beta in [0, inf], with a certificate.

    Parameters
    ----------
    evaluate : callable
        Maps betas of shape (n_betas,) to the `AgreementStatistic` of all pairs, such as `evaluator` returns, or
        the sum of those of partitions or processes.
    limits : AgreementLimits
        Of the same pairs.
    prior : ndarray of shape (n_classes,)
        Class prior, for the rounding error.
    atol : float, default 1e-6
        No beta exceeds the value returned by more, in nats per sample.
    max_iter : int, default 200
        Most betas to evaluate.
    guesses : sequence of float, optional
        Betas to evaluate first.

    Returns
    -------
    Maximum
        ``x`` is beta, ``value`` the agreement in nats per sample.
    """
    if atol > LARGEST_ATOL:
        raise ValueError(describe("atol", f"at most {LARGEST_ATOL:g} nats", f"{atol:g}"))
    weight = limits.weight
    start = np.asarray([limits.start_slope / weight])
    return maximize_difference(
        lambda betas: _samples(evaluate(betas)),
        Samples(np.zeros(1), start, np.zeros(1), start),
        Tail(min(0.0, limits.pair_fall / weight), limits.single_limit / weight, limits.value),
        atol=atol,
        max_evaluations=max_iter,
        guesses=guesses,
        rates=(limits.pair_spread, limits.single_spread),
        rounding=lambda betas: rounding_error(betas, limits, prior),
    )


def pilot_betas(pairs: ScorePairs, atol: float) -> list[float]:
    """Solve a large problem on each n-th row first: its betas, but those close to its peak, are good guesses.

    The peak itself moves with the sample, so the solver is left to find the betas around it.
    """
    step = pairs.n_samples // PILOT_ROWS
    if step < 4:
        return []
    pilot = pairs.every(step)
    limits = limits_of(pilot)
    if limits.weight == 0.0:
        return []
    best = solve_agreement(evaluator(pilot), limits, prior=pilot.prior, atol=atol)
    if not math.isfinite(best.x):
        return [float(point) for point in best.points]
    near = np.abs(best.points - best.x) < PILOT_MARGIN * best.x
    return [best.x, *(float(point) for point in best.points[~near])]


def rounding_error(betas: FloatArray, limits: AgreementLimits, prior: FloatArray) -> FloatArray:
    """Bound the rounding error of the mean L(a + b), and of the mean L(a) + L(b), at finite betas.

    A sum of K positive terms has a relative error of K roundings; each term one of |beta s| roundings, which
    average to at most beta |max(a + b)| + log(1 / min pi) in a row; a plain sum over N rows adds N roundings.
    """
    used = prior[prior > 0.0]
    spread = -math.log(float(used.min()))
    size = betas * (-limits.pair_fall / limits.weight) + 2.0 * spread
    return np.asarray(UNIT_ROUNDOFF * ((len(used) + 16.0) + (8.0 + limits.n_rows) * size))


def _samples(statistic: AgreementStatistic) -> Samples:
    weight = statistic.weight
    return Samples(
        statistic.pair / weight,
        statistic.pair_slope / weight,
        statistic.single / weight,
        statistic.single_slope / weight,
    )
