"""The bootstrap: repeatable resamples of the units of a sample, and the intervals and p-values that they give.

A resample gives each unit (a row, or a group of rows that belong together) a weight. Whatever a measure sums over its
rows it can sum with those weights; all resamples of a block of units are one matrix product, and blocks add up. The
same seed gives the same weights, so statistics of several models, or of further parameters, stay paired.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.blocks import map_blocks, map_reduce, row_blocks
from shiftmetrics._core.placement import placed
from shiftmetrics._core.result import Interval
from shiftmetrics._core.tables import check_labels
from shiftmetrics._core.validation import describe

HALF = 0.5
"""Mean weight of one more unit, as extreme as any that was seen: half a one gives the intervals of Jeffreys."""

NORMAL_RESAMPLES = 10_000
"""Resamples behind what has no closed form: maxima over correlated differences, and which model is the best."""

MAX_NUMBERS = 1 << 24
"""Numbers held at a time."""

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
            raise ValueError(describe("groups", "of at least two different labels", got, remedy))
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
        raise ValueError(
            describe(
                "n_resamples", f"at least {least} for a level of {confidence_level:g}", n_resamples
            )
        )
    return place


def normal_errors(
    influence: FloatArray, values: FloatArray, intervals: Sequence[Interval], seed: int
) -> FloatArray:
    """Return resampled errors of several values, normal and stretched on each side to their intervals.

    The correlation is that of the influence functions. Where intervals are symmetric, these are the jointly normal
    errors of the influence functions.

    Parameters
    ----------
    influence : ndarray of shape (n_units, n_values)
        What each unit adds to each value.
    values : ndarray of shape (n_values,)
        The sample's own.
    intervals : sequence of Interval
        Of each value; infinite where it is not known.
    seed : int
        Gives the same errors each time.

    Returns
    -------
    ndarray of shape (n_resamples, n_values)
        NaN or infinite where an interval is.
    """
    from scipy.special import ndtri

    n_values = len(values)
    n_pairs = max(1, n_values * (n_values - 1) // 2)
    n_resamples = min(NORMAL_RESAMPLES, max(1000, MAX_NUMBERS // n_pairs))
    # Correlation matrix C = S'S of the influence functions, of norm 1 each; z sqrt(C) has that correlation.
    errors = np.linalg.norm(influence, axis=0)
    scaled = influence / np.where(errors > 0.0, errors, 1.0)
    scales, axes = np.linalg.eigh(scaled.T @ scaled)
    half = np.random.default_rng(seed).standard_normal((n_resamples // 2, n_values))
    normal = (half * np.sqrt(np.maximum(scales, 0.0))) @ axes.T
    # Antithetic: each error stands beside its negative, so that their mean is 0.
    normal = np.concatenate([normal, -normal])
    low = np.array([interval.low for interval in intervals])
    high = np.array([interval.high for interval in intervals])
    confidence_level = np.array([interval.confidence_level for interval in intervals])
    reach = np.where(normal < 0.0, values - low, high - values)
    sides = reach / ndtri(0.5 + 0.5 * confidence_level)
    with np.errstate(invalid="ignore"):
        return np.where(normal == 0.0, 0.0, normal * sides)


def simultaneous_p_values(
    values: FloatArray, resamples: FloatArray, sides: tuple[FloatArray, FloatArray] | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return p-values of several values, each against 0, that hold together, and what they rest on.

    Single-step studentised maxima: the p-value of a value is the fraction of resamples in which the largest
    deviation of any of them, in its own standard errors, is as large (J. Romano and M. Wolf, Econometrica 73, 2005,
    doi:10.1111/j.1468-0262.2005.00615.x).

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        The sample's own.
    resamples : ndarray of shape (n_resamples, n_values)
        Theirs in each resample.
    sides : tuple of ndarray of shape (n_values,), optional
        Standard errors below and above each value. Default: those of the resamples, around their mean.

    Returns
    -------
    p_values : ndarray of shape (n_values,)
        1 where a value and all its resamples are 0.
    largest : ndarray of shape (n_resamples,)
        The largest deviation in each resample.
    """
    centre = resamples.mean(axis=0) if sides is None else values
    if sides is None:
        down = up = resamples.std(axis=0)
    else:
        down, up = sides
    # The largest deviation of each resample, in standard errors of the side on which it lies.
    error = np.where(resamples < centre, down, up)
    with np.errstate(invalid="ignore"):
        deviations = np.abs(resamples - centre) / np.where(error > 0.0, error, np.inf)
    largest = np.nan_to_num(deviations).max(axis=1, initial=0.0)
    # A value is as unlikely as the largest deviation that reaches as far as 0 does.
    far = in_errors(values, down, up)
    return (1.0 + (largest[:, None] >= far).sum(axis=0)) / (1.0 + len(resamples)), largest


def in_errors(values: FloatArray, down: FloatArray, up: FloatArray) -> FloatArray:
    """Return how far values are from 0, in standard errors of the side on which 0 lies."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(values == 0.0, 0.0, np.abs(values) / np.where(values > 0.0, down, up))


def weights_of_resample(
    seed: int, number: int, units: ResamplingUnits, n_others: int
) -> tuple[FloatArray, FloatArray]:
    """Return one resample of the rows, and of ``n_others`` rows of another sample, which is independent of them.

    Returns
    -------
    weights : ndarray of shape (n_rows,)
        Those of the unit of each row.
    others : ndarray of shape (n_others,)
    """
    rng = np.random.default_rng([seed, number])
    weights = rng.standard_exponential(units.n_units)
    if units.codes is not None:
        weights = weights[units.codes]
    return weights, rng.standard_exponential(n_others)
