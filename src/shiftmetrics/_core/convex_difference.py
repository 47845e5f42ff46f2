"""Upper bounds of a difference of convex functions between the points where it was evaluated.

``F = plus - minus`` with both parts convex: between two evaluated points ``plus`` lies under its chord and
``minus`` above its tangents. Where the parts are sums of log-partition functions, the spread of their scores also
limits how fast their curvatures change, which sharpens the bound between close points from second to third order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shiftmetrics._core.arrays import FloatArray


class Samples(NamedTuple):
    """Values and slopes of both convex parts at some points, each of shape (n_points,)."""

    plus: FloatArray
    plus_slope: FloatArray
    minus: FloatArray
    minus_slope: FloatArray


class Tail(NamedTuple):
    """What is known about both parts towards infinity, without an evaluation.

    ``plus_slope`` is at least every slope of ``plus`` (and not positive), ``minus_limit`` at most every value of
    ``minus``; ``value`` is the limit of ``plus - minus``, minus infinity included.
    """

    plus_slope: float
    minus_limit: float
    value: float


class Bounds(NamedTuple):
    """Upper bound of F from each node to the next (the last: to infinity), and where that bound has its kink."""

    value: FloatArray
    kink: FloatArray


class Nodes:
    """The evaluated points in increasing order, the first of them 0."""

    def __init__(self, x: FloatArray, samples: Samples) -> None:
        self.x = x
        self.samples = samples
        self.value = samples.plus - samples.minus
        self.slope = samples.plus_slope - samples.minus_slope
        self.size = np.abs(samples.plus) + np.abs(samples.minus)
        self.n_evaluations = len(x) - 1

    def insert(self, x: FloatArray, samples: Samples) -> Nodes:
        """Return the nodes with new ones among them."""
        places = np.searchsorted(self.x, x)
        merged = (
            np.insert(old, places, new) for old, new in zip(self.samples, samples, strict=True)
        )
        return Nodes(np.insert(self.x, places, x), Samples(*merged))


def upper_bounds(nodes: Nodes, tail: Tail, rates: tuple[float, float]) -> Bounds:
    """Bound F from above between each node and the next, and beyond the last."""
    x = nodes.x
    value = nodes.value
    plus, plus_slope, minus, minus_slope = nodes.samples
    width = np.diff(x)
    plus_curve = _least_curvature(width, plus_slope, rates[0])
    minus_curve = _least_curvature(width, minus_slope, rates[1])

    # With t = x - left:  plus <= chord - plus_curve t (width - t) / 2,  and, from either end,
    # minus >= tangent + minus_curve (distance)^2 / 2.  The two bounds of F are parabolas with one bend, which
    # cross once: where the two bounds of minus meet, `back` before the right end.
    bend = plus_curve - minus_curve
    chord = np.diff(plus) / width
    rise = chord - minus_slope[:-1] - plus_curve * width / 2  # at the left end
    fall = chord - minus_slope[1:] + plus_curve * width / 2  # at the right end
    turn = np.diff(minus_slope) - minus_curve * width
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        lift = np.diff(minus) - minus_slope[:-1] * width - minus_curve * width**2 / 2
        back = np.where(turn > 0.0, lift / turn, width / 2)
    back = np.clip(np.where(np.isfinite(back), back, width / 2), 0.0, width)
    between = np.maximum(
        _parabola_maximum(value[:-1], rise, bend, width - back),
        _parabola_maximum(value[1:], -fall, bend, back),
    )

    # Beyond the last node: plus falls at least as its limiting slope says, minus stays above its tangent and
    # above its limit, which meet `step` further on.
    above = minus[-1] - tail.minus_limit
    slope = -minus_slope[-1]
    step = 0.0
    if above > 0.0 and slope > 0.0:
        step = above / slope
    beyond = max(value[-1], plus[-1] + tail.plus_slope * step - tail.minus_limit)
    return Bounds(np.append(between, beyond), np.append(x[1:] - back, x[-1] + step))


def _least_curvature(width: FloatArray, slope: FloatArray, rate: float) -> FloatArray:
    """Return the least curvature between nodes: its mean, less what ``rate`` allows it to change."""
    # |f'''| <= rate f'' keeps f'' within a factor exp(+-rate width) of its mean, which is the change of the slope
    # over the width.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        least = np.maximum(np.diff(slope), 0.0) / width * np.exp(-rate * width)
    return np.where(np.isfinite(least), least, 0.0)


def _parabola_maximum(
    value: FloatArray, rise: FloatArray, bend: FloatArray, length: FloatArray
) -> FloatArray:
    """Return the maximum of ``value + rise t + bend t^2 / 2`` over ``0 <= t <= length``."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        peak = np.where(bend < 0.0, -rise / bend, 0.0)
    peak = np.clip(np.where(np.isfinite(peak), peak, 0.0), 0.0, length)
    # The vertex of a concave parabola, or else one of the ends.
    candidates = [value + t * (rise + bend * t / 2) for t in (peak, length)]
    return np.maximum(value, np.maximum(*candidates))
