"""The bootstrap, and intervals and p-values: by resamples, and in closed form where there is one.

A resample gives each unit (a row, or a group of rows that belong together) a weight. Whatever a measure sums over its
rows it can sum with those weights; all resamples of a block of units are one matrix product, and blocks add up. The
same seed gives the same weights, so statistics of several models, or of further parameters, stay paired.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.blocks import map_blocks, map_reduce, row_blocks
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.placement import placed
from shiftmetrics._core.result import Interval
from shiftmetrics._core.tables import check_labels

if TYPE_CHECKING:
    from concurrent.futures import Executor

HALF = 0.5
"""Mean weight of one more unit, as extreme as any that was seen: half a one gives the intervals of Jeffreys."""

WEIGHTS_IN_BLOCK = 1 << 18
"""Weights that are generated at a time."""


@dataclass(frozen=True)
class BootstrapWeights:
    """Repeatable resamples: a standard exponential weight for each unit.

    This is the Bayesian bootstrap (D. Rubin, Annals of Statistics 9, 1981, doi:10.1214/aos/1176345338).

    Attributes
    ----------
    n_units : int
        Rows, or groups of rows.
    n_resamples : int
        Number of resamples.
    seed : int
        Gives the same weights each time.
    """

    n_units: int
    n_resamples: int
    seed: int

    @property
    def blocks(self) -> list[slice]:
        """Slices of units whose weights are generated at a time."""
        return row_blocks(self.n_units, self.n_resamples, block_bytes=WEIGHTS_IN_BLOCK)

    def weights(self, block: int) -> FloatArray:
        """Return the weights of the units of one of the `blocks`, of shape (n_resamples, n_units)."""
        units = self.blocks[block]
        # Each block has a stream of its own, so that blocks can be generated in any order, and again.
        rng = np.random.default_rng([self.seed, 1, block])
        return rng.standard_exponential((self.n_resamples, units.stop - units.start))


@dataclass(frozen=True)
class ResamplingUnits:
    """Which rows are resampled together.

    Attributes
    ----------
    n_rows, n_units : int
        Rows, and groups of them: as many where every row stands for itself.
    codes : ndarray of shape (n_rows,) or None
        The group of each row, from 0; None where every row stands for itself.
    """

    n_rows: int
    n_units: int
    codes: IntArray | None = None

    @classmethod
    def of(cls, groups: Any, n_rows: int) -> ResamplingUnits:
        """Return the units of ``groups``: one label for each row, or None.

        Raises
        ------
        ValueError
            If labels are missing, their number is another one, or there is only one group.
        """
        if groups is None:
            return cls(n_rows, n_rows)
        labels, codes = np.unique(
            check_labels(groups, "groups", length=n_rows), return_inverse=True
        )
        if len(labels) < 2:
            got = f"only {labels.tolist()[0]!r}"
            remedy = "Groups are resampled as a whole: give each cluster of rows its own label."
            raise ArgumentValueError("groups", "of at least two different labels", got, remedy)
        return cls(n_rows, len(labels), codes.astype(np.int64))

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sum of ``values`` over the rows of each unit."""
        if self.codes is None:
            return values
        sums = np.zeros((self.n_units, *values.shape[1:]))
        np.add.at(sums, self.codes, values)
        return sums


def resampled_sums(
    values_of: Callable[[slice], FloatArray],
    resamples: BootstrapWeights,
    units: ResamplingUnits,
    *,
    arrays: Sequence[Any] = (),
    executor: Executor | None = None,
) -> FloatArray:
    """Sum columns of values over the rows of each resample.

    Parameters
    ----------
    values_of : callable
        Maps a slice of rows to their values, of shape (n_rows, n_columns). It must be thread-safe.
    resamples : BootstrapWeights
        Of the units.
    units : ResamplingUnits
        Which rows are resampled together. Without groups the memory is bounded by the block size; with them
        the sums of each group are kept.
    arrays : sequence of array
        What the values are made of: out-of-core data are mapped, and resampled, where they live.
    executor : concurrent.futures.Executor, optional
        Where blocks are processed.

    Returns
    -------
    ndarray of shape (n_resamples, n_columns)
    """
    blocks = resamples.blocks
    if units.codes is not None:
        slices = placed(row_blocks(units.n_rows, 1, block_bytes=1 << 10), arrays)
        # Rows of a group are resampled together, wherever they are: their values are added up first.
        sums: FloatArray | None = None
        for rows, values in zip(
            slices, map_blocks(values_of, slices, executor=executor), strict=True
        ):
            if sums is None:
                sums = np.zeros((units.n_units, values.shape[1]))
            np.add.at(sums, units.codes[rows], values)
        assert sums is not None
        values_of = sums.__getitem__
        arrays = ()

    # A block of weights times the values of its rows; the blocks of rows never cross those of weights.
    def kernel(rows: slice) -> FloatArray:
        number = rows.start // blocks[0].stop
        first = blocks[number].start
        weights = resamples.weights(number)
        return weights[:, rows.start - first : rows.stop - first] @ values_of(rows)

    return map_reduce(kernel, placed(blocks, arrays), executor=executor)


def resampled_interval(
    low: FloatArray, high: FloatArray, confidence_level: float
) -> tuple[float, float]:
    """Return the interval whose ends are order statistics of resamples of either end.

    Raises
    ------
    ValueError
        If there are too few resamples for the confidence level.
    """
    place = _order(len(low), confidence_level)
    return float(np.sort(low)[place]), float(np.sort(high)[-1 - place])


def resampled_p_value(low: FloatArray, high: FloatArray) -> float:
    """Return the two-sided p-value of 0: at most ``1 - confidence_level`` where `resampled_interval` does not hold 0.

    It is never below ``2 / (n_resamples + 1)``, the least that so many resamples can resolve.
    """
    # Twice the fraction of resamples on the far side of 0, the sample itself counted as one of them.
    beyond = 1 + min(np.count_nonzero(low <= 0.0), np.count_nonzero(high >= 0.0))
    return min(1.0, 2.0 * beyond / (len(low) + 1))


def _order(n_resamples: int, confidence_level: float) -> int:
    """Return the position from the end of sorted resamples that leaves half of ``1 - confidence_level`` beyond."""
    # B resamples cut the line into B + 1 pieces of equal probability: floor(tail (B + 1)) of them lie beyond.
    tail = (1.0 - confidence_level) / 2.0
    place = math.floor(tail * (n_resamples + 1) + 1e-9) - 1
    if place < 0:
        least = math.ceil(1.0 / tail - 1e-9) - 1
        raise ArgumentValueError(
            "n_resamples", f"at least {least} for a level of {confidence_level:g}", n_resamples
        )
    return place


def normal_interval(
    value: float,
    standard_error: float,
    confidence_level: float,
    method: str,
    *,
    least: float = -np.inf,
) -> Interval:
    """Return ``value`` plus and minus a quantile of standard errors, cut off at the ``least`` possible value."""
    from scipy.special import ndtri

    # value +- z_{(1 + level) / 2} standard errors
    half = float(ndtri(0.5 + 0.5 * confidence_level)) * standard_error
    return Interval(
        low=max(value - half, least),
        high=value + half,
        confidence_level=confidence_level,
        method=method,
    )


def student_quantile(probability: float, freedom: float) -> float:
    """Return a quantile of Student's distribution, for probabilities above one half.

    From 40 degrees of freedom on by the expansion of Cornish and Fisher in 1 / freedom, which is good to 1e-6 there:
    so the first interval of a process need not wait for SciPy.
    """
    if freedom < 40.0 or probability > 0.9999:
        from scipy.special import stdtrit

        return float(stdtrit(freedom, probability))
    # The normal quantile: from 0 on the distribution function is concave, so that Newton's method never oversteps.
    z = 0.0
    step = 1.0
    while step > 1e-13:
        missing = probability - 0.5 * math.erfc(-z / math.sqrt(2.0))
        step = missing * math.sqrt(2.0 * math.pi) * math.exp(0.5 * z * z)
        z += step
    # The first four terms of the expansion in 1 / freedom (Abramowitz and Stegun, Handbook of Mathematical
    # Functions, 26.7.5), each over z.
    square = z * z
    first = (square + 1.0) / 4.0
    second = ((5.0 * square + 16.0) * square + 3.0) / 96.0
    third = (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) / 384.0
    fourth = ((79.0 * square + 776.0) * square + 1482.0) * square - 1920.0
    fourth = (fourth * square - 945.0) / 92160.0
    series = first + (second + (third + fourth / freedom) / freedom) / freedom
    return z * (1.0 + series / freedom)


def skewed_errors(
    influence: FloatArray, n_units: float, confidence_level: float
) -> tuple[float, float]:
    """Return how far the truth may lie below and above a value whose influence function is skewed.

    Student's quantiles of the studentised value, after the monotone transformation that removes its skewness
    (P. Hall, Journal of the Royal Statistical Society B 54, 1992, doi:10.1111/j.2517-6161.1992.tb01876.x).

    Parameters
    ----------
    influence : ndarray of shape (n_units,)
        What each unit adds to the value; they sum to 0, and their norm is the standard error.
    n_units : float
        Effective number of units.
    confidence_level : float
        Confidence level.

    Returns
    -------
    below, above : float
    """
    # Relative to the largest, so that no square overflows.
    largest = float(np.abs(influence).max(initial=0.0))
    if largest == 0.0:
        return 0.0, 0.0
    relative = influence / largest
    squares = relative * relative
    norm = math.sqrt(float(squares.sum()))
    spread = largest * norm
    skewness = (
        float((squares * relative).sum()) / norm**3
    )  # of one unit, over the root of their number
    # With u = (value - truth) / spread and skewness a, Hall's transformation is
    # g(u) = u + a u^2 / 3 + a^2 u^3 / 27 + a / 6; its inverse at a quantile q is 3 / a [cbrt(1 + a (q - a / 6)) - 1].
    quantile = student_quantile(0.5 + 0.5 * confidence_level, max(n_units - 1.0, 1.0))
    below = quantile
    above = quantile
    if abs(skewness) > 1e-6:
        shifted = 1.0 + skewness * (np.array([quantile, -quantile]) - skewness / 6.0)
        below, above = np.abs(3.0 / skewness * (np.cbrt(shifted) - 1.0)).tolist()
    return below * spread, above * spread


def binomial_interval(
    rate: float, n_samples: float, confidence_level: float, *, one_sided: bool = False
) -> tuple[float, float]:
    """Return the exact interval of a probability (Clopper and Pearson, 1934, doi:10.1093/biomet/26.4.404).

    Parameters
    ----------
    rate : float
        Fraction of the samples that have it.
    n_samples : float
        Number of rows; an effective one, of weighted rows, need not be an integer.
    confidence_level : float
        Confidence level.
    one_sided : bool, default False
        Leave all of ``1 - confidence_level`` to each side: for a bound of which one side alone is used.

    Returns
    -------
    tuple of float
        The ends: 0 where no row has it, 1 where all have it.
    """
    from scipy.special import betaincinv

    having = rate * n_samples
    tail = 1.0 - confidence_level
    if not one_sided:
        tail *= 0.5
    # Quantiles of beta distributions: P(X >= having | low) = tail, and P(X <= having | high) = tail.
    low = 0.0
    if rate > 0.0:
        low = float(betaincinv(having, n_samples - having + 1.0, tail))
    high = 1.0
    if rate < 1.0:
        high = float(betaincinv(having + 1.0, n_samples - having, 1.0 - tail))
    return low, high


def rate_ratio_p_value(
    having: float, other_having: float, n: float, n_other: float, ratio: float
) -> float:
    """Return the p-value of a rate that is at most ``ratio`` times another, of rare events in two samples.

    Given the sum of both counts, the first is binomial with probability ``ratio * n / (ratio * n + n_other)``
    (J. Przyborowski and H. Wilenski, Biometrika 31, 1940, doi:10.1093/biomet/31.3-4.313). Events that are not rare
    vary less than that, and so do sums of numbers from 0 to 1, which need not be whole.

    Parameters
    ----------
    having, other_having : float
        How many units of each sample have it.
    n, n_other : float
        Units of each sample.
    ratio : float
        Positive.
    """
    from scipy.special import betainc

    if having <= 0.0:
        return 1.0
    # P(X >= having) of that binomial, by the incomplete beta function.
    return float(betainc(having, other_having + 1.0, ratio * n / (ratio * n + n_other)))
