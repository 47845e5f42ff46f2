"""The leaves that rows can reach within a distance, and the moves between their cells.

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

    def spent(self, cells: IntArray) -> FloatArray:
        """Return the squared distance to cells on each axis, of shape (n_rows, n_axes)."""
        rows = np.arange(len(cells))[:, None]
        return self.standing.costs_at(rows, np.arange(cells.shape[1]), cells)

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
        # Both in one number, the count times `_AXIS` and the sum of the axes, which a float64 holds
        # exactly.
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
        # A row is inside one box of each tree, and boxes stand by row and tree: so the leaves fill
        # a matrix.
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
        box = box[which]
        axis = axis[which]
        row = self.box_row[box]
        leaf = self.leaf[box]
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
        after = forest.base + forest.factor * outputs
        heights = self.height_of(after, self.y[row])
        now = forest.base + forest.factor * sums
        height = self.height_of(now, self.y)
        spent = self.spent(cells)
        total = spent.sum(axis=1)
        others = total[row] - spent[row, axis]
        squared = others + self.standing.costs_at(row, axis, cell)
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
        leaf = self.leaf[box]
        along = axis[which]
        here = cells[rows, axis]
        before = self.grid.contains(leaf, along, here[which])
        after = self.grid.contains(leaf, along, cell[which])
        # 1 where a row leaves a box, -1 where it enters one.
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
