"""How much of a sample is new: its share, a bound of it, and whether a mode is more than eta times as frequent."""

from __future__ import annotations

import math

from shiftmetrics._core.arrays import BoolArray, FloatArray
from shiftmetrics._core.confidence import rate_ratio_p_value
from shiftmetrics._core.result import Interval


def new_share(members: BoolArray, weights: FloatArray, n_test: int, *, lost: bool = False) -> float:
    """Return (a - b) / (1 - b) of the shares a of a sample and b of the other that are members.

    Were a share s of the sample new and all of it members, and were the other rows like those of the other sample,
    then a = s + (1 - s) b.
    """
    a, b = _shares(members, weights, n_test, lost)
    return max(0.0, (a - b) / (1.0 - b)) if b < 1.0 else 0.0


def share_bound(held_out: BoolArray, weights: FloatArray, n_test: int, level: float) -> Interval:
    """Return a lower bound of the share that is new, from members by modes of the half of the rows without them.

    Whatever rows are called members before they are seen, a is at most s + (1 - s) b. So ``1 - (1 - a) / (1 - b)`` is
    at most s, up to chance, and the ratio has a log-normal interval (D. Katz et al., Biometrics 34, 1978).
    """
    from scipy.special import ndtri

    method = "held-out halves, lower bound"
    if not (weights[:n_test].any() and weights[n_test:].any()):  # no row of one sample was held out
        return Interval(low=0.0, high=1.0, level=level, method=method)
    a, b = _shares(held_out, weights, n_test, lost=False)
    n, m = _effective_rows(weights[:n_test]), _effective_rows(weights[n_test:])
    outside, other = ((1.0 - a) * n + 0.5) / (n + 0.5), ((1.0 - b) * m + 0.5) / (m + 0.5)
    error = math.sqrt((1.0 - outside) / (outside * n) + (1.0 - other) / (other * m))
    low = 1.0 - outside / other * math.exp(float(ndtri(level)) * error)
    return Interval(low=max(low, 0.0), high=1.0, level=level, method=method)


def more_than_eta(
    members: BoolArray, weights: FloatArray, rows: BoolArray, n_test: int, eta: float, *, lost: bool
) -> float:
    """Return the p-value of "at most eta times as frequent", from rows that had no part in finding the mode."""
    sides = rows.copy(), rows.copy()
    sides[0][n_test:], sides[1][:n_test] = False, False
    counts, sizes = [], []
    for side in sides[::-1] if lost else sides:
        weight = weights[side]
        sizes.append(_effective_rows(weight))
        counts.append(float(weight @ members[side] / weight.sum()) * sizes[-1])
    return rate_ratio_p_value(counts[0], counts[1], sizes[0], sizes[1], eta)


def _effective_rows(weights: FloatArray) -> float:
    """Return how many rows of equal weight would be as uncertain."""
    scaled = weights / weights.max()  # squares of tiny weights are 0
    return float(scaled.sum() ** 2 / (scaled @ scaled))


def _shares(members: BoolArray, weights: FloatArray, n_test: int, lost: bool) -> tuple[float, float]:
    sides = [slice(0, n_test), slice(n_test, None)]
    own, other = (
        float(weights[side] @ members[side] / weights[side].sum())
        for side in (sides[::-1] if lost else sides)
    )
    return own, other
