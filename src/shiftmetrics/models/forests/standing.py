"""Rows on the grid of a forest: where they stand, and what every cell costs them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics.models.forests.grid import Grid, joined


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
    """

    grid: Grid
    cells: IntArray
    costs: FloatArray

    @classmethod
    def of(cls, grid: Grid, start: FloatArray) -> Standing:
        """Compute the costs of all cells."""
        cells = grid.cells(start)
        costs = grid.costs(start)
        return cls(grid, cells, costs)

    def take(self, rows: IntArray) -> Standing:
        """Return some of the rows."""
        return Standing(self.grid, self.cells[rows], self.costs[rows])

    # A box is as far as its nearest cell on each axis. Going down, only the axis of the split changes: its part of
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
        forest = self.grid.forest
        n_rows = len(self.cells)
        row = np.repeat(np.arange(n_rows), forest.n_trees)
        node = np.tile(forest.roots, n_rows)
        squared = np.zeros(len(row))
        found = []
        while row.size:
            inner = forest.feature[node] >= 0
            found.append((row[~inner], node[~inner], squared[~inner]))
            row = row[inner]
            node = node[inner]
            axis = forest.feature[node]
            rest = squared[inner] - self.costs_on(row, axis, node)
            parts = []
            for child in (forest.left[node], forest.right[node]):
                there = rest + self.costs_on(row, axis, child)
                near = np.isfinite(there) & (there <= limit[row])
                parts.append((row[near], child[near], there[near]))
            row, node, squared = joined(parts)
        row, node, squared = joined(found)
        group = row * forest.n_trees + self.grid.tree[node]
        order = np.lexsort((squared, group))
        return row[order], node[order], squared[order]

    def costs_on(
        self,
        row: IntArray,
        axis: IntArray,
        node: IntArray,
    ) -> FloatArray:
        """Return the squared distance of rows to the boxes of nodes on one axis each."""
        grid = self.grid
        boxes = grid.boxes
        here = self.cells[row, axis]
        low = boxes.low[node, axis]
        high = boxes.high[node, axis]
        nearest_on_axis = np.clip(here, low, high)
        nearest = grid.first[axis] + nearest_on_axis
        costs: FloatArray = self.costs[row, nearest]
        costs[low > high] = np.inf
        if not grid.marked.size:
            return costs
        # Missing values stay where they are.
        is_missing = (here >= grid.n_open[axis]) & ~grid.by_state[axis]
        missing = np.flatnonzero(is_missing)
        held = grid.contains(node[missing], axis[missing], here[missing])
        costs[missing] = np.where(held, 0.0, np.inf)
        # Of the states in a box the cheapest counts.
        states = np.flatnonzero(grid.by_state[axis])
        costs[states] = np.inf
        which, state, _ = grid.ranges(node[states], axis[states])
        which = states[which]
        cell = grid.first[axis[which]] + state
        np.minimum.at(costs, which, self.costs[row[which], cell])
        return costs
