"""A certified lower bound for sums of trees: what they could reach if each moved its own copy of the row.

Within a given distance each tree reaches the best of the leaf boxes that are so near. That they all reach their best
at one point is more than can be hoped for, so no point within the distance is worse than the sum of these.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray
from shiftmetrics.models.forests.boxes import LeafBoxes
from shiftmetrics.models.forests.forest import Forest
from shiftmetrics.models.forests.reached import SMALLEST_PROBABILITY
from shiftmetrics.models.question import LossName

MOST_PAIRS = 60_000_000
"""Rows times leaves beyond which the bound is not worth its time."""
_STEPS = 48
_FACTOR = 12
"""Temporaries of the size of the distances."""


def lower_bounds(
    boxes: LeafBoxes, start: FloatArray, y: Array, loss: LossName
) -> tuple[FloatArray, FloatArray]:
    """Return for each row distances and the highest losses that it could have from there on.

    Returns
    -------
    squared, losses : array of shape (n_rows, n_steps)
        A staircase: column 0 is the row itself; padded with inf.
    """
    parts = [
        _block(boxes, start[rows], y[rows], loss)
        for whole in boxes.blocks(len(start))
        for rows in _finer(whole)
    ]
    width = max(part[0].shape[1] for part in parts)
    squared = [
        np.pad(part[0], ((0, 0), (0, width - part[0].shape[1])), constant_values=np.inf) for part in parts
    ]
    losses = [np.pad(part[1], ((0, 0), (0, width - part[1].shape[1]))) for part in parts]
    return np.concatenate(squared), np.concatenate(losses)


def _finer(rows: slice) -> list[slice]:
    size = max(1, (rows.stop - rows.start) // _FACTOR)
    return [slice(start, min(start + size, rows.stop)) for start in range(rows.start, rows.stop, size)]


def _block(boxes: LeafBoxes, start: FloatArray, y: Array, loss: LossName) -> tuple[FloatArray, FloatArray]:
    forest = boxes.grid.forest
    squared = boxes.squared_distances(start)
    # Sort leaves by distance within each tree, then keep what improves on the nearer ones.
    within = np.lexsort((squared, np.broadcast_to(boxes.tree, squared.shape)), axis=1)
    near = np.take_along_axis(squared, within, axis=1)
    first = np.concatenate([[True], boxes.tree[1:] != boxes.tree[:-1]])
    order = np.argsort(near, axis=1, kind="stable")
    ordered = np.take_along_axis(near, order, axis=1)

    def bound(values: FloatArray) -> FloatArray:
        """Return the highest sum of leaf values of shape (n_rows, n_leaves) within each distance."""
        reached = np.take_along_axis(values, within, axis=1)
        best = _running_maximum(np.where(np.isfinite(near), reached, -np.inf), first)
        gain = np.diff(best, axis=1, prepend=0.0)
        gain[:, first] = best[:, first]
        return np.asarray(np.cumsum(np.take_along_axis(gain, order, axis=1), axis=1))

    losses = _losses(forest, boxes, bound, y, loss)
    # Until every tree is counted (each row is in a box of each), the sums are not sums yet.
    n_trees = forest.n_trees
    ordered, losses = ordered[:, n_trees - 1 :], losses[:, n_trees - 1 :]
    losses = np.where(np.isfinite(ordered), losses, -np.inf)
    ordered[:, 0] = 0.0
    return _staircase(ordered, losses)


def _running_maximum(values: FloatArray, first: Array) -> FloatArray:
    """Return running maxima along rows, started anew at each tree."""
    starts = [*np.flatnonzero(first), values.shape[1]]
    result = np.empty_like(values)
    for low, high in pairwise(starts):
        np.maximum.accumulate(values[:, low:high], axis=1, out=result[:, low:high])
    return result


def _losses(forest: Forest, boxes: LeafBoxes, bound: Array, y: Array, loss: LossName) -> FloatArray:
    """Return the highest loss within each distance, for each row."""
    values = forest.factor * forest.value[boxes.leaf]
    rounding = forest.tolerance
    if loss == "squared":
        high = bound(np.broadcast_to(values[:, 0], (len(y), len(values)))) + forest.base[0] + rounding
        low = -bound(np.broadcast_to(-values[:, 0], (len(y), len(values)))) + forest.base[0] - rounding
        ends = [forest.predictions(end[..., None]) - y[:, None] for end in (low, high)]
        return np.asarray(np.maximum(ends[0] ** 2, ends[1] ** 2))
    if forest.link == "sigmoid":
        sign = np.where(y == 1, 1.0, -1.0)[:, None]
        margin = sign * forest.base[0] - bound(-sign * values[:, 0]) - rounding
        if loss == "log_loss":
            return np.asarray(np.logaddexp(0.0, -forest.slope * margin))
        return _of_margin(margin, loss)
    if loss == "log_loss" and forest.link == "probability":
        own = -bound(-values.T[y]) - rounding
        return np.asarray(-np.log(np.clip(own, SMALLEST_PROBABILITY, 1.0)))
    worst: FloatArray | None = None
    for rival in range(forest.n_outputs):  # how far a rival may get ahead
        ahead = (
            bound(values.T[rival] - values.T[y]) + (forest.base[rival] - forest.base[y])[:, None] + rounding
        )
        ahead = np.where((y == rival)[:, None], -np.inf, ahead)
        if loss == "log_loss":
            worst = ahead if worst is None else np.logaddexp(worst, ahead)
        else:
            worst = ahead if worst is None else np.maximum(worst, ahead)
    assert worst is not None
    return np.logaddexp(0.0, worst) if loss == "log_loss" else _of_margin(-worst, loss)


def _of_margin(margin: FloatArray, loss: LossName) -> FloatArray:
    return np.maximum(1.0 - margin, 0.0) if loss == "hinge" else np.asarray(margin <= 0.0, dtype=np.float64)


def _staircase(squared: FloatArray, losses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Thin running maxima to a few steps, each as high as the end of it."""
    height = np.maximum.accumulate(losses, axis=1)
    rises = np.ones(height.shape, dtype=bool)
    rises[:, 1:] = height[:, 1:] > height[:, :-1]
    place = np.cumsum(rises, axis=1) - 1
    last = place[:, -1:]
    # The row itself is a step of its own; the others share what is left.
    coarse = np.where(
        place == 0, 0, 1 + (np.maximum(place - 1, 0) * (_STEPS - 1)) // np.maximum(last, _STEPS - 1)
    )
    width = int(coarse.max()) + 1
    near, high = np.full((len(squared), width), np.inf), np.zeros((len(squared), width))
    row = np.repeat(np.arange(len(squared)), squared.shape[1])
    np.minimum.at(near, (row, coarse.ravel()), squared.ravel())
    np.maximum.at(high, (row, coarse.ravel()), np.where(np.isfinite(height), height, 0.0).ravel())
    return near, high
