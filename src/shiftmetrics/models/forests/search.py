"""Full moves of rows under a sum of trees: from good starts, one axis at a time, with all cells of all axes in view.

Everything found is a point that the model really reaches, so distances are upper bounds. A row is the vector of its
cells; within them it stands as near to its start as they allow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from shiftmetrics._core.arrays import Array, BoolArray, FloatArray, IntArray
from shiftmetrics.models.forests.grid import Grid
from shiftmetrics.models.forests.single_moves import CellCosts, Moves, single_moves

_BLOCK_BYTES = 1 << 26
_TREE_BYTES = 4096
"""Memory that a row takes in one tree while its moves are listed."""
_MOST_STEPS = 24
_FIRST_MOVES = 2
_RATES = (0.5, 1.0, 2.0)
"""Prices of moving, relative to the margin over the shortest way found, at which first moves are chosen."""
_REPAIRS = 1
"""Axes that are given up in turn, to see whether the others do better without."""


@dataclass(frozen=True)
class Field:
    """A block of rows with what each cell of each axis costs them.

    Attributes
    ----------
    grid : Grid
        The forest on its axes.
    start : array of shape (n_rows, n_features)
        The rows.
    y : array of shape (n_rows,)
        Their labels or values.
    own : array of shape (n_rows, n_axes)
        Their cells.
    prices : CellCosts
        What cells cost all rows of the block.
    rows : array of shape (n_rows,)
        Their positions in the block that they were taken from.
    ties_fall : bool
        Whether a tie with a class that comes before counts as an error.
    """

    grid: Grid
    start: FloatArray
    y: Array
    own: IntArray
    prices: CellCosts
    rows: IntArray
    ties_fall: bool = True

    @classmethod
    def of(cls, grid: Grid, start: FloatArray, y: Array, *, ties_fall: bool = True) -> Self:
        """Price all cells."""
        prices = CellCosts.of(grid, start)
        return cls(grid, start, y, prices.own, prices, np.arange(len(start)), ties_fall)

    def take(self, rows: IntArray) -> Field:
        """Return some of the rows."""
        return replace(self, start=self.start[rows], y=self.y[rows], own=self.own[rows], rows=self.rows[rows])

    def spent(self, cells: IntArray) -> FloatArray:
        """Return the squared distance that each axis takes, of shape (n_rows, n_axes)."""
        return self.prices.at(self.rows[:, None], slice(None), cells)

    def moves(self, cells: IntArray, limit: FloatArray | None = None) -> Moves:
        """Return the moves along one axis from these cells that cost no more than ``limit`` altogether."""
        return single_moves(self.grid, self.prices, self.rows, cells, limit)


def row_blocks_of(grid: Grid, n_rows: int) -> list[slice]:
    """Cut rows into blocks for `Field`."""
    per_row = 32 * int(grid.trees.n_cells.sum()) + _TREE_BYTES * grid.forest.n_trees
    size = max(1, _BLOCK_BYTES // per_row)
    return [slice(at, min(at + size, n_rows)) for at in range(0, n_rows, size)]


Score = Callable[[Field, Moves], FloatArray]
"""How good each move would be, of shape (n_moves,): the highest of a row is taken if it is above 0."""


def climb(
    field: Field,
    cells: IntArray,
    score: Score,
    done: Callable[[Field, FloatArray], BoolArray] | None = None,
    *,
    limit: FloatArray | None = None,
    first: Moves | None = None,
) -> IntArray:
    """Take the best single change of each row again and again, until it has none or ``done`` says so.

    Parameters
    ----------
    field : Field
        The rows.
    cells : array of shape (n_rows, n_axes)
        Where they begin.
    score : callable
        What is best.
    done : callable, optional
        ``done(field, outputs)`` gets the present outputs of the rows, of shape (n_rows, n_outputs).
    limit : array of shape (n_rows,), optional
        Squared distances that no row may exceed.
    first : Moves, optional
        The moves of all rows from ``cells``, where they are known.
    """
    cells = cells.copy()
    going = np.arange(len(cells))
    for step in range(_MOST_STEPS):
        if not going.size:
            break
        part = field.take(going)
        known = first if step == 0 else None
        moves = known or part.moves(cells[going], None if limit is None else limit[going])
        scores = score(part, moves)
        if done is not None:
            scores = np.where(done(part, moves.present)[moves.row], -np.inf, scores)
        rows, best = moves.best(np.where(scores > 0.0, scores, -np.inf))
        going = going[rows]
        cells[going, moves.axis[best]] = moves.cell[best]
    return cells


def _margins(field: Field, outputs: FloatArray, rows: IntArray | slice = slice(None)) -> FloatArray:
    forest = field.grid.forest
    head_start = 2.0 * forest.tolerance if field.ties_fall else 0.0
    return forest.margins(outputs, field.y[rows], head_start=head_start) + forest.tolerance


def _is_error(field: Field, outputs: FloatArray) -> BoolArray:
    return np.asarray(_margins(field, outputs) < 0.0)


def _shorter(field: Field, moves: Moves) -> FloatArray:
    """Prefer what saves most and leaves the row an error."""
    return np.where(_margins(field, moves.outputs, moves.row) < 0.0, moves.spent - moves.costs, -np.inf)


def _toward_error(banned: IntArray | None = None) -> Score:
    """Prefer what takes most of the margin for its cost, without the axis that a row must not use."""

    def score(field: Field, moves: Moves) -> FloatArray:
        after = np.maximum(_margins(field, moves.outputs, moves.row), -field.grid.forest.tolerance)
        gain = _margins(field, moves.present)[moves.row] - after
        price = moves.costs - moves.spent
        dear = price > 0.0
        scores = np.where(dear, gain / np.where(dear, price, 1.0), -np.inf)
        if banned is not None:
            scores[banned[field.rows[moves.row]] == moves.axis] = -np.inf
        return np.asarray(scores)

    return score


def _trade(price: FloatArray) -> Score:
    """Prefer what takes most of the margin, less its cost at a price for each row."""

    def score(field: Field, moves: Moves) -> FloatArray:
        gain = _margins(field, moves.present)[moves.row] - _margins(field, moves.outputs, moves.row)
        return np.asarray(gain - price[field.rows[moves.row]] * (moves.costs - moves.spent))

    return score


def higher_loss(dual: float, theta1: float, losses: Callable[[FloatArray, Array], FloatArray]) -> Score:
    """Prefer what gains most: the loss at its price ``dual``, less the squared distance at its own."""

    def score(field: Field, moves: Moves) -> FloatArray:
        gain = losses(moves.outputs, field.y[moves.row]) - losses(moves.present, field.y)[moves.row]
        return np.asarray(dual * gain - theta1 * (moves.costs - moves.spent) - 1e-12 * (1.0 + dual))

    return score


def _cheapest_error(field: Field, moves: Moves) -> FloatArray:
    return np.where(_margins(field, moves.outputs, moves.row) < 0.0, 1.0 / (1.0 + moves.costs), -np.inf)


def first_moves(field: Field, score: Score, count: int, moves: Moves | None = None) -> list[IntArray]:
    """Return the cells of each row after its best single change, after the best one of another axis, and so on."""
    moves = moves or field.moves(field.own)
    scores = score(field, moves)
    starts = []
    for _ in range(count):
        rows, best = moves.best(scores)
        start, axis = field.own.copy(), np.full(len(field.own), -1)
        start[rows, moves.axis[best]] = moves.cell[best]
        axis[rows] = moves.axis[best]
        scores = np.where(moves.axis == axis[moves.row], -np.inf, scores)
        starts.append(start)
    return starts


def prune(field: Field, cells: IntArray) -> IntArray:
    """Take back, dearest first, each move that an error does not need; then shorten what is left."""
    cells = cells.copy()
    dearest = np.argsort(-field.spent(cells), axis=1)
    everyone = np.arange(len(cells))
    for axis in dearest.T:
        back = cells.copy()
        back[everyone, axis] = field.own[everyone, axis]
        changed = np.flatnonzero((back != cells).any(axis=1))
        if changed.size:
            fine = changed[_is_error_at(field.take(changed), back[changed])]
            cells[fine] = back[fine]
    return climb(field, cells, _shorter, limit=field.spent(cells).sum(axis=1))


def _is_error_at(field: Field, cells: IntArray) -> BoolArray:
    return _is_error(field, field.grid.trees.outputs(cells))


def shortest_errors(
    field: Field, starts: list[IntArray], *, repairs: int = _REPAIRS
) -> tuple[FloatArray, IntArray]:
    """Return the squared distance of the nearest error that the search finds for each row, and its cells.

    Parameters
    ----------
    field : Field
        The rows.
    starts : list of array of shape (n_rows, n_axes)
        Cells to begin with, errors or not; single moves and the greedy way are always tried.
    repairs : int
        How many of the dearest moves to give up in turn.

    Returns
    -------
    squared : array of shape (n_rows,)
        inf where no error was found.
    cells : array of shape (n_rows, n_axes)
    """
    best, where = np.full(len(field.own), np.inf), field.own.copy()

    def keep(rows: IntArray, cells: IntArray) -> None:
        part = field.take(rows)
        errors = np.flatnonzero(_is_error_at(part, cells))
        rows, part, cells = rows[errors], part.take(errors), prune(part.take(errors), cells[errors])
        squared = part.spent(cells).sum(axis=1)
        nearer = squared < best[rows]
        best[rows[nearer]], where[rows[nearer]] = squared[nearer], cells[nearer]

    everyone = np.arange(len(field.own))
    for start in starts:
        keep(everyone, start)
    moves = field.moves(field.own, best)  # beyond the nearest error known, nothing is worth a look
    keep(everyone, climb(field, field.own, _cheapest_error, _is_error, limit=best, first=moves))
    keep(everyone, climb(field, field.own, _toward_error(), _is_error, limit=best, first=moves))
    margin = np.maximum(_margins(field, moves.present), 0.0)
    tried = [field.own]
    for rate in _RATES:  # in pairs: a move that pays for itself at some price, then the cheapest second one
        price = rate * margin / np.where(np.isfinite(best) & (best > 0.0), best, 1.0)
        for start in first_moves(field, _trade(price), _FIRST_MOVES, moves):
            rows = np.flatnonzero(np.all([(start != other).any(axis=1) for other in tried], axis=0))
            tried.append(start)
            part = field.take(rows)
            keep(rows, climb(part, start[rows], _cheapest_error, _is_error, limit=best[rows]))
    for turn in range(repairs):
        rows = np.flatnonzero(np.isfinite(best))
        part = field.take(rows)
        given_up = np.argsort(-part.spent(where[rows]), axis=1)[:, min(turn, where.shape[1] - 1)]
        banned = np.full(int(field.rows.max(initial=0)) + 1, -1)
        banned[part.rows] = given_up
        cells = where[rows].copy()
        cells[np.arange(len(rows)), given_up] = part.own[np.arange(len(rows)), given_up]
        keep(rows, climb(part, cells, _toward_error(banned), _is_error, limit=best[rows]))
    return best, where
