"""Errors of several values together: resampled jointly, and p-values that hold for all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.confidence import ResamplingUnits
from shiftmetrics._core.result import Interval

NORMAL_RESAMPLES = 10_000
"""Resamples behind what has no closed form: maxima over correlated differences, and which model is the best."""

MAX_NUMBERS = 1 << 24
"""Numbers held at a time."""


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
    # The differences of all pairs are held in memory for all resamples at once: fewer where models are many.
    n_resamples = min(NORMAL_RESAMPLES, max(1000, MAX_NUMBERS // n_pairs))
    # Correlation matrix C = S'S of the influence functions, of norm 1 each; z sqrt(C) has that correlation.
    errors = np.linalg.norm(influence, axis=0)
    scaled = influence / np.where(errors > 0.0, errors, 1.0)
    scales, axes = np.linalg.eigh(scaled.T @ scaled)
    half = np.random.default_rng(seed).standard_normal((n_resamples // 2, n_values))
    normal = (half * np.sqrt(np.maximum(scales, 0.0))) @ axes.T
    # Antithetic: each error stands beside its negative, so that their mean is 0.
    normal = np.concatenate([normal, -normal])
    # Each side is stretched to the interval of its value.
    low = np.array([interval.low for interval in intervals])
    high = np.array([interval.high for interval in intervals])
    confidence_level = np.array([interval.confidence_level for interval in intervals])
    reach = np.where(normal < 0.0, values - low, high - values)
    # At the confidence level a normal error reaches as far as the interval does.
    sides = reach / ndtri(0.5 + 0.5 * confidence_level)
    with np.errstate(invalid="ignore"):
        return np.where(normal == 0.0, 0.0, normal * sides)


def simultaneous_p_values(
    values: FloatArray, resamples: FloatArray, errors: FloatArray | None = None
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
    errors : ndarray of shape (n_values,), optional
        Standard errors, infinite where they are not known. Default: those of the resamples.

    Returns
    -------
    p_values : ndarray of shape (n_values,)
        1 where a value and all its resamples are 0.
    largest : ndarray of shape (n_resamples,)
        The largest deviation in each resample.
    """
    if errors is None:
        errors = resamples.std(axis=0)
    # The largest deviation of each resample from their mean, in standard errors.
    deviations = np.abs(resamples - resamples.mean(axis=0)) / np.where(errors > 0.0, errors, np.inf)
    largest = deviations.max(axis=1, initial=0.0)
    # A value is as unlikely as the largest deviation that reaches as far as 0 does.
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.where(values == 0.0, 0.0, np.abs(values) / errors)
    return (1.0 + (largest[:, None] >= far).sum(axis=0)) / (1.0 + len(resamples)), largest


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
    # A stream for each resample: any of them can be taken alone, and again.
    rng = np.random.default_rng([seed, number])
    weights = rng.standard_exponential(units.n_units)
    if units.codes is not None:
        weights = weights[units.codes]
    return weights, rng.standard_exponential(n_others)
