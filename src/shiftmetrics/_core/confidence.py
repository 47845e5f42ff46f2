"""Confidence: intervals and p-values from resampled values, and exact ones for counts of successes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from shiftmetrics._core.arrays import FloatArray


@dataclass(frozen=True)
class BiasCorrected:
    """Resampled values read with a correction of bias and skewness (BCa).

    B. Efron, "Better bootstrap confidence intervals", Journal of the American Statistical Association 82 (1987),
    doi:10.1080/01621459.1987.10478410.

    Attributes
    ----------
    draws : ndarray of shape (n_resamples,)
        The statistic of each draw, sorted.
    bias : float
        Normal quantile of the share of draws below the statistic of the sample itself.
    acceleration : float
        How fast the standard error changes with the value: a sixth of the skewness of the influence.
    """

    draws: FloatArray
    bias: float
    acceleration: float

    @classmethod
    def of(cls, value: float, draws: FloatArray, influence: FloatArray) -> Self:
        """Return the reading of ``draws`` around the sample's own ``value``.

        ``influence`` is the derivative of the value by the weight of each unit, of mean 0 up to a factor.
        """
        from scipy.special import ndtri

        ordered = np.sort(draws)
        if ordered[0] == ordered[-1]:
            return cls(ordered, 0.0, 0.0)
        spread = float(np.sum(influence**2))
        skewness = float(np.sum(influence**3)) / (6.0 * spread**1.5) if spread > 0.0 else 0.0
        return cls(ordered, float(ndtri(_share_below(ordered, value))), skewness)

    def interval(self, level: float) -> tuple[float, float]:
        """Return the ends of the interval that covers the truth with probability ``level``."""
        from scipy.special import ndtr, ndtri

        ends = self.bias + ndtri([(1.0 - level) / 2.0, (1.0 + level) / 2.0])
        shares = ndtr(self.bias + ends / (1.0 - self.acceleration * ends))
        low, high = np.quantile(self.draws, shares)
        return float(low), float(high)

    def p_value(self, null: float = 0.0) -> float:
        """Return the two-sided p-value of ``null``: the interval of level 1 - p has it at an end.

        It is never below ``2 / (n_resamples + 1)``, the least that so many draws can tell.
        """
        from scipy.special import ndtr, ndtri

        if self.draws[0] == self.draws[-1] == null:
            return 1.0
        shift = float(ndtri(_share_below(self.draws, null))) - self.bias
        tail = float(ndtr(shift / (1.0 + self.acceleration * shift) - self.bias))
        return min(1.0, max(2.0 * min(tail, 1.0 - tail), 2.0 / (len(self.draws) + 1.0)))


def binomial_interval(
    rate: float, n_samples: float, level: float, *, one_sided: bool = False
) -> tuple[float, float]:
    """Return the exact interval of a probability (Clopper and Pearson, 1934, doi:10.1093/biomet/26.4.404).

    Parameters
    ----------
    rate : float
        Share of the rows seen to have it.
    n_samples : float
        Number of rows; an effective one, of weighted rows, need not be whole.
    level : float
        Confidence level.
    one_sided : bool, default False
        Leave all of ``1 - level`` to each side: for a bound that is looked at from one side alone.

    Returns
    -------
    tuple of float
        The ends: 0 where no row has it, 1 where all have it.
    """
    from scipy.special import betaincinv

    having, tail = rate * n_samples, (1.0 - level) * (1.0 if one_sided else 0.5)
    low = 0.0 if rate <= 0.0 else float(betaincinv(having, n_samples - having + 1.0, tail))
    high = 1.0 if rate >= 1.0 else float(betaincinv(having + 1.0, n_samples - having, 1.0 - tail))
    return low, high


def permutation_p_value(value: float, draws: FloatArray) -> float:
    """Return the p-value of ``value`` among values under the null: the share of draws as large, itself counted."""
    return float((1 + np.count_nonzero(draws >= value)) / (1 + len(draws)))


def holm_adjusted(p_values: Sequence[float]) -> list[float]:
    """Return p-values that stay valid together (S. Holm, Scandinavian Journal of Statistics 6, 1979)."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(steps, 1.0)
    return [float(part) for part in adjusted]


def _share_below(ordered: FloatArray, value: float) -> float:
    """Return the share of sorted draws below ``value``, ties by half, kept off 0 and 1."""
    below = int(np.searchsorted(ordered, value, side="left"))
    ties = int(np.searchsorted(ordered, value, side="right")) - below
    n = len(ordered)
    return float(np.clip((below + 0.5 * ties) / n, 0.5 / n, 1.0 - 0.5 / n))
