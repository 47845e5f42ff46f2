"""Climbing of rows over the cells of a sum of trees, one axis at a time.

A row is the vector of its cells; within them it stands as near to its start as they allow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, IntArray
from shiftmetrics.models.forests.grid import Grid

_MOST_STEPS = 24
GAIN = 1e-9
"""Relative gain below which nothing is better."""


@dataclass(frozen=True)
class CellMoves:
    """The moves of rows along one axis, and the rows as they stand.

    Attributes
    ----------
    heights : array of shape (n_rows, n_cells_of_all_axes)
        Height after each move.
    squared : array of shape (n_rows, n_cells_of_all_axes)
        Squared distance from the start after each move; inf where a row cannot go.
    height : array of shape (n_rows, 1)
        Height before it.
    spent : array of shape (n_rows, 1)
        Squared distance before it.
    """

    heights: FloatArray
    squared: FloatArray
    height: FloatArray
    spent: FloatArray


@dataclass(frozen=True)
class CellBlock:
    """A block of rows with the cost of each cell of each axis that moves.

    Attributes
    ----------
    grid : Grid
        The forest on its axes.
    y : array of shape (n_rows,)
        Labels or values of the rows.
    start : array of shape (n_rows, n_axes)
        Cells in which they start.
    costs : array of shape (n_rows, n_cells_of_all_axes)
        Squared distance to each cell of each active axis.
    height_of : callable
        From outputs of shape (n_rows, ..., n_outputs) and labels to what a search raises.
    limit : array of shape (n_rows,) or float
        Largest squared distance of a move.
    """

    grid: Grid
    y: Array
    start: IntArray
    costs: FloatArray
    height_of: Callable[[FloatArray, Array], FloatArray]
    limit: FloatArray | float = np.inf

    @classmethod
    def of(
        cls,
        grid: Grid,
        start: FloatArray,
        y: Array,
        height_of: Callable[[FloatArray, Array], FloatArray],
    ) -> Self:
        """Compute the costs of all cells."""
        costs = np.concatenate([grid.axes[axis].costs(start) for axis in grid.active], axis=1)
        return cls(grid, y, grid.cells(start), costs, height_of)

    @property
    def first(self) -> IntArray:
        """Position of the first cell of each active axis among those of all."""
        n_cells = self.grid.n_cells[self.grid.active]
        return np.cumsum(n_cells) - n_cells

    @property
    def axis_of(self) -> IntArray:
        """Position among the active axes of each cell."""
        return np.repeat(np.arange(len(self.grid.active)), self.grid.n_cells[self.grid.active])

    def take(self, rows: IntArray, limit: FloatArray | float = np.inf) -> CellBlock:
        """Return some of the rows, with limits of theirs."""
        start, costs = self.start[rows], self.costs[rows]
        return replace(self, y=self.y[rows], start=start, costs=costs, limit=limit)

    def spent(self, cells: IntArray) -> FloatArray:
        """Return the squared distance on each active axis, of shape (n_rows, n_active)."""
        return np.take_along_axis(self.costs, self.first + cells[:, self.grid.active], axis=1)

    def moves(self, cells: IntArray) -> CellMoves:
        """Return all moves along one axis from these cells."""
        active, spent = self.grid.active, self.spent(cells)
        total = spent.sum(axis=1, keepdims=True)
        squared = np.repeat(total - spent, self.grid.n_cells[active], axis=1) + self.costs
        heights = self.height_of(
            np.concatenate(list(self.grid.along(cells, active)), axis=1), self.y
        )
        height = np.take_along_axis(heights, cells[:, active[:1]], axis=1)
        squared[squared > np.reshape(self.limit, (-1, 1))] = np.inf
        return CellMoves(heights, squared, height, total)

    def put(self, cells: IntArray, rows: IntArray, place: IntArray) -> None:
        """Move rows, in place, to a position among the cells of all active axes."""
        axis = self.axis_of[place]
        cells[rows, self.grid.active[axis]] = place - self.first[axis]


Score: TypeAlias = Callable[[CellMoves], FloatArray]
"""How good each move is, of shape (n_rows, n_cells_of_all_axes): the best of a row is taken if it is above 0."""


def climb(block: CellBlock, cells: IntArray, score: Score, *, to_error: bool = False) -> IntArray:
    """Take the best move of each row along one axis again and again, until none is better.

    Parameters
    ----------
    block : CellBlock
        The rows.
    cells : array of shape (n_rows, n_axes)
        Where they begin.
    score : callable
        Which moves are good.
    to_error : bool
        Whether a row stops once its height is positive.
    """
    cells, going = cells.copy(), np.arange(len(cells))
    limit = np.broadcast_to(block.limit, len(cells))
    for _ in range(_MOST_STEPS):
        if not going.size:
            break
        moves = block.take(going, limit[going]).moves(cells[going])
        scores = np.where(np.isfinite(moves.squared), score(moves), -np.inf)
        if to_error:
            scores = np.where(moves.height > 0.0, -np.inf, scores)
        best = scores.argmax(axis=1)
        better = scores[np.arange(len(best)), best] > 0.0
        going = going[better]
        block.put(cells, going, best[better])
    return cells


def first_move(block: CellBlock, score: Score, rank: int) -> IntArray:
    """Return the cells of each row after its best first move, or after the best one on yet another axis."""
    moves = block.moves(block.start)
    changes = np.abs(moves.heights - moves.height) > block.grid.forest.tolerance
    scores = np.where(np.isfinite(moves.squared) & changes, score(moves), -np.inf)
    everyone = np.arange(len(scores))
    for _ in range(rank - 1):
        best = scores.argmax(axis=1)
        scores[block.axis_of == block.axis_of[best][:, None]] = -np.inf
    best = scores.argmax(axis=1)
    able = np.flatnonzero(scores[everyone, best] > -np.inf)
    start = block.start.copy()
    block.put(start, able, best[able])
    return start


def _nearest_error(moves: CellMoves) -> FloatArray:
    """Prefer the nearest error."""
    return np.where(moves.heights > 0.0, 1.0 / (1.0 + moves.squared), -np.inf)


def _shortest_error(moves: CellMoves) -> FloatArray:
    """Prefer the error that saves most."""
    return np.where(moves.heights > 0.0, moves.spent - moves.squared, -np.inf)


def _steepest(moves: CellMoves) -> FloatArray:
    """Prefer what gains most height, up to an error, for its cost."""
    price = moves.squared - moves.spent
    gain = np.minimum(moves.heights, 0.0) - moves.height
    return np.where(price > 0.0, gain / np.where(price > 0.0, price, 1.0), -np.inf)


def worth(price: FloatArray | float) -> Score:
    """Prefer what gains most height, less its cost at a price."""
    return lambda moves: (
        moves.heights
        - moves.height
        - price * (moves.squared - moves.spent)
        - GAIN * 1e-3 * (1.0 + price)
    )


def shortest_errors(block: CellBlock, near: IntArray) -> tuple[FloatArray, IntArray]:
    """Return the squared distance of the nearest error found for each row (inf: none), and its cells.

    Parameters
    ----------
    block : CellBlock
        The rows; their height is positive at errors.
    near : array of shape (n_rows, n_axes)
        Cells to begin with, errors or not; the nearest single moves and the steepest way are tried, too.
    """
    grid, everyone = block.grid, np.arange(len(block.start))
    best, where = np.full(len(everyone), np.inf), block.start.copy()

    def keep(rows: IntArray, cells: IntArray) -> None:
        errors = np.flatnonzero(block.height_of(grid.outputs(cells), block.y[rows]) > 0.0)
        part, rows = block.take(rows[errors]), rows[errors]
        cells = climb(part, cells[errors], _shortest_error)
        squared = part.spent(cells).sum(axis=1)
        nearer = squared < best[rows]
        best[rows[nearer]], where[rows[nearer]] = squared[nearer], cells[nearer]

    keep(everyone, near)
    for score in (_nearest_error, _steepest):
        keep(everyone, climb(block.take(everyone, best), block.start, score, to_error=True))
    rows = np.flatnonzero(np.isfinite(best))  # without the dearest move, the others may do better
    part, cells = block.take(rows, best[rows]), where[rows].copy()
    dearest = part.spent(cells).argmax(axis=1)
    axis = grid.active[dearest]
    cells[np.arange(len(rows)), axis] = part.start[np.arange(len(rows)), axis]
    closed = (block.axis_of == dearest[:, None]) & (part.costs > 0.0)
    part = replace(part, costs=np.where(closed, np.inf, part.costs))
    keep(rows, climb(part, cells, _steepest, to_error=True))
    return best, where
