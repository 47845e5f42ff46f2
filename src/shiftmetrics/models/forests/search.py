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
from shiftmetrics.models.forests.scan import scan, scan_blocks

_BLOCK_BYTES = 1 << 26
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
    costs : list of array of shape (n_rows, n_cells)
        Squared distance to each cell, for each axis.
    rows : array of shape (n_rows,)
        Their positions in the block that they were taken from.
    ties_fall : bool
        Whether a tie with a class that comes before counts as an error.
    """

    grid: Grid
    start: FloatArray
    y: Array
    own: IntArray
    costs: list[FloatArray]
    rows: IntArray
    ties_fall: bool = True

    @classmethod
    def of(cls, grid: Grid, start: FloatArray, y: Array, *, ties_fall: bool = True) -> Self:
        """Price all cells."""
        costs = [axis.costs(start) for axis in grid.axes]
        return cls(grid, start, y, grid.cells(start), costs, np.arange(len(start)), ties_fall)

    def take(self, rows: IntArray) -> Field:
        """Return some of the rows."""
        costs = [cost[rows] for cost in self.costs]
        return replace(
            self,
            start=self.start[rows],
            y=self.y[rows],
            own=self.own[rows],
            costs=costs,
            rows=self.rows[rows],
        )

    def spent(self, cells: IntArray) -> FloatArray:
        """Return the squared distance that each axis takes, of shape (n_rows, n_axes)."""
        rows = np.arange(len(cells))
        return np.stack([cost[rows, cells[:, k]] for k, cost in enumerate(self.costs)], axis=1)


def row_blocks_of(grid: Grid, n_rows: int) -> list[slice]:
    """Cut rows into blocks for `Field`."""
    per_row = 16 * int(grid.trees.n_cells.sum())
    size = max(
        1, min(_BLOCK_BYTES // per_row, max(b.stop - b.start for b in scan_blocks(n_rows, grid.trees)))
    )
    return [slice(at, min(at + size, n_rows)) for at in range(0, n_rows, size)]


@dataclass(frozen=True)
class Look:
    """What a row sees along one axis.

    Attributes
    ----------
    axis : int
        The axis.
    outputs : array of shape (n_rows, n_cells, n_outputs)
        Outputs in its cells.
    costs : array of shape (n_rows, n_cells)
        What the cells cost.
    spent : array of shape (n_rows, 1)
        What the present cell costs.
    present : array of shape (n_rows, 1, n_outputs)
        The present outputs.
    """

    axis: int
    outputs: FloatArray
    costs: FloatArray
    spent: FloatArray
    present: FloatArray


Score = Callable[[Field, Look], FloatArray]
"""How good each cell of an axis would be, of shape (n_rows, n_cells): the highest is taken if it is above 0."""


def climb(
    field: Field, cells: IntArray, score: Score, done: Callable[[Field, FloatArray], BoolArray] | None = None
) -> IntArray:
    """Take the best single change of each row again and again, until it has none or ``done`` says so.

    ``done(field, outputs)`` gets the present outputs of the rows, of shape (n_rows, 1, n_outputs).
    """
    cells = cells.copy()
    active = field.grid.active
    going = np.arange(len(cells))
    for _ in range(_MOST_STEPS):
        part = field.take(going)
        present = field.grid.trees.outputs(cells[going])[:, None, :]
        if done is not None:
            rest = np.flatnonzero(~done(part, present))
            going, part, present = going[rest], part.take(rest), present[rest]
        if not going.size:
            break
        here, everyone = cells[going], np.arange(len(going))
        spent = part.spent(here)
        best, best_axis, best_cell = np.zeros(len(going)), np.full(len(going), -1), np.zeros_like(going)
        for along in scan(field.grid.trees, here, active):
            axis = along.axis
            look = Look(axis, along.outputs, part.costs[axis], spent[:, axis, None], present)
            scores = score(part, look)
            cell = scores.argmax(axis=1)
            value = scores[everyone, cell]
            better = value > best
            best[better], best_axis[better], best_cell[better] = value[better], axis, cell[better]
        moves = best_axis >= 0
        going = going[moves]
        cells[going, best_axis[moves]] = best_cell[moves]
    return cells


def _margins(field: Field, outputs: FloatArray) -> FloatArray:
    forest = field.grid.forest
    head_start = 2.0 * forest.tolerance if field.ties_fall else 0.0
    return forest.margins(outputs, field.y, head_start=head_start) + forest.tolerance


def _is_error(field: Field, outputs: FloatArray) -> BoolArray:
    return np.asarray(_margins(field, outputs)[:, 0] < 0.0)


def _shorter(field: Field, look: Look) -> FloatArray:
    """Prefer what saves most and leaves the row an error."""
    return np.where(_margins(field, look.outputs) < 0.0, look.spent - look.costs, -np.inf)


def _toward_error(banned: IntArray | None = None) -> Score:
    """Prefer what takes most of the margin for its cost, without the axis that a row must not use."""

    def score(field: Field, look: Look) -> FloatArray:
        gain = _margins(field, look.present) - np.maximum(
            _margins(field, look.outputs), -field.grid.forest.tolerance
        )
        price = look.costs - look.spent
        dear = np.isfinite(price) & (price > 0.0)
        scores = np.where(dear, gain / np.where(dear, price, 1.0), -np.inf)
        if banned is not None:
            scores[banned[field.rows] == look.axis] = -np.inf
        return np.asarray(scores)

    return score


def _trade(price: FloatArray) -> Score:
    """Prefer what takes most of the margin, less its cost at a price for each row."""

    def score(field: Field, look: Look) -> FloatArray:
        gain = _margins(field, look.present) - _margins(field, look.outputs)
        with np.errstate(invalid="ignore"):
            worth = gain - price[field.rows, None] * (look.costs - look.spent)
        return np.where(np.isfinite(look.costs), worth, -np.inf)

    return score


def higher_loss(dual: float, theta1: float, losses: Callable[[FloatArray, Array], FloatArray]) -> Score:
    """Prefer what gains most: the loss at its price ``dual``, less the squared distance at its own."""

    def score(field: Field, look: Look) -> FloatArray:
        gain = losses(look.outputs, field.y) - losses(look.present, field.y)
        with np.errstate(invalid="ignore"):
            worth = dual * gain - theta1 * (look.costs - look.spent)
        return np.where(np.isfinite(look.costs), worth - 1e-12 * (1.0 + dual), -np.inf)

    return score


def first_moves(field: Field, score: Score, count: int) -> list[IntArray]:
    """Return the cells of each row after its best single change, after the best one of another axis, and so on."""
    everyone = np.arange(len(field.own))
    present = field.grid.trees.outputs(field.own)[:, None, :]
    nothing = np.zeros((len(field.own), 1))
    best = np.full((len(field.own), count), -np.inf)
    starts = [field.own.copy() for _ in range(count)]
    for along in scan(field.grid.trees, field.own, field.grid.active):
        axis = along.axis
        scores = score(field, Look(axis, along.outputs, field.costs[axis], nothing, present))
        scores[everyone, field.own[:, axis]] = -np.inf
        cell = scores.argmax(axis=1)
        value = scores[everyone, cell]
        weakest = best.argmin(axis=1)
        better = np.flatnonzero(value > best[everyone, weakest])
        best[better, weakest[better]] = value[better]
        for place, start in enumerate(starts):
            rows = better[weakest[better] == place]
            start[rows] = field.own[rows]
            start[rows, axis] = cell[rows]
    return starts


def jump_to_error(field: Field, cells: IntArray | None = None) -> IntArray:
    """Return cells after the cheapest single change that makes a row an error; unchanged where there is none."""

    def score(field: Field, look: Look) -> FloatArray:
        return np.where(_margins(field, look.outputs) < 0.0, 1.0 / (1.0 + look.costs), -np.inf)

    return climb(field, field.own if cells is None else cells, score, _is_error)


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
    return climb(field, cells, _shorter)


def _is_error_at(field: Field, cells: IntArray) -> BoolArray:
    return _is_error(field, field.grid.trees.outputs(cells)[:, None, :])


def shortest_errors(
    field: Field, starts: list[IntArray], *, repairs: int = _REPAIRS
) -> tuple[FloatArray, IntArray]:
    """Return the squared distance of the nearest error that the search finds for each row, and its cells.

    Parameters
    ----------
    field : Field
        The rows.
    starts : list of array of shape (n_rows, n_axes)
        Cells to begin with, errors or not; the greedy way is always tried.
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
    for start in [climb(field, field.own, _toward_error(), _is_error), *starts]:
        keep(everyone, start)
    margin = np.maximum(_margins(field, field.grid.trees.outputs(field.own)[:, None, :])[:, 0], 0.0)
    for (
        rate
    ) in _RATES:  # in pairs: a first move that pays for itself at some price, then the cheapest second one
        price = rate * margin / np.where(np.isfinite(best) & (best > 0.0), best, 1.0)
        for start in first_moves(field, _trade(price), _FIRST_MOVES):
            keep(everyone, jump_to_error(field, start))
    for turn in range(repairs):
        rows = np.flatnonzero(np.isfinite(best))
        part = field.take(rows)
        given_up = np.argsort(-part.spent(where[rows]), axis=1)[:, min(turn, where.shape[1] - 1)]
        banned = np.full(len(field.own), -1)
        banned[part.rows] = given_up
        cells = where[rows].copy()
        cells[np.arange(len(rows)), given_up] = part.own[np.arange(len(rows)), given_up]
        keep(rows, climb(part, cells, _toward_error(banned), _is_error))
    return best, where
