"""The nearest error known of each row, and the one way to learn more: asking the model, within a budget."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.models.decision.space import MoveSpace
from shiftmetrics.models.domain import differs

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
        Answers that were asked for.
    """

    def __init__(self, is_wrong: IsWrong, space: MoveSpace, rows: IntArray, n_queries: int) -> None:
        self.space, self.rows, self.n_queries = space, rows, n_queries
        self.point = space.origin.copy()
        self.distance = np.full(len(rows), np.inf)
        self.queries = np.zeros(len(rows), dtype=np.int64)
        self._is_wrong = is_wrong

    def ask(self, which: IntArray, points: FloatArray) -> BoolArray:
        """Ask about points of shape (n_which, n_points, n_columns) and keep what is nearer.

        Points are first put where the domain allows them. A point that is the row itself is known to be right and
        costs nothing; beyond the budget of a row nothing is asked, and the answer is "right".

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
        asked = np.flatnonzero(new)
        wrong = np.zeros(n_which * n_points, dtype=bool)
        if asked.size:
            wrong[asked] = self._is_wrong(flat[asked], self.rows[owner[asked]])
        hits = np.flatnonzero(wrong)
        if hits.size:
            self.learn(owner[hits], flat[hits])
        return wrong.reshape(n_which, n_points)

    def learn(self, owner: IntArray, points: FloatArray) -> None:
        """Keep known errors where they are nearer than the best; a row may come several times."""
        distance = self.space.distance(points, owner)
        order = np.lexsort((distance, owner))
        first = order[np.r_[True, owner[order][1:] != owner[order][:-1]]]
        better = first[distance[first] < self.distance[owner[first]]]
        self.distance[owner[better]] = distance[better]
        self.point[owner[better]] = points[better]

    def on_the_side(self) -> Nearest:
        """Return a search of the same rows that knows no error yet, and draws on the same budget."""
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
