"""Jumps: flip a category or take a whole step, and shorten the rest of the move by more than that costs."""

from __future__ import annotations

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics.models.decision.line import lengths
from shiftmetrics.models.decision.nearest import Nearest
from shiftmetrics.models.domain import differs

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
    nearest.ask(which, chosen)
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
    useless = room < 0.0  # dearer than the best: ask nothing
    points[useless] = space.origin[which][np.nonzero(useless)[0]]
    nearest.ask(which, points)


def _some(options: list[FloatArray], rng: np.random.Generator, n_queries: int) -> FloatArray:
    """Return at most ``n_queries`` of the options, of shape (n_rows, n_options, n_columns)."""
    if len(options) > n_queries:
        options = [options[place] for place in np.sort(rng.permutation(len(options))[: max(1, n_queries)])]
    return np.stack(options, axis=1)
