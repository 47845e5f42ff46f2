"""Two inverse temperatures: each side at its own, so that the scales of two models do not matter.

The agreement of p ~ exp(beta a) and q ~ exp(beta' b) has no certificate in both betas together, but a certified
maximum in each while the other is fixed. Turns are taken from several starts until neither gains; the best end is a
local maximum.
"""

from __future__ import annotations

import math
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import FloatArray, to_float64
from shiftmetrics._core.blocks import map_reduce
from shiftmetrics._core.maximum import Maximum
from shiftmetrics.agreement.one_sided import fixed_at, solve_one_side
from shiftmetrics.agreement.scores import ScorePairs
from shiftmetrics.agreement.statistic import AgreementLimits

STARTS = (0.5, 2.0, 8.0, math.inf)
"""Where the reference's beta starts, in units of one over its mean margin; the common beta is one more start."""

PILOT_ROWS = 2000
"""Rows on which the starts of a large sample are tried; the best end is then followed on all rows."""


@dataclass(frozen=True)
class TwoBetas:
    """The end of the turns.

    Attributes
    ----------
    beta, reference_beta : float
        In the scale of the pairs; infinity included.
    value : float
        Agreement there, nats per sample.
    error : float
        No change of one beta alone gains more.
    ends : tuple of float
        Values at the ends of all starts, on the rows on which they were tried.
    settled : bool
        Whether the last turn gained less than the tolerance.
    """

    beta: float
    reference_beta: float
    value: float
    error: float
    ends: tuple[float, ...]
    settled: bool


def solve_two_betas(
    pairs: ScorePairs,
    limits: AgreementLimits,
    common: Maximum,
    *,
    atol: float,
    max_turns: int,
    executor: Executor | None = None,
) -> TwoBetas:
    """Take turns from several starts, one of them the certified common beta: the end is never below it.

    Parameters
    ----------
    pairs, limits : ScorePairs, AgreementLimits
        As `survey` returns them.
    common : Maximum
        Their certified maximum over one beta for both sides.
    atol : float
        Turns end when one gains less, in nats per sample.
    max_turns : int
        Most turns of each start.
    executor : concurrent.futures.Executor, optional
        Threads that work on blocks.
    """
    step = max(1, pairs.n_samples // PILOT_ROWS)
    pilot = pairs.every(step) if step > 1 else pairs
    if pilot.weights is not None and not pilot.weights.any():
        pilot = pairs
    margin = _mean_margin(pairs, executor)
    starts = [common.x] if common.x > 0.0 else []
    starts += [factor / margin for factor in STARTS] if margin > 0.0 else []
    found = []
    for start in starts:
        found.append(_take_turns(pilot, limits, start, max(atol, 1e-5), max_turns, executor))
        if found[-1].value >= limits_of_agreement(pairs) - atol:
            break  # nothing agrees more
    if not found:
        return TwoBetas(0.0, 0.0, 0.0, 0.0, (), settled=True)
    ends = tuple(end.value for end in found)
    place = int(np.argmax(ends))
    start = found[place].reference_beta or starts[place]  # a flat side is no start
    full = _take_turns(pairs, limits, start, atol, max_turns, executor)
    if full.value < common.value:  # the pilot misled: start from the certified one
        full = _take_turns(pairs, limits, common.x, atol, max_turns, executor)
    return TwoBetas(full.beta, full.reference_beta, full.value, full.error, ends, full.settled)


def limits_of_agreement(pairs: ScorePairs) -> float:
    """Return the most that any two posteriors can agree: both on the rarest class."""
    return -math.log(float(pairs.prior[pairs.prior > 0.0].min()))


def _take_turns(
    pairs: ScorePairs,
    limits: AgreementLimits,
    reference_beta: float,
    atol: float,
    max_turns: int,
    executor: Executor | None,
) -> TwoBetas:
    betas, value, gains = [0.0, reference_beta], -math.inf, math.inf
    error = math.inf
    for turn in range(2 * max_turns):
        side = turn % 2
        guesses = [betas[side]] if turn > 1 else []
        best = solve_one_side(
            pairs,
            side,
            fixed_at(pairs, 1 - side, betas[1 - side]),
            spread=limits.single_spread,
            atol=atol / 2.0,
            guesses=guesses,
            executor=executor,
        )
        if best.value >= value:
            betas[side] = best.x
        if best.x == 0.0:  # a flat side agrees with anything alike: not at all
            return TwoBetas(0.0, 0.0, 0.0, best.error_bound, (), settled=best.converged)
        gains, error = best.value - value, best.error_bound
        value = max(value, best.value)
        if turn > 0 and gains < atol:
            break
    return TwoBetas(betas[0], betas[1], value, error + max(gains, 0.0), (), settled=gains < atol)


def _mean_margin(pairs: ScorePairs, executor: Executor | None) -> float:
    """Return how far the reference scores of a row lie below its largest one, on average."""

    def kernel(rows: slice) -> FloatArray:
        reference = to_float64(pairs.block(rows)[1, ...])
        return np.asarray([-reference.mean(axis=1).sum(), len(reference)])

    total, count = map_reduce(kernel, pairs.slices(), executor=executor)
    return float(total / count)
