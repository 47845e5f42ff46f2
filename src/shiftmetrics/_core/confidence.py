"""Intervals and p-values in closed form: normal, corrected for skewness, and exact ones of counts."""

from __future__ import annotations

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.result import Interval


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
    from scipy.special import stdtrit

    spread = float(np.hypot.reduce(influence))  # does not overflow
    if spread == 0.0:
        return 0.0, 0.0
    skewness = float(
        np.sum((influence / spread) ** 3)
    )  # of one unit, over the root of their number
    # With u = (value - truth) / spread and skewness a, Hall's transformation is
    # g(u) = u + a u^2 / 3 + a^2 u^3 / 27 + a / 6; its inverse at a quantile q is 3 / a [cbrt(1 + a (q - a / 6)) - 1].
    quantile = float(stdtrit(max(n_units - 1.0, 1.0), 0.5 + 0.5 * confidence_level))
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
        Leave all of ``1 - confidence_level`` to each side: for a bound that is looked at from one side alone.

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
