"""The nearest counter-example of each row, from the predictions of a model alone.

All rows advance together, so the model answers in large batches. Each row starts from several points that are
predicted otherwise, crosses the boundary on the way to them, and then walks it: columns are taken back one by one
(exact where boundaries are boxes, as in trees), and normals are estimated from where nearby rays cross it (exact
where boundaries are flat). What that leaves of the budget goes to trials around the nearest error, and inside its
sphere. It is a heuristic: nearer errors may exist. `benchmarks/searches.py` compares it with brute force.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.options import progress_bar
from shiftmetrics.models.domain.space import PerturbationSpace
from shiftmetrics.models.reading.model import ModelProblem
from shiftmetrics.models.search.boundary import (
    NearestSoFar,
    jump,
    shorten,
    slide,
    take_back,
)

_BLOCK_BYTES = 1 << 26
_MOST_STARTS = 4096
"""Most points whose predictions a search starts from; if there are more, a random choice."""
_QUERIES_PER_START = 12
_FEWEST = 8  # queries, for which another turn is worth it
_WIDTHS = (0.3, 0.15, 0.1)
"""How far beside the best point slides look, relative to its distance: two slides each."""
TRIALS = 32
"""Points of each sample that are tried at a time, once a first search has ended."""
_AROUND = 0.75  # of them are near the best
_SHORTER = (0.01, 0.1, 0.5)
"""Fractions of the width of a step by which trials are nearer to the sample."""


class CounterExamples(NamedTuple):
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


def find_counterexamples(
    problem: ModelProblem, *, n_queries: int, known: FloatArray | None = None
) -> CounterExamples:
    """Find the nearest errors of a problem's samples; samples that are errors themselves are at distance 0.

    Parameters
    ----------
    problem : ModelProblem
        The model and its samples, which are also the points from which searches start.
    n_queries : int
        Most predictions for each sample.
    known : array of shape (n_samples, n_features), optional
        A point for each sample to start from as well, such as the end of an attack.
    """
    codes = problem.codes
    points = codes.copy()
    distances = np.zeros(len(codes))
    queries = np.ones(len(codes), dtype=np.int64)
    predicted = problem.predict(codes)
    right = np.flatnonzero(predicted == problem.y)
    # Bytes of a sample: its trial points, and its distances to the others.
    n_columns = codes.shape[1]
    n_trials = max(64, min(n_columns, n_queries))
    wide = 8 * max(n_columns, 1) * n_trials + 16 * min(len(codes), _MOST_STARTS)
    size = int(np.clip(_BLOCK_BYTES // wide, 16, 4096))
    show = problem.search.progress
    with progress_bar(show, "counter-examples", len(right), unit=" rows") as bar:
        for start in range(0, len(right), size):
            block = right[start : start + size]
            space = PerturbationSpace(problem.domain, codes[block])
            nearest = NearestSoFar(problem.is_wrong, space, block, n_queries - 1)
            if known is not None:
                _cross(nearest, known[block, None], n_steps=0)
            some = _some(len(codes), _MOST_STARTS, problem.rng)
            starts = _starts(nearest, codes[some], predicted[some], problem.y[block])
            _search(nearest, starts, problem.rng)
            _go_on(nearest, problem.rng)
            points[block] = nearest.point
            distances[block] = nearest.distance
            queries[block] += nearest.queries
            bar.update(len(block))
    return CounterExamples(points, distances, queries)


def _some(n: int, most: int, rng: np.random.Generator) -> IntArray:
    """Return all positions, or so many of them at random."""
    if n <= most:
        return np.arange(n)
    return np.sort(rng.permutation(n)[:most])


def _search(nearest: NearestSoFar, starts: FloatArray, rng: np.random.Generator) -> None:
    """Search for one block of rows: a first error, then nearer ones."""
    space = nearest.space
    everyone = np.arange(len(nearest.rows))
    budget = nearest.n_queries
    if space.domain.is_fixed:
        return
    # First errors: on the lines to points that are predicted otherwise, one jump off, or in random directions.
    _cross(nearest, starts, n_steps=4)
    jump(nearest, everyone, rng, n_queries=budget // 8)
    _search_outwards(nearest, everyone[~np.isfinite(nearest.distance)], rng, budget // 4)
    # Nearer ones: shorter moves, fewer columns, one jump more or less.
    shorten(nearest, nearest.unsettled(), leap=0.5)
    if space.jumping:
        _look_at_columns(nearest, budget // 6)
    _polish(nearest)
    # Then along the boundary.
    for width in _WIDTHS:
        jump(nearest, nearest.unsettled(), rng, n_queries=budget // 8)
        _polish(nearest)
        for _ in range(2 if space.n_smooth else 0):
            which = nearest.unsettled(at_least=_FEWEST)
            slide(nearest, which, rng, width=width)
            shorten(nearest, which, leap=0.02)
    _polish(nearest)


def _look_at_columns(nearest: NearestSoFar, n_queries: int) -> None:
    """Look at moves of one column, nearer than the best: an error after jumps alone has no move to shorten."""
    p = nearest.space.n_smooth
    which = nearest.unsettled()
    if not p or not which.size:
        return
    fractions = np.array([0.9, 0.6, 0.3])[: n_queries // (2 * p)]
    axes = np.concatenate([np.eye(p), -np.eye(p)])
    _look_around(nearest, which, axes, nearest.distance[which][:, None] * fractions)


def _go_on(nearest: NearestSoFar, rng: np.random.Generator) -> None:
    """Spend what is left of the budget on trials near the best errors.

    Searches from other points take twice the time, and led to no nearer errors in `benchmarks/searches.py`.
    """
    space = nearest.space
    which = nearest.unsettled(at_least=TRIALS)
    while which.size and space.n_smooth:
        asked = nearest.queries.sum()
        radius = nearest.distance[which]
        trials = scattered(space, which, nearest.point[which], radius, rng)
        nearest.evaluate(which, trials)
        if nearest.queries.sum() == asked:  # all of them are the rows themselves
            return
        which = nearest.unsettled(at_least=TRIALS)


def _polish(nearest: NearestSoFar) -> None:
    """Take back what the best points do not need."""
    which = nearest.unsettled()
    take_back(nearest, which)
    shorten(nearest, which, leap=0.02)


_RANKS = (0, 1, 2, 4, 8, 16, 32, 64)
"""Which of the nearest other points to try: some near ones, and some farther away, elsewhere."""


def _starts(
    nearest: NearestSoFar, pool: FloatArray, pool_labels: IntArray, labels: IntArray
) -> FloatArray:
    """Return points of the pool that are predicted otherwise, of shape (n_rows, n_starts, n_columns).

    They are projected to what is allowed for the row; the row itself where it has fewer.
    """
    space = nearest.space
    if not len(pool):
        return space.origin[:, :0]
    # The nearest points of the pool that are errors, in the order of their distance.
    squared = space.domain.squared_gaps(space.origin, pool)
    squared[pool_labels == labels[:, None]] = np.inf
    n_starts = min(len(pool), _RANKS[-1] + 1)
    near = np.argpartition(squared, n_starts - 1, axis=1)[:, :n_starts]
    of_near = np.take_along_axis(squared, near, axis=1)
    order = np.argsort(of_near, axis=1, kind="stable")
    near = np.take_along_axis(near, order, axis=1)
    most = max(1, nearest.n_queries // _QUERIES_PER_START)
    ranks = [rank for rank in _RANKS if rank < n_starts][:most]
    chosen = near[:, ranks]
    points = pool[chosen]
    none = ~np.isfinite(np.take_along_axis(squared, chosen, axis=1))
    points[none] = space.origin[np.nonzero(none)[0]]
    owner = np.repeat(np.arange(len(points)), len(ranks))
    flat = space.allowed(points.reshape(-1, pool.shape[1]), owner)
    return flat.reshape(points.shape)


def _cross(nearest: NearestSoFar, starts: FloatArray, *, n_steps: int) -> None:
    """Bisect the lines from the rows to several starts each, where these are errors."""
    space = nearest.space
    which = np.arange(len(nearest.rows))
    wrong = nearest.evaluate(which, starts)
    steps = (starts - space.origin[:, None])[:, :, space.smooth]
    moves = np.nan_to_num(steps / space.unit)
    # A start that is no error is replaced by the row itself, which costs no query.
    best = np.where(wrong[:, :, None], starts, space.origin[:, None])
    moves[~wrong] = 0.0
    # The error is between the parts low, which is right, and high of the way.
    low = np.zeros(wrong.shape)
    high = np.ones(wrong.shape)
    for _ in range(n_steps):
        middle = 0.5 * (low + high)
        points = space.points(best, which, moves * middle[:, :, None])
        answer = nearest.evaluate(which, points)
        high = np.where(answer, middle, high)
        low = np.where(answer, low, middle)


def _look_around(
    nearest: NearestSoFar, which: IntArray, directions: FloatArray, radii: FloatArray
) -> None:
    """Evaluate points at distances (n_rows, n_radii) in directions (n_directions, n_smooth)."""
    space = nearest.space
    moves = radii[:, :, None, None] * directions[None, None]
    moves = space.clip(moves.reshape(len(which), -1, space.n_smooth), which)
    nearest.evaluate(which, space.points(space.origin[which], which, moves))


def _search_outwards(
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
        chance = max(0.2, 1.0 / p)
        dense[: each // 2] *= rng.random((each // 2, p)) < chance
        axes = np.concatenate([np.eye(p), -np.eye(p)])
        if 2 * p <= each // 2:
            dense[: 2 * p] = axes
        else:
            chosen = rng.permutation(2 * p)[: each // 4]
            dense[: each // 4] = axes[chosen]
        size = np.linalg.norm(dense, axis=1, keepdims=True)
        dense /= np.maximum(size, 1e-300)
        radius = 0.5 * 4.0**level
        radii = np.full((len(left), 1), radius)
        _look_around(nearest, left, dense, radii)


def scattered(
    space: PerturbationSpace,
    which: IntArray,
    base: FloatArray,
    radius: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Return points to try for each sample, of shape (n_which, n_trials, n_columns), with the jumps of ``base``.

    Most are near the best point, at all scales and a little nearer to the sample: a random walk along the boundary.
    Some are anywhere in the ball of a radius, beyond which no point can be better.
    """
    p = space.n_smooth
    best = space.moves(base, which)[:, None]
    n_around = int(_AROUND * TRIALS)
    length = np.linalg.norm(best, axis=2, keepdims=True)
    # Around the best: steps of all scales.
    width = 10.0 ** rng.uniform(-3.0, 0.0, (len(which), n_around, 1))
    noise = rng.standard_normal((len(which), n_around, p))
    noise /= np.sqrt(p)
    around = best + width * length * noise
    # as far out as before, or a little nearer
    size = np.linalg.norm(around, axis=2, keepdims=True)
    size = np.maximum(size, 1e-300)
    shorter = 1.0 - width * rng.choice(_SHORTER, (len(which), n_around, 1))
    around *= shorter * np.minimum(length / size, 1.0)
    # Anywhere in the ball, as often near as far.
    n_anywhere = TRIALS - n_around
    ways = rng.standard_normal((len(which), n_anywhere, p))
    size = np.linalg.norm(ways, axis=2, keepdims=True)
    ways /= np.maximum(size, 1e-300)
    far = rng.random((len(which), n_anywhere, 1))
    anywhere = ways * far * np.minimum(radius, 1e9)[:, None, None]
    moves = space.clip(np.concatenate([around, anywhere], axis=1), which)
    return space.points(base, which, moves)
