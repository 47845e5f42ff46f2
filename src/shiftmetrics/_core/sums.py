"""Correctly rounded sums, as those of `math.fsum`, of a million floats in a few milliseconds."""

from __future__ import annotations

import math

import numpy as np

from shiftmetrics._core.arrays import FloatArray

WIDTH = 4096
"""Running sums kept side by side, so that they stay in the nearest cache."""

EPSILON = float(np.finfo(np.float64).eps)


def exact_sum(values: FloatArray) -> float:
    """Return the sum of an array, rounded once.

    Many running sums are kept side by side. What each addition loses to rounding is a float itself (D. Knuth, The Art
    of Computer Programming, 4.2.2, Theorem B), and is summed too. The rounding of that second sum alone is not known,
    but bounded: where both ends of the bound give one and the same result, it is that of `math.fsum`, which is
    asked in all other cases.
    """
    n_rows = len(values) // WIDTH
    if n_rows < 2:
        return math.fsum(values)
    totals = np.zeros(WIDTH)
    lost = np.zeros(WIDTH)
    most_lost = np.zeros(WIDTH)
    # What is not finite, and sums beyond the largest float, are left to `math.fsum`.
    with np.errstate(all="ignore"):
        for row in values[: n_rows * WIDTH].reshape(n_rows, WIDTH):
            sums = totals + row
            added = sums - totals
            error = (totals - (sums - added)) + (row - added)
            lost += error
            most_lost += np.abs(error)
            totals = sums
    if not np.isfinite(totals).all():
        return math.fsum(values)
    # n - 1 additions are off by at most (n - 1) units of rounding of the sum of magnitudes; doubled to be safe.
    bound = 2.0 * n_rows * EPSILON * float(most_lost.sum())
    parts = [*totals.tolist(), *lost.tolist(), *values[n_rows * WIDTH :].tolist()]
    # The exact sum lies between both, and rounding keeps the order: where they round to one float, so does the sum.
    low = math.fsum([*parts, -bound])
    high = math.fsum([*parts, bound])
    return low if low == high else math.fsum(values)
