"""Anytime-valid intervals, which hold after every label: a betting sequence for a finite population.

I. Waudby-Smith and A. Ramdas, Estimating means of bounded random variables by betting, Journal of
the Royal Statistical Society B 86, 2024, arXiv:2010.09686, with their correction for sampling
without replacement (section 5). The stakes are four fixed fractions, whose capitals are averaged:
on pairs of real models they were as narrow as ten of them, and narrower than stakes that adapt.
"""

from __future__ import annotations

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray

STAKES = (0.08, 0.18, 0.35, 0.6)
"""Fractions of the capital that are bet."""

MOST_BET = 0.75
"""Largest fraction of the capital that is bet."""

GRID_SIZE = 241
"""Candidates for the mean, evenly from 0 to 1; limits go outwards to the next one."""


def mean_sequence(
    low_values: FloatArray,
    high_values: FloatArray,
    n_population: int,
    confidence_level: float = 0.95,
) -> tuple[FloatArray, FloatArray]:
    """Return limits of the mean of a finite population that hold after every value together.

    For each candidate c of the mean, a gambler who bets that the mean is higher sees the values one
    by one. If c is the mean, the values still to come have the mean ``m = (n_population c - sum so
    far) / (rows left)``, his bet is fair, and his capital ever reaches ``2 / error`` with a
    probability of at most ``error / 2`` (Ville's inequality). So candidates under which it does are
    too low. A second gambler bets that the mean is lower.

    Parameters
    ----------
    low_values, high_values : ndarray of shape (n_drawn,)
        Each value in the order of sampling, from 0 to 1: the lowest and the highest it may be. They are
        the same where the value is known. The lower limit rises with each value, the upper one too,
        so that the limits are right whatever the unknown values are.
    n_population : int
        Size of the population, from which values are sampled without replacement.
    confidence_level : float, default 0.95
        Of all limits together.

    Returns
    -------
    low, high : ndarray of shape (n_drawn,)
        Limits after each value. The first never falls, the second never rises.

    Examples
    --------
    >>> low, high = mean_sequence(np.ones(100), np.ones(100), 1000)
    >>> round(float(low[-1]), 3), float(high[-1])
    (0.925, 1.0)
    """
    sizes = np.ones(len(low_values))
    return weighted_sequence(low_values, high_values, sizes, n_population, confidence_level)


def weighted_sequence(
    low_values: FloatArray,
    high_values: FloatArray,
    sizes: FloatArray,
    total: float,
    confidence_level: float = 0.95,
    *,
    bets: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return limits of a weighted mean of a finite population, sampled in proportion to the weights.

    Each row is sampled from those that are left, with a probability proportional to its size. So the next value has
    the mean ``m = (total c - sum of size times value so far) / (sizes left)`` where c is the weighted mean, and the
    bets of `mean_sequence`, which is the case of equal sizes, are fair.

    Parameters
    ----------
    low_values, high_values : ndarray of shape (n_drawn,)
        Each value in the order of sampling, from 0 to 1: the lowest and the highest it may be.
    sizes : ndarray of shape (n_drawn,)
        Positive sizes of these rows.
    total : float
        Sum of the sizes of the population.
    confidence_level : float, default 0.95
        Of all limits together.
    bets : ndarray of shape (n_drawn,), optional
        What is bet on each value, per unit of it, as `planned_bets` returns. Default: four fixed fractions of the
        capital, as good after few values as after many.

    Returns
    -------
    low, high : ndarray of shape (n_drawn,)
        Limits of ``sum(size * value) / total`` after each value. The first never falls, the second never rises.

    Examples
    --------
    >>> low, high = weighted_sequence(np.ones(50), np.ones(50), np.full(50, 2.0), 1000.0)
    >>> round(float(low[-1]), 3), float(high[-1])
    (0.858, 1.0)
    """
    low = _lower_limits(low_values, sizes, total, confidence_level, bets)
    # The upper limit is the lower one of the values turned round.
    high = 1.0 - _lower_limits(1.0 - high_values, sizes, total, confidence_level, bets)
    return low, high


def planned_bets(
    values: FloatArray, known: BoolArray, n_planned: int, confidence_level: float = 0.95
) -> FloatArray:
    """Return the bets that make the limits after a planned number of values narrow.

    The best constant bet is ``sqrt(2 log(2 / error) / (n variance))``; the variance is that of the values before,
    with one of 1/4 before any (Waudby-Smith and Ramdas, section 3.3). So a bet never knows the value that it is for.

    Parameters
    ----------
    values : ndarray of shape (n_drawn,)
        From 0 to 1, in the order of sampling.
    known : ndarray of shape (n_drawn,)
        Whether each value is known; others say nothing of the variance.
    n_planned : int
        How many values there will be.
    confidence_level : float, default 0.95
        Of the limits.
    """
    wanted = 2.0 * np.log(2.0 / (1.0 - confidence_level))
    count = np.concatenate([[0.0], np.cumsum(known)[:-1]])
    seen = np.where(known, values, 0.0)
    before = np.concatenate([[0.0], np.cumsum(seen)[:-1]])
    mean = (0.5 + before) / (1.0 + count)
    squares = np.where(known, (values - mean) ** 2, 0.0)
    variance = (0.25 + np.concatenate([[0.0], np.cumsum(squares)[:-1]])) / (1.0 + count)
    return np.asarray(np.sqrt(wanted / (n_planned * variance)))


def difference_sequence(
    signs: IntArray,
    n_population: int,
    confidence_level: float = 0.95,
    *,
    known: BoolArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return limits of the number of rows fixed minus those broken, after every label.

    Parameters
    ----------
    signs : ndarray of shape (n_drawn,)
        In the order of sampling: 1 where the new model alone is right, -1 where the old one alone is,
        else 0.
    n_population : int
        Rows in which the two models differ.
    confidence_level : float, default 0.95
        Of all limits together.
    known : ndarray of shape (n_drawn,), optional
        False where the label is missing, so that the sign may be anything.

    Returns
    -------
    low, high : ndarray of shape (n_drawn,)
        Limits of the difference of the two numbers.
    """
    least = np.asarray(signs, dtype=np.float64)
    most = least
    if known is not None:
        least = np.where(known, least, -1.0)
        most = np.where(known, most, 1.0)
    low, high = mean_sequence(
        0.5 * (least + 1.0), 0.5 * (most + 1.0), n_population, confidence_level
    )
    return n_population * (2.0 * low - 1.0), n_population * (2.0 * high - 1.0)


def _lower_limits(
    values: FloatArray,
    sizes: FloatArray,
    total: float,
    confidence_level: float,
    bets: FloatArray | None,
) -> FloatArray:
    """Return the lower limit of the weighted mean after each value."""
    wanted = 2.0 / (1.0 - confidence_level)
    candidates = np.linspace(0.0, 1.0, GRID_SIZE)
    sums = np.concatenate([[0.0], np.cumsum(sizes * values)])
    # What is left is no less than the next row, whatever rounding says.
    left = np.maximum(total - np.concatenate([[0.0], np.cumsum(sizes)[:-1]]), sizes)
    # Mean of what is still to come under each candidate; where it is above 1, the candidate is too high, not too low.
    means = (total * candidates[None, :] - sums[:-1, None]) / left[:, None]
    means = np.clip(means, 0.0, 1.0)
    # A value above a mean of 0 is impossible: it refutes the candidate at once.
    with np.errstate(divide="ignore", invalid="ignore"):
        gains = (values[:, None] - means) / means
    gains = np.where(means > 0.0, gains, np.where(values[:, None] > 0.0, np.inf, 0.0))
    capital = np.zeros_like(means)
    with np.errstate(over="ignore", invalid="ignore"):
        if bets is None:
            for stake in STAKES:
                capital += np.cumprod(1.0 + stake * gains, axis=0) / len(STAKES)
        else:
            stakes = np.minimum(bets[:, None] * means, MOST_BET)
            # Nothing can be lost under a mean of 0.
            stakes = np.where(means > 0.0, stakes, MOST_BET)
            capital = np.cumprod(1.0 + stakes * gains, axis=0)
    refuted = np.maximum.accumulate(capital, axis=0) >= wanted
    # The capital falls with the candidate, so the refuted ones come first; the limit is the last of them.
    n_refuted = refuted.sum(axis=1)
    limits = candidates[np.maximum(n_refuted - 1, 0)]
    # And what has been seen is certain.
    return np.maximum.accumulate(np.maximum(limits, sums[1:] / total))
