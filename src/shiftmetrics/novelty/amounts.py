"""How much of a sample is new, from the members of modes, and how frequent a mode is in both samples."""

from __future__ import annotations

import math

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray
from shiftmetrics._core.confidence import rate_ratio_p_value

_UNSEEN = 0.05
"""Fraction that may be new beside the modes that were found."""

_MOST_NEW = 0.97


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


def rarity(
    strengths: FloatArray, members: BoolArray, weights: FloatArray, n_test: int, *, missing: bool
) -> float:
    """Return how many times as frequent the core of a mode is in the sample that should lack it: 0 for a new mode.

    The core are the members that are at least as strong as the median one: at its edge a mode overlaps with others.
    """
    own = members.copy()
    own[n_test:] = False
    if missing:
        own = members & ~own
    core = members & (strengths >= np.median(strengths[own]))
    a, b = member_fractions(core, weights, n_test)
    if missing:
        a, b = b, a
    return b / a if a > 0.0 else 1.0


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


def largest_fraction(fraction: float, n_samples: float) -> float:
    """Return the largest plausible fraction that is new: other modes may be so much rarer and not be missing."""
    error = math.sqrt(fraction * (1.0 - fraction) / n_samples)
    return min(fraction + 2.0 * error + _UNSEEN, _MOST_NEW)
