"""Exact intervals from a random sample of a finite population of rows, without replacement.

Nothing here is an approximation: a limit is the last value of the population that the sample would
not make improbable, by the hypergeometric distribution or the multivariate one. They are given
once, at the number of labels that was planned; intervals that hold after each label are
in `anytime`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.exceptions import ArgumentValueError

ZEROS_FRACTION = 0.1
"""Part of the error probability that is spent on the number of rows that neither model gets right."""

NEGLIGIBLE = -40.0
"""Logarithm of a probability that no sum of them notices."""

GRID = 15
"""Numbers of zeros that are tried first, evenly over their interval."""

AROUND = 50
"""Numbers of zeros on either side of the worst of these that are all tried."""


@dataclass(frozen=True, kw_only=True)
class Outcomes:
    """What the labels of the sampled rows say: in each of them one model is right, or neither.

    Attributes
    ----------
    fixed, broken, neither : int
        Sampled rows in which the new model alone is right, the old one alone, and neither.
    missing : int, default 0
        Sampled rows without a label: they count as broken in the lower limit, and as fixed in the
        upper one.
    """

    fixed: int
    broken: int
    neither: int
    missing: int = 0

    @property
    def n_drawn(self) -> int:
        """Rows that were sampled, labelled or not."""
        return self.fixed + self.broken + self.neither + self.missing


def count_interval(
    n_population: int,
    n_drawn: int,
    n_having: int,
    confidence_level: float = 0.95,
    *,
    missing: int = 0,
) -> tuple[int, int]:
    """Return the exact interval of the number of rows of a population that have a property.

    All numbers K with ``P(X >= n_having)`` and ``P(X <= n_having)`` above half of the error
    probability each, for a hypergeometric X.

    Parameters
    ----------
    n_population, n_drawn : int
        Rows, and how many of them were sampled without replacement.
    n_having : int
        Sampled rows that have it.
    confidence_level : float, default 0.95
        Confidence level.
    missing : int, default 0
        Sampled rows that may have it or not.

    Returns
    -------
    low, high : int

    Raises
    ------
    ValueError
        If more rows are sampled than there are, or more have it than are sampled.

    Examples
    --------
    >>> count_interval(100, 20, 19)
    (78, 99)
    """
    if not 0 <= n_drawn <= n_population:
        expected = f"between 0 and n_population, {n_population}"
        raise ArgumentValueError("n_drawn", expected, n_drawn)
    if not 0 <= n_having <= n_drawn - missing:
        expected = f"between 0 and the number of labelled rows, {n_drawn - missing}"
        raise ArgumentValueError("n_having", expected, n_having)
    tail = 0.5 * (1.0 - confidence_level)
    draw = Draw(n_population, n_drawn)
    # The possible numbers: those seen, and all but those seen not to have it.
    least = n_having
    most = n_population - (n_drawn - n_having - missing)
    # P(X >= n_having) grows with the number in the population, P(X <= n_having) falls with it.
    low = first_true(least, most, lambda having: draw.at_least(n_having, having) > tail)
    seen = n_having + missing
    high = first_true(least, most, lambda having: draw.at_most(seen, having) <= tail)
    if draw.at_most(seen, high) <= tail:
        high -= 1
    return low, high


def difference_interval(
    n_population: int,
    outcomes: Outcomes,
    confidence_level: float = 0.95,
    *,
    two_classes: bool = False,
) -> tuple[int, int]:
    """Return the exact interval of the number of rows fixed minus the number broken, in a finite population.

    The population is the rows in which the two models differ, of which some were sampled at random
    without replacement. Let S+, S- and S0 be its rows that are fixed, broken and neither, and T the
    sampled rows fixed minus those broken. Given S0, the distribution of T rises with D = S+ - S-, so
    that the lower limit is the smallest D under which a T as large as the one seen is not
    improbable. S0 is unknown: a tenth of the error probability pays for an interval of it, and the
    limit is the worst one over that interval.

    Parameters
    ----------
    n_population : int
        Rows in which the two models differ.
    outcomes : Outcomes
        What the labels of the sampled rows say.
    confidence_level : float, default 0.95
        Confidence level.
    two_classes : bool, default False
        Whether there are two classes in all, so that one of the two models is right in each of
        these rows.

    Returns
    -------
    low, high : int
        Limits of D; over the number of all rows they are limits of the difference of the
        accuracies.

    Raises
    ------
    ValueError
        If more rows are sampled than there are.

    Notes
    -----
    The worst S0 is searched on a coarse grid, and then among all its neighbours. That none of the others
    is worse is not proved: it was so in all of 300 random cases of 40 to 5,000 rows.

    Examples
    --------
    >>> difference_interval(174, Outcomes(fixed=35, broken=14, neither=1))
    (32, 107)
    """
    error = 1.0 - confidence_level
    n_drawn = outcomes.n_drawn
    if n_drawn > n_population:
        raise ArgumentValueError("outcomes", f"at most {n_population} sampled rows", n_drawn)
    zeros = (0, 0)
    if not two_classes:
        spent = ZEROS_FRACTION * error
        zeros = count_interval(
            n_population, n_drawn, outcomes.neither, 1.0 - spent, missing=outcomes.missing
        )
        # By Bonferroni, the interval of the zeros and that of the difference hold together.
        error -= spent
    lower = _lower_limit(n_population, outcomes, zeros, 0.5 * error)
    # By symmetry, the upper limit is the lower one of the models exchanged.
    exchanged = Outcomes(
        fixed=outcomes.broken,
        broken=outcomes.fixed,
        neither=outcomes.neither,
        missing=outcomes.missing,
    )
    upper = -_lower_limit(n_population, exchanged, zeros, 0.5 * error)
    return lower, upper


def _lower_limit(n_population: int, seen: Outcomes, zeros: tuple[int, int], tail: float) -> int:
    """Return the smallest D under which T is not improbable, over all numbers of zeros in their interval."""
    draw = Draw(n_population, seen.n_drawn)
    # Rows without a label count as broken.
    least_t = seen.fixed - seen.broken - seen.missing

    def is_probable(fixed: int, zero: int) -> bool:
        return draw.difference_at_least(least_t, fixed, zero) > tail

    def lowest(zero: int, best: int | None) -> int | None:
        """Return the smallest D with this number of zeros, or None where it is not below the best one so far."""
        differing = n_population - zero
        most = differing - seen.broken
        if most < seen.fixed:
            return None
        # Only a smaller D counts: one look at the largest of these passes over most numbers of
        # zeros.
        if best is not None:
            # D = 2 fixed - differing < best
            below = min((best - 1 + differing) // 2, most)
            if below < seen.fixed or not is_probable(below, zero):
                return None
            most = below
        fixed = first_true(seen.fixed, most, lambda fixed: is_probable(fixed, zero))
        return 2 * fixed - differing

    low, high = zeros
    best: int | None = None
    worst = low
    # A coarse look first; then at all numbers around the worst, where the limit goes up and down by 1 or 2.
    for zero in np.unique(np.linspace(low, high, GRID).round().astype(int)).tolist():
        found = lowest(zero, best)
        if found is not None:
            best = found
            worst = zero
    for zero in range(max(low, worst - AROUND), min(high, worst + AROUND) + 1):
        found = lowest(zero, best)
        if found is not None:
            best = found
    if best is None:
        # No number of zeros in the interval is possible: only what was seen is known.
        return 2 * seen.fixed - n_population
    return best


class Draw:
    """A random sample of rows, without replacement, and the probabilities of what it holds.

    Parameters
    ----------
    n_population, n_drawn : int
    """

    def __init__(self, n_population: int, n_drawn: int) -> None:
        self.n_population = n_population
        self.n_drawn = n_drawn
        self._log_factorials = log_factorials(n_population)

    def at_least(self, count: int, having: int) -> float:
        """Return ``P(X >= count)`` for the sampled rows X that have what ``having`` rows of the population have."""
        return self._sum(max(count, 0), self.n_drawn, having)

    def at_most(self, count: int, having: int) -> float:
        """Return ``P(X <= count)``."""
        return self._sum(0, min(count, self.n_drawn), having)

    def difference_at_least(self, least: int, plus: int, zero: int) -> float:
        """Return ``P(T >= least)`` for the sampled rows of value +1 minus those of value -1.

        Parameters
        ----------
        least : int
        plus, zero : int
            Rows of value +1 and 0 in the population; the others have the value -1.
        """
        differing = self.n_population - zero
        # First how many sampled rows have a value other than 0 ...
        numbers = np.arange(max(0, self.n_drawn - zero), min(self.n_drawn, differing) + 1)
        log_number = self._log_probability(numbers, self.n_drawn, differing, self.n_population)
        likely = log_number > NEGLIGIBLE
        numbers = numbers[likely]
        # ... then how many of these are +1: k of them with T >= least have (k + least) / 2 or more.
        firsts = np.maximum(-(-(numbers + least) // 2), 0)
        centre = numbers * (plus / max(differing, 1))
        reach = 9.0 * np.sqrt(0.25 * numbers) + 9.0  # nine standard deviations at the least
        start = int(max(firsts.min(), (centre - reach).min(), 0))
        stop = int(min(numbers.max(), (centre + reach).max()))
        counts = np.arange(start, stop + 1)[None, :]
        column = numbers[:, None]
        log_table = self._log_probability(counts, column, plus, differing)
        table = np.exp(log_table) * (counts >= firsts[:, None])
        return float(np.exp(log_number[likely]) @ table.sum(axis=1))

    def _sum(self, low: int, high: int, having: int) -> float:
        if high < low:
            return 0.0
        counts = np.arange(low, high + 1)
        logs = self._log_probability(counts, self.n_drawn, having, self.n_population)
        return float(np.exp(logs).sum())

    def _log_probability(
        self, counts: IntArray, n_drawn: int | IntArray, having: int, n_population: int
    ) -> FloatArray:
        """Return the logarithm of hypergeometric probabilities; minus infinity where they are 0."""
        others = n_drawn - counts
        possible = (counts <= having) & (others >= 0) & (others <= n_population - having)
        counts = np.where(possible, counts, 0)
        others = np.where(possible, others, 0)
        logs = (
            self._log_choose(having, counts)
            + self._log_choose(n_population - having, others)
            - self._log_choose(n_population, n_drawn)
        )
        return np.where(possible, logs, -math.inf)

    def _log_choose(self, n: int, k: int | IntArray) -> FloatArray:
        logs = self._log_factorials
        return np.asarray(logs[n] - logs[k] - logs[n - k])


@functools.lru_cache(maxsize=4)
def log_factorials(n: int) -> FloatArray:
    """Return the logarithms of 0!, 1!, ..., n!."""
    from scipy.special import gammaln

    return np.asarray(gammaln(np.arange(n + 1) + 1.0))


def first_true(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Return the first integer of a range from which on a condition holds; the last one if none does."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low
