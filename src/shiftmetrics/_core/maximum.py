"""Certified global maximum of a difference of convex functions on the half line.

``F = plus - minus`` with both parts convex: between two evaluated points ``plus`` lies under its chord and
``minus`` above its tangents, so ``F`` has an upper bound (`upper_bounds`) that only a few evaluations bring down to
its maximum.

Where to evaluate next costs no correctness. Each pass serves two aims: the peak beside the best point is polished
by interpolation, and the intervals whose upper bound still exceeds the best value are cut into just so many pieces as
a model of the bound asks for.

This is branch and bound for differences of convex functions (R. Horst and N. Thoai, Journal of Optimization Theory
and Applications 103, 1999, doi:10.1023/A:1021765131316) on a line, where it refines as the algorithm of B. Shubert
does (SIAM Journal on Numerical Analysis 9, 1972, doi:10.1137/0709036).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shiftmetrics._core.arrays import UNIT_ROUNDOFF, BoolArray, FloatArray
from shiftmetrics._core.convex_difference import Bounds, Nodes, Samples, Tail, upper_bounds

MAX_PIECES = 7
"""Pieces into which an interval is cut at a time: the model of F inside is not trusted further."""


class Peak(NamedTuple):
    """Where a maximum is expected: the point, its distance from the best node, its gain over it, its interval."""

    x: float
    step: float
    gain: float
    interval: int


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
    rounding : callable, optional
        Maps points to the rounding error of each part there: the bounds are not driven below it.

    Returns
    -------
    Maximum
    """
    # Each pass evaluates the points that were asked for, bounds F between all nodes, and asks for more where a
    # bound still exceeds the best value.
    nodes = Nodes(np.zeros(1), start)
    wanted = np.unique([guess for guess in guesses if 0.0 < guess < math.inf])
    n_passes = 0
    while True:
        if wanted.size:
            wanted = wanted[: max_evaluations - nodes.n_evaluations]
            nodes = nodes.insert(wanted, evaluate(wanted))
            n_passes += 1
        bounds = upper_bounds(nodes, tail)
        # Both parts may be far larger than their difference: their rounding is what its value errs by.
        error = rounding(nodes.x) + 4.0 * UNIT_ROUNDOFF * nodes.size
        noise = _noise(error)
        # Ties go to the ends: a rounding error above the value at 0 is no maximum.
        top = int(np.argmax(nodes.value))
        if nodes.value[0] >= nodes.value[top] - error[0]:
            top = 0
        as_high = tail.value >= nodes.value[top] - error[0]
        above_start = tail.value > nodes.value[0] + error[0]
        at_end = bool(as_high and above_start)
        best = float(nodes.value[top])
        if at_end:
            best = float(tail.value)
        wanted = np.empty(0)
        if nodes.n_evaluations < max_evaluations:
            best_node = None if at_end else top
            wanted = next_points(nodes, bounds, best, best_node, error[0], atol + noise)
        if not wanted.size:
            break
    if at_end:
        x = math.inf
        error_at_best = float(error[0])
    else:
        error_at_best = float(error[top])
        if top > 0:
            # Of values that are equal to rounding, the one with the least slope is nearest to the peak.
            equal = nodes.value >= best - error_at_best
            top = int(np.where(equal, np.abs(nodes.slope), math.inf).argmin())
        x = float(nodes.x[top])
    gap_with_noise = max(0.0, float((bounds.value + noise).max()) - best)
    return Maximum(
        x=x,
        value=best,
        gap=max(0.0, float(bounds.value.max()) - best),
        error_bound=gap_with_noise + 2.0 * error_at_best,
        points=nodes.x,
        values=nodes.value,
        bounds=bounds.value,
        n_evaluations=nodes.n_evaluations,
        n_passes=n_passes,
        converged=bool((bounds.value <= best + atol + noise).all()),
    )


def _noise(error: FloatArray) -> FloatArray:
    """Return the rounding error of the bound of each interval, from that of a part at its ends.

    The chord errs by at most the larger end, a tangent by its value and by slope times width (together twice
    that): four times covers them.
    """
    return np.asarray(4.0 * np.maximum(error, np.append(error[1:], error[-1])))


def next_points(
    nodes: Nodes,
    bounds: Bounds,
    best: float,
    top: int | None,
    error: float,
    slack: FloatArray,
) -> FloatArray:
    """Choose what to evaluate next: nothing when every bound is within ``slack`` of the best value.

    ``top`` is the best node, None when the best value is the limit; ``error`` the rounding error at 0.
    """
    x = nodes.x
    # First aim: the peak beside the best node, from which all other intervals are measured.
    peak = None
    if top is not None:
        peak = _peak(nodes, top, float(bounds.kink[-1]), float(bounds.value[-1]) - best)
    if peak and top == 0 and peak.gain <= error:
        peak = None  # the slope at 0 is only rounding
    # Second aim: intervals whose bound exceeds what the best value is about to become.
    target = best
    if peak:
        target += peak.gain
    excess = bounds.value - target - slack
    too_high = excess > 0.0
    # A gain of less than a tenth of the tolerance hardly changes which intervals are too high.
    settled = peak is None or peak.gain <= 0.1 * float(slack.min())
    if not settled:
        # The best value is about to rise: split only what is far too high. (Heuristic: half of the worst.)
        too_high &= excess >= 0.5 * float(excess.max())
    points: list[float] = []
    if peak:
        points.append(peak.x)
        if peak.interval == len(x) - 1 or peak.step > 0.1 * (
            x[peak.interval + 1] - x[peak.interval]
        ):
            too_high[peak.interval] = False  # the peak splits it well enough
    for i in np.flatnonzero(too_high):
        if i == len(x) - 1:
            # The tail: go where its bound has its kink, or at least four times as far.
            points.append(max(float(bounds.kink[i]), 4.0 * x[i]))
        else:
            pieces: list[float] = []
            if settled:
                pieces = _pieces(nodes, bounds, int(i), target, float(slack[i]))
            if not pieces:
                pieces = _cut(x[i], x[i + 1], float(bounds.kink[i]))
            points.extend(pieces)
    fresh = np.unique(np.asarray(points, dtype=np.float64))
    return fresh[np.isfinite(fresh) & ~_known(fresh, x)]


def _known(points: FloatArray, x: FloatArray) -> BoolArray:
    """Return which points coincide with a node to rounding."""
    after = np.minimum(np.searchsorted(x, points), len(x) - 1)
    before = np.maximum(after - 1, 0)
    near = np.minimum(np.abs(points - x[after]), np.abs(points - x[before]))
    return np.asarray(near <= 4e-16 * points)


def _peak(nodes: Nodes, top: int, beyond: float, hope: float) -> Peak | None:
    """Return the peak beside the best node, or None when that node is the peak already, to ten digits.

    If F rises into the tail, all that is known is its bound: ``hope`` above the best value, kinked at ``beyond``.
    """
    i = top if nodes.slope[top] > 0.0 else top - 1
    if nodes.slope[top] == 0.0 or i < 0:
        return None
    if i == len(nodes.x) - 1:
        return Peak(max(beyond, 2.0 * nodes.x[i]), math.inf, hope, i)
    left = nodes.x[i]
    width = nodes.x[i + 1] - left
    # The cubic through the values and slopes at both ends; F falls from the best node, so it has a peak inside.
    rise = nodes.slope[i] * width
    fall = nodes.slope[i + 1] * width
    square, cube = _hermite(nodes.value[i + 1] - nodes.value[i], rise, fall)
    # Its slope rise + 2 square t + 3 cube t^2 vanishes at t, in the form of the root that does not cancel.
    root = math.sqrt(max(square**2 - 3.0 * cube * rise, 0.0))
    if square < 0.0:
        t = rise / (root - square)
    elif cube < 0.0:
        t = (-square - root) / (3.0 * cube)
    else:
        t = 0.5
    if not 0.0 < t < 1.0:
        t = 0.5
    x = left + t * width
    step = abs(float(x - nodes.x[top]))
    if step <= 1e-10 * x:
        return None
    # F gains about half of slope times step, as a parabola does up to its vertex.
    return Peak(float(x), step, abs(float(nodes.slope[top])) * step / 2.0, i)


def _hermite(step: float, rise: float, fall: float) -> tuple[float, float]:
    """Coefficients of t^2 and t^3 of the cubic on [0, 1] with slopes ``rise`` and ``fall`` that climbs ``step``."""
    return 3.0 * step - 2.0 * rise - fall, rise + fall - 2.0 * step


def _pieces(nodes: Nodes, bounds: Bounds, i: int, target: float, slack: float) -> list[float]:
    """Cut interval ``i`` so that, by a cubic model of F, every piece meets the target; empty if out of reach."""
    left = nodes.x[i]
    width = nodes.x[i + 1] - left
    t = np.linspace(0.0, 1.0, 33)
    rise = nodes.slope[i] * width
    fall = nodes.slope[i + 1] * width
    square, cube = _hermite(nodes.value[i + 1] - nodes.value[i], rise, fall)
    model = nodes.value[i] + t * (rise + t * (square + t * cube))
    room = np.maximum(target - model, 0.0) + 0.9 * slack
    # The bound of a piece, a fraction v of the interval, exceeds F by about over * v^2.
    over = bounds.value[i] - float(np.interp((bounds.kink[i] - left) / width, t, model))
    fraction = np.sqrt(room / max(float(over), 1e-300))
    # There are 1 / v pieces of fraction v in the interval: the integral of that density is their number, and its
    # equal steps are the cuts.
    density = 1.0 / fraction
    count = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2.0 * np.diff(t))])
    # Heuristic: a model that asks for more pieces is not trusted, and the interval is cut once instead.
    n_pieces = math.ceil(count[-1])
    if not 2 < n_pieces <= MAX_PIECES:
        return []
    cuts = np.interp(np.arange(1, n_pieces) / n_pieces * count[-1], count, t)
    return [float(left + cut * width) for cut in cuts]


def _cut(left: float, right: float, kink: float) -> list[float]:
    """Cut an interval where its bound is highest, but not too close to an end."""
    width = right - left
    fraction = (kink - left) / width
    return [left + width * min(0.9, max(0.1, fraction))]
