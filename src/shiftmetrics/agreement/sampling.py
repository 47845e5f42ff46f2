"""Sampling intervals of posterior agreement that hold where few pairs disagree, or none.

Each resample gives every pair (or group of pairs) a standard exponential weight, and solves again: the Bayesian
bootstrap. Its beta is found on cubics between a few common betas, more of which are added where it needs them.
The lower end adds half a pair like the worst one seen, the upper end half a pair like the best one. A whole one would
give, for a mean such as the agreement at one beta, the bounds of Gaffke [1]_ [2]_ with the observed extremes in place
of known ones, and for a proportion those of Clopper and Pearson. Half a pair gives those of Jeffreys, which are short
and have their nominal coverage on average. Where no pair disagrees, the worst pair has not been seen: one whole
pseudo-pair takes its place, in which the two likeliest classes are swapped at many times the usual margin.

.. [1] N. Gaffke, Mathematical Methods of Statistics 14 (2005), on the mean of a nonnegative variable.
.. [2] E. Learned-Miller and P. Thomas, arXiv:1905.06208, on the mean of a bounded variable.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shiftmetrics._core.arrays import FloatArray, posteriors, to_float64
from shiftmetrics._core.blocks import map_blocks
from shiftmetrics._core.confidence import (
    HALF,
    BootstrapWeights,
    ResamplingUnits,
    resampled_interval,
    resampled_sums,
)
from shiftmetrics._core.maximum import Maximum
from shiftmetrics._core.options import Resampling
from shiftmetrics._core.result import Interval
from shiftmetrics.agreement.predictions import predicted_classes
from shiftmetrics.agreement.resampled_maximum import ATOL, first_betas, maxima_of_cubics
from shiftmetrics.agreement.scores import ScorePairs
from shiftmetrics.agreement.statistic import block_agreement, row_agreement

if TYPE_CHECKING:
    from concurrent.futures import Executor

# Heuristic. Where one pair in a hundred disagrees, at the margin of the others or at 20 times that, 95 % intervals
# hold 93.9 to 98.6 % (table in docs/agreement.md). It fails where a disagreement costs far more than that.
UNSEEN_MARGIN = 20.0
"""Margin of the unseen pair that disagrees, as a multiple of the margins of the others."""
UNSEEN_ROWS = 1000
"""Pairs that are swapped to stand for it."""


def sample_agreement(
    pairs: ScorePairs,
    best: Maximum,
    *,
    value: float,
    resampling: Resampling,
    predicted: bool = False,
    refit_beta: bool = True,
    executor: Executor | None = None,
) -> SampledAgreement:
    """Resample the pairs, or groups of pairs: the interval of the agreement, and its value in each resample.

    Parameters
    ----------
    pairs, best, value : ScorePairs, Maximum, float
        The pairs, as `survey` returns them, their solution, and the agreement in nats per sample.
    resampling : Resampling
        Confidence level, resamples, groups and seed.
    predicted : bool, default False
        Whether the prior was estimated from these pairs: its own sampling error then counts, to first order.
    refit_beta : bool, default True
        Find beta again in each resample. If False it stays fixed, where it is neither 0 nor infinite.

    """
    # The same weights for the sample as it is, and with half a unit more of the worst or the best pair.
    units = ResamplingUnits.of(resampling.groups, pairs.n_samples)
    resamples = _Resamples(
        pairs, best, resampling, units, predicted=predicted, refit=refit_beta, executor=executor
    )
    values, _ = resamples.maxima(None)
    if pairs.classes is not None and len(pairs.classes) < 2:
        return SampledAgreement(None, None, values)
    worst, top = resamples.extremes(value)
    low, ceiling_low = resamples.maxima(worst)
    high, ceiling_high = resamples.maxima(top)
    # Where nothing varies above, all of the error probability lies below.
    two_sided = float(np.ptp(high)) > ATOL
    confidence_level = (
        resampling.confidence_level
        if two_sided
        else 1.0 - 2.0 * (1.0 - resampling.confidence_level)
    )
    ends = resampled_interval(low, high, confidence_level)
    # At the ceiling of the sample: what each resample lacks to its own one is what makes its equivalent error.
    at_ceiling = resampled_interval(low - ceiling_low, high - ceiling_high, confidence_level)
    # In words: what was resampled, and with what.
    what = "pairs" if units.codes is None else "groups"
    unseen = f"one pseudo-pair that disagrees, at {UNSEEN_MARGIN:g} times their margin"
    more = unseen if math.isinf(best.x) else "half a pair like the worst or best one"
    method = f"{units.n_units} {what} resampled with {more}, {resampling.n_resamples} resamples"
    # Resamples are means with other weights, so the interval is extended to hold the value itself.
    used = pairs.prior[pairs.prior > 0.0]
    # No agreement exceeds the entropy of a predicted prior, which other samples may have up to log K; nor -log of
    # the least entry of a given one.
    most = math.log(len(used)) if predicted else -math.log(used.min())
    if units.n_units == 1:  # one unit says nothing of how others vary
        ends = at_ceiling = (0.0, most)

    def interval(bottom: float, peak: float) -> Interval:
        return Interval(
            low=min(bottom, value) if value > 0.0 else 0.0,
            high=max(min(peak, most), value),
            confidence_level=resampling.confidence_level,
            method=method,
        )

    return SampledAgreement(interval(*ends), interval(*at_ceiling), values)


def n_trials(pairs: ScorePairs, resampling: Resampling) -> float:
    """Return how many independent trials the predictions of pairs count as, for a binomial interval."""
    # Each pair, or group of pairs, counts as one trial; weights reduce their number to (sum w)^2 / sum w^2.
    units = ResamplingUnits.of(resampling.groups, pairs.n_samples)
    weights = units.sums(np.ones(pairs.n_samples) if pairs.weights is None else pairs.weights)
    return float(weights.sum() ** 2 / (weights @ weights))


class SampledAgreement(NamedTuple):
    """The sampling distribution of the agreement.

    Attributes
    ----------
    interval : Interval or None
        Of the agreement. None where only one class is used: the pairs then say nothing of others.
    at_ceiling : Interval or None
        The same with the ceiling of the agreement as in the sample: other samples have other fractions of
        predictions, and so another ceiling, without flipping any.
    resampled : ndarray of shape (n_resamples,)
        The agreement in each resample.
    """

    interval: Interval | None
    at_ceiling: Interval | None
    resampled: FloatArray


class _FixedSums(NamedTuple):
    """Sums over pairs that are the same at every beta.

    Each is a number (of a unit), or an array with an entry for each resample, or for each pair.

    Attributes
    ----------
    weight : float or ndarray
        Sum of the weights.
    disagreeing : float or ndarray
        Weight of the pairs that disagree: towards infinite beta their f is minus infinity.
    limit : float or ndarray
        Sum of f towards infinite beta over the pairs that agree.
    prior_effect : float or ndarray
        What the predictions add through the predicted prior, to first order.
    ceiling : float or ndarray
        Sum of -log(prior) of the predicted classes.
    """

    weight: Any
    disagreeing: Any
    limit: Any
    prior_effect: Any
    ceiling: Any

    def plus(self, times: FloatArray, unit: _FixedSums) -> _FixedSums:
        """Return the sums of all resamples with a unit added, so many ``times`` to each."""
        added = [of_all + times * of_unit for of_all, of_unit in zip(self, unit, strict=True)]
        return _FixedSums(*added)


class _Unit(NamedTuple):
    """Sums over the rows of one more unit.

    Attributes
    ----------
    sums : callable
        Maps betas to sums of f and of its slopes, of shape (2 n_betas,).
    fixed : _FixedSums
        What does not depend on beta: numbers.
    """

    sums: Callable[[FloatArray], FloatArray]
    fixed: _FixedSums


class _Resamples:
    """Sums over the pairs of each resample, at any beta."""

    def __init__(
        self,
        pairs: ScorePairs,
        best: Maximum,
        resampling: Resampling,
        units: ResamplingUnits,
        *,
        predicted: bool,
        refit: bool,
        executor: Executor | None,
    ) -> None:
        self.pairs = pairs
        self.best = best
        self.units = units
        self.executor = executor
        # A beta of 0 or infinity is an end of the search: it is never kept.
        self.refit = refit or not 0.0 < best.x < math.inf
        n = pairs.n_samples
        self.bootstrap = BootstrapWeights(units.n_units, resampling.n_resamples, resampling.rng)
        # A weight of gamma distribution of shape 1 is a standard exponential one, that of a whole unit; shape 1/2 is
        # half a unit. Its random stream is none of those of `BootstrapWeights`.
        shape = 1.0 if math.isinf(best.x) else HALF
        self.one_more = np.random.default_rng([resampling.rng, 2]).standard_gamma(
            shape, resampling.n_resamples
        )
        self.weights = np.ones(n) if pairs.weights is None else pairs.weights
        # Towards infinite beta a pair that disagrees has minus infinity: it is counted, not added.
        limits = row_agreement(pairs, math.inf, executor=executor)
        disagrees = np.isneginf(limits)
        top = predicted_classes(pairs, executor)
        self.prior_effect = np.zeros(n)
        if predicted:
            # What each pair's predictions add to the agreement through the predicted prior, to first order.
            self.prior_effect = _prior_slope(pairs, best.x, executor)[top].mean(axis=0)
        self.mean_prior_effect = float(np.average(self.prior_effect, weights=self.weights))
        # The ceiling is the mean of -log(prior) of the predicted classes.
        ceiling = -np.log(pairs.prior[pairs.prior > 0.0])[top].mean(axis=0)
        self.mean_ceiling = float(np.average(ceiling, weights=self.weights))
        of_pairs = _FixedSums(
            weight=np.ones(n),
            disagreeing=disagrees,
            limit=np.where(disagrees, 0.0, limits),
            prior_effect=self.prior_effect,
            ceiling=ceiling,
        )
        # One row for each of the sums, one column for each pair.
        self.weighted = self.weights * np.stack(of_pairs)
        of_resamples = resampled_sums(
            lambda rows: self.weighted[:, rows].T, self.bootstrap, units, executor=executor
        )
        self.fixed = _FixedSums(*of_resamples.T)
        self.known: dict[float, FloatArray] = {}

    def maxima(self, unit: _Unit | None) -> tuple[FloatArray, FloatArray]:
        """Return the agreement of each resample, with more of one unit or without, and the change of its ceiling."""
        fixed = self.fixed
        if unit is not None:
            fixed = fixed.plus(self.one_more, unit.fixed)

        def sums(betas: FloatArray) -> tuple[FloatArray, FloatArray]:
            # Sums over a resample are linear in its weights: a unit more adds its own sums, times the weight that it
            # gets.
            total = self._totals(betas)
            if unit is not None:
                total = total + self.one_more[:, None] * unit.sums(betas)
            both = total / fixed.weight[:, None]
            return both[:, : len(betas)], both[:, len(betas) :]

        if self.refit:
            # A resample with a pair that disagrees has no finite limit.
            at_limit = np.where(fixed.disagreeing > 0.0, -math.inf, fixed.limit / fixed.weight)
            values = maxima_of_cubics(sums, first_betas(self.best), at_limit)
        else:
            values = np.maximum(sums(np.array([self.best.x]))[0][:, 0], 0.0)
        # The prior is predicted anew in each resample: relative to the sample, that adds so much.
        corrected = np.maximum(
            values + fixed.prior_effect / fixed.weight - self.mean_prior_effect, 0.0
        )
        ceiling_change = fixed.ceiling / fixed.weight - self.mean_ceiling
        # At beta = 0 both posteriors are the prior, and f is 0 whatever the prior is.
        return np.where(values > 0.0, corrected, values), ceiling_change

    def extremes(self, value: float) -> tuple[_Unit, _Unit]:
        """Return the unit that agrees least, or one that was not seen, and the unit that agrees most."""
        beta = self.best.x
        if beta == 0.0:  # nothing tells pairs apart there
            points = self.best.points[self.best.points > 0.0]
            beta = float(np.median(points)) if points.size else 1.0
        # What each unit adds beyond the mean, its effect through the prior included.
        own = (
            row_agreement(self.pairs, beta, executor=self.executor)
            + self.prior_effect
            - self.mean_prior_effect
        )
        if math.isinf(self.best.x):
            worst = self._unseen()
            own = np.where(np.isneginf(own), value, own)
        # A unit counts by all that its rows add: a large group weighs more than an extreme row.
        of_unit = self.units.sums(self.weights * (own - value))
        if not math.isinf(self.best.x):
            worst = self._unit(int(of_unit.argmin()))
        return worst, self._unit(int(of_unit.argmax()))

    def _totals(self, betas: FloatArray) -> FloatArray:
        """Return sums of f and of its slopes over each resample, of shape (n_resamples, 2 n_betas), kept by beta."""
        # Only betas that were not asked for before cost a pass.
        new = [float(beta) for beta in betas if float(beta) not in self.known]
        if new:
            pairs = self.pairs  # alone, with what its rows hold, goes to workers

            def columns(rows: slice) -> FloatArray:
                both = np.concatenate(block_agreement(pairs, rows, new))
                return np.asarray((both if pairs.weights is None else both * pairs.weights[rows]).T)

            arrays = pairs.scores, pairs.reference_scores
            total = resampled_sums(
                columns, self.bootstrap, self.units, arrays=arrays, executor=self.executor
            )
            for j, beta in enumerate(new):
                self.known[beta] = total[:, [j, len(new) + j]]
        return np.stack([self.known[float(beta)] for beta in betas], axis=2).reshape(
            len(self.one_more), -1
        )

    def _unit(self, number: int) -> _Unit:
        """Return a unit of the sample once more."""
        codes = self.units.codes
        rows = np.asarray([number]) if codes is None else np.flatnonzero(codes == number)
        part, weights = self.pairs.take(rows), self.weights[rows]

        def sums(betas: FloatArray) -> FloatArray:
            both = block_agreement(part, slice(0, len(rows)), list(betas))
            return np.asarray(np.concatenate(both) @ weights)

        return _Unit(sums, _FixedSums(*self.weighted[:, rows].sum(axis=1)))

    def _unseen(self) -> _Unit:
        """Return a unit of pairs that disagree: the two likeliest classes are swapped, and scores are far apart."""
        # A unit of average weight, of some of the pairs with their two likeliest classes swapped.
        per_unit = self.units.sums(self.weights)
        weight = float(per_unit @ per_unit / per_unit.sum())
        part = self.pairs.every(max(1, self.pairs.n_samples // UNSEEN_ROWS)).swapped()
        rows = slice(0, part.n_samples)
        row_weights = np.ones(part.n_samples) if part.weights is None else part.weights
        row_weights = row_weights * weight / row_weights.sum()

        def sums(betas: FloatArray) -> FloatArray:
            # Scores that lie 20 times as far apart have at beta the posteriors of the others at 20 beta; the factor
            # of the slope is that of the chain rule.
            values, slopes = block_agreement(part, rows, list(UNSEEN_MARGIN * betas))
            return np.asarray(np.concatenate([values, UNSEEN_MARGIN * slopes]) @ row_weights)

        fixed = _FixedSums(
            weight=weight,
            disagreeing=weight,
            limit=0.0,
            prior_effect=weight * self.mean_prior_effect,
            ceiling=weight * self.mean_ceiling,
        )
        return _Unit(sums, fixed)


def _prior_slope(pairs: ScorePairs, beta: float, executor: Executor | None) -> FloatArray:
    """Return the derivative of the agreement by the prior of each class.

    The derivative of the mean of L(a + b) - L(a) - L(b) by pi_k is that of the posteriors over pi_k.
    """
    prior = pairs.prior[pairs.prior > 0.0]

    def mean_change(rows: slice) -> FloatArray:
        block = to_float64(pairs.block(rows))
        terms = posteriors(block - block.max(axis=2, keepdims=True), prior, beta)
        weights = np.ones(len(block[0])) if pairs.weights is None else pairs.weights[rows]
        return np.asarray(weights @ (terms[2] - terms[0] - terms[1]))

    change = sum(map_blocks(mean_change, pairs.slices(), executor=executor)) / pairs.n_samples
    return np.asarray(change / prior)
