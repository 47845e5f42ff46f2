"""What every move along one axis does to the outputs of a forest, for all rows, axes and cells in one descent.

A row goes down each tree with at most one broken rule: wherever its path turns, a second traveller takes the other
turn and is from then on free on that axis, and on no other. The leaves that these travellers reach are the leaves
that one move reaches, and the cells that lead there are known from the path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.models.forests.cells import CellForest

_TRAVELLER_BYTES = 400
"""Memory of a row in one tree, with the travellers that leave it."""
_BLOCK_BYTES = 1 << 26


@dataclass(frozen=True)
class AxisScan:
    """The outputs of a block of rows over all cells of one axis, their other axes fixed."""

    axis: int
    outputs: FloatArray
    """Of shape (n_rows, n_cells, n_outputs)."""


def scan_blocks(n_rows: int, trees: CellForest) -> list[slice]:
    """Cut rows into blocks that `scan` handles within bounded memory."""
    n_outputs = trees.forest.n_outputs
    per_row = _TRAVELLER_BYTES * trees.forest.n_trees + 24 * int(trees.n_cells.max(initial=1)) * n_outputs
    size = max(1, _BLOCK_BYTES // per_row)
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def scan(trees: CellForest, cells: IntArray, active: BoolArray) -> Iterator[AxisScan]:
    """Yield the outputs along each active axis, for a block of rows.

    Parameters
    ----------
    trees : CellForest
        The forest.
    cells : array of shape (n_rows, n_axes)
        Where the rows stand.
    active : array of shape (n_axes,)
        Axes to scan.
    """
    forest, n_rows = trees.forest, len(cells)
    found = travel(trees, cells, active)
    own, base = found.own, forest.total(found.own)
    change = forest.factor * (forest.value[found.leaf] - forest.value[own[found.row, found.tree]])
    order = np.argsort(found.axis, kind="stable")
    ends = np.searchsorted(found.axis[order], np.arange(len(active) + 1))
    for axis in np.flatnonzero(active):
        chosen = order[ends[axis] : ends[axis + 1]]
        n_cells = int(trees.n_cells[axis])
        changes = _spread(trees, found.row[chosen], found.section[chosen], change[chosen], (n_rows, n_cells))
        changes += base[:, None, :]
        yield AxisScan(int(axis), changes)


@dataclass(frozen=True)
class Arrivals:
    """Leaves that one move reaches: the row, its tree, the axis, the leaf, and the node whose section leads there.

    ``own``, of shape (n_rows, n_trees), holds the leaves where the rows stand.
    """

    row: IntArray
    tree: IntArray
    axis: IntArray
    leaf: IntArray
    section: IntArray
    own: IntArray


Reach = Callable[[IntArray, IntArray, IntArray], BoolArray]
"""Tells whether rows may go to the sections of nodes, on the axes that these are about."""


def travel(trees: CellForest, cells: IntArray, active: BoolArray, reach: Reach | None = None) -> Arrivals:
    """Send rows down all trees, and with them a traveller for each way to break one rule.

    Parameters
    ----------
    trees : CellForest
        The forest.
    cells : array of shape (n_rows, n_axes)
        Where the rows stand.
    active : array of shape (n_axes,)
        Axes on which rules may be broken.
    reach : callable, optional
        Says of rows, axes and nodes whether a traveller goes on; without it, all do.
    """
    splits, n_trees = trees.splits, trees.forest.n_trees
    row = np.repeat(np.arange(len(cells)), n_trees)
    tree = np.tile(np.arange(n_trees), len(cells))
    node = trees.forest.roots[tree]
    free = np.full(len(row), -1)  # the axis on which a traveller has broken a rule
    section = np.full(len(row), -1)
    own = np.empty((len(cells), n_trees), dtype=np.int64)
    arrived: list[tuple[IntArray, ...]] = []
    while row.size:
        axis = splits.axis[node]
        done, follows = axis < 0, free < 0
        here = np.flatnonzero(done & ~follows)
        arrived.append((row[here], tree[here], free[here], node[here], section[here]))
        home = np.flatnonzero(done & follows)
        own[row[home], tree[home]] = node[home]
        going = np.flatnonzero(~done)
        row, tree, node, free, section, axis = (
            part[going] for part in (row, tree, node, free, section, axis)
        )
        left = trees.goes_left(node, cells[row, axis])
        near = np.where(left, splits.left[node], splits.right[node])
        again = free == axis
        stuck = cells[row, axis] == trees.missing[axis]
        turns = np.flatnonzero(again | ((free < 0) & active[axis] & ~stuck))
        far = np.where(left[turns], splits.right[node[turns]], splits.left[node[turns]])
        section = np.where(again, near, section)
        stays = np.arange(len(row))
        if reach is not None:
            able = reach(row[turns], axis[turns], far)
            turns, far = turns[able], far[able]
            narrowed = np.flatnonzero(again)
            lost = ~reach(row[narrowed], axis[narrowed], near[narrowed])
            stays = np.delete(stays, narrowed[lost])
        row, tree = (np.concatenate([part[stays], part[turns]]) for part in (row, tree))
        free = np.concatenate([free[stays], axis[turns]])
        node = np.concatenate([near[stays], far])
        section = np.concatenate([section[stays], far])
    row, tree, axis, leaf, section = (np.concatenate(columns) for columns in zip(*arrived, strict=True))
    return Arrivals(row, tree, axis, leaf, section, own)


def _spread(
    trees: CellForest, row: IntArray, section: IntArray, change: FloatArray, shape: tuple[int, int]
) -> FloatArray:
    """Add changes to all cells of their sections: at the ends of intervals first, then summed along the axis."""
    n_rows, n_cells = shape
    sections, n_outputs = trees.sections, change.shape[1]
    mask = sections.mask[section]
    if (mask >= 0).any():  # an axis of states
        arrival, cell = np.nonzero(sections.states[mask, :n_cells])
        place, amount = row[arrival] * n_cells + cell, change[arrival]
        width = n_cells
    else:
        width = n_cells + 1
        start = row * width + sections.low[section]
        stop = row * width + sections.high[section] + 1
        place, amount = np.concatenate([start, stop]), np.concatenate([change, -change])
    total = np.empty((n_rows, n_cells, n_outputs))
    for output in range(n_outputs):
        sums = np.bincount(place, weights=amount[:, output], minlength=n_rows * width).reshape(n_rows, width)
        total[:, :, output] = (sums if width == n_cells else np.cumsum(sums, axis=1))[:, :n_cells]
    return total
