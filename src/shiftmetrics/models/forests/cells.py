"""A forest on a grid: each axis is cut into the cells between the thresholds of all trees, and rows are cells.

Within a cell no tree changes its mind, so a row is a vector of integers, and a move is another one. An axis is a
column that moves over an interval, or a group of columns that flips from one state to another.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics.models.forests.forest import LEAF, Forest

_PAIR_BYTES = 64


@dataclass(frozen=True, eq=False)
class Splits:
    """How the nodes of a forest split the cells of their axes.

    Attributes
    ----------
    axis : array of shape (n_nodes,)
        Axis that each node splits; ``LEAF`` for leaves.
    cut : array of shape (n_nodes,)
        Cells up to this one go left, on an axis of intervals.
    table : array of shape (n_nodes,)
        Row of ``goes_left``, on an axis of states; -1 elsewhere.
    goes_left : array of shape (n_tables, n_states)
        States that go left; padded with False.
    left, right : array of shape (n_nodes,)
        Children. They are those of the forest, swapped where an axis runs the other way.
    missing_left : array of shape (n_nodes,)
        Whether the cell of missing values goes left, on an axis of intervals.
    """

    axis: IntArray
    cut: IntArray
    table: IntArray
    goes_left: BoolArray
    left: IntArray
    right: IntArray
    missing_left: BoolArray


@dataclass(frozen=True, eq=False)
class CellForest:
    """A forest whose rows are cells.

    Attributes
    ----------
    forest : Forest
        The leaf values and what becomes of their sums.
    splits : Splits
        What each node asks.
    n_cells : array of shape (n_axes,)
        Cells of each axis.
    missing : array of shape (n_axes,)
        The cell of missing values on each axis, the last one; -1 where there is none.
    """

    forest: Forest
    splits: Splits
    n_cells: IntArray
    missing: IntArray

    @cached_property
    def n_open(self) -> IntArray:
        """Cells of each axis that rows may enter."""
        return np.where(self.missing >= 0, self.missing, self.n_cells)

    def goes_left(self, node: IntArray, cell: IntArray) -> BoolArray:
        """Tell whether inner nodes send cells of their axes left."""
        left: BoolArray = cell <= self.splits.cut[node]
        if self._some_missing:
            gone = cell == self.missing[self.splits.axis[node]]
            left = np.where(gone, self.splits.missing_left[node], left)
        table = self.splits.table[node]
        by_state = table >= 0
        if by_state.any():
            left[by_state] = self.splits.goes_left[table[by_state], cell[by_state]]
        return left

    def leaves(self, cells: IntArray) -> IntArray:
        """Return the leaf of each row in each tree, of shape (n_rows, n_trees)."""
        rows = np.arange(len(cells))[:, None]
        node = np.broadcast_to(self.forest.roots, (len(cells), self.forest.n_trees)).copy()
        while True:
            axis = self.splits.axis[node]
            inner = axis >= 0
            if not inner.any():
                return node
            left = self.goes_left(node, cells[rows, np.maximum(axis, 0)])
            below = np.where(left, self.splits.left[node], self.splits.right[node])
            node = np.where(inner, below, node)

    def outputs(self, cells: IntArray) -> FloatArray:
        """Return the sums of each row, of shape (n_rows, n_outputs)."""
        outputs = np.empty((len(cells), self.forest.n_outputs))
        for rows in row_blocks(len(cells), _PAIR_BYTES * self.forest.n_trees):
            outputs[rows] = self.forest.total(self.leaves(cells[rows]))
        return outputs

    @cached_property
    def _some_missing(self) -> bool:
        return bool((self.missing >= 0).any())

    @cached_property
    def parent(self) -> IntArray:
        """The parent of each node; ``LEAF`` for roots."""
        parent = np.full(len(self.splits.axis), LEAF)
        inner = np.flatnonzero(self.splits.axis >= 0)
        parent[self.splits.left[inner]] = inner
        parent[self.splits.right[inner]] = inner
        return parent

    @cached_property
    def sections(self) -> Sections:
        """Where each node lies on the axis that its parent splits."""
        return Sections.of(self)


@dataclass(frozen=True, eq=False)
class Sections:
    """The cells of one axis that lead to a node, for the axis that its parent splits.

    Attributes
    ----------
    low, high : array of shape (n_nodes,)
        First and last cell, on an axis of intervals.
    missing : array of shape (n_nodes,)
        Whether the cell of missing values leads there, on an axis of intervals.
    mask : array of shape (n_nodes,)
        Row of ``states``, on an axis of states; -1 elsewhere.
    states : array of shape (n_masks, n_states)
        The states that lead there.
    """

    low: IntArray
    high: IntArray
    missing: BoolArray
    mask: IntArray
    states: BoolArray

    @classmethod
    def of(cls, trees: CellForest) -> Sections:
        """Climb from every node to its root, and narrow the axis at each split on the way."""
        splits, parent = trees.splits, trees.parent
        n_nodes = len(splits.axis)
        above = np.maximum(parent, 0)
        own_axis = np.where(parent >= 0, splits.axis[above], LEAF)
        low = np.zeros(n_nodes, dtype=np.int64)
        high = np.where(own_axis >= 0, trees.n_open[np.maximum(own_axis, 0)] - 1, -1)
        missing = np.ones(n_nodes, dtype=np.bool_)
        by_state = np.flatnonzero((parent >= 0) & (splits.table[above] >= 0))
        mask = np.full(n_nodes, -1)
        mask[by_state] = np.arange(len(by_state))
        width = splits.goes_left.shape[1]
        states = np.arange(width) < trees.n_cells[own_axis[by_state]][:, None]
        node = np.arange(n_nodes)  # the step above each node, on its way up
        alive = np.flatnonzero(parent >= 0)
        while alive.size:
            here = node[alive]
            up = parent[here]
            same = splits.axis[up] == own_axis[alive]
            is_left = splits.left[up] == here
            who, split, side = alive[same], up[same], is_left[same]
            table = splits.table[split]
            interval = table < 0
            below, over = who[interval & side], who[interval & ~side]
            high[below] = np.minimum(high[below], splits.cut[split[interval & side]])
            low[over] = np.maximum(low[over], splits.cut[split[interval & ~side]] + 1)
            missing[who[interval & (splits.missing_left[split] != side)]] = False
            flips = ~interval
            if flips.any():
                allowed = splits.goes_left[table[flips]] == side[flips][:, None]
                states[mask[who[flips]]] &= allowed
            node[alive] = up
            alive = alive[parent[up] >= 0]
        low = np.minimum(low, high + 1)  # where missing values alone lead there, no cell does
        return cls(low, high, missing, mask, states)
