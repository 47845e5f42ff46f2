"""Where searches start: rows that the model predicts otherwise, and where there are none, ever longer moves."""

from __future__ import annotations

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.models.decision.line import lengths
from shiftmetrics.models.decision.nearest import Nearest
from shiftmetrics.models.decision.space import MoveSpace

_RANKS = (0, 1, 2, 4, 8, 16, 32, 64)
"""Which of the nearest other points to try: some near ones, and some farther away, elsewhere."""


def other_points(
    space: MoveSpace, which: IntArray, pool: FloatArray, other: BoolArray, most: int
) -> FloatArray:
    """Return, for each row, points of the pool that are predicted otherwise, moved to where the row may go.

    Parameters
    ----------
    space : MoveSpace
    which : array of shape (n_rows,)
    pool : array of shape (n_pool, n_columns)
    other : array of bool, shape (n_rows, n_pool)
        Which points of the pool are errors for each row.
    most : int
        How many to return, at most.

    Returns
    -------
    array of shape (n_rows, n_starts, n_columns)
        A row's own place where it has fewer.
    """
    squared = space.domain.squared_gaps(space.origin[which], pool)
    squared[~other] = np.inf
    n_starts = min(len(pool), _RANKS[-1] + 1)
    near = np.argpartition(squared, n_starts - 1, axis=1)[:, :n_starts]
    order = np.argsort(np.take_along_axis(squared, near, axis=1), axis=1, kind="stable")
    near = np.take_along_axis(near, order, axis=1)
    ranks = [rank for rank in _RANKS if rank < n_starts][:most]
    chosen = near[:, ranks]
    points = pool[chosen]
    none = ~np.isfinite(np.take_along_axis(squared, chosen, axis=1))
    points[none] = space.origin[which][np.nonzero(none)[0]]
    flat = space.allowed(points.reshape(-1, pool.shape[1]), np.repeat(which, len(ranks)))
    return flat.reshape(points.shape)


def cross(nearest: Nearest, which: IntArray, starts: FloatArray, *, n_steps: int) -> FloatArray:
    """Bisect the lines from the rows to several starts each, and return the errors nearest to the rows on them.

    Returns
    -------
    array of shape (n_rows, n_starts, n_columns)
        Starts that are no errors are replaced by the row itself.
    """
    space = nearest.space
    wrong = nearest.ask(which, starts)
    moves = np.nan_to_num((starts - space.origin[which][:, None])[:, :, space.numeric] / space.unit)
    low, high = np.zeros(wrong.shape), np.ones(wrong.shape)
    owner = np.repeat(which, starts.shape[1])
    best = np.where(wrong[:, :, None], starts, space.origin[which][:, None])
    for _ in range(n_steps):
        middle = 0.5 * (low + high)
        points = best.copy()
        points[:, :, space.numeric] = (
            space.origin[which][:, None, space.numeric] + moves * middle[:, :, None] * space.unit
        )
        points[~wrong] = space.origin[which][np.nonzero(~wrong)[0]]
        points = space.allowed(points.reshape(-1, points.shape[2]), owner).reshape(points.shape)
        answer = nearest.ask(which, points)
        best[answer] = points[answer]
        high, low = np.where(answer, middle, high), np.where(answer, low, middle)
    return best


def look_around(nearest: Nearest, which: IntArray, directions: FloatArray, radii: FloatArray) -> None:
    """Ask at given distances (n_rows, n_radii) in given directions (n_directions, n_numeric)."""
    space = nearest.space
    moves = radii[:, :, None, None] * directions[None, None]
    moves = moves.reshape(len(which), -1, space.n_numeric)
    nearest.ask(which, space.points(space.origin[which], which, space.clip(moves, which)))


def search_outwards(nearest: Nearest, which: IntArray, rng: np.random.Generator, n_queries: int) -> None:
    """Look for a first error in random directions, sparse and dense, and along the columns, ever farther out."""
    space = nearest.space
    p = space.n_numeric
    if not p or not which.size:
        return
    n_rounds = 6
    each = max(1, n_queries // n_rounds)
    for level in range(n_rounds):
        left = which[~np.isfinite(nearest.distance[which])]
        if not left.size:
            return
        dense = rng.standard_normal((each, p))
        dense[: each // 2] *= rng.random((each // 2, p)) < max(0.2, 1.0 / p)
        axes = np.concatenate([np.eye(p), -np.eye(p)])
        if 2 * p <= each // 2:
            dense[: 2 * p] = axes
        else:
            dense[: each // 4] = axes[rng.permutation(2 * p)[: each // 4]]
        dense /= np.maximum(lengths(dense), 1e-300)[:, None]
        look_around(nearest, left, dense, np.full((len(left), 1), 0.5 * 4.0**level))
