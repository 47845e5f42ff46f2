"""A forest on the cells of its axes: rows are vectors of cells, and leaves are boxes of cells.

A leaf is reached by the rows inside its box. A row that is outside of the box on one axis alone reaches the leaf by a
move along that axis: this gives the outputs at every cell of every axis at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics.models.domain import Domain
from shiftmetrics.models.forests.axes import Axis, CellSets, NumberAxis, StateAxis
from shiftmetrics.models.forests.forest import LEAF, Forest

BLOCK_BYTES = 1 << 27


@dataclass(frozen=True, eq=False)
class Boxes:
    """The boxes of cells that lead to leaves.

    Attributes
    ----------
    leaf : array of shape (n_leaves,)
        The leaves that rows can reach, tree by tree.
    tree : array of shape (n_leaves,)
        The tree of each.
    low, high : array of shape (n_leaves, n_axes)
        First and last cell on each axis of numbers.
    missing : array of shape (n_leaves, n_axes)
        Whether the cell of missing values leads there.
    states : dict of int to array of shape (n_leaves, n_cells)
        The states that lead there, on each axis of states.
    """

    leaf: IntArray
    tree: IntArray
    low: IntArray
    high: IntArray
    missing: BoolArray
    states: dict[int, BoolArray]

    @classmethod
    def of(
        cls,
        axes: Sequence[Axis],
        forest: Forest,
        *,
        axis: IntArray,
        cut: IntArray,
        missing_left: BoolArray,
        goes_left: Mapping[int, Any],
    ) -> Boxes:
        """Climb from every leaf to its root, and narrow the box at each split on the way.

        Parameters
        ----------
        axes : sequence of Axis
            All axes.
        forest : Forest
            The trees, whose children are swapped where an axis runs the other way.
        axis : array of shape (n_nodes,)
            Axis that each node splits; ``LEAF`` where none does.
        cut : array of shape (n_nodes,)
            Cells up to this one go left, on an axis of numbers.
        missing_left : array of shape (n_nodes,)
            Whether the cell of missing values goes left, on an axis of numbers.
        goes_left : dict of int to bool array, or to bool
            For each node on an axis of states: whether each state goes left; for each node that splits what nothing
            moves: whether all rows do.
        """
        n_nodes = len(forest.feature)
        inner = np.flatnonzero(forest.feature >= 0)
        parent, is_left = np.full(n_nodes, LEAF), np.zeros(n_nodes, dtype=bool)
        parent[forest.left[inner]] = parent[forest.right[inner]] = inner
        is_left[forest.left[inner]] = True
        number = np.array([isinstance(axis, NumberAxis) for axis in axes])
        by_state = [position for position in range(len(axes)) if not number[position]]
        leaf = np.flatnonzero(forest.feature < 0)
        shape = (len(leaf), len(axes))
        low = np.zeros(shape, dtype=np.int64)
        high = np.broadcast_to(
            np.array([axis.n_open - 1 for axis in axes], dtype=np.int64), shape
        ).copy()
        missing, reached = np.ones(shape, dtype=bool), np.ones(len(leaf), dtype=bool)
        states = {
            position: np.ones((len(leaf), axes[position].n_cells), dtype=bool)
            for position in by_state
        }
        here = leaf.copy()
        while (parent[here] >= 0).any():
            row = np.flatnonzero(parent[here] >= 0)
            node, side = parent[here[row]], is_left[here[row]]
            split = axis[node]
            on_number = (split >= 0) & number[split]
            below, above = on_number & side, on_number & ~side
            at = row[below], split[below]
            high[at] = np.minimum(high[at], cut[node[below]])
            at = row[above], split[above]
            low[at] = np.maximum(low[at], cut[node[above]] + 1)
            at = row[on_number], split[on_number]
            missing[at] &= (missing_left[node] == side)[on_number]
            for place in np.flatnonzero(~on_number).tolist():
                kept = goes_left[int(node[place])] == side[place]
                if split[place] < 0:
                    reached[row[place]] &= kept
                else:
                    states[int(split[place])][row[place]] &= kept
            here[row] = node
        low = np.minimum(
            low, high + 1
        )  # where only missing values lead to a leaf, no other cell does
        tree = np.searchsorted(forest.roots, here)
        order = np.argsort(tree, kind="stable")
        order = order[reached[order]]
        states = {position: held[order] for position, held in states.items()}
        return cls(leaf[order], tree[order], low[order], high[order], missing[order], states)


@dataclass(frozen=True, eq=False)
class Grid:
    """Axes, and the forest with its boxes on their cells."""

    axes: tuple[Axis, ...]
    forest: Forest
    boxes: Boxes

    @property
    def active(self) -> IntArray:
        """Positions of the axes along which a move may change an output."""
        return np.array(
            [k for k, axis in enumerate(self.axes) if axis.movable and axis.n_open > 1], dtype=int
        )

    @property
    def n_cells(self) -> IntArray:
        """Cells of each axis."""
        return np.array([axis.n_cells for axis in self.axes])

    def cells(self, points: FloatArray) -> IntArray:
        """Return the cells of each point, of shape (n_points, n_axes)."""
        return np.stack([axis.cells(points) for axis in self.axes], axis=1)

    def points(self, start: FloatArray, cells: IntArray) -> FloatArray:
        """Return the nearest place of each row in its cells."""
        points = start.copy()
        here = self.cells(start)
        for position, axis in enumerate(self.axes):
            moved = np.flatnonzero(cells[:, position] != here[:, position])
            if moved.size:
                part = points[moved]
                axis.put(part, start[moved], cells[moved, position])
                points[moved] = part
        return points

    def axes_of(self, columns: Sequence[int]) -> IntArray:
        """Return the positions of the axes that these columns belong to."""
        wanted = set(columns)
        return np.array(
            [k for k, axis in enumerate(self.axes) if wanted & set(axis.columns.tolist())]
        )

    def within(self, domain: Domain) -> Grid:
        """Return the same grid for a domain that differs in what may move."""
        able = {tuple(flip.columns.tolist()) for flip in domain.mutable_flips}
        axes = tuple(
            replace(axis, movable=tuple(axis.columns.tolist()) in able)
            if isinstance(axis, StateAxis)
            else replace(axis, movable=bool(domain.mutable[axis.column]), domain=domain)
            for axis in self.axes
        )
        return replace(self, axes=axes)

    @cached_property
    def sides(self) -> list[tuple[IntArray, CellSets, IntArray]]:
        """For each axis the leaves that it bounds, their different sets of cells, and the set of each leaf."""
        sides, boxes = [], self.boxes
        for position, axis in enumerate(self.axes):
            if isinstance(axis, StateAxis):
                states = boxes.states[position]
                bounded = np.flatnonzero(~states.all(axis=1))
                states, first, which = np.unique(
                    states[bounded], axis=0, return_index=True, return_inverse=True
                )
            else:
                low, high = boxes.low[:, position].astype(np.int64), boxes.high[:, position]
                missing = boxes.missing[:, position] & axis.some_missing
                free = (low == 0) & (high == axis.n_open - 1) & (missing | (not axis.some_missing))
                bounded, states = np.flatnonzero(~free), None
                key = (low * (axis.n_open + 1) + high + 1) * 2 + missing
                _, first, which = np.unique(key[bounded], return_index=True, return_inverse=True)
            some = bounded[first]
            sets = CellSets(
                boxes.low[some, position],
                boxes.high[some, position],
                boxes.missing[some, position],
                states,
            )
            sides.append((bounded, sets, which.ravel()))
        return sides

    def violations(self, cells: IntArray) -> IntArray:
        """Return how rows are outside of the boxes, of shape (n_leaves, n_rows).

        The lowest 8 bits count the axes on which they are outside; the others hold the sum of these axes, so the
        axis itself where it is one.
        """
        kind = np.int32 if len(self.axes) < 1 << 15 else np.int64
        code = np.zeros((len(self.boxes.leaf), len(cells)), dtype=kind)
        for position, (axis, (bounded, sets, which)) in enumerate(
            zip(self.axes, self.sides, strict=True)
        ):
            outside = ~axis.contains(sets, cells[:, position])
            code[bounded] += (outside * kind((position << 8) + 1))[which]
        return code

    def leaves(self, cells: IntArray) -> IntArray:
        """Return the leaf of each row in each tree, of shape (n_rows, n_trees)."""
        leaves = np.empty((len(cells), self.forest.n_trees), dtype=np.int64)
        for rows in self.row_blocks(len(cells)):
            leaves[rows] = self._leaves_inside(self.violations(cells[rows]))
        return leaves

    def _leaves_inside(self, code: IntArray) -> IntArray:
        position, row = np.nonzero(code == 0)
        leaves = np.empty((code.shape[1], self.forest.n_trees), dtype=np.int64)
        leaves[row, self.boxes.tree[position]] = self.boxes.leaf[position]
        return leaves

    def outputs(self, cells: IntArray) -> FloatArray:
        """Return the sums of each row, of shape (n_rows, n_outputs)."""
        return self.forest.total(self.leaves(cells))

    def row_blocks(self, n_rows: int, row_bytes: int = 0) -> list[slice]:
        """Cut rows into blocks whose boxes, with ``row_bytes`` more for each row, take bounded memory."""
        return row_blocks(n_rows, 12 * len(self.boxes.leaf) + row_bytes, block_bytes=BLOCK_BYTES)

    def along(self, cells: IntArray, axes: IntArray) -> Iterator[FloatArray]:
        """Yield the outputs of rows at every cell of an axis, all their other cells as they are.

        Parameters
        ----------
        cells : array of shape (n_rows, n_axes)
            Where the rows stand.
        axes : array
            Positions of axes.

        Yields
        ------
        array of shape (n_rows, n_cells, n_outputs)
            For each axis. A row whose value is missing has its present output at the cell of missing values;
            its other outputs have no meaning.
        """
        boxes, forest, n_rows = self.boxes, self.forest, len(cells)
        code = self.violations(cells)
        leaves = self._leaves_inside(code)
        base = forest.total(leaves)
        position, row = np.nonzero((code & 255) == 1)
        axis_of = code[position, row] >> 8
        values = forest.factor * forest.value
        changes = values[boxes.leaf[position]] - values[leaves[row, boxes.tree[position]]]
        order = np.argsort(axis_of, kind="stable")
        ends = np.searchsorted(axis_of[order], np.arange(len(self.axes) + 1))
        for axis in axes.tolist():
            reached = order[ends[axis] : ends[axis + 1]]
            box, rows, change, n_cells = (
                position[reached],
                row[reached],
                changes[reached],
                self.axes[axis].n_cells,
            )
            if axis in boxes.states:  # each state is a range of one cell
                arrival, start = np.nonzero(boxes.states[axis][box])
                stop, rows, change = start + 1, rows[arrival], change[arrival]
            else:
                start, stop = boxes.low[box, axis], boxes.high[box, axis] + 1
            first = rows * (n_cells + 1)  # one cell more, for changes that end behind the last
            place = np.append(first + start, first + stop)
            outputs = np.empty((n_rows, n_cells, forest.n_outputs))
            for number, amount in enumerate(change.T):
                sums = np.bincount(place, np.append(amount, -amount), n_rows * (n_cells + 1))
                steps = sums.reshape(n_rows, -1)[:, :n_cells]
                outputs[:, :, number] = base[:, None, number] + np.cumsum(steps, axis=1)
            yield outputs

    def squared_distances(self, start: FloatArray) -> FloatArray:
        """Return the squared distance of each row to each box, of shape (n_rows, n_leaves); inf: out of reach."""
        squared = np.zeros((len(start), len(self.boxes.leaf)))
        for axis, (bounded, sets, which) in zip(self.axes, self.sides, strict=True):
            squared[:, bounded] += axis.set_costs(start, sets)[:, which]
        return squared

    def nearest_in_box(self, start: FloatArray, box: IntArray) -> FloatArray:
        """Return the point of a box (a position in ``boxes.leaf``) that is nearest to each row."""
        boxes, cells = self.boxes, self.cells(start)
        for position, axis in enumerate(self.axes):
            number = np.arange(axis.n_cells)
            if isinstance(axis, StateAxis):
                inside = boxes.states[position][box]
            else:
                low, high = boxes.low[box, position, None], boxes.high[box, position, None]
                inside = (low <= number) & (number <= high)
                inside |= boxes.missing[box, position, None] & (number == axis.n_open)
            cells[:, position] = np.where(inside, axis.costs(start), np.inf).argmin(axis=1)
        return self.points(start, cells)
