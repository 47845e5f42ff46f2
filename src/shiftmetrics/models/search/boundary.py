"""The nearest error known of each row, and steps to a nearer one: by lines, columns, jumps and the boundary."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.models.domain.domain import differs
from shiftmetrics.models.domain.space import PerturbationSpace

IsWrong = Callable[[FloatArray, IntArray], BoolArray]
"""Tells which coded points are errors, given the positions of the rows that they come from."""


class NearestSoFar:
    """Rows, the nearest error of each so far, and how many answers of the model it took.

    Parameters
    ----------
    is_wrong : callable
        ``is_wrong(points, rows)``: one answer of the model for each point.
    space : PerturbationSpace
        The rows and what may change in them.
    rows : array of shape (n_rows,)
        Their positions in the whole sample, for ``is_wrong``.
    n_queries : int
        Most answers for each row.

    Attributes
    ----------
    point : array of shape (n_rows, n_columns)
        The nearest error; the row itself where none is known.
    distance : array of shape (n_rows,)
        Its distance (unsquared), inf where none is known.
    queries : array of shape (n_rows,)
        Predictions that were made.
    """

    def __init__(
        self, is_wrong: IsWrong, space: PerturbationSpace, rows: IntArray, n_queries: int
    ) -> None:
        self.space = space
        self.rows = rows
        self.n_queries = n_queries
        self.point = space.origin.copy()
        self.distance = np.full(len(rows), np.inf)
        self.queries = np.zeros(len(rows), dtype=np.int64)
        self._is_wrong = is_wrong

    def evaluate(self, which: IntArray, points: FloatArray) -> BoolArray:
        """Evaluate points of shape (n_which, n_points, n_columns), and keep errors nearer than the best.

        Points are first projected to the nearest allowed ones. A point that is the row itself is right, and free.
        Beyond the budget of a row no point is evaluated, and all count as right.

        Returns
        -------
        array of bool, shape (n_which, n_points)
            Which points are errors.
        """
        n_which, n_points, n_columns = points.shape
        owner = np.repeat(which, n_points)
        flat = self.space.allowed(points.reshape(-1, n_columns), owner)
        # Points that are not the row itself cost a query each, the first ones within the budget.
        differ = differs(flat, self.space.origin[owner]).any(axis=1)
        new = differ.reshape(n_which, n_points)
        queries_left = self.n_queries - self.queries[which]
        n_new = np.cumsum(new, axis=1)
        new &= n_new <= queries_left[:, None]
        self.queries[which] += new.sum(axis=1)
        tried = np.flatnonzero(new)
        wrong = np.zeros(n_which * n_points, dtype=bool)
        if tried.size:
            rows = self.rows[owner[tried]]
            wrong[tried] = self._is_wrong(flat[tried], rows)
        hits = np.flatnonzero(wrong)
        if hits.size:
            self.keep(owner[hits], flat[hits])
        return wrong.reshape(n_which, n_points)

    def keep(self, owner: IntArray, points: FloatArray) -> None:
        """Keep errors that are nearer than the best of their row; a row may have several."""
        distance = self.space.distance(points, owner)
        # Sorted by row and distance, the nearest error of a row is the first of its own.
        order = np.lexsort((distance, owner))
        sorted_owner = owner[order]
        is_first = np.r_[True, sorted_owner[1:] != sorted_owner[:-1]]
        first = order[is_first]
        is_nearer = distance[first] < self.distance[owner[first]]
        better = first[is_nearer]
        rows = owner[better]
        self.distance[rows] = distance[better]
        self.point[rows] = points[better]

    def move(self, which: IntArray) -> FloatArray:
        """Return the moves of the best points in the columns that slide, in units of cost."""
        return self.space.moves(self.point[which], which)

    def unsettled(self, at_least: int = 1) -> IntArray:
        """Return the rows with a known error, not at distance 0, that have some queries left."""
        left = self.n_queries - self.queries
        known = np.isfinite(self.distance) & (self.distance > 0.0)
        able = left >= at_least
        return np.flatnonzero(known & able)


_SHORTENINGS = 5  # queries


def shorten(nearest: NearestSoFar, which: IntArray, *, leap: float) -> None:
    """Shorten the moves of the best points: first by the part ``leap`` of the way, then by bisection."""
    space = nearest.space
    best = nearest.move(which)
    moving = (best != 0.0).any(axis=1)
    which = which[moving]
    best = best[moving]
    # The parts of the way that are known to be right, and wrong.
    right = np.zeros(len(which))
    wrong = np.ones(len(which))
    factor = wrong - leap
    for _ in range(_SHORTENINGS):
        moves = best * factor[:, None]
        points = space.points(nearest.point[which], which, moves[:, None])
        answer = nearest.evaluate(which, points)[:, 0]
        wrong = np.where(answer, factor, wrong)
        right = np.where(answer, right, factor)
        factor = 0.5 * (right + wrong)


def take_back(nearest: NearestSoFar, which: IntArray) -> None:
    """Put numbers and jumps of the best points back to where the row has them, the costliest first."""
    space = nearest.space
    if not which.size:
        return
    cost = space.squared_costs(nearest.point[which], which)
    order = np.argsort(-cost, axis=1, kind="stable")
    for place in range(cost.shape[1]):
        part = order[:, place]
        price = cost[np.arange(len(which)), part]
        paid = price > 0.0
        if not paid.any():
            break
        rows = which[paid]
        parts = part[paid]
        # Each row takes back another part: a number, or the columns of a jump.
        points = nearest.point[rows].copy()
        slides = np.flatnonzero(parts < space.n_smooth)
        columns = space.smooth[parts[slides]]
        points[slides, columns] = space.origin[rows[slides], columns]
        for number, group in enumerate(space.jumping):
            here = np.flatnonzero(parts == space.n_smooth + number)
            cells = np.ix_(here, group)
            cells_of_rows = np.ix_(rows[here], group)
            points[cells] = space.origin[cells_of_rows]
        nearest.evaluate(rows, points[:, None])


_PARTS = (1.0, 0.5, 0.2)


def jump(
    nearest: NearestSoFar, which: IntArray, rng: np.random.Generator, *, n_queries: int
) -> None:
    """Try one more jump: of the rows themselves, and of their best points with all or parts of their moves.

    Parameters
    ----------
    nearest : NearestSoFar
        The best points.
    which : array of shape (n_which,)
        Positions of the rows.
    rng : numpy.random.Generator
        Draws jumps where there are more than queries.
    n_queries : int
        Most queries for each row.
    """
    space = nearest.space
    if not which.size or not space.jumping:
        return
    # A jump that adds to the distance pays where it makes a shorter move do.
    best = nearest.point[which]
    moves = nearest.move(which)[:, None]
    bases = [space.points(best, which, part * moves)[:, 0] for part in _PARTS]
    bases.append(space.origin[which])
    n_jumps = n_queries // len(bases)
    for base in bases:
        jumps = space.some_jumps(base, rng, n_jumps)
        nearest.evaluate(which, jumps)


_MANY = 30  # columns, for which a bit less must do
_FOR_TRIALS = 12  # queries kept for the points that a slide leads to
_TINY = float(np.finfo(np.float64).tiny)


def slide(
    nearest: NearestSoFar, which: IntArray, rng: np.random.Generator, *, width: float
) -> None:
    """Move the best errors towards the point of their boundary nearest to the row.

    The boundary is taken for a plane. A normal of it comes from where it is crossed on lines through the row, one
    beside the best point in each direction; of a budget too small for all columns, in some random directions.

    Parameters
    ----------
    nearest : NearestSoFar
        The best points.
    which : array of shape (n_which,)
        Positions of the rows.
    rng : numpy.random.Generator
        Draws directions.
    width : float
        How far beside the best point to look, relative to its distance.
    """
    space = nearest.space
    p = nearest.space.n_smooth
    best = nearest.move(which)
    length = np.linalg.norm(best, axis=1)
    moving = length > 0.0
    which = which[moving]
    best = best[moving]
    length = length[moving]
    if not which.size:
        return
    # Each direction takes a bisection of a few bits: as many directions as the budget allows.
    n_bits = 4
    if p > _MANY:
        n_bits = 3
    queries_left = nearest.n_queries - nearest.queries[which]
    left = int(np.median(queries_left)) - _FOR_TRIALS
    n_directions = int(np.clip(left // n_bits, 1, p))
    directions = np.eye(p)
    if n_directions < p:
        random = rng.standard_normal((p, n_directions))
        basis, _ = np.linalg.qr(random)
        directions = basis.T
    base = nearest.point[which]
    along = best @ directions.T
    # towards the row, where the bounds are never in the way
    towards = np.where(along > 0.0, -width, width)
    delta = towards * length[:, None]
    # a normal spreads over its columns: few components are more than three times as large as usual
    widest = 1.5 * width * min(1.0, 3.0 / np.sqrt(n_directions))
    low = np.full_like(delta, -widest)
    high = np.full_like(delta, widest)
    displaced = best[:, None, :] + delta[:, :, None] * directions[None]
    # In each direction: by which factor a move beside the best one has to be shortened to stand on
    # the boundary. The directions are bisected together, one answer of the model each.
    for _ in range(n_bits):
        middle = 0.5 * (low + high)
        factor = 1.0 + middle
        moves = displaced / factor[:, :, None]
        points = space.points(base, which, moves)
        answer = nearest.evaluate(which, points)
        low = np.where(answer, middle, low)
        high = np.where(answer, high, middle)
    # The plane normal . m = 1 holds the best point, and (best + delta direction) / (1 + middle).
    stretch = 0.5 * (low + high)
    slopes = stretch / delta
    normal = slopes @ directions
    # the normal is known along the move itself: there it is 1
    outside = best - along @ directions
    rest = np.einsum("ij,ij->i", outside, outside)
    spanned = rest < 0.01 * length**2
    outside[spanned] = best[spanned]
    rest[spanned] = length[spanned] ** 2
    missing = 1.0 - np.einsum("ij,ij->i", normal, best)
    weight = missing / rest
    normal += outside * weight[:, None]
    # Try the nearest point of the plane, a little beyond it, and points on the way there.
    target = nearest_on_plane(normal, space.low[which], space.high[which])
    factors = np.array([1.01, 1.06, 1.15])
    beyond = target[:, None, :] * factors[:, None]
    length = 0.985 * nearest.distance[which]
    fractions = np.array([0.7, 0.4, 0.15])
    between = _shorter(best, target, fractions, length)
    trials = np.concatenate([beyond, between], axis=1)
    points = space.points(base, which, trials)
    nearest.evaluate(which, points)


def _shorter(
    start: FloatArray, target: FloatArray, shares: FloatArray, length: FloatArray
) -> FloatArray:
    """Return moves on the way from ``start`` to ``target``, scaled to ``length``."""
    change = target - start
    ways = start[:, None, :] + shares[None, :, None] * change[:, None, :]
    factor = length[:, None] / np.maximum(np.linalg.norm(ways, axis=2), _TINY)
    scaled: FloatArray = ways * factor[:, :, None]
    return scaled


def nearest_on_plane(normal: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the shortest moves m with ``normal . m = 1`` in a box that holds 0; its corner where none is."""
    target = np.zeros_like(normal)
    free = np.ones_like(normal, dtype=bool)
    # Among free columns the shortest move is along the normal. Those that leave the box stay at its edge; the others
    # then close the gap that remains. Each pass fixes a column at least.
    for _ in range(normal.shape[1] + 1):
        part = np.where(free, normal, 0.0)
        gain = np.einsum("ij,ij->i", part, part)
        fixed = np.where(free, 0.0, target)
        gap = 1.0 - np.einsum("ij,ij->i", normal, fixed)
        factor = np.maximum(gap, 0.0) / np.maximum(gain, _TINY)
        step = part * factor[:, None]
        target = np.where(free, step, target)
        outside = (target > high) | (target < low)
        over = free & outside
        if not over.any():
            break
        target = np.clip(target, low, high)
        free &= ~over
    return target
