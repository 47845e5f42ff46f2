"""Rows on the grid of a forest: where they stand, and what every cell costs them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics.models.forests.grid import Grid, joined_parts


@dataclass(frozen=True, eq=False)
class Standing:
    """Rows on a grid: where they stand, and what every cell costs them.

    Attributes
    ----------
    grid : Grid
        The grid.
    cells : array of shape (n_rows, n_axes)
        Where the rows stand.
    costs : array of shape (n_places, n_cells_of_all_axes)
        Squared distance to each cell, of these rows and of others.
    place : array of shape (n_rows,)
        Where each row is among the costs: these are large, and shared by all parts of a block of rows.
    """

    grid: Grid
    cells: IntArray
    costs: FloatArray
    place: IntArray

    @classmethod
    def of(cls, grid: Grid, start: FloatArray) -> Standing:
        """Compute the costs of all cells."""
        cells = grid.cells(start)
        costs = grid.costs(start)
        return cls(grid, cells, costs, np.arange(len(cells)))

    def take(self, rows: IntArray) -> Standing:
        """Return some of the rows."""
        return Standing(self.grid, self.cells[rows], self.costs, self.place[rows])

    def costs_at(self, row: IntArray, axis: IntArray, cell: IntArray) -> FloatArray:
        """Return the squared distance of rows to cells, on one axis each."""
        return np.asarray(self.costs[self.place[row], self.grid.first[axis] + cell])

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
        # All rows go down all trees together. Children are no nearer than their parent, so that a
        # branch ends where its box is beyond the limit.
        while row.size:
            inner = forest.feature[node] >= 0
            found.append((row[~inner], node[~inner], squared[~inner]))
            row = row[inner]
            node = node[inner]
            squared = squared[inner]
            if self.grid.marked.size:
                parts = self._children(row, node, squared)
            else:
                parts = self._ordered_children(row, node, squared)
            row, node, squared = joined_parts(parts)
            near = np.isfinite(squared) & (squared <= limit[row])
            row = row[near]
            node = node[near]
            squared = squared[near]
        row, node, squared = joined_parts(found)
        group = row * forest.n_trees + self.grid.tree[node]
        order = np.lexsort((squared, group))
        return row[order], node[order], squared[order]

    # A box is as far as its nearest cell on each axis. Going down, only the axis of the split changes: its part of
    # the squared distance is taken off, and that of the narrower box put on.
    def _children(
        self,
        row: IntArray,
        node: IntArray,
        squared: FloatArray,
    ) -> list[tuple[IntArray, IntArray, FloatArray]]:
        """Return rows, both children of nodes, and how far these are."""
        forest = self.grid.forest
        axis = forest.feature[node]
        rest = squared - self.costs_on(row, axis, node)
        left = forest.left[node]
        right = forest.right[node]
        of_left = rest + self.costs_on(row, axis, left)
        of_right = rest + self.costs_on(row, axis, right)
        return [(row, left, of_left), (row, right, of_right)]

    # Where all cells are in order, one child holds the cell of its parent that is nearest to the row, and is as far
    # as its parent. The other begins right behind the cut. That takes a third of the time.
    def _ordered_children(
        self,
        row: IntArray,
        node: IntArray,
        squared: FloatArray,
    ) -> list[tuple[IntArray, IntArray, FloatArray]]:
        """Return rows, the children of nodes that hold a cell, and how far these are; no cell is marked."""
        forest = self.grid.forest
        low, high, cut = self.grid.splits
        axis = forest.feature[node]
        here = self.cells[row, axis]
        nearest = np.clip(here, low[node], high[node])
        goes_left = nearest <= cut[node]
        child = np.where(goes_left, forest.left[node], forest.right[node])
        same = row, child, squared
        behind = np.where(goes_left, cut[node] + 1, cut[node])
        other = np.flatnonzero((low[node] <= behind) & (behind <= high[node]))
        there = squared[other]
        off = np.flatnonzero(nearest[other] != here[other])
        moved = other[off]
        there[off] -= self.costs_at(row[moved], axis[moved], nearest[moved])
        row = row[other]
        there += self.costs_at(row, axis[other], behind[other])
        child = np.where(goes_left, forest.right[node], forest.left[node])
        return [same, (row, child[other], there)]

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
        costs = self.costs_at(row, axis, nearest_on_axis)
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
        np.minimum.at(costs, which, self.costs_at(row[which], axis[which], state))
        return costs
