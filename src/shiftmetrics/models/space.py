"""Where rows may go, as a search sees it: numbers slide in a box, categories and coarse integers jump."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics.models.domain import FAR, Domain, differs

FEWEST_STEPS = 4.0
"""A column of integers whose unit is at least so many steps slides like any number; others jump."""


class MoveSpace:
    """Some rows and the moves they may make.

    A *move* is the part in the numeric columns that slide, of shape (n_numeric,), in units of cost. Categories and
    coarse integers *jump*: a point carries them along while it slides. A cell that is missing moves by 0.

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
        Columns that jump: those of each flip, and each coarse column of integers by itself.
    """

    def __init__(self, domain: Domain, origin: FloatArray) -> None:
        self.domain = domain
        self.origin = origin
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
        points = (
            base.copy() if base.ndim == 3 else np.repeat(base[:, None, :], moves.shape[1], axis=1)
        )
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
            options = [
                options[place] for place in np.sort(rng.permutation(len(options))[: max(1, most)])
            ]
        if options:
            return np.stack(options, axis=1)
        return np.empty((len(points), 0, points.shape[1]))

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
