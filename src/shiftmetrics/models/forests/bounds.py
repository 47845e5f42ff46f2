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
from shiftmetrics.models.forests.axes import NumberAxis
from shiftmetrics.models.forests.grid import Grid
from shiftmetrics.models.question import LossName, Question
from shiftmetrics.stability.losses import CandidateLoss

_MOST_PAIRS = 60_000_000  # rows times leaves beyond which the bound is not worth its time
_STEPS = 48
_MOST_JOINT = 4_000  # pairs of boxes beyond which a shorter distance is tried
_MOST_LEAVES = 6  # leaves within reach, for each tree, at the first distance that is tried
_SHRINK = 0.7  # factor from one squared distance to the next
_MOST_TRIALS = 4
_NEAR = 0.25  # share of the rows, the nearest to an error, that get a sharper bound: these move first


def lower_loss(question: Question, grid: Grid, distances: FloatArray | None = None) -> CandidateLoss | None:
    """Return a certified lower loss, None where it takes too long.

    Parameters
    ----------
    question : Question
        The model, the rows and the loss.
    grid : Grid
        Its forest.
    distances : array of shape (n_samples,), optional
        For the 0/1 loss, the distances of known errors: they sharpen the bound.
    """
    if len(grid.boxes.leaf) * question.n_samples > _MOST_PAIRS:
        return None
    squared, losses = lower_bounds(grid, question.codes, question.y, question.loss)
    if distances is not None:
        known = np.where(losses > 0.0, squared, np.inf).min(axis=1)
        least = certified_distances(grid, question.codes, question.y, known, distances * distances)
        squared = np.where(losses > 0.0, np.maximum(squared, least[:, None]), squared)
    return CandidateLoss(losses, np.sqrt(squared), kind="lower_bound")


def lower_bounds(grid: Grid, start: FloatArray, y: Array, loss: LossName) -> tuple[FloatArray, FloatArray]:
    """Return for each row distances and the highest losses that it could have from there on.

    Returns
    -------
    squared, losses : array of shape (n_rows, n_steps)
        A staircase: column 0 is the row itself; padded with inf.
    """
    blocks = grid.row_blocks(len(start), (60 + 16 * grid.forest.n_outputs) * len(grid.boxes.leaf))
    parts = [_bounds_of_block(grid, start[rows], y[rows], loss) for rows in blocks]
    squared, losses = np.full((len(start), _STEPS + 1), np.inf), np.zeros((len(start), _STEPS + 1))
    for rows, (near, high) in zip(blocks, parts, strict=True):
        squared[rows, : near.shape[1]], losses[rows, : near.shape[1]] = near, high
    width = max(near.shape[1] for near, _ in parts)
    return squared[:, :width], losses[:, :width]


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
        ahead = np.full((forest.n_outputs, *squared.shape), -np.inf)  # how far each rival may get ahead
        for rival in range(forest.n_outputs):
            rows = np.flatnonzero(y != rival)
            lead = highest(values[rival] - values[y]) + (forest.base[rival] - forest.base[y])[:, None]
            ahead[rival, rows] = lead[rows] + rounding
        if loss == "log_loss":
            losses = np.logaddexp(0.0, np.logaddexp.reduce(forest.slope * ahead, axis=0))
        else:
            margin = -ahead.max(axis=0)
            losses = np.maximum(1.0 - margin, 0.0) if loss == "hinge" else (margin <= 0.0).astype(np.float64)
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

    def with_tree(self, other: _Joint, squared: float, rest: FloatArray) -> _Joint:
        """Return the boxes in both that are near enough and whose margins the rest of the trees may still take."""
        margins = self.margins[:, None] + other.margins[None]
        first, second = np.nonzero((margins <= -rest).any(axis=2))
        low = np.maximum(self.low[first], other.low[second])
        high = np.minimum(self.high[first], other.high[second])
        costs = np.maximum(self.costs[first], other.costs[second])
        met = np.flatnonzero((low <= high).all(axis=1) & (costs.sum(axis=1) < squared))
        return _Joint(low[met], high[met], costs[met], margins[first[met], second[met]])


def certified_distances(
    grid: Grid, start: FloatArray, y: IntArray, lower: FloatArray, upper: FloatArray
) -> FloatArray:
    """Return squared distances below which rows have no error, at least the known ones.

    Parameters
    ----------
    grid : Grid
        The forest on its axes; where some are axes of states, nothing is added to the known distances.
    start : array of shape (n_rows, n_features)
        The rows.
    y : array of shape (n_rows,)
        Their classes.
    lower, upper : array of shape (n_rows,)
        Squared distances that no error is nearer than, and at which one is known.
    """
    squared = lower.copy()
    if not all(isinstance(axis, NumberAxis) for axis in grid.axes):
        return squared
    most = min(_MOST_LEAVES * grid.forest.n_trees, len(grid.boxes.leaf) - 1)
    right = np.flatnonzero((lower > 0.0) & (upper > 0.0))
    nearest = right[np.argsort(upper[right], kind="stable")[: int(np.ceil(_NEAR * len(right)))]]
    for row in nearest.tolist():
        here = start[row : row + 1]
        costs = np.zeros(grid.boxes.low.shape)
        for position, (axis, (bounded, sets, which)) in enumerate(zip(grid.axes, grid.sides, strict=True)):
            costs[bounded, position] = axis.set_costs(here, sets)[0, which]
        # The cell of a missing value is in all boxes that are near enough: that axis has no part.
        gone = np.array([np.isnan(here[0, axis.columns]).any() for axis in grid.axes])
        trial = min(float(np.partition(costs.sum(axis=1), most)[most]), float(upper[row]))
        for _ in range(_MOST_TRIALS):
            if not squared[row] < trial < np.inf:
                break
            distance = _certified(grid, costs, gone, int(y[row]), trial)
            if distance is not None:
                squared[row] = max(squared[row], distance)
                break
            trial *= _SHRINK
    return squared


def _certified(grid: Grid, costs: FloatArray, gone: BoolArray, label: int, squared: float) -> float | None:
    """Return a squared distance below which a row has no error, at most ``squared``; None: too much work.

    ``costs`` of shape (n_leaves, n_axes) holds the squared distance of the row to each leaf box on each axis, and
    ``gone`` the axes on which its value is missing.
    """
    boxes, forest = grid.boxes, grid.forest
    leaf = np.flatnonzero(costs.sum(axis=1) < squared)
    values = forest.factor * forest.value[boxes.leaf[leaf]]
    margins = values[:, [label]] - np.delete(values, label, axis=1)
    first = np.flatnonzero(np.diff(boxes.tree[leaf], prepend=-1))
    if len(first) < forest.n_trees:
        return None
    lowest = np.minimum.reduceat(margins, first)
    base = forest.base[label] - np.delete(forest.base, label)
    total = lowest.sum(axis=0) + base - 2.0 * forest.tolerance
    if (total > 0.0).all():
        return squared
    size = np.diff(first, append=len(leaf))
    able = (margins + np.repeat(total - lowest, size, axis=0) <= 0.0).any(axis=1)
    low, high = np.where(gone, 0, boxes.low[leaf]), np.where(gone, 0, boxes.high[leaf])
    costs = costs[leaf]
    joint: _Joint | None = None
    rest = total
    # A tree of one box does not limit where the row goes: all points that are near enough are in it.
    order = np.flatnonzero(size > 1)
    for tree in order[np.argsort(size[order], kind="stable")]:
        kept = np.arange(first[tree], first[tree] + size[tree])
        kept = kept[able[kept]]
        if not kept.size:
            return squared
        rest = rest - lowest[tree]
        other = _Joint(low[kept], high[kept], costs[kept], margins[kept])
        if joint is not None and len(joint.low) * len(kept) > _MOST_JOINT:
            return None
        joint = other if joint is None else joint.with_tree(other, squared, rest)
        if not len(joint.low):
            return squared
    return None if joint is None else float(min(joint.costs.sum(axis=1).min(), squared))
