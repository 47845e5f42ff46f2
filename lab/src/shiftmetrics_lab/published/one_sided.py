"""The certified maximum over the beta of one side, while the posteriors q of the other are fixed.

With o = log(q / pi), the contribution of a row is log sum_k pi_k exp(beta s_k + o_k) - log sum_k pi_k exp(beta s_k):
again a difference of two convex functions of beta, so the solver of posterior agreement serves here too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import UNIT_ROUNDOFF, FloatArray, to_float64
from shiftmetrics._core.blocks import Statistic, map_blocks, map_reduce
from shiftmetrics._core.convex_difference import Samples, Tail
from shiftmetrics._core.maximum import Maximum, maximize_difference
from shiftmetrics.agreement.scores import ScorePairs
from shiftmetrics.agreement.statistic import AgreementStatistic

Offset = Callable[[slice, FloatArray], FloatArray]
"""Maps a slice of rows and its centred block [a, b] to log(q / pi) of the fixed side: (n_rows, n_classes)."""


def log_partition(
    scores: FloatArray, prior: FloatArray, beta: float
) -> tuple[FloatArray, FloatArray]:
    """Return ``log sum_k prior_k exp(beta scores_k)`` of each row, and its derivative by beta.

    Each row is shifted by its own maximum, so no scale of the scores overflows or vanishes.
    """
    top = scores.max(axis=1)
    below = scores - top[:, None]
    terms = np.exp(beta * below)
    total = terms @ prior
    value = beta * top + np.log(total)
    return value, top + (terms * below) @ prior / total


@dataclass(frozen=True, eq=False)
class OneSidedLimits(Statistic):
    """Sums towards infinite beta of one side.

    Attributes
    ----------
    weight : float
        Sum of the weights.
    fall : float
        Sum of the largest score to which the fixed side gives any probability: 0 unless some row contradicts.
    single_limit, pair_limit : float
        Limits of the two convex parts; that of the pair over the rows that do not contradict.
    contradicting : float
        Weight of the rows whose predicted classes have no probability on the fixed side.
    size : float
        Sum of the magnitudes of the fixed side's logarithms, for the rounding error.
    """

    weight: float
    fall: float
    single_limit: float
    pair_limit: float
    contradicting: float
    size: float

    @property
    def value(self) -> float:
        """Agreement towards infinite beta."""
        return (
            -math.inf
            if self.contradicting > 0.0
            else (self.pair_limit - self.single_limit) / self.weight
        )


def fixed_at(pairs: ScorePairs, side: int, beta: float) -> Offset:
    """Return log(q / pi) of one side (0: scores, 1: reference scores) at a beta of its own, infinity included."""
    prior = pairs.prior[pairs.prior > 0.0]

    def offset(rows: slice, block: FloatArray) -> FloatArray:
        scores = block[side]
        if math.isinf(beta):
            best = scores == 0.0
            with np.errstate(divide="ignore"):
                return np.where(best, -np.log(best @ prior)[:, None], -math.inf)
        value, _ = log_partition(scores, prior, beta)
        return np.asarray(beta * scores - value[:, None])

    return offset


def solve_one_side(
    pairs: ScorePairs,
    side: int,
    offset: Offset,
    *,
    atol: float,
    max_iter: int = 200,
    guesses: Sequence[float] = (),
    executor: Executor | None = None,
) -> Maximum:
    """Maximise the agreement over the beta of one side.

    Parameters
    ----------
    pairs : ScorePairs
        As `survey` returns them.
    side : int
        Whose beta: 0 for scores, 1 for reference scores.
    offset : callable
        The other side; see `fixed_at`.
    atol, max_iter, guesses, executor
        As in `solve_agreement`.
    """
    prior = pairs.prior[pairs.prior > 0.0]
    slices = pairs.slices()

    def planes(rows: slice) -> tuple[FloatArray, FloatArray, FloatArray]:
        block = to_float64(pairs.block(rows))
        weights = np.ones(block.shape[1]) if pairs.weights is None else pairs.weights[rows]
        return block[side], offset(rows, block[:2]), weights

    def evaluate(betas: FloatArray) -> Samples:
        def kernel(rows: slice) -> AgreementStatistic:
            return _sums(*planes(rows), prior, betas)

        sums = map_reduce(kernel, slices, executor=executor)
        parts = (sums.pair, sums.pair_slope, sums.single, sums.single_slope)
        return Samples(*(part / sums.weight for part in parts))

    limits = map_reduce(lambda rows: _limits(*planes(rows), prior), slices, executor=executor)
    n_rows, size = pairs.n_samples, limits.size / limits.weight
    fall = -limits.fall / limits.weight

    def rounding(betas: FloatArray) -> FloatArray:
        return np.asarray(
            UNIT_ROUNDOFF * (len(prior) + 16.0 + (8.0 + n_rows) * (betas * fall + size))
        )

    return maximize_difference(
        evaluate,
        evaluate(np.zeros(1)),
        Tail(
            min(0.0, limits.fall / limits.weight), limits.single_limit / limits.weight, limits.value
        ),
        atol=atol,
        max_evaluations=max_iter,
        guesses=guesses,
        rounding=rounding,
    )


def one_sided_rows(
    pairs: ScorePairs, side: int, offset: Offset, beta: float, *, executor: Executor | None = None
) -> FloatArray:
    """Return each row's contribution at a beta of one side, infinity included."""
    prior = pairs.prior[pairs.prior > 0.0]

    def kernel(rows: slice) -> FloatArray:
        block = to_float64(pairs.block(rows))
        both = np.exp(offset(rows, block[:2])) * prior  # q
        if math.isinf(beta):
            best = block[side] == 0.0
            with np.errstate(divide="ignore"):
                return np.asarray(np.log((both * best).sum(axis=1)) - np.log(best @ prior))
        value, _ = log_partition(block[side], prior, beta)
        return np.asarray(
            _shifted_partition(block[side], offset(rows, block[:2]), prior, beta)[0] - value
        )

    return np.concatenate(list(map_blocks(kernel, pairs.slices(), executor=executor)))


def _sums(
    scores: FloatArray,
    offset: FloatArray,
    weights: FloatArray,
    prior: FloatArray,
    betas: FloatArray,
) -> AgreementStatistic:
    pair = [_shifted_partition(scores, offset, prior, float(beta)) for beta in betas]
    single = [log_partition(scores, prior, float(beta)) for beta in betas]
    columns = [
        np.asarray([part[k] @ weights for part in parts])
        for parts in (pair, single)
        for k in (0, 1)
    ]
    return AgreementStatistic(float(weights.sum()), *columns)


def _shifted_partition(
    scores: FloatArray, offset: FloatArray, prior: FloatArray, beta: float
) -> tuple[FloatArray, FloatArray]:
    """Return log sum_k pi_k exp(beta s_k + o_k) of each row and its slope; offsets may be minus infinity."""
    exponents = beta * scores + offset
    top = exponents.max(axis=1, keepdims=True)
    with np.errstate(under="ignore"):
        terms = np.exp(exponents - top) * prior
    total = terms.sum(axis=1)
    return top[:, 0] + np.log(total), (terms * scores).sum(axis=1) / total


def _limits(
    scores: FloatArray, offset: FloatArray, weights: FloatArray, prior: FloatArray
) -> OneSidedLimits:
    possible = np.isfinite(offset)
    best = scores == 0.0
    shared = np.where(best & possible, np.exp(offset), 0.0) @ prior
    contradicts = shared == 0.0
    mass = best @ prior
    highest = np.where(possible, scores, -math.inf).max(axis=1)
    nearest = np.abs(np.where(possible, offset, 0.0)).max(axis=1)
    return OneSidedLimits(
        weight=float(weights.sum()),
        fall=float(highest @ weights),
        single_limit=float(np.log(mass) @ weights),
        pair_limit=float(np.log(np.where(contradicts, 1.0, shared)) @ weights),
        contradicting=float(contradicts @ weights),
        size=float(nearest @ weights) - math.log(float(prior.min())) * float(weights.sum()),
    )
