"""The map step of posterior agreement: what a block of pairs adds, and what each pair contributes.

With a prior ``pi`` (uniform unless given) the posteriors of one row are ``p(k) ~ pi_k exp(beta a_k)`` and
``q(k) ~ pi_k exp(beta b_k)`` [arXiv:2503.16271, eq. (10)], and its contribution to the kernel of theorem 2 is

    f(beta) = log sum_k p(k) q(k) / pi_k = L(a + b) - L(a) - L(b),    L(s) = log sum_k pi_k exp(beta s_k)

with f(0) = 0. Summed over rows it is a difference of two convex functions of ``beta``: ``pair``, the sum of
L(a + b), and ``single``, the sum of L(a) + L(b). Rows are centred (max a = max b = 0), so that both fall from 0.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Self

import numpy as np

from shiftmetrics._core.arrays import (
    Array,
    FloatArray,
    Workspace,
    log_partition,
    namespace,
    to_float64,
)
from shiftmetrics._core.blocks import Statistic, map_blocks, map_reduce
from shiftmetrics.agreement.scores import ScorePairs

CONFIDENT = 0.9
"""Posterior from which on a prediction counts as confident."""

DEEP = -600.0
"""Rows whose exp(beta (a + b)) stays below e^-600 throughout are summed with a shift of their own."""


@dataclass(frozen=True, eq=False)
class AgreementStatistic(Statistic):
    """Both convex parts of posterior agreement and their slopes, summed over rows, for several betas.

    Attributes
    ----------
    weight : float
        Sum of the observation weights.
    pair, pair_slope : ndarray of shape (n_betas,)
        Weighted sums of L(a + b) and of its derivative by beta.
    single, single_slope : ndarray of shape (n_betas,)
        The same for L(a) + L(b).
    """

    weight: float
    pair: FloatArray
    pair_slope: FloatArray
    single: FloatArray
    single_slope: FloatArray

    @property
    def value(self) -> FloatArray:
        """Agreement at each beta, in nats per sample."""
        return (self.pair - self.single) / self.weight

    @property
    def slope(self) -> FloatArray:
        """Derivative of the agreement by beta."""
        return (self.pair_slope - self.single_slope) / self.weight


@dataclass(frozen=True, eq=False)
class PredictionSums:
    """Predicted classes, summed over rows.

    Attributes
    ----------
    weight : float
        Sum of the observation weights.
    disagreeing : float
        Weight of the rows that have no predicted class in common.
    predicted, reference_predicted : ndarray of shape (n_classes,)
        Weight of the rows of either sample in which a class is predicted; ties share evenly.
    """

    weight: float
    disagreeing: float
    predicted: FloatArray
    reference_predicted: FloatArray

    @property
    def shares(self) -> FloatArray:
        """How often each class is predicted, on average over both samples."""
        total = self.predicted + self.reference_predicted
        return np.asarray(total / total.sum())

    @property
    def kappa(self) -> float:
        """Cohen's kappa of the predictions of both samples: 1 where none changes, 0 as for independent draws."""
        by_chance = float(self.predicted @ self.reference_predicted) / self.weight**2
        kept = 1.0 - self.disagreeing / self.weight
        return (kept - by_chance) / (1.0 - by_chance) if by_chance < 1.0 - 1e-12 else 0.0


@dataclass(frozen=True, eq=False)
class AgreementLimits(PredictionSums, Statistic):
    """What is known of both parts at beta = 0 and towards infinity, and about the predicted classes.

    A and B are the sets of classes with the largest score of a row in either sample, pi(A) their prior mass.

    Attributes
    ----------
    n_rows : float
        Number of rows.
    start_slope : float
        Sum of the slopes of both L(a + b) and L(a) + L(b) at beta = 0, which are equal.
    pair_fall : float
        Sum of max(a + b): the slope of ``pair`` towards infinity, 0 when every row shares a predicted class.
    single_limit : float
        Sum of log(pi(A) pi(B)), the limit of ``single``.
    pair_limit : float
        Sum of log pi(A and B) over the rows that share a predicted class.
    n_identical : float
        Number of rows whose scores are equal up to a constant.
    pair_spread, single_spread : float
        Largest max - min of a row, of a + b and of a or b. Their law is the maximum, not the sum.
    """

    n_rows: float
    start_slope: float
    pair_fall: float
    single_limit: float
    pair_limit: float
    n_identical: float
    pair_spread: float
    single_spread: float

    def __add__(self, other: Self) -> Self:
        total = super().__add__(other)
        if total is NotImplemented:
            return total
        return dataclasses.replace(
            total,
            pair_spread=max(self.pair_spread, other.pair_spread),
            single_spread=max(self.single_spread, other.single_spread),
        )

    @property
    def value(self) -> float:
        """Agreement towards infinite beta, in nats per sample: minus infinity when any pair disagrees."""
        return (
            -math.inf
            if self.disagreeing > 0.0
            else (self.pair_limit - self.single_limit) / self.weight
        )


@dataclass(frozen=True, eq=False)
class ConfidentChanges(Statistic):
    """Weight of the rows of which both predictions are confident, and differ."""

    weight: float


def evaluator(
    pairs: ScorePairs, *, executor: Executor | None = None
) -> Callable[[Sequence[float] | FloatArray], AgreementStatistic]:
    """Return ``evaluate(betas) -> AgreementStatistic``: one pass over the pairs, whatever the number of betas.

    The solver needs nothing else. Statistics of shards add up: any sum of such functions, over partitions or over
    processes, can take the place of this one.
    """
    slices = pairs.slices()

    def evaluate(betas: Sequence[float] | FloatArray) -> AgreementStatistic:
        factors = [float(beta) for beta in betas]
        return map_reduce(
            lambda rows: _block_statistic(pairs, rows, factors), slices, executor=executor
        )

    return evaluate


def limits_of(pairs: ScorePairs, *, executor: Executor | None = None) -> AgreementLimits:
    """Return the `AgreementLimits` of the pairs: one pass."""
    return map_reduce(lambda rows: _block_limits(pairs, rows), pairs.slices(), executor=executor)


def survey(
    pairs: ScorePairs, *, predicted: bool = False, executor: Executor | None = None
) -> tuple[ScorePairs, AgreementLimits]:
    """Return the pairs in a common scale clear of overflow, with the predicted prior if asked for, and limits."""
    limits, prior, scale = settled_limits(
        lambda prior, scale: limits_of(pairs.replace(prior=prior, scale=scale), executor=executor),
        pairs.prior,
        predicted=predicted,
    )
    return pairs.replace(prior=prior, scale=scale), limits


def settled_limits(
    limits_at: Callable[[FloatArray, float], AgreementLimits], prior: FloatArray, *, predicted: bool
) -> tuple[AgreementLimits, FloatArray, float]:
    """Choose the scale and the prior of pairs, wherever they are; ``limits_at(prior, scale)`` is one pass."""
    scale = 1.0
    limits = limits_at(prior, scale)
    spread = max(limits.pair_spread, limits.single_spread)
    if not (spread == 0.0 or 1e-150 < spread < 1e150):
        exponent = math.frexp(spread)[1] if math.isfinite(spread) else 1000
        scale = 2.0 ** -max(-1000, min(1000, exponent))
        limits = limits_at(prior, scale)
    if predicted:
        prior = limits.shares
        limits = limits_at(prior, scale)
    return limits, prior, scale


def row_agreement(
    pairs: ScorePairs, beta: float, *, executor: Executor | None = None
) -> FloatArray:
    """Return f(beta) of each pair, in nats, of shape (n_samples,); beta may be infinite.

    Its weighted mean is the agreement at that beta. At infinite beta a pair that disagrees has minus infinity.
    """

    def kernel(rows: slice) -> FloatArray:
        if math.isinf(beta):
            return _rows_at_infinity(pairs, rows)
        return block_agreement(pairs, rows, [beta])[0].ravel()

    values = np.empty(pairs.n_samples)
    slices = pairs.slices()
    for rows, part in zip(slices, map_blocks(kernel, slices, executor=executor), strict=True):
        values[rows] = part
    return values


def confident_changes(
    pairs: ScorePairs, beta: float, *, executor: Executor | None = None
) -> ConfidentChanges:
    """Sum the rows whose predicted classes differ, each of a posterior of at least `CONFIDENT` at ``beta``."""

    def kernel(rows: slice) -> ConfidentChanges:
        block = pairs.block(rows)
        xp, prior = namespace(block), pairs.prior_vector(block)
        best, masses = _predicted(pairs, block, prior)
        single = masses[:2, ...] / (
            best[:2, ...] @ xp.ones_like(prior)
        )  # of one class where several are tied
        changed = masses[2, ...] == 0.0
        if math.isfinite(beta):
            single = single / xp.exp(log_partitions(pairs, block, [beta])[0][0, :2, :])
            changed = changed & xp.all(single >= CONFIDENT, axis=0)
        weights = pairs.row_weights(rows, block)
        return ConfidentChanges(float(xp.sum(xp.where(changed, weights, 0.0 * weights))))

    if beta == 0.0:  # flat posteriors: only the prior is confident
        return ConfidentChanges(0.0)
    return map_reduce(kernel, pairs.slices(), executor=executor)


def block_agreement(
    pairs: ScorePairs, rows: slice, betas: Sequence[float]
) -> tuple[FloatArray, FloatArray]:
    """Return f and its derivative by beta for a slice of pairs, each of shape (n_betas, n_rows)."""
    values, slopes = (
        to_float64(part[:, 2, ...] - part[:, 0, ...] - part[:, 1, ...])
        for part in log_partitions(pairs, pairs.block(rows), betas)
    )
    return values, slopes


def _block_statistic(pairs: ScorePairs, rows: slice, betas: Sequence[float]) -> AgreementStatistic:
    block = pairs.block(rows)
    weights = pairs.row_weights(rows, block)
    parts, slopes = log_partitions(pairs, block, betas)
    xp = namespace(parts)
    # One transfer from the device: rows of sums (values, slopes), each of shape (n_betas, 3).
    sums = to_float64(xp.stack([parts @ weights, slopes @ weights]))
    (pair, single), (pair_slope, single_slope) = (
        (part[:, 2], part[:, 0] + part[:, 1]) for part in sums
    )
    return AgreementStatistic(float(xp.sum(weights)), pair, pair_slope, single, single_slope)


def log_partitions(pairs: ScorePairs, block: Array, betas: Sequence[float]) -> tuple[Array, Array]:
    """Return L and its slope for a, b and a + b, each of shape (n_betas, 3, n_rows).

    Two exponentials for each pair of scores serve all three: exp(beta (a + b)) is a product.
    """
    xp = namespace(block)
    prior = pairs.prior_vector(block)
    totals, moments = [], []
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        for beta in betas:
            terms = _exponentials(pairs, block, beta)
            totals.append(terms @ prior)
            terms = (
                np.multiply(terms, block, out=terms)
                if isinstance(terms, np.ndarray)
                else terms * block
            )
            moments.append(terms @ prior)
        total = xp.stack(totals)
        values, slopes = xp.log(total), xp.stack(moments) / total
    pair = block[2, ...]
    deepest = xp.max(pair, axis=1)
    bottom = float(xp.min(deepest))
    for j, beta in enumerate(betas):
        if beta * bottom < DEEP:  # some product vanishes: give those rows a shift of their own
            deep = beta * deepest < DEEP
            value, slope = log_partition(pair, prior, beta)
            values[j, 2, :] = xp.where(deep, value, values[j, 2, :])
            slopes[j, 2, :] = xp.where(deep, slope, slopes[j, 2, :])
    return values, slopes


def _exponentials(pairs: ScorePairs, block: Array, beta: float) -> Array:
    """Return exp(beta a), exp(beta b) and their product, for a NumPy block in memory that is used again."""
    if not isinstance(block, np.ndarray):
        xp = namespace(block)
        terms = xp.exp(beta * block[:2, ...])
        return xp.concat([terms, terms[:1, ...] * terms[1:, ...]])
    terms = pairs.plane_buffer("terms", block.shape[1:])
    np.multiply(block[:2], beta, out=terms[:2])
    np.exp(terms[:2], out=terms[:2])
    np.multiply(terms[0], terms[1], out=terms[2])
    return terms


def _block_limits(pairs: ScorePairs, rows: slice) -> AgreementLimits:
    with np.errstate(over="ignore", invalid="ignore"):  # scores of 1e308: `survey` scales them down
        return _limits_of_block(pairs, pairs.block(rows), rows)


def _limits_of_block(pairs: ScorePairs, block: Array, rows: slice) -> AgreementLimits:
    xp = namespace(block)
    weights, prior = pairs.row_weights(rows, block), pairs.prior_vector(block)
    best, masses = _predicted(pairs, block, prior)
    low, high = xp.min(block, axis=2), xp.max(block[2, ...], axis=1)
    agrees = masses[2, ...] > 0.0
    one = xp.ones_like(high)
    means = block @ prior
    per_row = xp.stack(
        [
            one,
            means[2, ...],
            high,
            xp.log(masses[0, ...]) + xp.log(masses[1, ...]),
            xp.log(xp.where(agrees, masses[2, ...], one)),
            xp.where(agrees, 0.0 * one, one),
        ]
    )
    sums = [float(part) for part in to_float64(per_row @ weights)]
    share = weights / (
        best[:2, ...] @ xp.ones_like(prior)
    )  # a tie is shared evenly; shape (2, n_rows)
    predicted = np.zeros((2, pairs.n_classes))
    for side in (0, 1):
        predicted[side, pairs.prior > 0.0] = to_float64(share[side, ...] @ best[side, ...])
    return AgreementLimits(
        weight=sums[0],
        n_rows=float(rows.stop - rows.start),
        start_slope=sums[1],
        pair_fall=sums[2],
        single_limit=sums[3],
        pair_limit=sums[4],
        disagreeing=sums[5],
        n_identical=float(_count_identical(pairs, rows, block, means)),
        predicted=predicted[0],
        reference_predicted=predicted[1],
        pair_spread=float(xp.max(high - low[2, ...])),
        single_spread=float(xp.max(-low[:2, ...])),
    )


def _count_identical(pairs: ScorePairs, rows: slice, block: Array, means: Array) -> int:
    """Count the rows with a = b as given; equal means single out the few that need a look at each class."""
    xp = namespace(block)
    if not bool(xp.any(means[0, ...] == means[1, ...])):
        return 0
    if pairs.classes is not None:  # classes of prior 0 may tell rows apart
        everything = np.full(pairs.n_classes, 1.0 / pairs.n_classes)
        block = pairs.replace(prior=everything, workspace=Workspace()).block(rows)
    return int(xp.count_nonzero(xp.all(block[0, ...] == block[1, ...], axis=1)))


def _predicted(pairs: ScorePairs, block: Array, prior: Array) -> tuple[Array, Array]:
    """Return the indicators of the sets A, B and (A and B) as float64, and their prior masses."""
    if isinstance(block, np.ndarray):
        best: Array = pairs.plane_buffer("terms", block.shape[1:])
        np.equal(block[:2], 0.0, out=best[:2])
        np.multiply(best[0], best[1], out=best[2])
    else:
        xp = namespace(block)
        best = xp.astype(block[:2, ...] == 0.0, xp.float64)
        best = xp.concat([best, best[:1, ...] * best[1:, ...]])
    return best, best @ prior


def _rows_at_infinity(pairs: ScorePairs, rows: slice) -> FloatArray:
    block = pairs.block(rows)
    _, masses = _predicted(pairs, block, pairs.prior_vector(block))
    first, second, common = to_float64(masses)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(common) - np.log(first) - np.log(second))
