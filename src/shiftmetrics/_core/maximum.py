"""Certified global maximum of a difference of convex functions on the half line.

``F = plus - minus`` with both parts convex: between two evaluated points ``plus`` lies under its chord and
``minus`` above its tangents, so ``F`` has an upper bound that only a few evaluations bring down to its maximum.
Where the parts are sums of log-partition functions, the spread of their scores also limits how fast their
curvatures change, which sharpens the bound between close points from second to third order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray
from shiftmetrics._core.numerics import UNIT_ROUNDOFF

MAX_PLANNED = 6
"""Points placed in one interval at a time: its model of F is not trusted further."""


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


@dataclass(frozen=True)
class Maximum:
    """A global maximum with its certificate.

    Attributes
    ----------
    x, value : float
        The best point seen, infinity included, and the function there.
    gap : float
        No value exceeds ``value + gap``, up to rounding.
    error_bound : float
        The supremum is within ``value +- error_bound``, rounding included.
    points, values : ndarray of shape (n_points,)
        Every evaluated point in increasing order, the start included, and the function there.
    bounds : ndarray of shape (n_points,)
        The function is at most ``bounds[i]`` between point i and the next (the last: between it and infinity).
    n_evaluations, n_passes : int
        Points evaluated, and calls of ``evaluate`` that they took.
    converged : bool
        Whether the gap came down to the tolerance.
    """

    x: float
    value: float
    gap: float
    error_bound: float
    points: FloatArray
    values: FloatArray
    bounds: FloatArray
    n_evaluations: int
    n_passes: int
    converged: bool


def maximize_difference(
    evaluate: Callable[[FloatArray], Samples],
    start: Samples,
    tail: Tail,
    *,
    atol: float,
    max_evaluations: int,
    guesses: Sequence[float] = (),
    rates: tuple[float, float] = (math.inf, math.inf),
    rounding: Callable[[FloatArray], FloatArray] = np.zeros_like,
) -> Maximum:
    """Maximise ``plus - minus`` over ``[0, inf]`` by branch and bound.

    Parameters
    ----------
    evaluate : callable
        Maps points of shape (n_points,) to their `Samples`. Points are asked for several at a time.
    start : Samples
        The samples at 0, of shape (1,).
    tail : Tail
        The behaviour towards infinity.
    atol : float
        The certificate stops here: no value exceeds the one returned by more.
    max_evaluations : int
        Points after which to give up, with the gap reached so far.
    guesses : sequence of float, optional
        Points to evaluate first, such as those of a solve on part of the data. Only speed depends on them.
    rates : (float, float), optional
        Bounds of ``|plus'''| / plus''`` and ``|minus'''| / minus''``: the largest spread of the scores for sums
        of log-partition functions. Default: nothing is known.
    rounding : callable, optional
        Maps points to the rounding error of each part there: the bounds are not driven below it.

    Returns
    -------
    Maximum
    """
    nodes = _Nodes(np.zeros(1), start)
    wanted = np.unique([guess for guess in guesses if 0.0 < guess < math.inf])
    n_passes = 0
    while True:
        if wanted.size:
            wanted = wanted[: max_evaluations - nodes.n_evaluations]
            nodes = nodes.insert(wanted, evaluate(wanted))
            n_passes += 1
        bounds, splits = _upper_bounds(nodes, tail, rates)
        error = rounding(nodes.x) + 4.0 * UNIT_ROUNDOFF * nodes.size
        noise = _noise(error)
        # Ties go to the ends: a rounding error above the value at 0 is no maximum.
        top = 0 if nodes.value[0] >= nodes.value.max() - error[0] else int(np.argmax(nodes.value))
        at_end = bool(tail.value >= nodes.value[top] - error[0] and tail.value > nodes.value[0] + error[0])
        best = float(tail.value if at_end else nodes.value[top])
        wanted = np.empty(0)
        if nodes.n_evaluations < max_evaluations:
            peak = None if at_end else _polish(nodes, top)
            wanted = _next_points(nodes, bounds, splits, best, peak, atol + noise, rates)
        if not wanted.size:
            break
    return Maximum(
        x=math.inf if at_end else float(nodes.x[top]),
        value=best,
        gap=max(0.0, float(bounds.max()) - best),
        error_bound=max(0.0, float((bounds + noise).max()) - best) + 2.0 * float(error[0 if at_end else top]),
        points=nodes.x,
        values=nodes.value,
        bounds=bounds,
        n_evaluations=nodes.n_evaluations,
        n_passes=n_passes,
        converged=bool((bounds <= best + atol + noise).all()),
    )


class _Nodes:
    """The evaluated points in increasing order, the first of them 0."""

    def __init__(self, x: FloatArray, samples: Samples) -> None:
        self.x = x
        self.samples = samples
        self.value = samples.plus - samples.minus
        self.slope = samples.plus_slope - samples.minus_slope
        self.size = np.abs(samples.plus) + np.abs(samples.minus)
        self.n_evaluations = len(x) - 1

    def insert(self, x: FloatArray, samples: Samples) -> _Nodes:
        """Return the nodes with new ones among them."""
        places = np.searchsorted(self.x, x)
        merged = (np.insert(old, places, new) for old, new in zip(self.samples, samples, strict=True))
        return _Nodes(np.insert(self.x, places, x), Samples(*merged))


def _noise(error: FloatArray) -> FloatArray:
    """Return the rounding error of the bound of each interval, from that of a part at its ends.

    The chord errs by at most the larger end, a tangent by its value and by slope times width (together twice
    that), the curvature terms by less: four times covers them.
    """
    return np.asarray(4.0 * np.maximum(error, np.append(error[1:], error[-1])))


def _upper_bounds(nodes: _Nodes, tail: Tail, rates: tuple[float, float]) -> tuple[FloatArray, FloatArray]:
    """Upper bound of F from each node to the next (the last: to infinity), and where the bound has its kink."""
    x, value = nodes.x, nodes.value
    plus, plus_slope, minus, minus_slope = nodes.samples
    width = np.diff(x)

    # Mean curvature between the ends; it changes at most by a factor exp(rate * width) in between.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        plus_curve = np.maximum(np.diff(plus_slope), 0.0) / width * np.exp(-rates[0] * width)
        minus_curve = np.maximum(np.diff(minus_slope), 0.0) / width * np.exp(-rates[1] * width)
    plus_curve = np.where(np.isfinite(plus_curve), plus_curve, 0.0)
    minus_curve = np.where(np.isfinite(minus_curve), minus_curve, 0.0)

    # chord(t) - curvature of plus - tangent from the left: value + rise * t + bend * t^2 / 2, with t = x - left;
    # the tangent from the right gives the same parabola plus a line, so they cross once, at the kink.
    bend = plus_curve - minus_curve
    rise_left = np.diff(plus) / width - minus_slope[:-1] - plus_curve * width / 2
    rise_right = np.diff(plus) / width - minus_slope[1:] + plus_curve * width / 2  # at t = width, going left
    # minus from the left tangent at t, and from the right tangent at t: equal at the kink
    turn = np.diff(minus_slope) - minus_curve * width
    short = np.diff(minus) - minus_slope[:-1] * width - minus_curve * width**2 / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        back = np.where(turn > 0.0, short / turn, width / 2)  # distance from the kink to the right end
    kink = np.clip(width - np.where(np.isfinite(back), back, width / 2), 0.0, width)
    left = _parabola_maximum(value[:-1], rise_left, bend, kink)
    right = _parabola_maximum(value[1:], -rise_right, bend, width - kink)
    bounds = np.maximum(left, right)

    # Beyond the last node: plus falls at least as its limiting slope says, minus stays above its limit.
    drop, fall = minus[-1] - tail.minus_limit, -minus_slope[-1]
    step = drop / fall if drop > 0.0 and fall > 0.0 else 0.0
    beyond = max(value[-1], plus[-1] + tail.plus_slope * step - tail.minus_limit)
    return np.append(bounds, beyond), np.append(x[:-1] + kink, x[-1] + step)


def _parabola_maximum(
    value: FloatArray, rise: FloatArray, bend: FloatArray, length: FloatArray
) -> FloatArray:
    """Maximum of ``value + rise * t + bend * t^2 / 2`` over ``0 <= t <= length``."""
    end = value + length * (rise + bend * length / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        peak = np.where(bend < 0.0, -rise / bend, 0.0)
    peak = np.clip(np.where(np.isfinite(peak), peak, 0.0), 0.0, length)
    return np.maximum(np.maximum(value, end), value + peak * (rise + bend * peak / 2))


def _next_points(
    nodes: _Nodes,
    bounds: FloatArray,
    splits: FloatArray,
    best: float,
    peak: _Peak | None,
    slack: FloatArray,
    rates: tuple[float, float],
) -> FloatArray:
    """Choose what to evaluate next: nothing when every bound is within ``slack`` of the best value."""
    x = nodes.x
    target = best + (peak.gain if peak else 0.0)
    excess = bounds - target - slack
    too_high = excess > 0.0
    settled = peak is None or peak.gain <= 0.1 * float(slack.min())
    if not settled:  # the best value is about to rise: split only what is far too high
        too_high &= excess >= 0.5 * float(excess.max())
    points: list[float] = []
    if peak:
        points.append(peak.x)
        too_high[peak.interval] = False
    for i in np.flatnonzero(too_high):
        if i == len(x) - 1:
            points.append(max(splits[i], 4.0 * x[i]))
        else:
            points.extend(
                _split(nodes, int(i), bounds[i], splits[i], target, float(slack[i]), rates, settled)
            )
    fresh = np.unique(np.asarray(points, dtype=np.float64))
    return fresh[np.isfinite(fresh) & ~_known(fresh, x)]


def _known(points: FloatArray, x: FloatArray) -> BoolArray:
    """Tell which points coincide with a node to rounding."""
    after = np.minimum(np.searchsorted(x, points), len(x) - 1)
    near = np.minimum(np.abs(points - x[after]), np.abs(points - x[np.maximum(after - 1, 0)]))
    return np.asarray(near <= 4e-16 * points)


class _Peak(NamedTuple):
    """Where a maximum is expected: the point, what it gains over the best node, and its interval."""

    x: float
    gain: float
    interval: int


def _polish(nodes: _Nodes, top: int) -> _Peak | None:
    """Return the peak beside the best node, or None when that node is the peak already, to eight digits."""
    i = top if nodes.slope[top] > 0.0 else top - 1
    if nodes.slope[top] == 0.0 or not 0 <= i < len(nodes.x) - 1:
        return None
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
    step = x - nodes.x[top]
    if abs(step) <= 1e-8 * x:
        return None
    return _Peak(float(x), float(max(0.0, nodes.slope[top] * step / 2.0)), i)


def _secant_step(x: FloatArray, slope: FloatArray) -> float:
    """Step from the middle one of three points to the nearest root of the parabola through their slopes."""
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


def _split(
    nodes: _Nodes,
    i: int,
    bound: float,
    kink: float,
    target: float,
    slack: float,
    rates: tuple[float, float],
    settled: bool,
) -> list[float]:
    """Choose points in interval ``i`` such that, by a cubic model of F, every piece meets the target."""
    left, right = nodes.x[i], nodes.x[i + 1]
    width = right - left
    t = np.linspace(0.0, 1.0, 33)
    rise, fall = nodes.slope[i] * width, nodes.slope[i + 1] * width
    square, cube = _hermite(nodes.value[i + 1] - nodes.value[i], rise, fall)
    model = nodes.value[i] + t * (rise + t * (square + t * cube))
    room = np.maximum(target - model, 0.0) + 0.9 * slack
    # The bound exceeds F by about `over * piece^order`, where a piece is a share of the interval.
    over = bound - float(np.interp((kink - left) / width, t, model))
    order = 3.0 if max(rates) * width < 1.0 else 2.0
    density = np.maximum(over / room, 1e-12) ** (1.0 / order)
    count = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(t))])
    n_pieces = math.ceil(count[-1])
    if settled and 2 < n_pieces <= MAX_PLANNED + 1:
        share = np.interp(np.arange(1, n_pieces) / n_pieces * count[-1], count, t)
        return [float(left + part * width) for part in share]
    if 0.1 <= (kink - left) / width <= 0.9:
        return [float(kink)]
    return [float(left + width / 2)]
