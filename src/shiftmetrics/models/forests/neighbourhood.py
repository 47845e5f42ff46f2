"""The leaves that rows can reach within a distance, and climbing over the cells between them.

A row is the vector of its cells; within them it stands as near to its start as they allow. Near a row only a few
leaves of each tree can be reached, and cells matter only where one of their boxes begins or ends. So all is kept in
flat lists: the boxes of all rows one after another, and the cells of all rows one after another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, IntArray
from shiftmetrics.models.forests.grid import Grid, spread, steps
from shiftmetrics.models.forests.moves import Moves
from shiftmetrics.models.forests.standing import Standing

GAIN = 1e-9
"""Relative gain below which nothing is better."""
_MOST_STEPS = 24
_FEW = 0.7  # of the rows that still climb
_ROUNDING = 1e-9  # relative; by how much farther boxes are looked for
_FARTHEST = float(np.finfo(np.float64).max)  # whatever can be reached
_AXIS = 1 << 24  # above every sum of positions of axes

Height: TypeAlias = Callable[[FloatArray, Array], FloatArray]
"""From outputs of shape (n, n_outputs) and labels, or values, to what a search raises."""


Score: TypeAlias = Callable[[Moves], FloatArray]
"""How good each move is: the best one of a row is taken if it is above 0."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Neighbourhood:
    """Rows, the leaf boxes that they can reach, and the cells where these boxes differ.

    Attributes
    ----------
    grid : Grid
        The forest on its axes.
    y : array of shape (n_rows,)
        Labels or values of the rows.
    start : array of shape (n_rows, n_axes)
        Cells in which they start.
    height_of : callable
        What a search raises.
    limit : array of shape (n_rows,)
        Largest squared distance of a move.
    box_row, leaf, squared : array of shape (n_boxes,)
        The boxes, by row and tree: their row, the node of their leaf, and the squared distance between both.
    bound_box, bound_axis : array of shape (n_bounds,)
        Which boxes their row may be outside of, and on which axis; by row and axis.
    place : array of shape (n_cells,)
        The cells, in order: the number of each among all cells of all axes of all rows.
    costs : array of shape (n_cells,)
        Squared distance to each cell.
    """

    grid: Grid
    y: Array
    start: IntArray
    height_of: Height
    limit: FloatArray
    box_row: IntArray
    leaf: IntArray
    squared: FloatArray
    bound_box: IntArray
    bound_axis: IntArray
    place: IntArray
    costs: FloatArray

    @classmethod
    def of(
        cls,
        standing: Standing,
        y: Array,
        height_of: Height,
        limit: FloatArray,
        also: IntArray | None = None,
    ) -> Neighbourhood:
        """Find the boxes within squared distances, and the cells where one begins or ends, and ``also`` others."""
        grid, start = standing.grid, standing.cells
        limit = np.minimum(limit * (1.0 + _ROUNDING), _FARTHEST)
        box_row, leaf, squared = standing.leaves_within(limit)
        box, axis = grid.bounds_of(leaf)
        row = box_row[box]
        kept = np.zeros(standing.costs.shape, dtype=np.bool_)
        kept.flat[_across_ends(standing, row, axis, leaf[box])] = True
        kept |= grid.by_state[grid.axis_of_cell]
        for cells in (start, start if also is None else also):
            kept[np.arange(len(start))[:, None], grid.first + cells] = True
        kept &= standing.costs <= limit[:, None]
        place = np.flatnonzero(kept)
        # A bound counts where its row can get outside of the box on that axis.
        lowest = np.where(kept, grid.cell_on_axis, _AXIS)
        lowest = np.minimum.reduceat(lowest, grid.first, axis=1)[row, axis]
        highest = np.where(kept, grid.cell_on_axis, -1)
        highest = np.maximum.reduceat(highest, grid.first, axis=1)[row, axis]
        inside = (grid.boxes.low[leaf[box], axis] <= lowest) & (
            highest <= grid.boxes.high[leaf[box], axis]
        )
        counts = np.flatnonzero(~inside | grid.by_state[axis])
        counts = counts[np.argsort(row[counts] * len(grid.axes) + axis[counts], kind="stable")]
        return cls(
            grid=grid,
            y=y,
            start=start,
            height_of=height_of,
            limit=limit,
            box_row=box_row,
            leaf=leaf,
            squared=squared,
            bound_box=box[counts],
            bound_axis=axis[counts],
            place=place,
            costs=standing.costs.ravel()[place],
        )

    @cached_property
    def row(self) -> IntArray:
        """The row of each cell."""
        return self.place // len(self.grid.axis_of_cell)

    @cached_property
    def axis(self) -> IntArray:
        """The axis of each cell."""
        return self.grid.axis_of_cell[self.place % len(self.grid.axis_of_cell)]

    @cached_property
    def cell(self) -> IntArray:
        """The number of each cell on its axis."""
        return self.place % len(self.grid.axis_of_cell) - self.grid.first[self.axis]

    @cached_property
    def first(self) -> IntArray:
        """Position of the first cell of each row."""
        return np.searchsorted(self.row, np.arange(len(self.start)))

    @cached_property
    def bound_ends(self) -> IntArray:
        """Where the bounds of each row and axis begin, and the last ones end."""
        n_axes = len(self.grid.axes)
        key = self.box_row[self.bound_box] * n_axes + self.bound_axis
        return np.searchsorted(key, np.arange(self.start.size + 1))

    def take(self, rows: IntArray, limit: FloatArray | None = None) -> Neighbourhood:
        """Return some of the rows, given in order, within limits of theirs."""
        n_rows, n_cells = len(self.start), len(self.grid.axis_of_cell)
        number = np.full(n_rows, -1)
        number[rows] = np.arange(len(rows))
        boxes = number[self.box_row] >= 0
        cells = number[self.row] >= 0
        if limit is None:
            limit = self.limit[rows]
        else:
            limit = np.minimum(self.limit[rows], limit * (1.0 + _ROUNDING))
            of_row = np.append(limit, -np.inf)  # the last one for rows that are left out
            boxes &= self.squared <= of_row[number[self.box_row]]
            cells &= self.costs <= of_row[number[self.row]]
        bounds = boxes[self.bound_box]
        new_box = np.cumsum(boxes) - 1
        return replace(
            self,
            y=self.y[rows],
            start=self.start[rows],
            limit=limit,
            box_row=number[self.box_row[boxes]],
            leaf=self.leaf[boxes],
            squared=self.squared[boxes],
            bound_box=new_box[self.bound_box[bounds]],
            bound_axis=self.bound_axis[bounds],
            place=number[self.row[cells]] * n_cells + self.place[cells] % n_cells,
            costs=self.costs[cells],
        )

    def without(self, axis: IntArray) -> Neighbourhood:
        """Return the rows when none may move along an axis, one for each row."""
        closed = (self.axis == axis[self.row]) & (self.cell != self.start[self.row, self.axis])
        return replace(self, costs=np.where(closed, np.inf, self.costs))

    def position(self, row: IntArray, axis: IntArray, cell: IntArray) -> IntArray:
        """Return the positions of the first cells of rows from these cells on."""
        grid = self.grid
        wanted = row * len(grid.axis_of_cell) + grid.first[axis] + cell
        return np.searchsorted(self.place, wanted)

    def spent(self, cells: IntArray) -> FloatArray:
        """Return the squared distance to cells on each axis, of shape (n_rows, n_axes)."""
        return self.spent_at(np.arange(len(cells)), cells)

    def spent_at(self, rows: IntArray, cells: IntArray) -> FloatArray:
        """Return the squared distance of some of the rows to cells on each axis."""
        axes = np.arange(cells.shape[1])
        return self.costs[self.position(rows[:, None], axes, cells)]

    def heights_at(self, cells: IntArray) -> FloatArray:
        """Return the height of each row in its cells."""
        return self.height_of(self.grid.outputs(cells), self.y)

    def outside(self, cells: IntArray) -> IntArray:
        """Return how rows in these cells are outside of their boxes: the number of axes, and the sum of these."""
        box, axis = self.bound_box, self.bound_axis
        outside = ~self.grid.contains(self.leaf[box], axis, cells[self.box_row[box], axis])
        code = np.bincount(box[outside], axis[outside] + _AXIS, minlength=len(self.leaf))
        return code.astype(np.int64)

    # A row is in one box of each tree. A box that it is outside of on one axis alone is entered by a move along that
    # axis: over a range of cells the leaf of this box takes the place of the present one.
    def moves(self, cells: IntArray, outside: IntArray) -> Moves:
        """Return all moves along one axis from these cells; see `outside`."""
        grid, forest = self.grid, self.grid.forest
        present = self.leaf[outside == 0].reshape(len(cells), forest.n_trees)
        sums = forest.value[present].sum(axis=1)
        one = np.flatnonzero(outside // _AXIS == 1)
        row, leaf, axis = self.box_row[one], self.leaf[one], outside[one] - _AXIS
        which, low, stop = grid.ranges(leaf, axis)
        row, leaf, axis = row[which], leaf[which], axis[which]
        changes = forest.value[leaf] - forest.value[present[row, grid.tree[leaf]]]
        begin, end = self.position(row, axis, low), self.position(row, axis, stop)
        totals = sums[self.row] + steps(changes, begin, end, len(self.place))
        heights = self.height_of(forest.base + forest.factor * totals, self.y[self.row])
        height = self.height_of(forest.base + forest.factor * sums, self.y)
        spent = self.spent(cells)
        total = spent.sum(axis=1)
        squared = (total[:, None] - spent)[self.row, self.axis] + self.costs
        squared[squared > self.limit[self.row]] = np.inf
        return Moves(heights, squared, height[self.row], total[self.row])

    def best(self, scores: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the position of the best cell of each row, the first of equal ones, and its score."""
        highest = np.maximum.reduceat(scores, self.first)
        equal = np.flatnonzero(scores == highest[self.row])
        return equal[np.searchsorted(equal, self.first)], highest

    def put(
        self, cells: IntArray, rows: IntArray, position: IntArray, outside: IntArray | None = None
    ) -> None:
        """Move rows, in place, to the cells at these positions; boxes differ on the axis of the move alone."""
        axis, cell = self.axis[position], self.cell[position]
        if outside is not None:
            key = rows * len(self.grid.axes) + axis
            begin, end = self.bound_ends[key], self.bound_ends[key + 1]
            which, bound = spread(begin, end)
            box = self.bound_box[bound]
            leaf, along = self.leaf[box], axis[which]
            before = self.grid.contains(leaf, along, cells[rows, axis][which])
            after = self.grid.contains(leaf, along, cell[which])
            outside[box] += (before.astype(np.int64) - after) * (along + _AXIS)
        cells[rows, axis] = cell


def _across_ends(standing: Standing, row: IntArray, axis: IntArray, leaf: IntArray) -> IntArray:
    """Return the places of the cells behind both ends of boxes, as rows come to them: into a box, or out of it."""
    grid = standing.grid
    here = standing.cells[row, axis]
    low, high = grid.boxes.low[leaf, axis], grid.boxes.high[leaf, axis]
    behind_low = np.where(low > here, low, low - 1)
    behind_high = np.where(high < here, high, high + 1)
    row, axis = np.tile(row, 2), np.tile(axis, 2)
    cell = np.concatenate([behind_low, behind_high])
    for _ in range(1 + (standing.entries is not None)):
        able = np.flatnonzero((cell >= 0) & (cell < grid.n_open[axis]) & ~grid.by_state[axis])
        row, axis, cell = row[able], axis[able], cell[able]
        if standing.entries is not None:  # the next cell that has a place for the row
            cell = standing.entries[row, grid.first[axis] + cell]
    return np.asarray(row * len(grid.axis_of_cell) + grid.first[axis] + cell)


def climb(
    block: Neighbourhood, cells: IntArray, score: Score, *, to_error: bool = False
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
    """
    cells = cells.copy()
    here, outside = cells, block.outside(cells)
    going = np.arange(len(cells))
    for _ in range(_MOST_STEPS):
        if not going.size:
            break
        moves = block.moves(here, outside)
        able = np.isfinite(moves.squared)
        if to_error:
            able &= moves.height <= 0.0
        position, highest = block.best(np.where(able, score(moves), -np.inf))
        better = np.flatnonzero(highest > 0.0)
        block.put(here, better, position[better], outside)
        cells[going] = here
        # The rows that stay are taken out once they are many.
        if len(better) < _FEW * len(going):
            outside = outside[np.isin(block.box_row, better)]
            going, here, block = going[better], here[better], block.take(better)
        elif not better.size:
            break
    return cells


def first_move(block: Neighbourhood, score: Score, rank: int) -> IntArray:
    """Return the cells of each row after its best first move, or after the best one on yet another axis."""
    moves = block.moves(block.start, block.outside(block.start))
    changes = np.abs(moves.heights - moves.height) > block.grid.forest.tolerance
    scores = np.where(np.isfinite(moves.squared) & changes, score(moves), -np.inf)
    for _ in range(rank - 1):
        position, _ = block.best(scores)
        scores[block.axis == block.axis[position][block.row]] = -np.inf
    position, highest = block.best(scores)
    able = np.flatnonzero(highest > -np.inf)
    cells = block.start.copy()
    block.put(cells, able, position[able])
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
    return np.where(price > 0.0, gain / np.where(price > 0.0, price, 1.0), -np.inf)


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
        rows, cells = rows[errors], cells[errors]
        reached = part.spent_at(errors, cells).sum(axis=1)
        part = part.take(errors, reached)
        cells = climb(part, cells, shortest_error)
        squared = part.spent(cells).sum(axis=1)
        nearer = squared < best[rows]
        best[rows[nearer]] = squared[nearer]
        where[rows[nearer]] = cells[nearer]

    for score in (_nearest_error, _steepest):
        part = block.take(everyone, best)
        keep(part, everyone, climb(part, block.start, score, to_error=True))
    rows = np.flatnonzero(np.isfinite(best))
    if rows.size:
        part = block.take(rows, best[rows])
        cells = where[rows].copy()
        axis = part.spent(cells).argmax(axis=1)
        cells[np.arange(len(rows)), axis] = part.start[np.arange(len(rows)), axis]
        part = part.without(axis)
        keep(part, rows, climb(part, cells, _steepest, to_error=True))
    return best, where
