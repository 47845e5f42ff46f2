"""Along the boundary: estimate its normal from where nearby rays cross it, and step to its nearest point.

A ray from the row through the best error crosses the boundary at 1. Through a point displaced by ``delta v`` it
crosses at t, and ``1/t - 1`` is ``delta`` times the normal's component along v, exactly where the boundary is
flat; a few queries bracket it.
"""

from __future__ import annotations

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics.models.decision.line import lengths
from shiftmetrics.models.decision.nearest import Nearest

_MORE_BITS = 3
_TINY = float(np.finfo(np.float64).tiny)


def slide(
    nearest: Nearest, which: IntArray, directions: FloatArray, *, n_bits: int, width: float, share: float
) -> None:
    """Move the best errors towards the point of their boundary nearest to the row.

    Parameters
    ----------
    nearest : Nearest
    which : array of shape (n_rows,)
        Rows whose best points lie on the boundary.
    directions : array of shape (n_directions, n_numeric)
        Orthonormal directions in which the normal is looked for.
    n_bits : int
        Queries for each direction.
    width : float
        Displacement of the rays, as a share of the length of the move.
    share : float
        Greatest expected ratio of the move to the nearest one: it sets the width of the brackets.
    """
    space = nearest.space
    best = nearest.move(which)
    length = lengths(best)
    moving = length > 0.0
    which, best, length = which[moving], best[moving], length[moving]
    if not which.size:
        return
    base = nearest.point[which]
    along = best @ directions.T
    # towards the row, where the bounds are never in the way
    delta = np.where(along > 0.0, -width, width) * length[:, None]
    widest = share * width
    # a normal spreads over its columns: few components are more than three times as large as usual
    usual = widest * min(1.0, 3.0 / np.sqrt(len(directions)))
    low, high = np.full_like(delta, -usual), np.full_like(delta, usual)
    displaced = best[:, None, :] + delta[:, :, None] * directions[None]
    open_end = np.ones(delta.shape, dtype=bool)
    for bit in range(n_bits + _MORE_BITS):
        if bit == n_bits:  # those that are go on, in wider brackets
            above, below = low == -usual, high == usual
            open_end = (above | below) & (usual < widest)
            if not open_end.any():
                break
            high = np.where(open_end & below, widest, np.where(open_end, -usual, high))
            low = np.where(open_end & above, -widest, np.where(open_end, usual, low))
        middle = 0.5 * (low + high)
        points = space.points(base, which, displaced / (1.0 + middle)[:, :, None])
        points[~open_end] = space.origin[which][np.nonzero(~open_end)[0]]
        answer = nearest.ask(which, points)
        low = np.where(open_end & answer, middle, low)
        high = np.where(open_end & ~answer, middle, high)
    slopes = 0.5 * (low + high) / delta
    normal = slopes @ directions
    # the normal is known along the move itself: there it is 1
    outside = best - along @ directions
    rest = np.einsum("ij,ij->i", outside, outside)
    spanned = rest < 0.01 * length**2
    outside[spanned], rest[spanned] = best[spanned], length[spanned] ** 2
    missing = 1.0 - np.einsum("ij,ij->i", normal, best)
    normal += outside * (missing / rest)[:, None]
    target = nearest_on_plane(normal, space.low[which], space.high[which])
    trials = np.concatenate(
        [
            target[:, None, :] * np.array([1.01, 1.06, 1.15])[None, :, None],
            _shorter(best, target, np.array([0.7, 0.4, 0.15]), 0.985 * nearest.distance[which]),
        ],
        axis=1,
    )
    nearest.ask(which, space.points(base, which, trials))


def _shorter(start: FloatArray, target: FloatArray, shares: FloatArray, length: FloatArray) -> FloatArray:
    """Return moves on the way from ``start`` to ``target``, scaled to ``length``."""
    ways = start[:, None, :] + shares[None, :, None] * (target - start)[:, None, :]
    scaled: FloatArray = ways * (length[:, None] / np.maximum(lengths(ways), _TINY))[:, :, None]
    return scaled


def nearest_on_plane(normal: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the shortest moves m with ``normal . m = 1`` in a box that holds 0; its corner where none is."""
    target = np.zeros_like(normal)
    free = np.ones_like(normal, dtype=bool)
    for _ in range(normal.shape[1] + 1):
        part = np.where(free, normal, 0.0)
        gain = np.einsum("ij,ij->i", part, part)
        gap = 1.0 - np.einsum("ij,ij->i", normal, np.where(free, 0.0, target))
        step = part * (np.maximum(gap, 0.0) / np.maximum(gain, _TINY))[:, None]
        target = np.where(free, step, target)
        over = free & ((target > high) | (target < low))
        if not over.any():
            break
        target = np.clip(target, low, high)
        free &= ~over
    return target
