"""Certified lower bounds for sums of trees: the losses, and the distances of errors, that no point can exceed.

Within a given distance each tree reaches the best of the leaf boxes that are so near, and no point is worse than the
sum of these. Near a row only a few leaves of each tree can be reached: there, trees are put together one after
another. Most combinations of their boxes do not meet, are too far, or leave a margin that the other trees cannot
take back at their best; if none is left, no error is nearer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import Array, BoolArray, FloatArray, IntArray
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics.models.forests.axes import NumberAxis
from shiftmetrics.models.forests.grid import Grid
from shiftmetrics.models.model import LossName, ModelProblem
from shiftmetrics.stability.losses import CandidateLoss

_MOST_PAIRS = 60_000_000  # rows times leaves beyond which the bound is not worth its time
_STEPS = 48
_QUERIES = 500  # the number of queries to which the next limits belong; more of them raise these
_MOST_JOINT = 4_000  # pairs of boxes beyond which a shorter distance is tried
_MOST_LEAVES = 6  # leaves within reach, for each tree, at the first distance that is tried
_SHRINK = 0.7  # factor from one squared distance to the next
_MOST_TRIALS = 4
_MOST_MEETINGS = (
    4_000_000  # pairs with boxes of all trees left, beyond which a shorter distance is tried
)
_BLOCK_BYTES = 1 << 26
_NEAR = (
    0.25  # share of the rows, the nearest to an error, that get a sharper bound: these move first
)


def lower_loss(problem: ModelProblem, grid: Grid) -> CandidateLoss | None:
    """Return a certified lower loss, a staircase whose column 0 is the row itself; None where it takes too long."""
    n_rows, n_leaves = problem.n_samples, len(grid.boxes.leaf)
    if n_leaves * n_rows > _MOST_PAIRS:
        return None
    squared, losses = np.full((n_rows, _STEPS + 1), np.inf), np.zeros((n_rows, _STEPS + 1))
    width = 0
    for rows in grid.row_blocks(n_rows, (60 + 16 * grid.forest.n_outputs) * n_leaves):
        near, high = _bounds_of_block(grid, problem.codes[rows], problem.y[rows], problem.loss)
        squared[rows, : near.shape[1]], losses[rows, : near.shape[1]] = near, high
        width = max(width, near.shape[1])
    return CandidateLoss(losses[:, :width], np.sqrt(squared[:, :width]), kind="lower_bound")


def _bounds_of_block(
    grid: Grid, start: FloatArray, y: Array, loss: LossName
) -> tuple[FloatArray, FloatArray]:
    forest, tree = grid.forest, grid.boxes.tree
    squared = grid.squared_distances(start)
    # Sort leaves by distance within each tree, then keep those that improve on the nearer ones.
    within = np.lexsort((squared, np.broadcast_to(tree, squared.shape)), axis=1)
    near = np.take_along_axis(squared, within, axis=1)
    first = np.flatnonzero(np.diff(tree, prepend=-1))
    order = np.argsort(near, axis=1, kind="stable")
    ordered = np.take_along_axis(near, order, axis=1)

    def highest(values: FloatArray) -> FloatArray:
        """Return the highest sum of leaf values of shape (n_rows, n_leaves) within each distance."""
        best = np.where(np.isfinite(near), np.take_along_axis(values, within, axis=1), -np.inf)
        for part in np.split(best, first[1:], axis=1):
            np.maximum.accumulate(part, axis=1, out=part)
        gain = np.diff(best, axis=1, prepend=0.0)
        gain[:, first] = best[:, first]
        return np.asarray(np.cumsum(np.take_along_axis(gain, order, axis=1), axis=1))

    values = forest.factor * forest.value[grid.boxes.leaf].T
    rounding = forest.tolerance
    if loss == "squared":
        number = np.broadcast_to(values[0], squared.shape)
        ends = [
            forest.base[0] + rounding + highest(number),
            forest.base[0] - rounding - highest(-number),
        ]
        residuals = [forest.predictions(end[..., None]) - y[:, None] for end in ends]
        losses = np.maximum(residuals[0] ** 2, residuals[1] ** 2)
    elif loss == "log_loss" and forest.link == "probability":
        least = -highest(-values[y]) - rounding
        losses = -np.log(np.clip(least, forest.clip, 1.0))
    else:
        ahead = np.full(
            (forest.n_outputs, *squared.shape), -np.inf
        )  # how far each rival may get ahead
        for rival in range(forest.n_outputs):
            rows = np.flatnonzero(y != rival)
            lead = (
                highest(values[rival] - values[y]) + (forest.base[rival] - forest.base[y])[:, None]
            )
            ahead[rival, rows] = lead[rows] + rounding
        if loss == "log_loss":
            losses = np.logaddexp(0.0, np.logaddexp.reduce(forest.slope * ahead, axis=0))
        else:
            margin = -ahead.max(axis=0)
            losses = (
                np.maximum(1.0 - margin, 0.0)
                if loss == "hinge"
                else (margin <= 0.0).astype(np.float64)
            )
    # Until every tree is counted (each row is in a box of each), the sums are not sums yet.
    last = forest.n_trees - 1
    ordered, losses = ordered[:, last:], losses[:, last:]
    losses = np.where(np.isfinite(ordered), losses, -np.inf)
    ordered[:, 0] = 0.0
    return _staircase(ordered, losses)


def _staircase(squared: FloatArray, losses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Thin running maxima to a few steps, each as high as the end of it."""
    height = np.maximum.accumulate(losses, axis=1)
    place = np.pad(np.cumsum(height[:, 1:] > height[:, :-1], axis=1), ((0, 0), (1, 0)))
    last = place[:, -1:]
    # The row itself is a separate step; the others share the rest.
    coarse = np.where(
        place == 0, 0, 1 + (np.maximum(place - 1, 0) * (_STEPS - 1)) // np.maximum(last, _STEPS - 1)
    )
    width = int(coarse.max()) + 1
    near, high = np.full((len(squared), width), np.inf), np.zeros((len(squared), width))
    row = np.repeat(np.arange(len(squared)), squared.shape[1])
    np.minimum.at(near, (row, coarse.ravel()), squared.ravel())
    np.maximum.at(high, (row, coarse.ravel()), np.where(np.isfinite(height), height, 0.0).ravel())
    return near, high


@dataclass(frozen=True)
class _Joint:
    """Boxes of some trees together: their cells, the least cost on each axis, and the margins over each rival."""

    low: IntArray
    high: IntArray
    costs: FloatArray
    margins: FloatArray

    def take(self, which: Array) -> _Joint:
        """Return some of the boxes."""
        return _Joint(self.low[which], self.high[which], self.costs[which], self.margins[which])

    def with_tree(self, other: _Joint, squared: float, rest: FloatArray) -> _Joint:
        """Return the boxes in both that are near enough and whose margins the rest of the trees may still take."""
        margins = self.margins[:, None] + other.margins[None]
        first, second = np.nonzero((margins <= -rest).any(axis=2))
        low = np.maximum(self.low[first], other.low[second])
        high = np.minimum(self.high[first], other.high[second])
        costs = np.maximum(self.costs[first], other.costs[second])
        met = np.flatnonzero((low <= high).all(axis=1) & (costs.sum(axis=1) < squared))
        return _Joint(low[met], high[met], costs[met], margins[first[met], second[met]])

    def able(self, others: _Joint, first: IntArray, base: FloatArray) -> _Joint:
        """Return the boxes whose margins the boxes of other trees that meet them may still take."""
        kept = []
        for rows in row_blocks(len(self.low), 16 * len(others.low), block_bytes=_BLOCK_BYTES):
            part = self.take(rows)
            meet = np.ones((len(part.low), len(others.low)), dtype=bool)
            for axis in range(part.low.shape[1]):
                meet &= part.low[:, axis, None] <= others.high[:, axis]
                meet &= others.low[:, axis] <= part.high[:, axis, None]
            able = np.zeros(len(meet), dtype=bool)
            for rival, margin in enumerate(others.margins.T):
                least = np.minimum.reduceat(np.where(meet, margin, np.inf), first, axis=1).sum(
                    axis=1
                )
                able |= part.margins[:, rival] + least + base[rival] <= 0.0
            kept.append(able)
        return self.take(np.concatenate(kept))


def certified_distances(
    grid: Grid,
    start: FloatArray,
    y: IntArray,
    lower: FloatArray,
    upper: FloatArray,
    n_queries: int = 500,
) -> tuple[FloatArray, dict[int, IntArray]]:
    """Return squared distances below which rows have no error, at least the known ones.

    Parameters
    ----------
    grid : Grid
        The forest on its axes, all of numbers; with others nothing is gained.
    start : array of shape (n_rows, n_features)
        The rows.
    y : array of shape (n_rows,)
        Their labels.
    lower : array of shape (n_rows,)
        Squared distances below which no row has an error.
    upper : array of shape (n_rows,)
        Squared distances of known errors.
    n_queries : int
        How much work to spend: more rows, farther away, and more boxes.

    Returns
    -------
    squared : array of shape (n_rows,)
        The sharper distances.
    nearest : dict of int to array of shape (n_axes,)
        By row, the cells where an error stands at this distance, if the model breaks ties as the sums here.
    """
    squared: FloatArray = lower.copy()
    nearest: dict[int, IntArray] = {}
    if not all(isinstance(axis, NumberAxis) for axis in grid.axes):
        return squared, nearest
    effort = n_queries / _QUERIES
    most = min(int(_MOST_LEAVES * effort * grid.forest.n_trees), len(grid.boxes.leaf) - 1)
    right = np.flatnonzero((lower > 0.0) & (upper > 0.0))
    n_sought = int(np.ceil(min(_NEAR * effort, 1.0) * len(right)))
    for row in right[np.argsort(upper[right], kind="stable")[:n_sought]].tolist():
        here = start[row : row + 1]
        costs = np.zeros(grid.boxes.low.shape)
        for position, (axis, (bounded, sets, which)) in enumerate(
            zip(grid.axes, grid.sides, strict=True)
        ):
            costs[bounded, position] = axis.set_costs(here, sets)[0, which]
        # The cell of a missing value is in all boxes that are near enough: that axis has no part.
        gone = np.array([np.isnan(here[0, axis.columns]).any() for axis in grid.axes])
        trial = min(float(np.partition(costs.sum(axis=1), most)[most]), float(upper[row]))
        for _ in range(_MOST_TRIALS):
            if not squared[row] < trial < np.inf:
                break
            joint = _joined(grid, costs, gone, int(y[row]), trial, int(_MOST_JOINT * effort))
            if joint is not None:
                squared[row] = max(
                    squared[row], min(joint.costs.sum(axis=1).min(initial=np.inf), trial)
                )
                if len(joint.low):
                    best = int(joint.costs.sum(axis=1).argmin())
                    nearest[row] = _nearest_cells(grid, here, joint.low[best], joint.high[best])
                break
            trial *= _SHRINK
    return squared, nearest


def _nearest_cells(grid: Grid, here: FloatArray, low: IntArray, high: IntArray) -> IntArray:
    """Return the cells in a box that are nearest to a row; where its value is missing, that cell."""
    cells: IntArray = grid.cells(here)[0]
    for position, axis in enumerate(grid.axes):
        costs = axis.costs(here)[0]
        if cells[position] < axis.n_open:
            inside = slice(low[position], high[position] + 1)
            cells[position] = low[position] + costs[inside].argmin()
    return cells


def _joined(
    grid: Grid, costs: FloatArray, gone: BoolArray, label: int, squared: float, most: int
) -> _Joint | None:
    """Return all boxes of all trees together nearer than ``squared`` where a row may be an error.

    Parameters
    ----------
    grid : Grid
        The forest on its axes.
    costs : array of shape (n_leaves, n_axes)
        Squared distance of the row to each box on each axis.
    gone : bool array of shape (n_axes,)
        Axes that bound no box, since the row misses a value there.
    label : int
        The label of the row.
    squared : float
        How far to look.
    most : int
        Most pairs of boxes; None is returned where there are more.
    """
    boxes, forest = grid.boxes, grid.forest
    leaf = np.flatnonzero(costs.sum(axis=1) < squared)
    values = forest.factor * forest.value[boxes.leaf[leaf]]
    margins = values[:, [label]] - np.delete(values, label, axis=1)
    low, high = np.where(gone, 0, boxes.low[leaf]), np.where(gone, 0, boxes.high[leaf])
    near = _Joint(low, high, costs[leaf], margins)
    first = np.flatnonzero(np.diff(boxes.tree[leaf], prepend=-1))
    if len(first) < forest.n_trees:
        return None
    base = forest.base[label] - np.delete(forest.base, label) - 2.0 * forest.tolerance
    lowest = np.minimum.reduceat(margins, first)
    total = lowest.sum(axis=0) + base
    none = near.take(slice(0))
    if (total > 0.0).all():
        return none
    size = np.diff(first, append=len(leaf))
    able = (margins + np.repeat(total - lowest, size, axis=0) <= 0.0).any(axis=1)
    joint, rest, order = None, total, np.argsort(size, kind="stable")
    for place, tree in enumerate(order):
        kept = np.arange(first[tree], first[tree] + size[tree])
        other = near.take(kept[able[kept]])
        rest = rest - lowest[tree]
        if joint is None:
            joint = other
            continue
        if len(joint.low) * len(other.low) > most:
            left = [np.arange(first[later], first[later] + size[later]) for later in order[place:]]
            if len(joint.low) * sum(map(len, left)) > _MOST_MEETINGS:
                return None
            starts = np.cumsum([0, *(len(part) for part in left[:-1])])
            joint = joint.able(near.take(np.concatenate(left)), starts, base)
            if len(joint.low) * len(other.low) > most:
                return None
        joint = joint.with_tree(other, squared, rest)
        if not len(joint.low):
            return none
    return joint
