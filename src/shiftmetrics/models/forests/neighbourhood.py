"""The leaves that rows can reach within a distance, and climbing over the cells between them.

A row is the vector of its cells; within them it stands as near to its start as they allow. Near a row only a few
leaves of each tree can be reached, and a move is worth a look only if it ends where one of their boxes begins, as
seen from the start. So all is kept in flat lists: the boxes of all rows one after another, and so their bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from shiftmetrics._core.arrays import Array, BoolArray, FloatArray, IntArray
from shiftmetrics.models.forests.grid import Grid, spread
from shiftmetrics.models.forests.standing import Standing

GAIN = 1e-9
"""Relative gain below which nothing is better."""
_MOST_STEPS = 24
_ROUNDING = 1e-9  # relative; by how much farther boxes are looked for
_FARTHEST = float(np.finfo(np.float64).max)  # whatever can be reached
_AXIS = 1 << 24  # above every sum of positions of axes

Height: TypeAlias = Callable[[FloatArray, Array], FloatArray]
"""From outputs of shape (n, n_outputs) and labels, or values, to what a search raises."""


class Moves(NamedTuple):
    """Moves of rows along one axis each, all of shape (n_moves,).

    Attributes
    ----------
    row, axis, cell : array
        The row, the axis, and the cell where the move ends.
    heights : array
        Height after each move.
    squared : array
        Squared distance from the start after each move; inf beyond the limit of the row.
    height, spent : array
        Height and squared distance of the row before.
    """

    row: IntArray
    axis: IntArray
    cell: IntArray
    heights: FloatArray
    squared: FloatArray
    height: FloatArray
    spent: FloatArray

    def best(self, scores: FloatArray, n_rows: int) -> tuple[IntArray, FloatArray]:
        """Return the position of the best move of each row, the first of equal ones, and its score; -inf: none."""
        highest = np.full(n_rows, -np.inf)
        np.maximum.at(highest, self.row, scores)
        equal = np.flatnonzero(scores == highest[self.row])
        position = np.zeros(n_rows, dtype=np.int64)
        # Written from the last to the first, so that the first of equal ones stays.
        position[self.row[equal[::-1]]] = equal[::-1]
        return position, highest


Score: TypeAlias = Callable[[Moves], FloatArray]
"""How good each move is: the best one of a row is taken if it is above 0."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Neighbourhood:
    """Rows, the leaf boxes that they can reach, and the bounds of these boxes.

    Attributes
    ----------
    standing : Standing
        The rows, where they start.
    y : array of shape (n_rows,)
        Labels or values of the rows.
    height_of : callable
        What a search raises.
    limit : array of shape (n_rows,)
        Largest squared distance of a move.
    box_row, leaf, squared : array of shape (n_boxes,)
        The boxes, by row and tree: their row, the node of their leaf, and the squared distance between both.
    bound_box, bound_axis : array of shape (n_bounds,)
        Which boxes are bounded, and on which axis; by row and axis.
    """

    standing: Standing
    y: Array
    height_of: Height
    limit: FloatArray
    box_row: IntArray
    leaf: IntArray
    squared: FloatArray
    bound_box: IntArray
    bound_axis: IntArray

    @classmethod
    def of(
        cls,
        standing: Standing,
        y: Array,
        height_of: Height,
        limit: FloatArray,
    ) -> Neighbourhood:
        """Find the boxes within squared distances."""
        grid = standing.grid
        limit = np.minimum(limit * (1.0 + _ROUNDING), _FARTHEST)
        box_row, leaf, squared = standing.leaves_within(limit)
        box, axis = grid.bounds_of(leaf)
        row_and_axis = box_row[box] * len(grid.axes) + axis
        order = np.argsort(row_and_axis, kind="stable")
        return cls(
            standing=standing,
            y=y,
            height_of=height_of,
            limit=limit,
            box_row=box_row,
            leaf=leaf,
            squared=squared,
            bound_box=box[order],
            bound_axis=axis[order],
        )

    @property
    def grid(self) -> Grid:
        """The forest on its axes."""
        return self.standing.grid

    @property
    def start(self) -> IntArray:
        """Cells in which the rows start, of shape (n_rows, n_axes)."""
        return self.standing.cells

    @cached_property
    def bound_ends(self) -> IntArray:
        """Where the bounds of each row and axis begin, and the last ones end."""
        row = self.box_row[self.bound_box]
        key = row * len(self.grid.axes) + self.bound_axis
        return np.searchsorted(key, np.arange(self.start.size + 1))

    def take(self, rows: IntArray, limit: FloatArray) -> Neighbourhood:
        """Return some of the rows, given in order, within shorter limits."""
        number = np.full(len(self.start), -1)
        number[rows] = np.arange(len(rows))
        limit = np.minimum(self.limit[rows], limit * (1.0 + _ROUNDING))
        of_row = np.append(limit, -np.inf)  # the last one for rows that are left out
        boxes = self.squared <= of_row[number[self.box_row]]
        bounds = boxes[self.bound_box]
        new_box = np.cumsum(boxes) - 1
        return replace(
            self,
            standing=self.standing.take(rows),
            y=self.y[rows],
            limit=limit,
            box_row=number[self.box_row[boxes]],
            leaf=self.leaf[boxes],
            squared=self.squared[boxes],
            bound_box=new_box[self.bound_box[bounds]],
            bound_axis=self.bound_axis[bounds],
        )

    def costs_at(
        self,
        row: IntArray,
        axis: IntArray,
        cell: IntArray,
    ) -> FloatArray:
        """Return the squared distance of rows to cells."""
        return np.asarray(self.standing.costs[row, self.grid.first[axis] + cell])

    def spent(self, cells: IntArray) -> FloatArray:
        """Return the squared distance to cells on each axis, of shape (n_rows, n_axes)."""
        rows = np.arange(len(cells))[:, None]
        return self.costs_at(rows, np.arange(cells.shape[1]), cells)

    def heights_at(self, cells: IntArray) -> FloatArray:
        """Return the height of each row in its cells."""
        return self.height_of(self.grid.outputs(cells), self.y)

    def outside(self, cells: IntArray) -> IntArray:
        """Return how rows in these cells are outside of their boxes: the number of axes, and the sum of these."""
        box = self.bound_box
        axis = self.bound_axis
        cell = cells[self.box_row[box], axis]
        outside = ~self.grid.contains(self.leaf[box], axis, cell)
        # Of a box that its row is outside of on one axis alone, the sum names that axis.
        amounts = axis[outside] + _AXIS
        code = np.bincount(box[outside], amounts, minlength=len(self.leaf))
        return code.astype(np.int64)

    # A row is in one box of each tree. A box that it is outside of on one axis alone is entered by a move along that
    # axis: over a range of cells the leaf of this box takes the place of the present one. Of the cells of a range the
    # nearest to the start is the only one worth a look. Nor need a row that has moved stay in a cell farther off than
    # its present boxes ask for: their nearest cells, and that of the start, are moves too, without a change of leaf.
    def moves(
        self,
        cells: IntArray,
        outside: IntArray,
        going: BoolArray,
    ) -> Moves:
        """Return the moves along one axis from these cells, of the rows that are going; see `outside`."""
        grid = self.grid
        forest = grid.forest
        present = self.leaf[outside == 0].reshape(len(cells), forest.n_trees)
        sums = forest.value[present].sum(axis=1)
        # Boxes to enter, and on the axes of moves so far the present ones.
        is_one = (outside // _AXIS == 1) & going[self.box_row]
        one = np.flatnonzero(is_one)
        moved = (cells != self.start) & going[:, None]
        back_row, back_axis = np.nonzero(moved)
        held, held_axis = self._bounds_on(back_row, back_axis)
        inside = outside[held] == 0
        box = np.concatenate([one, held[inside]])
        axis = np.concatenate([outside[one] - _AXIS, held_axis[inside]])
        which, low, stop = grid.ranges(self.leaf[box], axis)
        box, axis = box[which], axis[which]
        row, leaf = self.box_row[box], self.leaf[box]
        before = present[row, grid.tree[leaf]]
        changes = forest.value[leaf] - forest.value[before]
        near = np.clip(self.start[row, axis], low, stop - 1)
        # Changes begin and end along the cells of all axes of all rows: running sums are the outputs.
        n_cells = len(grid.axis_of_cell) + 1
        first = row * n_cells + grid.first[axis]
        row = np.concatenate([row, back_row])
        axis = np.concatenate([axis, back_axis])
        cell = np.concatenate([near, self.start[back_row, back_axis]])
        wanted = row * n_cells + grid.first[axis] + cell
        ends = np.concatenate([first + low, first + stop])
        order = np.argsort(ends, kind="stable")
        amounts = np.concatenate([changes, -changes])[order]
        none = np.zeros((1, forest.n_outputs))
        running = np.concatenate([none, np.cumsum(amounts, axis=0)])
        n_before = np.searchsorted(ends[order], wanted, side="right")
        outputs = sums[row] + running[n_before]
        heights = self.height_of(forest.base + forest.factor * outputs, self.y[row])
        height = self.height_of(forest.base + forest.factor * sums, self.y)
        spent = self.spent(cells)
        total = spent.sum(axis=1)
        others = total[row] - spent[row, axis]
        squared = others + self.costs_at(row, axis, cell)
        squared[squared > self.limit[row]] = np.inf
        return Moves(row, axis, cell, heights, squared, height[row], total[row])

    def put(
        self,
        cells: IntArray,
        rows: IntArray,
        axis: IntArray,
        cell: IntArray,
        outside: IntArray,
    ) -> None:
        """Move rows along one axis each, in place; boxes differ on the axis of the move alone."""
        which, bound = self._bounds_at(rows, axis)
        box = self.bound_box[bound]
        leaf, along = self.leaf[box], axis[which]
        here = cells[rows, axis]
        before = self.grid.contains(leaf, along, here[which])
        after = self.grid.contains(leaf, along, cell[which])
        left = before.astype(np.int64) - after
        outside[box] += left * (along + _AXIS)
        cells[rows, axis] = cell

    def _bounds_at(self, row: IntArray, axis: IntArray) -> tuple[IntArray, IntArray]:
        """Return the bounds of rows on one axis each: of which row among these, and their positions."""
        key = row * len(self.grid.axes) + axis
        return spread(self.bound_ends[key], self.bound_ends[key + 1])

    def _bounds_on(self, row: IntArray, axis: IntArray) -> tuple[IntArray, IntArray]:
        """Return the boxes of rows that are bounded on one axis each, and these axes."""
        which, bound = self._bounds_at(row, axis)
        return self.bound_box[bound], axis[which]


def climb(
    block: Neighbourhood,
    cells: IntArray,
    score: Score,
    *,
    to_error: bool = False,
    closed: IntArray | None = None,
) -> IntArray:
    """Take the best move of each row along one axis again and again, until none is better.

    Parameters
    ----------
    block : Neighbourhood
        The rows.
    cells : array of shape (n_rows, n_axes)
        Where they begin.
    score : callable
        Which moves are good.
    to_error : bool
        Whether a row stops once its height is positive.
    closed : array of shape (n_rows,), optional
        An axis along which each row may not move.
    """
    cells = cells.copy()
    outside = block.outside(cells)
    going = np.ones(len(cells), dtype=np.bool_)
    for _ in range(_MOST_STEPS):
        moves = block.moves(cells, outside, going)
        able = np.isfinite(moves.squared)
        if to_error:
            able &= moves.height <= 0.0
        if closed is not None:
            able &= moves.axis != closed[moves.row]
        scores = np.where(able, score(moves), -np.inf)
        position, highest = moves.best(scores, len(cells))
        going = highest > 0.0
        better = np.flatnonzero(going)
        if not better.size:
            break
        taken = position[better]
        axis = moves.axis[taken]
        block.put(cells, better, axis, moves.cell[taken], outside)
    return cells


def first_move(block: Neighbourhood, score: Score, rank: int) -> IntArray:
    """Return the cells of each row after its best first move, or after the best one on yet another axis."""
    n_rows = len(block.start)
    cells = block.start.copy()
    everyone = np.ones(n_rows, dtype=np.bool_)
    moves = block.moves(cells, block.outside(cells), everyone)
    if not moves.row.size:
        return cells
    # Moves without a change of height lead nowhere.
    gains = np.abs(moves.heights - moves.height)
    able = np.isfinite(moves.squared) & (gains > block.grid.forest.tolerance)
    scores = np.where(able, score(moves), -np.inf)
    for _ in range(rank - 1):
        position, _ = moves.best(scores, n_rows)
        taken_axis = moves.axis[position]
        scores[moves.axis == taken_axis[moves.row]] = -np.inf
    position, highest = moves.best(scores, n_rows)
    rows = np.flatnonzero(highest > -np.inf)
    taken = position[rows]
    cells[rows, moves.axis[taken]] = moves.cell[taken]
    return cells


def _nearest_error(moves: Moves) -> FloatArray:
    """Prefer the nearest error."""
    return np.where(moves.heights > 0.0, 1.0 / (1.0 + moves.squared), -np.inf)


def shortest_error(moves: Moves) -> FloatArray:
    """Prefer the error that saves most."""
    return np.where(moves.heights > 0.0, moves.spent - moves.squared, -np.inf)


def _steepest(moves: Moves) -> FloatArray:
    """Prefer what gains most height, up to an error, for its cost."""
    price = moves.squared - moves.spent
    gain = np.minimum(moves.heights, 0.0) - moves.height
    has_price = price > 0.0
    rate = gain / np.where(has_price, price, 1.0)
    return np.where(has_price, rate, -np.inf)


def worth(price: FloatArray | float) -> Score:
    """Prefer what gains most height, less its cost at a price."""

    def score(moves: Moves) -> FloatArray:
        gain = moves.heights - moves.height
        cost = price * (moves.squared - moves.spent)
        return np.asarray(gain - cost - GAIN * 1e-3 * (1.0 + price))

    return score


# A heuristic in three ways, each followed by shortening: the nearest error along one axis; the steepest ascent; and
# the steepest ascent from the best error without its most expensive change, whose axis is closed. It fails where an
# error needs several moves at once none of which gains height.
def shortest_errors(block: Neighbourhood) -> tuple[FloatArray, IntArray]:
    """Return the squared distance of the nearest error found for each row (inf: none), and its cells."""
    everyone = np.arange(len(block.start))
    best = np.full(len(everyone), np.inf)
    where = block.start.copy()

    def keep(part: Neighbourhood, rows: IntArray, cells: IntArray) -> None:
        errors = np.flatnonzero(part.heights_at(cells) > 0.0)
        reached = part.spent(cells).sum(axis=1)
        part = part.take(errors, reached[errors])
        rows, cells = rows[errors], cells[errors]
        cells = climb(part, cells, shortest_error)
        squared = part.spent(cells).sum(axis=1)
        nearer = squared < best[rows]
        best[rows[nearer]] = squared[nearer]
        where[rows[nearer]] = cells[nearer]

    for score in (_nearest_error, _steepest):
        part = block.take(everyone, best)
        climbed = climb(part, block.start, score, to_error=True)
        keep(part, everyone, climbed)
    rows = np.flatnonzero(np.isfinite(best))
    if rows.size:
        part = block.take(rows, best[rows])
        cells = where[rows].copy()
        dearest = part.spent(cells).argmax(axis=1)
        place = np.arange(len(rows)), dearest
        cells[place] = part.start[place]
        climbed = climb(part, cells, _steepest, to_error=True, closed=dearest)
        keep(part, rows, climbed)
    return best, where
