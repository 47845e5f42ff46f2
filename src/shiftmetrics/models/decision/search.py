"""The nearest counter-example of each row, from the predictions of a model alone.

All rows advance together, so the model answers in large batches. Each row starts from several points that are
predicted otherwise, crosses the boundary on the way to them, and then walks it: columns are taken back one by one
(exact where boundaries are boxes, as in trees), and normals are estimated from where nearby rays cross it (exact
where boundaries are flat). What gained is what is tried again.
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
    shorten_columns,
    slide,
    take_back,
)
from shiftmetrics.models.domain import Domain, PerturbationSpace

_BLOCK_BYTES = 1 << 26
_QUERIES_PER_START = 12
_FEWEST = 8  # queries, for which another turn is worth it
_BRANCHES = 3  # other crossings that are polished, each after two slides


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
    if space.domain.is_fixed:
        return
    # First errors: on the lines to points that are predicted otherwise, one jump off, or in random directions.
    crossings = np.empty((len(everyone), 0, space.origin.shape[1]))
    if known is not None:
        crossings = cross(nearest, known[:, None], n_steps=0)
    if len(pool):
        starts = other_points(space, pool, other, max(1, nearest.n_queries // _QUERIES_PER_START))
        crossings = np.concatenate([crossings, cross(nearest, starts, n_steps=4)], axis=1)
    budget = nearest.n_queries
    jump(nearest, everyone, rng, n_queries=budget // 8)
    search_outwards(nearest, everyone[~np.isfinite(nearest.distance)], rng, budget // 4)
    # Nearer ones: shorter moves, fewer columns, one jump more or less.
    shorten(nearest, nearest.unsettled(), leap=0.5)
    _look_at_columns(nearest, budget // 6)
    _polish(nearest, nearest.unsettled())
    if space.jumping:
        jump(nearest, nearest.unsettled(), rng, n_queries=budget // 8)
        _polish(nearest, nearest.unsettled())
    # What is left of the budget goes along the boundary.
    _walk(nearest, crossings, rng)
    _polish(nearest, nearest.unsettled())


def _look_at_columns(nearest: NearestSoFar, n_queries: int) -> None:
    """Look at moves of one column, nearer than the best."""
    p = nearest.space.n_smooth
    which = nearest.unsettled()
    shares = np.array([0.9, 0.6, 0.3])[: n_queries // (2 * p) if p else 0]
    if shares.size and which.size:
        directions = np.concatenate([np.eye(p), -np.eye(p)])
        look_around(nearest, which, directions, nearest.distance[which][:, None] * shares)


def _polish(nearest: NearestSoFar, which: IntArray) -> None:
    """Take back what the best points do not need."""
    take_back(nearest, which)
    shorten(nearest, which, leap=0.02)
    shorten_columns(nearest, which)


def _walk(nearest: NearestSoFar, crossings: FloatArray, rng: np.random.Generator) -> None:
    """Slide along the boundary, then polish another crossing, in turn."""
    order, distances = _nearest_first(nearest, crossings)
    for turn in range(_BRANCHES):
        for _ in range(2 if nearest.space.n_smooth else 0):
            which = nearest.unsettled(at_least=_FEWEST)
            slide(nearest, which, rng, width=0.3 / (turn + 1))
            shorten(nearest, which, leap=0.02)
        if turn < order.shape[1]:
            which = nearest.unsettled(at_least=_FEWEST)
            which = which[np.isfinite(distances[which, order[which, turn]])]
            _branch(nearest, which, crossings[which, order[which, turn]])


def _nearest_first(nearest: NearestSoFar, crossings: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the order of the crossings of each row by distance, and these distances; inf where there is none."""
    everyone = np.arange(len(nearest.rows))
    distances = np.empty(crossings.shape[:2])
    for place, points in enumerate(crossings.swapaxes(0, 1)):
        distances[:, place] = nearest.space.distance(points, everyone)
    distances[distances == 0.0] = np.inf
    return np.argsort(distances, axis=1, kind="stable"), distances


def _branch(nearest: NearestSoFar, which: IntArray, points: FloatArray) -> None:
    """Polish other errors on the side, and keep them where they come nearer than the best."""
    if not which.size:
        return
    side = nearest.on_the_side()
    side.keep(which, points)
    take_back(side, which)
    shorten_columns(side, which)
    nearest.keep(which, side.point[which])


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


def cross(nearest: NearestSoFar, starts: FloatArray, *, n_steps: int) -> FloatArray:
    """Bisect the lines from the rows to several starts each, and return the errors nearest to the rows on them.

    Returns
    -------
    array of shape (n_rows, n_starts, n_columns)
        Starts that are no errors are replaced by the row itself.
    """
    space = nearest.space
    which = np.arange(len(nearest.rows))
    start = space.origin[:, None]
    wrong = nearest.evaluate(which, starts)
    moves = np.nan_to_num((starts - start)[:, :, space.smooth] / space.unit)
    # The error is between the parts low, which is right, and high of the way.
    low = np.zeros(wrong.shape)
    high = np.ones(wrong.shape)
    owner = np.repeat(which, starts.shape[1])
    best = np.where(wrong[:, :, None], starts, start)
    for _ in range(n_steps):
        middle = 0.5 * (low + high)
        points = space.points(best, which, moves * middle[:, :, None])
        points[~wrong] = space.origin[np.nonzero(~wrong)[0]]
        points = space.allowed(points.reshape(-1, points.shape[2]), owner).reshape(points.shape)
        answer = nearest.evaluate(which, points)
        best[answer] = points[answer]
        high = np.where(answer, middle, high)
        low = np.where(answer, low, middle)
    return best


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
