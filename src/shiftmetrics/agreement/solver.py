"""From statistics to the certified maximum: the same solve for arrays, partitions and processes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.maximum import Maximum, Samples, Tail, maximize_difference
from shiftmetrics._core.numerics import UNIT_ROUNDOFF
from shiftmetrics.agreement.statistic import AgreementLimits, AgreementStatistic

Evaluate = Callable[[FloatArray], AgreementStatistic]


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
