"""Where to evaluate next, when maximising a difference of convex functions: models that cost no correctness.

Two aims share each pass. The peak beside the best point is polished by interpolation, and the intervals whose
upper bound still exceeds the best value are cut into just so many pieces as a model of the bound asks for.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray

MAX_PIECES = 7
"""Pieces into which an interval is cut at a time: the model of F inside is not trusted further."""


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
        merged = (np.insert(old, places, new) for old, new in zip(self.samples, samples, strict=True))
        return Nodes(np.insert(self.x, places, x), Samples(*merged))


class Peak(NamedTuple):
    """Where a maximum is expected: the point, its distance from the best node, its gain over it, its interval."""

    x: float
    step: float
    gain: float
    interval: int


def next_points(
    nodes: Nodes,
    bounds: Bounds,
    best: float,
    top: int | None,
    error: float,
    slack: FloatArray,
    rates: tuple[float, float],
) -> FloatArray:
    """Choose what to evaluate next: nothing when every bound is within ``slack`` of the best value.

    ``top`` is the best node, None when the best value is the limit; ``error`` the rounding error at 0.
    """
    x = nodes.x
    peak = None if top is None else _peak(nodes, top, float(bounds.kink[-1]), float(bounds.value[-1]) - best)
    if peak and top == 0 and peak.gain <= error:
        peak = None  # the slope at 0 is only rounding
    target = best + (peak.gain if peak else 0.0)
    excess = bounds.value - target - slack
    too_high = excess > 0.0
    settled = peak is None or peak.gain <= 0.1 * float(slack.min())
    if not settled:  # the best value is about to rise: split only what is far too high
        too_high &= excess >= 0.5 * float(excess.max())
    points: list[float] = []
    if peak:
        points.append(peak.x)
        if peak.interval == len(x) - 1 or peak.step > 0.1 * (x[peak.interval + 1] - x[peak.interval]):
            too_high[peak.interval] = False  # the peak splits it well enough
    for i in np.flatnonzero(too_high):
        if i == len(x) - 1:
            points.append(max(float(bounds.kink[i]), 4.0 * x[i]))
        else:
            pieces = _pieces(nodes, bounds, int(i), target, float(slack[i]), max(rates)) if settled else []
            points.extend(pieces or _cut(x[i], x[i + 1], float(bounds.kink[i])))
    fresh = np.unique(np.asarray(points, dtype=np.float64))
    return fresh[np.isfinite(fresh) & ~_known(fresh, x)]


def _known(points: FloatArray, x: FloatArray) -> BoolArray:
    """Tell which points coincide with a node to rounding."""
    after = np.minimum(np.searchsorted(x, points), len(x) - 1)
    near = np.minimum(np.abs(points - x[after]), np.abs(points - x[np.maximum(after - 1, 0)]))
    return np.asarray(near <= 4e-16 * points)


def _peak(nodes: Nodes, top: int, beyond: float, hope: float) -> Peak | None:
    """Return the peak beside the best node, or None when that node is the peak already, to eight digits.

    If F rises into the tail, all that is known is its bound: ``hope`` above the best value, kinked at ``beyond``.
    """
    i = top if nodes.slope[top] > 0.0 else top - 1
    if nodes.slope[top] == 0.0 or i < 0:
        return None
    if i == len(nodes.x) - 1:
        return Peak(max(beyond, 2.0 * nodes.x[i]), math.inf, hope, i)
    left, width = nodes.x[i], nodes.x[i + 1] - nodes.x[i]
    # The cubic through the values and slopes at both ends; F falls from the best node, so it has a peak inside.
    rise, fall = nodes.slope[i] * width, nodes.slope[i + 1] * width
    square, cube = _hermite(nodes.value[i + 1] - nodes.value[i], rise, fall)
    root = math.sqrt(max(square**2 - 3.0 * cube * rise, 0.0))
    t = rise / (root - square) if square < 0.0 else (-square - root) / (3.0 * cube) if cube < 0.0 else 0.5
    x = left + (t if 0.0 < t < 1.0 else 0.5) * width
    # Close to the peak the slopes at three nodes say more: the step shrinks faster than linearly.
    if 0 < top < len(nodes.x) - 1:
        step = _secant_step(nodes.x[top - 1 : top + 2], nodes.slope[top - 1 : top + 2])
        if left < nodes.x[top] + step < left + width and abs(nodes.x[top] + step - x) < 0.1 * width:
            x = nodes.x[top] + step
    step = abs(float(x - nodes.x[top]))
    if step <= 1e-8 * x:
        return None
    return Peak(float(x), step, abs(float(nodes.slope[top])) * step / 2.0, i)


def _secant_step(x: FloatArray, slope: FloatArray) -> float:
    """Return the step from the middle one of three points to the nearer root of the parabola of their slopes."""
    before, after = np.diff(slope) / np.diff(x)
    bend = (after - before) / (x[2] - x[0])
    rate = before + bend * (x[1] - x[0])  # derivative of the parabola at the middle point
    inside = rate**2 - 4.0 * bend * slope[1]
    if rate >= 0.0 or inside < 0.0:
        return math.nan
    return float(-2.0 * slope[1] / (rate - math.sqrt(inside)))


def _hermite(step: float, rise: float, fall: float) -> tuple[float, float]:
    """Coefficients of t^2 and t^3 of the cubic on [0, 1] with slopes ``rise`` and ``fall`` that climbs ``step``."""
    return 3.0 * step - 2.0 * rise - fall, rise + fall - 2.0 * step


def _pieces(nodes: Nodes, bounds: Bounds, i: int, target: float, slack: float, rate: float) -> list[float]:
    """Cut interval ``i`` so that, by a cubic model of F, every piece meets the target; empty if out of reach."""
    left, width = nodes.x[i], nodes.x[i + 1] - nodes.x[i]
    t = np.linspace(0.0, 1.0, 33)
    rise, fall = nodes.slope[i] * width, nodes.slope[i + 1] * width
    square, cube = _hermite(nodes.value[i + 1] - nodes.value[i], rise, fall)
    model = nodes.value[i] + t * (rise + t * (square + t * cube))
    room = np.maximum(target - model, 0.0) + 0.9 * slack
    # The bound of a piece, a share v of the interval, exceeds F by about over * v^2, and by less where v is so
    # small that the curvatures hardly change.
    over = bounds.value[i] - float(np.interp((bounds.kink[i] - left) / width, t, model))
    scale = room / max(float(over), 1e-300)
    share = np.sqrt(scale)
    if rate > 0.0:
        for _ in range(5):
            share = np.sqrt(scale * math.expm1(-rate * width) / np.expm1(-rate * width * share))
    density = 1.0 / share
    count = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2.0 * np.diff(t))])
    n_pieces = math.ceil(count[-1])
    if not 2 < n_pieces <= MAX_PIECES:
        return []
    cuts = np.interp(np.arange(1, n_pieces) / n_pieces * count[-1], count, t)
    return [float(left + cut * width) for cut in cuts]


def _cut(left: float, right: float, kink: float) -> list[float]:
    """Cut an interval where its bound is highest, but not too close to an end."""
    return [left + (right - left) * min(0.9, max(0.1, (kink - left) / (right - left)))]
