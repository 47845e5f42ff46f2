"""Samples shifted in part: the agreement at every ratio of shifted rows, from one set of sums.

A row counts as it is shifted or as it was, whatever the others do. So rows are put in the order in which they are
shifted and cut into segments between one ratio and the next; a pass sums both versions of each segment, and the
statistic at any ratio adds the shifted versions of the first segments to the original versions of the others. Betas
that one ratio asks for serve all of them.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, IntArray, namespace, take_rows, to_float64
from shiftmetrics._core.blocks import map_reduce
from shiftmetrics._core.confidence import binomial_interval
from shiftmetrics._core.maximum import Maximum
from shiftmetrics._core.resampling import Units
from shiftmetrics._core.statistics import Statistic
from shiftmetrics.agreement.channel import prior_channel_capacity
from shiftmetrics.agreement.sampling import unseen_contradictions
from shiftmetrics.agreement.scores import ScorePairs
from shiftmetrics.agreement.solver import solve_agreement
from shiftmetrics.agreement.statistic import (
    AgreementLimits,
    AgreementStatistic,
    limits_of,
    log_partitions,
)


@dataclass(frozen=True, eq=False)
class MixtureStatistic(Statistic):
    """Sums over the rows of each segment: L(a + b), its slope, L(a) + L(b), its slope, and f^2.

    Attributes
    ----------
    shifted, kept : ndarray of shape (n_betas, 5, n_segments)
        Of rows as they are shifted, and of the same rows as they were (paired with themselves).
    """

    shifted: FloatArray
    kept: FloatArray


@dataclass(frozen=True, eq=False)
class RatioMixtures:
    """Pairs of which a growing share is shifted; solves for all shares with the sums of one.

    Attributes
    ----------
    pairs : ScorePairs
        Every row shifted, without weights.
    segment : ndarray of shape (n_samples,)
        Row i is shifted from the ratio at this position on; ``n_ratios`` if at none.
    limits : list of AgreementLimits
        At each ratio.
    """

    pairs: ScorePairs
    segment: IntArray
    limits: list[AgreementLimits]
    executor: Executor | None = None
    _known: dict[float, tuple[FloatArray, FloatArray]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, pairs: ScorePairs, segment: IntArray, n_ratios: int, *, executor: Executor | None = None
    ) -> RatioMixtures:
        """Take the limits of each segment in both versions, and add them up for each ratio."""
        original = pairs.replace(scores=pairs.reference_scores)
        versions = [_segment_limits(version, segment, n_ratios + 1) for version in (pairs, original)]
        limits = [
            functools.reduce(operator.add, versions[0][: j + 1] + versions[1][j + 1 :])
            for j in range(n_ratios)
        ]
        return cls(pairs, segment, limits, executor)

    @property
    def n_evaluations(self) -> int:
        """Betas evaluated so far, for all ratios together."""
        return len(self._known)

    def solve(self, *, atol: float, max_iter: int) -> list[Maximum]:
        """Return the certified maximum at every ratio; betas that one asks for cost the others nothing."""
        return [self._solve_at(j, atol, max_iter) for j in range(len(self.limits))]

    def _solve_at(self, j: int, atol: float, max_iter: int) -> Maximum:
        if not (self.segment <= j).any():
            return _at_infinity(self.limits[j].value)
        return solve_agreement(
            lambda betas: self._statistic(j, betas),
            self.limits[j],
            prior=self.pairs.prior,
            atol=atol,
            max_iter=max_iter + len(self._known),
            guesses=list(self._known),
        )

    def sampling_ends(self, j: int, best: Maximum, level: float) -> tuple[float, float]:
        """Return the sampling interval of a maximum: to first order, beta may stay where it is.

        Where no pair disagrees, or no beta agrees, the pairs do not vary at the solution; there the rate of
        disagreement has an exact interval, which is read through the channel identity.
        """
        from scipy.special import ndtri

        n, limits, value = self.pairs.n_samples, self.limits[j], best.value
        if 0.0 < best.x < math.inf:
            sums = self._sums(j, [best.x])[0]
            mean = (sums[0] - sums[2]) / n
            spread = max(float(sums[4] / n - mean**2), 0.0)
            reach = float(ndtri((1.0 + level) / 2.0)) * math.sqrt(spread / max(n - 1, 1))
            return max(0.0, value - reach), min(
                -math.log(self.pairs.prior[self.pairs.prior > 0.0].min()), value + reach
            )
        if not (self.segment <= j).any():
            return value, value  # rows paired with themselves cannot disagree
        if math.isinf(best.x):
            interval = unseen_contradictions(self.pairs, limits, Units(n, n), value, level)
            return interval.low, interval.high
        error, _ = binomial_interval(limits.disagreeing / limits.weight, n, level, one_sided=True)
        used, shares = self.pairs.prior > 0.0, limits.predicted / limits.predicted.sum()
        return value, max(value, prior_channel_capacity(error, shares[used], self.pairs.prior[used]))

    def _statistic(self, j: int, betas: Sequence[float] | FloatArray) -> AgreementStatistic:
        pair, pair_slope, single, single_slope, _ = self._sums(j, betas).T
        return AgreementStatistic(float(self.pairs.n_samples), pair, pair_slope, single, single_slope)

    def _sums(self, j: int, betas: Sequence[float] | FloatArray) -> FloatArray:
        """Return the sums at ratio ``j``, of shape (n_betas, 5)."""
        wanted = [float(beta) for beta in betas]
        fresh = [beta for beta in wanted if beta not in self._known]
        if fresh:
            statistic = map_reduce(
                lambda rows: _block_sums(self.pairs, self.segment[rows], len(self.limits) + 1, rows, fresh),
                self.pairs.slices(),
                executor=self.executor,
            )
            self._known.update(zip(fresh, zip(statistic.shifted, statistic.kept, strict=True), strict=True))
        found = [self._known[beta] for beta in wanted]
        return np.stack(
            [shifted[:, : j + 1].sum(axis=1) + kept[:, j + 1 :].sum(axis=1) for shifted, kept in found]
        )


def _block_sums(
    pairs: ScorePairs, segment: IntArray, n_segments: int, rows: slice, betas: Sequence[float]
) -> MixtureStatistic:
    parts, slopes = (to_float64(part) for part in log_partitions(pairs, _four_planes(pairs, rows), betas))
    member = (segment[:, None] == np.arange(n_segments)).astype(np.float64)
    squares = (
        np.stack([parts[:, 2] - parts[:, 0] - parts[:, 1], parts[:, 3] - 2.0 * parts[:, 1]], axis=1) ** 2
    )
    value, slope, square = parts @ member, slopes @ member, squares @ member  # (n_betas, planes, n_segments)
    single, single_slope = value[:, 0] + value[:, 1], slope[:, 0] + slope[:, 1]
    own, own_slope = 2.0 * value[:, 1], 2.0 * slope[:, 1]
    shifted = [value[:, 2], slope[:, 2], single, single_slope, square[:, 0]]
    kept = [value[:, 3], slope[:, 3], own, own_slope, square[:, 1]]
    return MixtureStatistic(np.stack(shifted, axis=1), np.stack(kept, axis=1))


def _four_planes(pairs: ScorePairs, rows: slice) -> Array:
    """Return a block [a, b, a + b, b + b]."""
    block = pairs.block(rows)
    if not isinstance(block, np.ndarray):
        return namespace(block).concat([block, 2.0 * block[1:2, ...]])
    planes = pairs.plane_buffer("mixture", block.shape[1:], 4)
    planes[:3] = block
    np.multiply(block[1], 2.0, out=planes[3])
    return planes


def _at_infinity(value: float) -> Maximum:
    """Return the maximum of pairs of a row with itself, which rise for ever: 2 (E_2beta[b] - E_beta[b]) >= 0."""
    zero = np.zeros(1)
    return Maximum(
        math.inf, value, 0.0, 1e-15 * abs(value), zero, zero, np.full(1, value), 0, 0, converged=True
    )


def _segment_limits(pairs: ScorePairs, segment: IntArray, n_segments: int) -> list[AgreementLimits]:
    """Return the limits of the rows of each segment, block by block."""
    found = [limits_of(pairs.every(pairs.n_samples)).zeros()] * n_segments
    for rows in pairs.slices():
        block = pairs.replace(
            scores=pairs.scores[rows, ...], reference_scores=pairs.reference_scores[rows, ...]
        )
        for k in np.unique(segment[rows]):
            inside = np.flatnonzero(segment[rows] == k)
            part = block.replace(
                scores=take_rows(block.scores, inside),
                reference_scores=take_rows(block.reference_scores, inside),
            )
            found[k] = found[k] + limits_of(part)
    return found
