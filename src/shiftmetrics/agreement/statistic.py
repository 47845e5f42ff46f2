"""The map step of posterior agreement: what a block of pairs adds, and what each pair contributes."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from shiftmetrics._core.arrays import (
    Array,
    FloatArray,
    namespace,
    to_float64,
    to_numpy,
)
from shiftmetrics._core.blocks import Statistic, map_blocks, map_reduce
from shiftmetrics._core.probabilities import cohen_kappa
from shiftmetrics.agreement.formula import difference, log_partitions
from shiftmetrics.agreement.scores import ScorePairs

if TYPE_CHECKING:
    from concurrent.futures import Executor

CONFIDENT = 0.9
"""Posterior from which on a prediction counts as confident."""

VANISHING: dict[str, Any] = {"under": "ignore", "divide": "ignore", "invalid": "ignore"}
"""Terms of a sum may vanish; where all of a row do, `log_partitions` replaces them."""


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
    """Predicted classes, summed over rows: the first of the largest scores, as NumPy, torch and scikit-learn take it.

    Attributes
    ----------
    weight : float
        Sum of the observation weights.
    changed : float
        Weight of the rows whose predicted class changes.
    disagreeing : float
        Weight of the rows that have no class of largest score in common.
    n_tied : float
        Number of rows with a tie for the largest score, in either sample.
    predicted, reference_predicted : ndarray of shape (n_classes,)
        Weight of the rows of either sample in which a class is predicted.
    """

    weight: float
    changed: float
    disagreeing: float
    n_tied: float
    predicted: FloatArray
    reference_predicted: FloatArray

    @property
    def class_fractions(self) -> FloatArray:
        """How often each class is predicted, on average over both samples."""
        total = self.predicted + self.reference_predicted
        return np.asarray(total / total.sum())

    @property
    def kappa(self) -> float:
        """Cohen's kappa of the predictions of both samples: 1 where none changes, 0 as for independent ones."""
        by_chance = float(self.predicted @ self.reference_predicted) / self.weight**2
        return cohen_kappa(1.0 - self.changed / self.weight, by_chance) or 0.0


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
        Sum of max(a + b): the slope of ``pair`` towards infinity, 0 when every row has a predicted class in common.
    single_limit : float
        Sum of log(pi(A) pi(B)), the limit of ``single``.
    pair_limit : float
        Sum of log pi(A and B) over the rows with a predicted class in common.
    n_identical : float
        Number of rows whose scores are equal up to a constant.
    spread : float
        Largest max - min of a row, of a, b or a + b. Its law is the maximum, not the sum.
    """

    n_rows: float
    start_slope: float
    pair_fall: float
    single_limit: float
    pair_limit: float
    n_identical: float
    spread: float

    def __add__(self, other: Self) -> Self:
        total = super().__add__(other)
        if total is NotImplemented:
            return total
        return dataclasses.replace(total, spread=max(self.spread, other.spread))

    @property
    def value(self) -> float:
        """Agreement towards infinite beta, in nats per sample: minus infinity when any pair disagrees."""
        if self.disagreeing > 0.0:
            return -math.inf
        return (self.pair_limit - self.single_limit) / self.weight


def evaluator(
    pairs: ScorePairs, *, executor: Executor | None = None
) -> Callable[[Sequence[float] | FloatArray], AgreementStatistic]:
    """Return ``evaluate(betas) -> AgreementStatistic``: one pass over the pairs, whatever the number of betas.

    The solver needs nothing else. Statistics of shards add up: any sum of such functions, over partitions or over
    processes, can take the place of this one.
    """
    slices = pairs.slices()

    def evaluate(betas: Sequence[float] | FloatArray) -> AgreementStatistic:
        kernel = functools.partial(_block_statistic, pairs, betas=[float(beta) for beta in betas])
        return map_reduce(kernel, slices, executor=executor)

    return evaluate


def limits_of(pairs: ScorePairs, *, executor: Executor | None = None) -> AgreementLimits:
    """Return the `AgreementLimits` of the pairs: one pass."""
    kernel = functools.partial(_block_limits, pairs)
    return map_reduce(kernel, pairs.slices(), executor=executor)


def survey(
    pairs: ScorePairs, *, predicted: bool = False, executor: Executor | None = None
) -> tuple[ScorePairs, AgreementLimits]:
    """Return the pairs in a common scale clear of overflow, with the predicted prior if asked for, and limits."""
    pairs = pairs.replace(scale=1.0)
    limits = limits_of(pairs, executor=executor)
    # Where scores are huge or tiny, once more in a scale of their size.
    spread = limits.spread
    if not (spread == 0.0 or 1e-150 < spread < 1e150):
        # A power of two: multiplying by it rounds no score, so the agreement stays what it is.
        exponent = math.frexp(spread)[1] if math.isfinite(spread) else 1000
        pairs = pairs.replace(scale=2.0 ** -max(-1000, min(1000, exponent)))
        limits = limits_of(pairs, executor=executor)
    # The predicted prior is known only now.
    if predicted:
        pairs = pairs.replace(prior=limits.class_fractions)
        limits = limits_of(pairs, executor=executor)
    return pairs, limits


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


def confident_changes(pairs: ScorePairs, beta: float, *, executor: Executor | None = None) -> float:
    """Return the weight of the rows whose prediction changes, with posteriors of at least `CONFIDENT`."""

    def kernel(rows: slice) -> FloatArray:
        block = pairs.block(rows)
        xp, prior = namespace(block), pairs.prior_vector(block)
        top = xp.argmax(block[:2, ...], axis=2)
        # The posterior of the predicted class: its prior over exp(L), since its score is 0.
        if math.isfinite(beta):
            with np.errstate(**VANISHING):
                (parts,) = log_partitions(block, prior, [beta], derivatives=0)
            total = xp.exp(parts[0][:2, :])
        else:
            total = _of_largest(block)[:2, ...] @ prior
        own = xp.reshape(xp.take(prior, xp.reshape(top, (-1,))), total.shape)
        confident = xp.all(own >= CONFIDENT * total, axis=0) & (top[0, :] != top[1, :])
        weights = to_float64(pairs.row_weights(rows, block))
        return np.asarray([weights[to_numpy(confident)].sum()])

    if beta == 0.0:  # flat posteriors: only the prior is confident
        return 0.0
    return float(map_reduce(kernel, pairs.slices(), executor=executor)[0])


def block_agreement(
    pairs: ScorePairs, rows: slice, betas: Sequence[float]
) -> tuple[FloatArray, FloatArray]:
    """Return f and its derivative by beta for a slice of pairs, each of shape (n_betas, n_rows)."""
    parts = [difference(part) for part in _log_partitions(pairs, pairs.block(rows), betas)]
    both = to_float64(namespace(*parts).stack(parts))
    # Values and slopes stand in turns, for each beta.
    return both[::2], both[1::2]


def _log_partitions(pairs: ScorePairs, block: Array, betas: Sequence[float]) -> list[Array]:
    """Return L of the planes of a block and its derivative, in turns for each beta, each of shape (3, n_rows)."""
    prior = pairs.prior_vector(block)
    with np.errstate(**VANISHING):
        found = log_partitions(block, prior, betas, buffer=pairs.buffer_of(block))
        return [part for parts in found for part in parts]


def _block_statistic(pairs: ScorePairs, rows: slice, betas: Sequence[float]) -> AgreementStatistic:
    block = pairs.block(rows)
    weights = pairs.row_weights(rows, block)
    xp = namespace(block)
    sums = [part @ weights for part in _log_partitions(pairs, block, betas)]
    # One transfer from the device: sums of values and of slopes, in turns, each of shape (3,).
    values, slopes = to_float64(xp.stack(sums)).reshape(len(betas), 2, 3).transpose(1, 0, 2)
    return AgreementStatistic(
        weight=float(xp.sum(weights)),
        pair=values[:, 2],
        pair_slope=slopes[:, 2],
        single=values[:, 0] + values[:, 1],
        single_slope=slopes[:, 0] + slopes[:, 1],
    )


@np.errstate(over="ignore", invalid="ignore")  # scores of 1e308: `survey` scales them down
def _block_limits(pairs: ScorePairs, rows: slice) -> AgreementLimits:
    block = pairs.block(rows)
    xp = namespace(block)
    weights = pairs.row_weights(rows, block)
    prior = pairs.prior_vector(block)
    # The sets of classes with the largest score, and the predictions as served: the first of equal scores.
    largest = _of_largest(block)
    masses = largest @ prior
    n_largest = xp.sum(largest[:2, ...], axis=2)
    top = xp.argmax(block[:2, ...], axis=2)
    low = xp.min(block, axis=2)
    high = xp.max(block, axis=2)
    agrees = masses[2, ...] > 0.0
    one = xp.ones_like(high[2, ...])
    # What each row adds; one product with the weights sums all of it.
    per_row = [
        one,
        # At beta = 0 the posterior is the prior: the slope of L is the mean score under it.
        block[2, ...] @ prior,
        high[2, ...],
        xp.log(masses[0, ...]) + xp.log(masses[1, ...]),
        xp.log(xp.where(agrees, masses[2, ...], one)),
        xp.where(agrees, 0.0 * one, one),
        xp.where(top[0, :] == top[1, :], 0.0 * one, one),
    ]
    weight, start, fall, single_limit, pair_limit, disagreeing, changed = to_float64(
        xp.stack(per_row) @ weights
    ).tolist()
    # Predictions are counted by class, of both samples.
    # Columns of the block are the classes of positive prior; the counts are of all classes.
    predicted = np.zeros((2, pairs.n_classes))
    used = pairs.prior > 0.0
    for side, classes in enumerate(to_numpy(top)):
        predicted[side, used] = np.bincount(classes, to_float64(weights), int(used.sum()))
    return AgreementLimits(
        weight=weight,
        n_rows=float(rows.stop - rows.start),
        start_slope=start,
        pair_fall=fall,
        single_limit=single_limit,
        pair_limit=pair_limit,
        disagreeing=disagreeing,
        changed=changed,
        n_tied=float(xp.count_nonzero(xp.any(n_largest > 1.5, axis=0))),
        n_identical=float(xp.count_nonzero(xp.all(block[0, ...] == block[1, ...], axis=1))),
        predicted=predicted[0],
        reference_predicted=predicted[1],
        spread=float(xp.max(high - low)),
    )


def _of_largest(block: Array) -> Array:
    """Return the indicators of the sets A, B and (A and B) of classes with the largest score, as float64."""
    xp = namespace(block)
    # Rows are centred: their largest score is exactly 0.
    best = xp.astype(block[:2, ...] == 0.0, xp.float64)
    return xp.concat([best, best[:1, ...] * best[1:, ...]])


def _rows_at_infinity(pairs: ScorePairs, rows: slice) -> FloatArray:
    block = pairs.block(rows)
    # f goes to log pi(A and B) - log pi(A) - log pi(B), which is minus infinity where A and B have no class in
    # common.
    masses = to_float64(_of_largest(block) @ pairs.prior_vector(block))
    with np.errstate(divide="ignore"):
        return np.asarray(difference(np.log(masses)))
