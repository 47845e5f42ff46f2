"""The nearest counter-example of each row, from the predictions of a model alone.

All rows advance together, so the model answers in large batches. Each row starts from several points that are
predicted otherwise, crosses the boundary on the way to them, and then walks it: columns are taken back one by one
(exact where boundaries are boxes, as in trees), and normals are estimated from where nearby rays cross it (exact
where boundaries are flat).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.options import progress_bar
from shiftmetrics.models.decision.steps import (
    IsWrong,
    NearestSoFar,
    jump,
    lengths,
    shorten,
    slide,
    take_back,
)
from shiftmetrics.models.domain import Domain, PerturbationSpace

_BLOCK_BYTES = 1 << 26
_QUERIES_PER_START = 12
_FEWEST = 8  # queries, for which another turn is worth it
_WIDTHS = (0.3, 0.15, 0.1)
"""How far beside the best point slides look, relative to its distance: two slides each."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CounterExamples:
    """Errors near rows.

    Attributes
    ----------
    points : array of shape (n_rows, n_columns)
        The nearest error of each row; the row itself where none was found.
    distances : array of shape (n_rows,)
        Their distances (unsquared): upper bounds of the distance to an error; inf where none was found.
    queries : array of shape (n_rows,)
        Predictions that each row took.
    """

    points: FloatArray
    distances: FloatArray
    queries: IntArray


def nearest_counterexamples(
    is_wrong: IsWrong,
    domain: Domain,
    rows: FloatArray,
    labels: npt.NDArray[np.int64],
    pool: FloatArray,
    pool_labels: npt.NDArray[np.int64],
    *,
    known: FloatArray | None = None,
    n_queries: int = 500,
    rng: np.random.Generator,
    progress: bool = True,
) -> CounterExamples:
    """Find an error near each row, which must all be predicted right.

    Parameters
    ----------
    is_wrong : callable
        ``is_wrong(points, positions)`` tells which coded points are errors of the rows at these positions.
    domain : Domain
        Where rows may move, and at what distance.
    rows : array of shape (n_rows, n_columns)
        The rows, coded.
    labels : integer array of shape (n_rows,)
        Their labels.
    pool : array of shape (n_pool, n_columns)
        Points whose predictions are known: those predicted otherwise are starts.
    pool_labels : integer array of shape (n_pool,)
        Their predictions.
    known : array of shape (n_rows, n_columns), optional
        A point for each row to start from as well, such as the end of an attack.
    n_queries : int
        Most predictions for each row.
    rng : Generator
        For random directions.
    progress : bool
        Whether to show a progress bar for work of more than two seconds.
    """
    points = rows.copy()
    distances = np.full(len(rows), np.inf)
    queries = np.zeros(len(rows), dtype=np.int64)
    # Bytes of a row: its trial points, and its distances to the pool.
    n_columns = rows.shape[1]
    n_trials = max(64, min(n_columns, n_queries))
    wide = 8 * max(n_columns, 1) * n_trials + 16 * len(pool)
    size = int(np.clip(_BLOCK_BYTES // wide, 16, 4096))
    with progress_bar(progress, "counter-examples", len(rows), unit=" rows") as bar:
        for start in range(0, len(rows), size):
            block = np.arange(start, min(start + size, len(rows)))
            nearest = NearestSoFar(
                is_wrong, PerturbationSpace(domain, rows[block]), block, n_queries
            )
            other = pool_labels[None, :] != labels[block][:, None]
            known_here = None if known is None else known[block]
            _search(nearest, pool, other, known_here, rng)
            points[block] = nearest.point
            distances[block] = nearest.distance
            queries[block] = nearest.queries
            bar.update(len(block))
    return CounterExamples(points=points, distances=distances, queries=queries)


def _search(
    nearest: NearestSoFar,
    pool: FloatArray,
    other: BoolArray,
    known: FloatArray | None,
    rng: np.random.Generator,
) -> None:
    """Search for one block of rows: a first error, then nearer ones."""
    space = nearest.space
    everyone = np.arange(len(nearest.rows))
    budget = nearest.n_queries
    if space.domain.is_fixed:
        return
    # First errors: on the lines to points that are predicted otherwise, one jump off, or in random directions.
    if known is not None:
        cross(nearest, known[:, None], n_steps=0)
    if len(pool):
        starts = other_points(space, pool, other, max(1, budget // _QUERIES_PER_START))
        cross(nearest, starts, n_steps=4)
    jump(nearest, everyone, rng, n_queries=budget // 8)
    search_outwards(nearest, everyone[~np.isfinite(nearest.distance)], rng, budget // 4)
    # Nearer ones: shorter moves, fewer columns, one jump more or less.
    shorten(nearest, nearest.unsettled(), leap=0.5)
    _polish(nearest)
    # What is left of the budget goes along the boundary.
    for width in _WIDTHS:
        jump(nearest, nearest.unsettled(), rng, n_queries=budget // 8)
        _polish(nearest)
        for _ in range(2 if space.n_smooth else 0):
            which = nearest.unsettled(at_least=_FEWEST)
            slide(nearest, which, rng, width=width)
            shorten(nearest, which, leap=0.02)
    _polish(nearest)


def _polish(nearest: NearestSoFar) -> None:
    """Take back what the best points do not need."""
    which = nearest.unsettled()
    take_back(nearest, which)
    shorten(nearest, which, leap=0.02)


_RANKS = (0, 1, 2, 4, 8, 16, 32, 64)
"""Which of the nearest other points to try: some near ones, and some farther away, elsewhere."""


def other_points(
    space: PerturbationSpace, pool: FloatArray, other: BoolArray, most: int
) -> FloatArray:
    """Return, for each row, points of the pool that are predicted otherwise, moved to where the row may go.

    Parameters
    ----------
    space : PerturbationSpace
    pool : array of shape (n_pool, n_columns)
    other : array of bool, shape (n_rows, n_pool)
        Which points of the pool are errors for each row.
    most : int
        How many to return, at most.

    Returns
    -------
    array of shape (n_rows, n_starts, n_columns)
        The row itself where it has fewer.
    """
    # The nearest points of the pool that are errors, in the order of their distance.
    squared = space.domain.squared_gaps(space.origin, pool)
    squared[~other] = np.inf
    n_starts = min(len(pool), _RANKS[-1] + 1)
    near = np.argpartition(squared, n_starts - 1, axis=1)[:, :n_starts]
    order = np.argsort(np.take_along_axis(squared, near, axis=1), axis=1, kind="stable")
    near = np.take_along_axis(near, order, axis=1)
    ranks = [rank for rank in _RANKS if rank < n_starts][:most]
    chosen = near[:, ranks]
    points = pool[chosen]
    none = ~np.isfinite(np.take_along_axis(squared, chosen, axis=1))
    points[none] = space.origin[np.nonzero(none)[0]]
    owner = np.repeat(np.arange(len(points)), len(ranks))
    flat = space.allowed(points.reshape(-1, pool.shape[1]), owner)
    return flat.reshape(points.shape)


def cross(nearest: NearestSoFar, starts: FloatArray, *, n_steps: int) -> None:
    """Bisect the lines from the rows to several starts each, where these are errors."""
    space = nearest.space
    which = np.arange(len(nearest.rows))
    wrong = nearest.evaluate(which, starts)
    moves = np.nan_to_num((starts - space.origin[:, None])[:, :, space.smooth] / space.unit)
    # A start that is no error is replaced by the row itself, which costs no query.
    best = np.where(wrong[:, :, None], starts, space.origin[:, None])
    moves[~wrong] = 0.0
    # The error is between the parts low, which is right, and high of the way.
    low = np.zeros(wrong.shape)
    high = np.ones(wrong.shape)
    for _ in range(n_steps):
        middle = 0.5 * (low + high)
        answer = nearest.evaluate(which, space.points(best, which, moves * middle[:, :, None]))
        high = np.where(answer, middle, high)
        low = np.where(answer, low, middle)


def look_around(
    nearest: NearestSoFar, which: IntArray, directions: FloatArray, radii: FloatArray
) -> None:
    """Evaluate points at distances (n_rows, n_radii) in directions (n_directions, n_smooth)."""
    space = nearest.space
    moves = radii[:, :, None, None] * directions[None, None]
    moves = space.clip(moves.reshape(len(which), -1, space.n_smooth), which)
    nearest.evaluate(which, space.points(space.origin[which], which, moves))


def search_outwards(
    nearest: NearestSoFar, which: IntArray, rng: np.random.Generator, n_queries: int
) -> None:
    """Look for a first error in random directions, sparse and dense, and along the columns, ever farther out."""
    space = nearest.space
    p = space.n_smooth
    if not p or not which.size:
        return
    n_rounds = 6
    each = max(1, n_queries // n_rounds)
    for level in range(n_rounds):
        left = which[~np.isfinite(nearest.distance[which])]
        if not left.size:
            return
        # Half of the directions are sparse, and those along columns among them.
        dense = rng.standard_normal((each, p))
        dense[: each // 2] *= rng.random((each // 2, p)) < max(0.2, 1.0 / p)
        axes = np.concatenate([np.eye(p), -np.eye(p)])
        if 2 * p <= each // 2:
            dense[: 2 * p] = axes
        else:
            dense[: each // 4] = axes[rng.permutation(2 * p)[: each // 4]]
        dense /= np.maximum(lengths(dense), 1e-300)[:, None]
        radius = 0.5 * 4.0**level
        look_around(nearest, left, dense, np.full((len(left), 1), radius))
