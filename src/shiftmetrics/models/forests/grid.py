"""A forest on the cells of its axes: rows are vectors of cells, and nodes are boxes of cells.

Rows walk down all trees together. At each split a row keeps its own side, and the other one too where a move that is
short enough, or a move along a single axis, leads there. So a row meets the few leaves that it can reach.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics.models.domain.domain import Domain
from shiftmetrics.models.forests.axes import Axis, StateAxis
from shiftmetrics.models.forests.forest import Forest

BLOCK_BYTES = 1 << 27
_VISIT_BYTES = 400  # of a row in a tree, while it walks down
_LAST = 1 << 30  # beyond every cell


@dataclass(frozen=True, eq=False)
class Boxes:
    """The box of cells that leads to each node.

    Attributes
    ----------
    low, high : array of shape (n_nodes, n_axes)
        First and last cell on each axis of numbers.
    marks : array of shape (n_nodes, n_marked)
        Whether each marked cell leads to each node; see `Grid.marked`.
    """

    low: npt.NDArray[np.int32]
    high: npt.NDArray[np.int32]
    marks: BoolArray


@dataclass(frozen=True, eq=False)
class Grid:
    """Axes, and a forest whose inputs are the cells on them.

    Attributes
    ----------
    axes : tuple of Axis
        The axes.
    forest : Forest
        Its column k is axis k, and its threshold the last cell that goes left; the cell of missing values is NaN.
    """

    axes: tuple[Axis, ...]
    forest: Forest

    # The cells. Those of all axes stand side by side, and are numbered so.

    @property
    def active(self) -> IntArray:
        """Positions of the axes along which a change may alter an output."""
        may_change = np.array([axis.may_change for axis in self.axes])
        return np.flatnonzero(may_change & (self.n_open > 1))

    @cached_property
    def n_cells(self) -> IntArray:
        """Cells of each axis."""
        return np.array([axis.n_cells for axis in self.axes])

    @cached_property
    def first(self) -> IntArray:
        """Number of the first cell of each axis among those of all axes."""
        return np.cumsum(self.n_cells) - self.n_cells

    @cached_property
    def n_open(self) -> IntArray:
        """Cells of each axis that rows may enter."""
        return np.array([axis.n_open for axis in self.axes])

    @cached_property
    def by_state(self) -> BoolArray:
        """Which axes are those of states."""
        return np.array([axis.by_state for axis in self.axes])

    @cached_property
    def axis_of_cell(self) -> IntArray:
        """The axis of each cell."""
        return np.repeat(np.arange(len(self.axes)), self.n_cells)

    @cached_property
    def marked(self) -> IntArray:
        """The cells that are in no order: states, and missing values."""
        axis = self.axis_of_cell
        cell_on_axis = np.arange(len(axis)) - self.first[axis]
        is_missing = cell_on_axis >= self.n_open[axis]
        return np.flatnonzero(is_missing | self.by_state[axis])

    @cached_property
    def _mark_of_cell(self) -> IntArray:
        """The position of each cell among the marked ones, -1 for the others."""
        mark = np.full(len(self.axis_of_cell), -1)
        mark[self.marked] = np.arange(len(self.marked))
        return mark

    def cells(self, points: FloatArray) -> IntArray:
        """Return the cells of each point, of shape (n_points, n_axes)."""
        cells = [axis.cells(points) for axis in self.axes]
        return np.stack(cells, axis=1)

    def costs(self, start: FloatArray) -> FloatArray:
        """Return the squared distance of each row to each cell of each axis, those of an axis side by side."""
        costs = [axis.costs(start) for axis in self.axes]
        return np.concatenate(costs, axis=1)

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
        held = [np.isin(axis.columns, columns).any() for axis in self.axes]
        return np.flatnonzero(held)

    def within(self, domain: Domain) -> Grid:
        """Return the same grid for a domain that differs in what may change."""
        able = {tuple(flip.columns.tolist()) for flip in domain.mutable_flips}
        axes: list[Axis] = []
        for axis in self.axes:
            if isinstance(axis, StateAxis):
                may_change = tuple(axis.columns.tolist()) in able
                axes.append(replace(axis, may_change=may_change))
            else:
                may_change = bool(domain.mutable[axis.column])
                axes.append(replace(axis, may_change=may_change, domain=domain))
        return replace(self, axes=tuple(axes))

    # The boxes.

    @cached_property
    def tree(self) -> IntArray:
        """The tree of each node."""
        nodes = np.arange(len(self.forest.feature))
        ends = np.searchsorted(self.forest.roots, nodes, side="right")
        # Nodes above the first root are passed over, and are of no tree.
        return np.asarray(np.maximum(ends - 1, 0))

    @cached_property
    def boxes(self) -> Boxes:
        """The box of each node: level by level from the roots, that of its parent, narrowed by the split."""
        forest = self.forest
        n_nodes = len(forest.feature)
        last = self.n_open.astype(np.int32) - 1
        low = np.zeros((n_nodes, len(self.axes)), dtype=np.int32)
        high = np.tile(last, (n_nodes, 1))
        marks = np.ones((n_nodes, len(self.marked)), dtype=np.bool_)
        # As the forest takes marked cells: states by their number, missing values as NaN.
        marked_axis = self.axis_of_cell[self.marked]
        number = self.marked - self.first[marked_axis]
        marked_value = np.where(self.by_state[marked_axis], number, np.nan)
        level = forest.roots
        while level.size:
            node = level[forest.feature[level] >= 0]
            axis = forest.feature[node]
            cut = np.clip(forest.threshold[node], -1, _LAST)
            cut = cut.astype(np.int32)
            left = forest.left[node]
            right = forest.right[node]
            for child, is_left in ((left, True), (right, False)):
                low[child] = low[node]
                high[child] = high[node]
                marks[child] = marks[node]
                if is_left:
                    high[child, axis] = np.minimum(high[node, axis], cut)
                else:
                    low[child, axis] = np.maximum(low[node, axis], cut + 1)
                for mark, value in enumerate(marked_value):
                    here = np.flatnonzero(axis == marked_axis[mark])
                    values = np.full(len(here), value)
                    goes_left = forest.goes_left(node[here], values)
                    marks[child[here], mark] &= goes_left == is_left
            level = np.concatenate([left, right])
        # States are in no order: their ends say nothing.
        low[:, self.by_state] = 0
        high[:, self.by_state] = last[self.by_state]
        # Where only missing values lead to a node, no other cell does.
        return Boxes(np.minimum(low, high + 1), high, marks)

    @cached_property
    def splits(self) -> tuple[IntArray, IntArray, IntArray]:
        """First and last cell of the box of each node on the axis of its split, and the last that goes left."""
        forest = self.forest
        nodes = np.arange(len(forest.feature))
        axis = np.maximum(forest.feature, 0)
        low = self.boxes.low[nodes, axis].astype(np.int64)
        high = self.boxes.high[nodes, axis].astype(np.int64)
        cut = np.where(forest.feature >= 0, np.clip(forest.threshold, -1, _LAST), 0)
        return low, high, cut.astype(np.int64)

    @cached_property
    def _bounds(self) -> tuple[IntArray, IntArray]:
        """For each node the axes that bound its box, one node after another, and where those of each node end."""
        boxes = self.boxes
        last = self.n_open - 1
        bounded = (boxes.low > 0) | (boxes.high < last)
        for mark, axis in enumerate(self.axis_of_cell[self.marked]):
            if self.by_state[axis]:
                bounded[:, axis] |= ~boxes.marks[:, mark]
        _, axes = np.nonzero(bounded)
        n_bounds = bounded.sum(axis=1)
        return axes, np.cumsum(n_bounds)

    def bounds_of(self, leaf: IntArray) -> tuple[IntArray, IntArray]:
        """Return the bounds of boxes, one box after another: which box, and the axis that bounds it."""
        axes, ends = self._bounds
        starts = np.append(0, ends)
        box, place = spread(starts[leaf], ends[leaf])
        return box, axes[place]

    def contains(
        self,
        leaf: IntArray,
        axis: Any,
        cell: IntArray,
    ) -> BoolArray:
        """Return whether the boxes of leaves contain cells, on one axis each."""
        boxes = self.boxes
        leaf, axis, cell = np.broadcast_arrays(leaf, axis, cell)
        above = boxes.low[leaf, axis] <= cell
        inside: BoolArray = above & (cell <= boxes.high[leaf, axis])
        if self.marked.size:
            mark = self._mark_of_cell[self.first[axis] + cell]
            some = mark >= 0
            inside[some] = boxes.marks[leaf[some], mark[some]]
        return inside

    def ranges(self, leaf: IntArray, axis: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return the cells that lead to leaves, on one axis each, as ranges: which leaf, the first cell, the end."""
        boxes = self.boxes
        which = np.flatnonzero(~self.by_state[axis])
        place = leaf[which], axis[which]
        start = boxes.low[place].astype(np.int64)
        stop = boxes.high[place].astype(np.int64) + 1
        states = np.flatnonzero(self.by_state[axis])
        if not states.size:
            return which, start, stop
        # Each state is a range of one cell.
        marked_axis = self.axis_of_cell[self.marked]
        on_axis = marked_axis == axis[states, None]
        box, mark = np.nonzero(boxes.marks[leaf[states]] & on_axis)
        state = self.marked[mark] - self.first[marked_axis[mark]]
        which = np.concatenate([which, states[box]])
        start = np.concatenate([start, state])
        stop = np.concatenate([stop, state + 1])
        return which, start, stop

    def nearest_in_box(self, start: FloatArray, leaf: IntArray) -> IntArray:
        """Return the cells of the box of a leaf that are nearest to each row."""
        cells = self.cells(start)
        for position, axis in enumerate(self.axes):
            number = np.arange(axis.n_cells)
            inside = self.contains(leaf[:, None], position, number)
            costs = axis.costs(start)
            costs = np.where(inside, costs, np.inf)
            cells[:, position] = costs.argmin(axis=1)
        return cells

    # The outputs.

    def inputs(self, cells: IntArray) -> FloatArray:
        """Return cells as the forest takes them: numbers, with NaN for missing values."""
        inputs = cells.astype(np.float64)
        for position, axis in enumerate(self.axes):
            if axis.some_missing and not axis.by_state:
                missing = cells[:, position] == axis.n_open
                inputs[missing, position] = np.nan
        return inputs

    def leaves(self, cells: IntArray) -> IntArray:
        """Return the leaf of each row in each tree, of shape (n_rows, n_trees)."""
        return self.forest.leaves(self.inputs(cells))

    def outputs(self, cells: IntArray) -> FloatArray:
        """Return the sums of each row, of shape (n_rows, n_outputs)."""
        outputs = np.empty((len(cells), self.forest.n_outputs))
        for rows in self.row_blocks(len(cells)):
            leaves = self.leaves(cells[rows])
            outputs[rows] = self.forest.total(leaves)
        return outputs

    def row_blocks(self, n_rows: int, row_bytes: int = 0) -> list[slice]:
        """Cut rows into blocks that walk down in bounded memory, with ``row_bytes`` more for each row."""
        row_bytes += _VISIT_BYTES * self.forest.n_trees
        return row_blocks(n_rows, row_bytes, block_bytes=BLOCK_BYTES)

    # The leaf boxes that a row enters by a move along one axis give its outputs at every cell of every axis at once:
    # each adds the difference to the present leaf of its tree over a range of cells. Differences are summed where
    # ranges begin and end, and running sums over the cells are the outputs.
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
        forest = self.forest
        n_rows = len(cells)
        present = self.leaves(cells)
        sums = forest.value[present].sum(axis=1)
        row, leaf, axis_of = self._entered(cells, axes)
        before = present[row, self.tree[leaf]]
        changes = forest.value[leaf] - forest.value[before]
        order = np.argsort(axis_of, kind="stable")
        positions = np.arange(len(self.axes) + 1)
        ends = np.searchsorted(axis_of[order], positions)
        for axis in axes.tolist():
            here = order[ends[axis] : ends[axis + 1]]
            box, start, stop = self.ranges(leaf[here], axis_of[here])
            # One cell more, for changes that end behind the last one.
            width = self.axes[axis].n_cells + 1
            first = row[here][box] * width
            place = np.concatenate([first + start, first + stop])
            totals = np.empty((n_rows, width, forest.n_outputs))
            for output, amount in enumerate(changes[here][box].T):
                amounts = np.concatenate([amount, -amount])
                steps = np.bincount(place, amounts, n_rows * width)
                totals[:, :, output] = np.cumsum(steps).reshape(n_rows, width)
            at_cells = totals[:, :-1] + sums[:, None]
            yield forest.base + forest.factor * at_cells

    def _entered(self, cells: IntArray, axes: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return the leaves that rows enter by a move along one of these axes: rows, leaves and axes."""
        forest = self.forest
        x = self.inputs(cells)
        able = np.zeros(len(self.axes), dtype=np.bool_)
        able[axes] = True
        row = np.repeat(np.arange(len(cells)), forest.n_trees)
        node = np.tile(forest.roots, len(cells))
        moved = np.full(len(row), -1)  # the axis of the move so far
        found = []
        while row.size:
            inner = forest.feature[node] >= 0
            ends = ~inner & (moved >= 0)
            found.append((row[ends], node[ends], moved[ends]))
            row = row[inner]
            node = node[inner]
            moved = moved[inner]
            axis = forest.feature[node]
            number = x[row, axis]
            goes_left = forest.goes_left(node, number)
            left = forest.left[node]
            right = forest.right[node]
            own = np.where(goes_left, left, right)
            other = np.where(goes_left, right, left)
            # Along the axis of a move both sides are open; a missing value does not change.
            begins = (moved < 0) & able[axis] & ~np.isnan(number)
            crossing = (moved == axis) | begins
            row = np.concatenate([row, row[crossing]])
            node = np.concatenate([own, other[crossing]])
            moved = np.concatenate([moved, axis[crossing]])
        rows, leaves, along = joined_parts(found)
        return rows, leaves, along


def joined_parts(parts: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Put tuples of arrays together, each one after another."""
    columns = zip(*parts, strict=True)
    return tuple(np.concatenate(column) for column in columns)


def spread(begin: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
    """Return the numbers in ranges, one range after another, and which range each is of."""
    sizes = end - begin
    which = np.repeat(np.arange(len(sizes)), sizes)
    n_before = np.cumsum(sizes) - sizes
    offset = begin - n_before
    numbers = np.arange(len(which)) + offset[which]
    return which, numbers
