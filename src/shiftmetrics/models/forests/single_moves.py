"""The moves of rows along one axis that change a forest's outputs and that the rows can afford, in one flat list.

On its way out from a row along an axis, the outputs change where a leaf that one move reaches is entered or left.
Between two such places they stay, and the cell that is nearest to the start of the row stands for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.models.forests.axes import NumberAxis
from shiftmetrics.models.forests.grid import Grid
from shiftmetrics.models.forests.scan import Arrivals, travel


@dataclass(frozen=True, eq=False)
class CellCosts:
    """What each cell of each axis costs some rows.

    Attributes
    ----------
    own : array of shape (n_rows, n_axes)
        Where the rows start.
    squared : array of shape (n_rows, n_cells_of_all_axes)
        Squared distance to each cell, axis by axis; inf where a row cannot go.
    outward : array of shape (n_rows, n_cells_of_all_axes) or None
        The first cell from this one on, away from the start, where the row can go; one that does not exist where it
        cannot. None where it can go everywhere.
    first : array of shape (n_axes,)
        Position of the first cell of each axis.
    """

    own: IntArray
    squared: FloatArray
    outward: IntArray | None
    first: IntArray

    @classmethod
    def of(cls, grid: Grid, start: FloatArray) -> Self:
        """Price all cells."""
        own = grid.cells(start)
        costs = [axis.costs(start) for axis in grid.axes]
        first = np.concatenate([[0], np.cumsum([cost.shape[1] for cost in costs])[:-1]]).astype(np.int64)
        limited = any(
            isinstance(axis, NumberAxis) and axis.movable and not np.isfinite(cost[~stuck, :n_open]).all()
            for axis, cost, n_open, stuck in zip(
                grid.axes, costs, grid.trees.n_open, (own == grid.trees.missing).T, strict=True
            )
        )
        outward = None
        if limited:
            outward = np.concatenate(
                [_outward(cost, own[:, position]) for position, cost in enumerate(costs)], axis=1
            )
        return cls(own, np.concatenate(costs, axis=1), outward, first)

    def at(self, rows: IntArray, axis: IntArray | slice, cells: IntArray) -> FloatArray:
        """Return the squared distance of rows to cells."""
        return np.asarray(self.squared[rows, self.first[axis] + cells])

    def nearest(
        self, rows: IntArray, axis: IntArray, low: IntArray, high: IntArray
    ) -> tuple[IntArray, FloatArray]:
        """Return the cheapest of the cells from ``low`` to ``high`` on axes of numbers, and what it costs."""
        cell = np.clip(self.own[rows, axis], low, high)
        if self.outward is not None:
            cell = self.outward[rows, self.first[axis] + cell]
        inside = (low <= cell) & (cell <= high)
        cell = np.where(inside, cell, low)
        return cell, np.where(inside, self.at(rows, axis, np.maximum(cell, 0)), np.inf)


def _outward(cost: FloatArray, own: IntArray) -> IntArray:
    n_cells, cell = cost.shape[1], np.arange(cost.shape[1])
    able = np.isfinite(cost)
    up = np.minimum.accumulate(np.where(able, cell, n_cells)[:, ::-1], axis=1)[:, ::-1]
    down = np.maximum.accumulate(np.where(able, cell, -1), axis=1)
    return np.where(cell >= own[:, None], up, down)


@dataclass(frozen=True)
class Moves:
    """Changes of rows along one axis, in the order of the rows.

    Attributes
    ----------
    row, axis, cell : array of shape (n_moves,)
        Who goes where.
    outputs : array of shape (n_moves, n_outputs)
        Outputs there.
    costs : array of shape (n_moves,)
        Squared distance on the axis after the move.
    spent : array of shape (n_moves,)
        The same before it.
    present : array of shape (n_rows, n_outputs)
        Outputs of the rows before it.
    """

    row: IntArray
    axis: IntArray
    cell: IntArray
    outputs: FloatArray
    costs: FloatArray
    spent: FloatArray
    present: FloatArray

    def best(self, scores: FloatArray) -> tuple[IntArray, IntArray]:
        """Return the rows with a score above -inf, and the position of the best move of each."""
        if not len(self.row):
            return self.row, self.row
        first = np.flatnonzero(np.diff(self.row, prepend=-1))
        size = np.diff(first, append=len(self.row))
        highest = np.repeat(np.maximum.reduceat(scores, first), size)
        hits = np.flatnonzero((scores == highest) & (scores > -np.inf))
        rows, place = np.unique(self.row[hits], return_index=True)
        return rows, hits[place]


def single_moves(
    grid: Grid, prices: CellCosts, rows: IntArray, cells: IntArray, limit: FloatArray | None = None
) -> Moves:
    """Return the moves of rows along one axis each that change outputs, or that lead back toward the start.

    Parameters
    ----------
    grid : Grid
        The forest on its axes.
    prices : CellCosts
        What cells cost.
    rows : array of shape (n_rows,)
        Positions of the rows in ``prices``.
    cells : array of shape (n_rows, n_axes)
        Where they stand.
    limit : array of shape (n_rows,), optional
        The squared distance that they may spend on all axes together.
    """
    trees, sections = grid.trees, grid.trees.sections
    own, every = prices.own[rows], np.arange(len(grid.axes))
    spent = prices.at(rows[:, None], every, cells)
    budget = np.full(spent.shape, np.inf)
    if limit is not None:
        budget = limit[:, None] - (spent.sum(axis=1, keepdims=True) - spent)

    def affordable(row: IntArray, axis: IntArray, node: IntArray) -> BoolArray:
        low, high = sections.low[node], sections.high[node]
        by_state = sections.mask[node] >= 0
        _, cost = prices.nearest(rows[row], axis, low, np.where(by_state, low, high))
        return by_state | ((cost <= budget[row, axis]) & np.isfinite(cost))

    found = travel(trees, cells, grid.active, affordable)
    change = trees.forest.value[found.leaf] - trees.forest.value[found.own[found.row, found.tree]]
    differs = (change != 0.0).any(axis=1)
    by_state = sections.mask[found.section] >= 0
    is_number = np.array([isinstance(axis, NumberAxis) for axis in grid.axes])
    displaced = (cells != own) & grid.active
    numbers = _along_numbers(
        grid, prices, rows, cells, found, change, differs & ~by_state, displaced & is_number
    )
    parts = [numbers]
    if not is_number.all():
        parts.append(_among_states(grid, own, found, change, differs & by_state, displaced & ~is_number))
    row, axis, cell, total = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    costs = prices.at(rows[row], axis, cell)
    kept = np.flatnonzero((costs <= budget[row, axis]) & np.isfinite(costs) & (cell != cells[row, axis]))
    if len(parts) > 1:
        kept = kept[np.argsort(row[kept], kind="stable")]
    row, axis, cell = row[kept], axis[kept], cell[kept]
    present = trees.forest.total(found.own)
    outputs = present[row] + trees.forest.factor * total[kept]
    return Moves(row, axis, cell, outputs, costs[kept], spent[row, axis], present)


_Found = tuple[IntArray, IntArray, IntArray, FloatArray]


def _along_numbers(
    grid: Grid,
    prices: CellCosts,
    rows: IntArray,
    cells: IntArray,
    found: Arrivals,
    change: FloatArray,
    chosen: BoolArray,
    displaced: BoolArray,
) -> _Found:
    """Return rows, axes, cells and sums of changes on axes of numbers: lanes run out from each row on both sides."""
    sections, n_axes = grid.trees.sections, len(grid.axes)
    row, axis, section = found.row[chosen], found.axis[chosen], found.section[chosen]
    low, high, here = sections.low[section], sections.high[section], cells[row, axis]
    up = low > here
    lane = 2 * (row * n_axes + axis) + up
    enter, leave = np.where(up, low - here, here - high), np.where(up, high - here, here - low) + 1
    back_row, back_axis = np.nonzero(displaced)  # the way back is shorter even where no output changes
    back = 2 * (back_row * n_axes + back_axis) + (prices.own[rows[back_row], back_axis] > cells[displaced])
    width = int(grid.trees.n_cells.max()) + 2
    key = np.concatenate([lane * width + enter, lane * width + leave, back * width + 1])
    amount = np.concatenate([change[chosen], -change[chosen], np.zeros((len(back), change.shape[1]))])
    order = np.argsort(key)
    key = key[order]
    # All that is entered is left again, beyond the last cell if need be, so that each lane begins at 0.
    sums = np.cumsum(amount[order], axis=0)
    last = np.flatnonzero(np.diff(key, append=-1))
    key, sums = key[last], sums[last]
    lane, near = np.divmod(key, width)
    row, side = np.divmod(lane, 2 * n_axes)
    axis, up = side // 2, np.asarray(side % 2 == 1)
    here = cells[row, axis]
    extent = np.where(up, grid.trees.n_open[axis] - 1 - here, here)
    far = np.where(np.diff(lane, append=-1) == 0, np.append(near[1:], 0) - 1, extent)
    inside = np.flatnonzero(near <= extent)
    row, axis, here, near, far = (part[inside] for part in (row, axis, here, near, far))
    up = up[inside]
    cell, cost = prices.nearest(
        rows[row], axis, np.where(up, here + near, here - far), np.where(up, here + far, here - near)
    )
    able = np.isfinite(cost)
    return row[able], axis[able], cell[able], sums[inside][able]


def _among_states(
    grid: Grid, own: IntArray, found: Arrivals, change: FloatArray, chosen: BoolArray, displaced: BoolArray
) -> _Found:
    """Return rows, axes, states and sums of changes on axes of states."""
    sections, n_axes = grid.trees.sections, len(grid.axes)
    arrival, state = np.nonzero(sections.states[sections.mask[found.section[chosen]]])
    back_row, back_axis = np.nonzero(displaced)
    row = np.concatenate([found.row[chosen][arrival], back_row])
    axis = np.concatenate([found.axis[chosen][arrival], back_axis])
    amount = np.concatenate([change[chosen][arrival], np.zeros((len(back_row), change.shape[1]))])
    width = int(grid.trees.n_cells.max())
    key, place = np.unique(
        (row * n_axes + axis) * width + np.concatenate([state, own[displaced]]), return_inverse=True
    )
    sums = np.zeros((len(key), change.shape[1]))
    np.add.at(sums, place, amount)
    lane, cell = np.divmod(key, width)
    return lane // n_axes, lane % n_axes, cell, sums
