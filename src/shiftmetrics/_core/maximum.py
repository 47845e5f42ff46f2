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

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.branching import Bounds, Nodes, Samples, Tail, next_points
from shiftmetrics._core.numerics import UNIT_ROUNDOFF


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
    nodes = Nodes(np.zeros(1), start)
    wanted = np.unique([guess for guess in guesses if 0.0 < guess < math.inf])
    n_passes = 0
    while True:
        if wanted.size:
            wanted = wanted[: max_evaluations - nodes.n_evaluations]
            nodes = nodes.insert(wanted, evaluate(wanted))
            n_passes += 1
        bounds = upper_bounds(nodes, tail, rates)
        error = rounding(nodes.x) + 4.0 * UNIT_ROUNDOFF * nodes.size
        noise = _noise(error)
        # Ties go to the ends: a rounding error above the value at 0 is no maximum.
        top = 0 if nodes.value[0] >= nodes.value.max() - error[0] else int(np.argmax(nodes.value))
        at_end = bool(tail.value >= nodes.value[top] - error[0] and tail.value > nodes.value[0] + error[0])
        best = float(tail.value if at_end else nodes.value[top])
        wanted = np.empty(0)
        if nodes.n_evaluations < max_evaluations:
            wanted = next_points(nodes, bounds, best, None if at_end else top, error[0], atol + noise, rates)
        if not wanted.size:
            break
    return Maximum(
        x=math.inf if at_end else float(nodes.x[top]),
        value=best,
        gap=max(0.0, float(bounds.value.max()) - best),
        error_bound=max(0.0, float((bounds.value + noise).max()) - best)
        + 2.0 * float(error[0 if at_end else top]),
        points=nodes.x,
        values=nodes.value,
        bounds=bounds.value,
        n_evaluations=nodes.n_evaluations,
        n_passes=n_passes,
        converged=bool((bounds.value <= best + atol + noise).all()),
    )


def upper_bounds(nodes: Nodes, tail: Tail, rates: tuple[float, float]) -> Bounds:
    """Bound F from above between each node and the next, and beyond the last."""
    x, value = nodes.x, nodes.value
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
    above, slope = minus[-1] - tail.minus_limit, -minus_slope[-1]
    step = above / slope if above > 0.0 and slope > 0.0 else 0.0
    beyond = max(value[-1], plus[-1] + tail.plus_slope * step - tail.minus_limit)
    return Bounds(np.append(between, beyond), np.append(x[1:] - back, x[-1] + step))


def _least_curvature(width: FloatArray, slope: FloatArray, rate: float) -> FloatArray:
    """Return the least curvature between nodes: its mean, less what ``rate`` allows it to change."""
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
    candidates = [value + t * (rise + bend * t / 2) for t in (peak, length)]
    return np.maximum(value, np.maximum(*candidates))


def _noise(error: FloatArray) -> FloatArray:
    """Return the rounding error of the bound of each interval, from that of a part at its ends.

    The chord errs by at most the larger end, a tangent by its value and by slope times width (together twice
    that), the curvature terms by less: four times covers them.
    """
    return np.asarray(4.0 * np.maximum(error, np.append(error[1:], error[-1])))
