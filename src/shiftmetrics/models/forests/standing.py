"""Rows on the grid of a forest: where they stand, and what every cell costs them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics.models.forests.axes import NumberAxis, StateAxis
from shiftmetrics.models.forests.grid import Grid


@dataclass(frozen=True, eq=False)
class Standing:
    """Rows on a grid: where they stand, and what every cell costs them.

    Attributes
    ----------
    grid : Grid
        The grid.
    cells : array of shape (n_rows, n_axes)
        Where the rows stand.
    costs : array of shape (n_rows, n_cells_of_all_axes)
        Squared distance to each cell.
    entries : array of shape (n_rows, n_cells_of_all_axes) or None
        The first cell with a place for the row, from each cell on and away from the row; None where all have one.
    """

    grid: Grid
    cells: IntArray
    costs: FloatArray
    entries: IntArray | None

    @classmethod
    def of(cls, grid: Grid, start: FloatArray) -> Standing:
        """Compute the costs of all cells."""
        cells, costs = grid.cells(start), grid.costs(start)
        gaps = [k for k, axis in enumerate(grid.axes) if axis.has_gaps]
        entries = None
        if gaps:
            numbers = np.concatenate([np.arange(size) for size in grid.n_cells])
            entries = np.tile(numbers, (len(start), 1))
        for axis in gaps:
            assert entries is not None
            size = grid.n_cells[axis]
            part = slice(grid.first[axis], grid.first[axis] + size)
            number = np.arange(size)
            open_cells = np.isfinite(costs[:, part])
            beyond = np.where(open_cells, number, size)[:, ::-1]
            beyond = np.minimum.accumulate(beyond, axis=1)[:, ::-1]
            before = np.maximum.accumulate(np.where(open_cells, number, -1), axis=1)
            entries[:, part] = np.where(number > cells[:, axis, None], beyond, before)
        return cls(grid, cells, costs, entries)

    def take(self, rows: IntArray) -> Standing:
        """Return some of the rows."""
        entries = None if self.entries is None else self.entries[rows]
        return Standing(self.grid, self.cells[rows], self.costs[rows], entries)

    # A box is as far as its nearest cell on each axis. Going down, only the axis of the split changes: its share of
    # the squared distance is taken off, and that of the narrower box put on.
    def leaves_within(self, limit: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Return the leaves within squared distances of the rows, by row and tree, the nearest of a tree first.

        Parameters
        ----------
        limit : array of shape (n_rows,)
            Squared distance of each row.

        Returns
        -------
        row, leaf : array of shape (n_found,)
            A row, and the node of a leaf.
        squared : array of shape (n_found,)
            Their squared distance.
        """
        forest, n_rows = self.grid.forest, len(self.cells)
        row = np.repeat(np.arange(n_rows), forest.n_trees)
        node = np.tile(forest.roots, n_rows)
        squared = np.zeros(len(row))
        found = []
        while row.size:
            inner = forest.feature[node] >= 0
            found.append((row[~inner], node[~inner], squared[~inner]))
            row, node, squared = row[inner], node[inner], squared[inner]
            axis = forest.feature[node]
            rest = squared - self.costs_on(row, axis, node)
            parts = []
            for child in (forest.left[node], forest.right[node]):
                there = rest + self.costs_on(row, axis, child)
                near = np.isfinite(there) & (there <= limit[row])
                parts.append((row[near], child[near], there[near]))
            row, node, squared = (np.concatenate(part) for part in zip(*parts, strict=True))
        row, node, squared = (np.concatenate(part) for part in zip(*found, strict=True))
        order = np.lexsort((squared, row * forest.n_trees + self.grid.tree[node]))
        return row[order], node[order], squared[order]

    def costs_on(self, row: IntArray, axis: IntArray, node: IntArray) -> FloatArray:
        """Return the squared distance of rows to the boxes of nodes on one axis each."""
        grid, boxes = self.grid, self.grid.boxes
        here = self.cells[row, axis]
        low = boxes.low[node, axis]
        high = boxes.high[node, axis]
        nearest = np.clip(here, low, high)
        if self.entries is not None:
            entry = self.entries[row, grid.first[axis] + nearest]
            nearest = np.clip(entry, low, high)
        costs: FloatArray = self.costs[row, grid.first[axis] + nearest]
        costs[low > high] = np.inf
        if self.entries is not None:
            costs[entry != nearest] = np.inf
        for position, part in enumerate(grid.axes):
            if not (part.some_missing or isinstance(part, StateAxis)):
                continue
            at = np.flatnonzero(axis == position)
            if isinstance(part, NumberAxis):
                at = at[here[at] == part.n_open]
                costs[at] = np.where(boxes.missing[node[at], position], 0.0, np.inf)
            else:
                first = grid.first[position]
                states = self.costs[row[at], first : first + part.n_cells]
                states = np.where(boxes.states[position][node[at]], states, np.inf)
                costs[at] = states.min(axis=1)
        return costs
