"""The rows of a search: where they may move, and the nearest error known of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.models.domain import FAR, Domain, differs

FEWEST_STEPS = 4.0
"""A column of whole numbers whose unit is at least so many steps slides like any number; others jump."""


class MoveSpace:
    """Some rows and the moves they may make.

    A *move* is the part in the numeric columns that slide, of shape (n_numeric,), in units of cost. Categories and
    coarse whole numbers *jump*: a point carries them along while it slides. A cell that is missing moves by 0.

    Parameters
    ----------
    domain : Domain
        Where rows may move.
    origin : array of shape (n_rows, n_columns)
        The rows, coded.

    Attributes
    ----------
    numeric : array of shape (n_numeric,)
        The columns that slide; the squared length of a move is its cost.
    low, high : array of shape (n_rows, n_numeric)
        The box of moves.
    jumping : list of arrays
        Columns that jump: those of each flip, and each coarse column of whole numbers by itself.
    """

    def __init__(self, domain: Domain, origin: FloatArray) -> None:
        self.domain, self.origin = domain, origin
        coarse = domain.sliding & domain.integer & (domain.unit < FEWEST_STEPS)
        self.numeric: IntArray = np.flatnonzero(domain.sliding & ~coarse)
        self.unit: FloatArray = domain.unit[self.numeric]
        low, high = domain.limits(origin)
        start = origin[:, self.numeric]
        self.low: FloatArray = _moves_by_zero((low[:, self.numeric] - start) / self.unit)
        self.high: FloatArray = _moves_by_zero((high[:, self.numeric] - start) / self.unit)
        self.flips = domain.movable_flips
        self.coarse: IntArray = np.flatnonzero(coarse)
        self.jumping: list[IntArray] = [flip.columns for flip in self.flips]
        self.jumping += [np.array([column]) for column in self.coarse]

    @property
    def n_numeric(self) -> int:
        """Number of columns that slide."""
        return len(self.numeric)

    def allowed(self, points: FloatArray, owner: IntArray) -> FloatArray:
        """Return the valid points nearest to ``points``; ``owner`` names the row of each."""
        return self.domain.clip(points, self.origin[owner])

    def distance(self, points: FloatArray, owner: IntArray) -> FloatArray:
        """Return the distances (unsquared) of points from their rows."""
        return self.domain.distances(points, self.origin[owner])

    def moves(self, points: FloatArray, owner: IntArray) -> FloatArray:
        """Return the moves that lead to points, of shape (n_points, n_numeric)."""
        return _moves_by_zero((points - self.origin[owner])[:, self.numeric] / self.unit)

    def points(self, base: FloatArray, owner: IntArray, moves: FloatArray) -> FloatArray:
        """Return the points of several moves of each row, with the jumps of ``base``.

        Parameters
        ----------
        base : array of shape (n_rows, n_columns) or (n_rows, n_points, n_columns)
        owner : array of shape (n_rows,)
        moves : array of shape (n_rows, n_points, n_numeric)

        Returns
        -------
        array of shape (n_rows, n_points, n_columns)
        """
        points = base.copy() if base.ndim == 3 else np.repeat(base[:, None, :], moves.shape[1], axis=1)
        points[:, :, self.numeric] = self.origin[owner][:, None, self.numeric] + moves * self.unit
        return points

    def clip(self, moves: FloatArray, owner: IntArray) -> FloatArray:
        """Return moves of shape (n_rows, n_points, n_numeric) inside the box."""
        inside: FloatArray = np.clip(moves, self.low[owner][:, None], self.high[owner][:, None])
        return inside

    def squared_costs(self, points: FloatArray, owner: IntArray) -> FloatArray:
        """Return what each part of a point adds to its squared distance: numeric columns, then jumps."""
        start = self.origin[owner]
        costs = [np.square(self.moves(points, owner))]
        for flip in self.flips:
            changed = differs(points[:, flip.columns], start[:, flip.columns]).any(axis=1)
            costs.append(np.where(changed, min(flip.distance, FAR) ** 2, 0.0)[:, None])
        steps = _moves_by_zero((points - start)[:, self.coarse])
        costs.append(np.square(steps / self.domain.unit[self.coarse]))
        return np.concatenate(costs, axis=1)

    def some_jumps(self, points: FloatArray, rng: np.random.Generator, most: int) -> FloatArray:
        """Return points with one more jump, of shape (n_points, n_jumps, n_columns): all, or some at random."""
        options = list(self._jumps(points))
        if len(options) > most:
            options = [options[place] for place in np.sort(rng.permutation(len(options))[: max(1, most)])]
        return np.stack(options, axis=1) if options else np.empty((len(points), 0, points.shape[1]))

    def _jumps(self, points: FloatArray) -> Iterator[FloatArray]:
        """Yield points with one more jump each: another state of a flip, or a step up or down."""
        for flip in self.flips:
            held = flip.state_of(points)
            for shift in range(1, len(flip.states)):
                jumped = points.copy()
                flip.put(jumped, (held + shift) % len(flip.states))
                yield jumped
        for column in self.coarse:
            for step in (1.0, -1.0):
                jumped = points.copy()
                jumped[:, column] += step
                yield jumped


def _moves_by_zero(moves: FloatArray) -> FloatArray:
    """Return moves with 0 where a cell is missing."""
    return np.where(np.isnan(moves), 0.0, moves)


IsWrong = Callable[[FloatArray, IntArray], BoolArray]
"""Tells which coded points are errors, given the positions of the rows that they come from."""


class Nearest:
    """Rows, the nearest error of each so far, and how many answers of the model it took.

    Parameters
    ----------
    is_wrong : callable
        ``is_wrong(points, rows)``: one answer of the model for each point.
    space : MoveSpace
        The rows and where they may move.
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

    def __init__(self, is_wrong: IsWrong, space: MoveSpace, rows: IntArray, n_queries: int) -> None:
        self.space, self.rows, self.n_queries = space, rows, n_queries
        self.point = space.origin.copy()
        self.distance = np.full(len(rows), np.inf)
        self.queries = np.zeros(len(rows), dtype=np.int64)
        self._is_wrong = is_wrong

    def evaluate(self, which: IntArray, points: FloatArray) -> BoolArray:
        """Evaluate points of shape (n_which, n_points, n_columns), and keep errors nearer than the best.

        Points are first moved to the nearest allowed ones. A point that is the row itself is right, and free. Beyond
        the budget of a row no point is evaluated, and all count as right.

        Returns
        -------
        array of bool, shape (n_which, n_points)
            Which points are errors.
        """
        n_which, n_points, n_columns = points.shape
        owner = np.repeat(which, n_points)
        flat = self.space.allowed(points.reshape(-1, n_columns), owner)
        new = differs(flat, self.space.origin[owner]).any(axis=1).reshape(n_which, n_points)
        room = (self.n_queries - self.queries[which])[:, None]
        new &= np.cumsum(new, axis=1) <= room
        self.queries[which] += new.sum(axis=1)
        tried = np.flatnonzero(new)
        wrong = np.zeros(n_which * n_points, dtype=bool)
        if tried.size:
            wrong[tried] = self._is_wrong(flat[tried], self.rows[owner[tried]])
        hits = np.flatnonzero(wrong)
        if hits.size:
            self.keep(owner[hits], flat[hits])
        return wrong.reshape(n_which, n_points)

    def keep(self, owner: IntArray, points: FloatArray) -> None:
        """Keep errors that are nearer than the best of their row; a row may have several."""
        distance = self.space.distance(points, owner)
        order = np.lexsort((distance, owner))
        first = order[np.r_[True, owner[order][1:] != owner[order][:-1]]]
        better = first[distance[first] < self.distance[owner[first]]]
        self.distance[owner[better]] = distance[better]
        self.point[owner[better]] = points[better]

    def on_the_side(self) -> Nearest:
        """Return a search of the same rows without known errors, on the same budget."""
        side = Nearest(self._is_wrong, self.space, self.rows, self.n_queries)
        side.queries = self.queries
        return side

    def move(self, which: IntArray) -> FloatArray:
        """Return the moves of the best points in the columns that slide, in units of cost."""
        return self.space.moves(self.point[which], which)

    def unsettled(self, at_least: int = 1) -> IntArray:
        """Return the rows with a known error, not at distance 0, that have some queries left."""
        left = self.n_queries - self.queries
        known = np.isfinite(self.distance) & (self.distance > 0.0)
        return np.flatnonzero(known & (left >= at_least))
