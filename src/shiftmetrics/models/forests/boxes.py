"""Leaf boxes: the cells from which a tree sends rows to a leaf, and how far each row is from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, IntArray
from shiftmetrics.models.forests.axes import NumberAxis
from shiftmetrics.models.forests.grid import Grid

_BLOCK_BYTES = 1 << 25


@dataclass(frozen=True, eq=False)
class LeafBoxes:
    """The boxes of all leaves of a forest.

    Attributes
    ----------
    grid : Grid
        The forest on its axes.
    leaf : array of shape (n_leaves,)
        Its leaves, tree by tree.
    tree : array of shape (n_leaves,)
        The tree of each.
    section : array of shape (n_leaves, n_axes)
        The node whose section (see `Sections`) bounds the box on an axis; -1 where nothing does.
    """

    grid: Grid
    leaf: IntArray
    tree: IntArray
    section: IntArray

    @classmethod
    def of(cls, grid: Grid) -> Self:
        """Climb from every leaf: the first split met on an axis is the last one on the way down."""
        trees = grid.trees
        leaf = np.flatnonzero(trees.splits.axis < 0)
        section = np.full((len(leaf), len(grid.axes)), -1)
        here = leaf.copy()
        while True:
            up = trees.parent[here]
            below = np.flatnonzero(up >= 0)
            if not below.size:
                break
            axis = trees.splits.axis[up[below]]
            new = section[below, axis] < 0
            section[below[new], axis[new]] = here[below[new]]
            here[below] = up[below]
        order = np.argsort(np.searchsorted(trees.forest.roots, here), kind="stable")
        tree = np.searchsorted(trees.forest.roots, here)[order]
        return cls(grid, leaf[order], tree, section[order])

    def blocks(self, n_rows: int) -> list[slice]:
        """Cut rows into blocks of bounded memory."""
        size = max(1, _BLOCK_BYTES // (32 * len(self.leaf)))
        return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]

    def squared_distances(self, start: FloatArray) -> FloatArray:
        """Return the squared distance of each row to each box, of shape (n_rows, n_leaves); inf: it cannot go."""
        squared = np.zeros((len(start), len(self.leaf)))
        for axis, (bounded, sides, which) in zip(self.grid.axes, self._sides, strict=True):
            if isinstance(axis, NumberAxis):
                costs = axis.range_costs(start, sides[0][None, :], sides[1][None, :])
                gone = axis.is_missing(start)
                if gone.any():
                    costs[gone] = np.where(sides[2], 0.0, np.inf)
            else:
                costs = axis.set_costs(start, sides)
            squared[:, bounded] += costs[:, which]
        return squared

    @cached_property
    def _sides(self) -> list[tuple[IntArray, Array, IntArray]]:
        """For each axis the boxes that it bounds, their different ranges or sets of states, and which each has."""
        sections, sides = self.grid.trees.sections, []
        for position, axis in enumerate(self.grid.axes):
            bounded = np.flatnonzero(self.section[:, position] >= 0)
            node = self.section[bounded, position]
            if isinstance(axis, NumberAxis):
                ends = np.stack([sections.low[node], sections.high[node], sections.missing[node]])
                met, which = np.unique(ends, axis=1, return_inverse=True)
            else:
                met, which = np.unique(sections.states[sections.mask[node]], axis=0, return_inverse=True)
            sides.append((bounded, met, which.ravel()))
        return sides

    def points(self, start: FloatArray, box: IntArray) -> FloatArray:
        """Return the point of a box (a position in ``leaf``) that is nearest to each row."""
        sections, points = self.grid.trees.sections, start.copy()
        for position, axis in enumerate(self.grid.axes):
            node = self.section[box, position]
            rows = np.flatnonzero(node >= 0)
            if not rows.size:
                continue
            node, part = node[rows], points[rows]
            if isinstance(axis, NumberAxis):
                axis.put_in_range(part, start[rows], sections.low[node], sections.high[node])
            else:
                allowed = sections.states[
                    sections.mask[node], : axis.n_cells
                ]  # with the state of missing cells
                costs = np.where(allowed, axis.costs(start[rows]), np.inf)
                axis.put(part, start[rows], costs.argmin(axis=1))
            points[rows] = part
        return points
