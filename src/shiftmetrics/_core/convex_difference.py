"""Upper bounds of a difference of convex functions between the points where it was evaluated.

``F = plus - minus`` with both parts convex: between two evaluated points ``plus`` lies under its chord and
``minus`` above its tangents. The bound exceeds F by the square of the distance of the points. (How fast curvatures
change may be limited too, which gives the third order: that saved one evaluation in ten at a tolerance of 1e-6.)
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


def upper_bounds(nodes: Nodes, tail: Tail) -> Bounds:
    """Bound F from above between each node and the next, and beyond the last."""
    x = nodes.x
    value = nodes.value
    plus, _, minus, minus_slope = nodes.samples
    width = np.diff(x)

    # Both tangents of minus meet `back` before the right end. On either side of that place the chord of plus less
    # a tangent is a line, so the bound is highest at an end of one of the two lines. (Any other place would do,
    # with a higher bound: so rounding, or two equal tangents, do no harm.)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        rise = np.diff(minus) - minus_slope[:-1] * width
        back = rise / np.diff(minus_slope)
    back = np.clip(np.where(np.isfinite(back), back, width / 2), 0.0, width)
    chord = np.diff(plus) / width
    from_left = value[:-1] + (chord - minus_slope[:-1]) * (width - back)
    from_right = value[1:] - (chord - minus_slope[1:]) * back
    ends = np.maximum(value[:-1], value[1:])
    between = np.maximum(ends, np.maximum(from_left, from_right))

    # Beyond the last node: plus falls at least as its limiting slope says, minus stays above its tangent and
    # above its limit, which meet `step` further on.
    above = minus[-1] - tail.minus_limit
    slope = -minus_slope[-1]
    step = 0.0
    if above > 0.0 and slope > 0.0:
        step = above / slope
    beyond = max(value[-1], plus[-1] + tail.plus_slope * step - tail.minus_limit)
    return Bounds(np.append(between, beyond), np.append(x[1:] - back, x[-1] + step))
