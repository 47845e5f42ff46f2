"""How much of a sample is new: fractions from members, with a lower bound, and tests of how frequent a mode is."""

from __future__ import annotations

import math

from shiftmetrics._core.arrays import BoolArray, FloatArray
from shiftmetrics._core.confidence import rate_ratio_p_value
from shiftmetrics._core.result import Interval


def excess_fraction(
    members: BoolArray, weights: FloatArray, n_test: int, *, missing: bool = False
) -> float:
    """Return (a - b) / (1 - b) of the fractions a of a sample and b of the other that are members.

    Were a fraction s of the sample new and all of it members, and were the others like those of the other sample,
    then
    a = s + (1 - s) b.
    """
    a, b = member_fractions(members, weights, n_test)
    if missing:
        a, b = b, a
    return max(0.0, (a - b) / (1.0 - b)) if b < 1.0 else 0.0


def fraction_bound(
    held_out: BoolArray, weights: FloatArray, n_test: int, confidence_level: float
) -> Interval:
    """Return a lower bound of the fraction that is new, from members named without the samples themselves.

    Whatever samples are called members before they are seen, a is at most s + (1 - s) b. So ``1 - (1 - a) / (1 - b)``
    is at most s, up to chance, and the ratio has a log-normal interval (D. Katz et al., Biometrics 34, 1978).
    """
    from scipy.special import ndtri

    low = 0.0
    # Without samples held out on either side nothing is known.
    if weights[:n_test].any() and weights[n_test:].any():
        a, b = member_fractions(held_out, weights, n_test)
        n = effective_size(weights[:n_test])
        m = effective_size(weights[n_test:])
        outside = ((1.0 - a) * n + 0.5) / (n + 0.5)
        other = ((1.0 - b) * m + 0.5) / (m + 0.5)
        error = math.sqrt((1.0 - outside) / (outside * n) + (1.0 - other) / (other * m))
        low = 1.0 - outside / other * math.exp(float(ndtri(confidence_level)) * error)
    return Interval(
        low=max(low, 0.0),
        high=1.0,
        confidence_level=confidence_level,
        method="held-out samples, lower bound",
    )


def more_than_p_value(
    members: BoolArray,
    weights: FloatArray,
    rows: BoolArray,
    n_test: int,
    times: float,
    *,
    missing: bool,
) -> float:
    """Return the p-value of "at most so many times as frequent", from rows that had no part in finding the mode."""
    counts = []
    sizes = []
    for side in (slice(0, n_test), slice(n_test, None)):
        weight = weights[side][rows[side]]
        sizes.append(effective_size(weight))
        counts.append(float(weight @ members[side][rows[side]] / weight.sum()) * sizes[-1])
    own, other = (1, 0) if missing else (0, 1)
    return rate_ratio_p_value(counts[own], counts[other], sizes[own], sizes[other], times)


def member_fractions(members: BoolArray, weights: FloatArray, n_test: int) -> tuple[float, float]:
    """Return the fractions of the test sample and of the reference that are members."""
    test = weights[:n_test]
    reference = weights[n_test:]
    of_test = float(test @ members[:n_test] / test.sum())
    of_reference = float(reference @ members[n_test:] / reference.sum())
    return of_test, of_reference


def effective_size(weights: FloatArray) -> float:
    """Return how many samples of equal weight would be as uncertain."""
    scaled = weights / weights.max()  # squares of tiny weights are 0
    return float(scaled.sum() ** 2 / (scaled @ scaled))
