"""From statistics to the certified maximum: the same solve for arrays, partitions and processes."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence

import numpy as np

from shiftmetrics._core.arrays import UNIT_ROUNDOFF, FloatArray
from shiftmetrics._core.convex_difference import Samples, Tail
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.maximum import Maximum, maximize_difference
from shiftmetrics._core.options import Computing
from shiftmetrics._core.result import Status
from shiftmetrics.agreement.result import (
    BOUNDARY,
    CONTRADICTION,
    CONVERGED,
    EVALUATED,
    MAX_ITER,
    NO_AGREEMENT,
)
from shiftmetrics.agreement.scores import ScorePairs
from shiftmetrics.agreement.statistic import (
    AgreementLimits,
    AgreementStatistic,
    evaluator,
    limits_of,
)

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
        raise ArgumentValueError("atol", f"at most {LARGEST_ATOL:g} nats", f"{atol:g}")
    # Per unit of weight: values and slopes at beta = 0, where f = f' = 0, and the fall towards infinity.
    # The agreement is not concave (theorem 3 of arXiv:2503.16271 does not hold), and beta = 0 is always stationary:
    # what climbs from one beta may end there, or at a lower maximum. So the search bounds the agreement at all
    # betas.
    weight = limits.weight
    start = np.asarray([limits.start_slope / weight])
    # F = plus - minus with plus = L(a + b) and minus = L(a) + L(b). At beta = 0 both have the same slope, since f' =
    # 0 there; towards infinity plus falls like beta max(a + b), and minus goes to log pi(A) pi(B) from above.
    return maximize_difference(
        lambda betas: _samples(evaluate(betas)),
        Samples(np.zeros(1), start, np.zeros(1), start),
        Tail(min(0.0, limits.pair_fall / weight), limits.single_limit / weight, limits.value),
        atol=atol,
        max_evaluations=max_iter,
        guesses=guesses,
        rounding=lambda betas: rounding_error(betas, limits, prior),
    )


def status_of_maximum(best: Maximum, *, given: bool = False) -> Status:
    """Return how a search for beta ended, or what a given beta led to."""
    if given:
        return EVALUATED if math.isfinite(best.value) else CONTRADICTION
    if not best.converged:
        return MAX_ITER
    if best.x == 0.0:
        return NO_AGREEMENT
    return BOUNDARY if math.isinf(best.x) else CONVERGED


def given_units(betas: FloatArray, scale: float) -> FloatArray:
    """Undo the common scale; a finite beta stays finite, since infinity means the limit."""
    with np.errstate(over="ignore"):
        return np.where(np.isfinite(betas), np.minimum(betas * scale, sys.float_info.max), betas)


def search_beta(
    evaluate: Evaluate,
    limits: AgreementLimits,
    prior: FloatArray,
    beta: float | None,
    computing: Computing,
    guesses: Sequence[float] = (),
) -> Maximum:
    """Return the certified maximum, or the agreement at a given beta (in the scale of the pairs), as one."""
    if beta is None:
        return solve_agreement(
            evaluate,
            limits,
            prior=prior,
            atol=computing.atol or 0.0,
            max_iter=computing.max_iter or 0,
            guesses=guesses,
        )
    # A given beta is evaluated: no search, no certificate over the others.
    at = np.array([beta])
    value = limits.value if math.isinf(beta) else float(evaluate(at).value[0])
    # The agreement is the difference of two means, each of which errs by so much.
    error = 2.0 * float(rounding_error(np.zeros(1) if math.isinf(beta) else at, limits, prior)[0])
    return Maximum(
        beta, value, 0.0, error, at, np.array([value]), np.array([value]), 1, 1, converged=True
    )


def pilot_betas(pairs: ScorePairs, atol: float) -> list[float]:
    """Solve a large problem on each n-th row first: its betas, but those close to its peak, are good guesses.

    The peak itself differs from sample to sample, so the solver is left to find the betas around it.
    """
    # Small problems need no pilot.
    step = pairs.n_samples // PILOT_ROWS
    if step < 4:
        return []
    pilot = pairs.every(step)
    limits = limits_of(pilot)
    if limits.weight == 0.0:
        return []
    # Every so many rows, solved alone.
    best = solve_agreement(evaluator(pilot), limits, prior=pilot.prior, atol=atol)
    if not math.isfinite(best.x):
        return [float(point) for point in best.points]
    # Close to the peak the full problem places its own betas.
    near = np.abs(best.points - best.x) < PILOT_MARGIN * best.x
    return [best.x, *(float(point) for point in best.points[~near])]


def rounding_error(betas: FloatArray, limits: AgreementLimits, prior: FloatArray) -> FloatArray:
    """Bound the rounding error of the mean L(a + b), and of the mean L(a) + L(b), at finite betas.

    A sum of K positive terms has a relative error of K roundings; each term one of |beta s| roundings, which
    average to at most beta |max(a + b)| + log(1 / min pi) in a row; a plain sum over N rows adds N roundings.
    """
    # K roundings of the sum over classes, |beta s| of each exponent, N of the sum over rows.
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
