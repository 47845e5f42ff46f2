"""Sampling intervals: normal from the influence function, exact binomial where only the error rate matters."""

from __future__ import annotations

import math
from collections.abc import Callable

from shiftmetrics._core.result import Interval


def normal_interval(value: float, standard_error: float, level: float) -> Interval:
    """Return ``value`` plus and minus a quantile of standard errors, cut off at 0."""
    from scipy.special import ndtri

    half = float(ndtri(0.5 + 0.5 * level)) * standard_error
    return Interval(low=max(value - half, 0.0), high=value + half, level=level, method="influence function")


def binomial_interval(rate: float, n_samples: float, level: float) -> tuple[float, float]:
    """Return the exact (Clopper-Pearson) interval of an error rate seen in ``n_samples`` rows."""
    from scipy.special import betaincinv

    errors, tail = rate * n_samples, 0.5 * (1.0 - level)
    low = 0.0 if rate <= 0.0 else float(betaincinv(errors, n_samples - errors + 1.0, tail))
    high = 1.0 if rate >= 1.0 else float(betaincinv(errors + 1.0, n_samples - errors, 1.0 - tail))
    return low, high


def error_rate_interval(
    rate: float, n_samples: float, level: float, value_at: Callable[[float], float], *, weighted: bool
) -> Interval:
    """Carry the interval of an error rate over to a value that is monotone in it.

    With ``theta1 = inf`` a 0/1 loss enters through its error rate alone. Weighted rows count as their effective
    number.
    """
    first, second = (value_at(edge) for edge in binomial_interval(rate, n_samples, level))
    method = "binomial with the effective sample size" if weighted else "exact binomial"
    low, high = min(first, second), max(first, second)
    return Interval(low=low, high=math.inf if math.isinf(high) else high, level=level, method=method)
