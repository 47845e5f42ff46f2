"""Steps of the search for a nearer error: along a line, along columns, by jumps, and along the boundary."""

from __future__ import annotations

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics.models.decision.nearest import Nearest
from shiftmetrics.models.domain import differs

_SHRINKS = 5  # queries


def shrink(nearest: Nearest, which: IntArray, *, leap: float = 0.5) -> None:
    """Shorten the moves of the best points.

    A first query leaps a share ``leap`` of the move, and leaps double until one goes too far; bisection follows.
    """
    if not which.size or not nearest.space.n_numeric:
        return
    best, base = nearest.move(which), nearest.point[which]
    right, wrong = np.zeros(len(which)), np.ones(len(which))  # factors
    step, bracketed = leap, np.zeros(len(which), dtype=bool)
    for _ in range(_SHRINKS):
        middle = 0.5 * (right + wrong)
        factor = np.where(bracketed, middle, np.maximum(wrong - step, 0.5 * wrong))
        points = nearest.space.points(base, which, (best * factor[:, None])[:, None])
        answer = nearest.evaluate(which, points)[:, 0]
        right, wrong = np.where(answer, right, factor), np.where(answer, factor, wrong)
        bracketed |= ~answer
        step *= 2.0


def lengths(moves: FloatArray) -> FloatArray:
    """Return the length of each move along the last axis."""
    length: FloatArray = np.sqrt(np.einsum("...j,...j->...", moves, moves))
    return length


_WORTH = 0.01  # of the squared distance: what adds less is not worth a query
_SHORTENINGS, _FIRST = 5, 0.95  # queries for each column, and the share of its move that the first leaves


def take_back(nearest: Nearest, which: IntArray) -> None:
    """Put numbers and jumps of the best points back to where the row has them, the costliest first."""
    space = nearest.space
    if not which.size:
        return
    cost = space.squared_costs(nearest.point[which], which)
    order = np.argsort(-cost, axis=1, kind="stable")
    for place in range(cost.shape[1]):
        part = order[:, place]
        paid = cost[np.arange(len(which)), part] > 0.0
        if not paid.any():
            break
        rows, parts = which[paid], part[paid]
        points = nearest.point[rows].copy()
        slides = np.flatnonzero(parts < space.n_numeric)
        columns = space.numeric[parts[slides]]
        points[slides, columns] = space.origin[rows[slides], columns]
        for number, group in enumerate(space.jumping):
            here = np.flatnonzero(parts == space.n_numeric + number)
            points[np.ix_(here, group)] = space.origin[np.ix_(rows[here], group)]
        nearest.evaluate(rows, points[:, None])


def shorten_columns(nearest: Nearest, which: IntArray) -> None:
    """Shorten the move of each column alone: try a little, and where that is still an error, bisect."""
    space = nearest.space
    if not which.size:
        return
    order = np.argsort(-np.abs(nearest.move(which)), axis=1, kind="stable")
    for place in range(space.n_numeric):
        length = nearest.move(which)[np.arange(len(which)), order[:, place]]
        worth = np.square(length) > _WORTH * np.square(nearest.distance[which])
        if not worth.any():
            break
        _shorten(nearest, which[worth], order[worth, place])


def _shorten(nearest: Nearest, rows: IntArray, column: IntArray) -> None:
    best = nearest.move(rows)
    length = best[np.arange(len(rows)), column]
    right, wrong = np.zeros(len(rows)), np.ones(len(rows))  # factors of the length
    active = np.arange(len(rows))
    for step in range(_SHORTENINGS):
        factor = _FIRST * wrong if step == 0 else 0.5 * (right + wrong)
        moves = best[active].copy()
        moves[np.arange(len(active)), column[active]] = (length * factor)[active]
        points = nearest.space.points(nearest.point[rows[active]], rows[active], moves[:, None])
        answer = nearest.evaluate(rows[active], points)[:, 0]
        wrong[active] = np.where(answer, factor[active], wrong[active])
        right[active] = np.where(answer, right[active], factor[active])
        if step == 0:
            active = active[answer]
        if not active.size:
            break


_GAIN = 0.97  # of the best distance, at most, is what a jump must come to


def jump(nearest: Nearest, which: IntArray, rng: np.random.Generator, *, n_queries: int) -> None:
    """Try one more jump of the best points, and of the rows themselves, and keep what is nearer.

    At most ``n_queries`` of them are tried, drawn at random where there are more.
    """
    space = nearest.space
    if not which.size or not space.jumping:
        return
    from_rows = list(space.jumps(space.origin[which]))
    chosen = _some(from_rows, rng, n_queries // 2 if space.n_numeric else n_queries)
    nearest.evaluate(which, chosen)
    which = which[nearest.distance[which] > 0.0]
    best = nearest.point[which]
    moves = nearest.move(which)
    if not (moves.any() or differs(best, space.origin[which]).any()):
        return
    jumped = _some(list(space.jumps(best)), rng, n_queries - chosen.shape[1])
    n_points = jumped.shape[1]
    flat = jumped.reshape(-1, jumped.shape[2])
    owner = np.repeat(which, n_points)
    fixed = space.squared_costs(flat, owner)[:, space.n_numeric :].sum(axis=1).reshape(-1, n_points)
    room = np.square(_GAIN * nearest.distance[which])[:, None] - fixed
    length = lengths(moves)[:, None]
    factor = np.sqrt(np.maximum(room, 0.0)) / np.maximum(length, np.finfo(np.float64).tiny)
    points = space.points(jumped, which, moves[:, None] * np.minimum(factor, 1.0)[:, :, None])
    useless = room < 0.0  # farther than the best: not evaluated
    points[useless] = space.origin[which][np.nonzero(useless)[0]]
    nearest.evaluate(which, points)


def _some(options: list[FloatArray], rng: np.random.Generator, n_queries: int) -> FloatArray:
    """Return at most ``n_queries`` of the options, of shape (n_rows, n_options, n_columns)."""
    if len(options) > n_queries:
        options = [options[place] for place in np.sort(rng.permutation(len(options))[: max(1, n_queries)])]
    return np.stack(options, axis=1)


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
        answer = nearest.evaluate(which, points)
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
    nearest.evaluate(which, space.points(base, which, trials))


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
