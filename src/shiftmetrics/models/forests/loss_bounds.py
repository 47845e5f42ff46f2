"""Certified lower bounds of losses: the best that all trees together can give within each distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, IntArray
from shiftmetrics.models.forests.forest import Forest
from shiftmetrics.models.forests.grid import Grid
from shiftmetrics.models.forests.standing import Standing

_MOST_PAIRS = 60_000_000  # rows times leaves beyond which the bound of losses is not worth its time
_STEPS = 48
_BITS = 40  # of the largest leaf value, in sums of integers


# The best of each tree is a running maximum over its leaves by distance. What it gains at each leaf, put in the order
# of the distances of all trees, adds up to the highest sum within each distance. The values are rounded up to
# integers first: their sums are exact, and so never too low.
@dataclass(frozen=True, eq=False)
class LeafReach:
    """The leaves within distances of rows, by row and tree, the nearest of a tree first.

    Attributes
    ----------
    forest : Forest
        The trees.
    y : array of shape (n_rows,)
        Labels, or values, of the rows.
    row, leaf, squared : array of shape (n_found,)
        See `Standing.leaves_within`.
    group : array of shape (n_found,)
        The number of the row and tree of each.
    """

    forest: Forest
    y: Array
    row: IntArray
    leaf: IntArray
    squared: FloatArray
    group: IntArray

    @classmethod
    def of(
        cls,
        standing: Standing,
        y: Array,
        limit: FloatArray,
    ) -> LeafReach:
        """Find the leaves."""
        forest = standing.grid.forest
        row, leaf, squared = standing.leaves_within(limit)
        group = row * forest.n_trees + standing.grid.tree[leaf]
        return cls(forest, y, row, leaf, squared, group)

    def order(self) -> IntArray:
        """Return the leaves of each row by distance."""
        return np.lexsort((self.squared, self.row))

    def highest(self, values: FloatArray, order: IntArray) -> FloatArray:
        """Return the highest sums of values within each distance, in this order."""
        largest = np.abs(values).max(initial=1e-200)
        exponent = np.ceil(np.log2(largest))
        scale = 2.0 ** (_BITS - exponent)
        best = np.ceil(values * scale).astype(np.int64)
        # The running maximum of each tree, by doubling: of 2, 4, 8, ... leaves up to each.
        n_leaves = np.bincount(self.group)
        longest = int(n_leaves.max())
        shift = 1
        while shift < longest:
            same = self.group[shift:] == self.group[:-shift]
            higher = np.maximum(best[shift:], best[:-shift])
            best[shift:] = np.where(same, higher, best[shift:])
            shift *= 2
        # What each leaf gains over those before it in its tree; the first one of a tree counts whole.
        gain = np.diff(best, prepend=0)
        starts = np.diff(self.group, prepend=-1) > 0
        gain[starts] = best[starts]
        # Sums over all rows, less what those before a row add up to.
        # The running sum over all rows may wrap round in 64 bits; the differences within a row do
        # not.
        sums = np.append(0, np.cumsum(gain[order]))
        first = np.searchsorted(self.row, np.arange(len(self.y)))
        before = sums[first]
        of_row = sums[1:] - before[self.row]
        return np.asarray(of_row / scale)

    def ahead(self, step: int, order: IntArray) -> FloatArray:
        """Return how far the class ``step`` places after that of the row may get ahead of it within each distance."""
        forest = self.forest
        label = self.y[self.row]
        rival = (label + step) % forest.n_outputs
        gain = forest.value[self.leaf, rival] - forest.value[self.leaf, label]
        before = forest.base[rival] - forest.base[label]
        highest = self.highest(forest.factor * gain, order)
        lead = highest + before
        return np.asarray(lead + forest.tolerance)


def lower_loss(
    grid: Grid,
    start: FloatArray,
    y: Array,
    loss: str,
) -> tuple[FloatArray, FloatArray] | None:
    """Return losses and distances of a certified staircase whose column 0 is the row; None where it takes too long.

    Parameters
    ----------
    grid : Grid
        The forest on its axes.
    start : array of shape (n_rows, n_features)
        The rows.
    y : array of shape (n_rows,)
        Their labels, or values.
    loss : str
        The loss.
    """
    n_rows = len(start)
    n_leaves = int((grid.forest.feature < 0).sum())
    if n_leaves * n_rows > _MOST_PAIRS:
        return None
    # Blocks have different numbers of steps: those that a row lacks lie at no finite distance.
    squared = np.full((n_rows, _STEPS + 1), np.inf)
    losses = np.zeros((n_rows, _STEPS + 1))
    width = 0
    row_bytes = (60 + 16 * grid.forest.n_outputs) * n_leaves
    for rows in grid.row_blocks(n_rows, row_bytes):
        standing = Standing.of(grid, start[rows])
        # With a limit nothing would bound the loss beyond it.
        no_limit = np.full(len(standing.cells), np.inf)
        found = LeafReach.of(standing, y[rows], no_limit)
        highest = _highest_losses(found, loss)
        near, high = _staircase(found, highest)
        n_steps = near.shape[1]
        squared[rows, :n_steps] = near
        losses[rows, :n_steps] = high
        width = max(width, n_steps)
    distances = np.sqrt(squared[:, :width])
    return losses[:, :width], distances


def _highest_losses(found: LeafReach, loss: str) -> FloatArray:
    """Return the highest loss within the distance of each leaf, by row and distance."""
    forest = found.forest
    order = found.order()
    y = found.y[found.row]
    values = forest.factor * forest.value[found.leaf]
    rounding = forest.tolerance
    if loss == "squared":
        # The loss is highest where the prediction is highest, or lowest.
        highest = found.highest(values[:, 0], order)
        lowest = -found.highest(-values[:, 0], order)
        above = forest.base[0] + highest + rounding
        below = forest.base[0] + lowest - rounding
        over = forest.predictions(above[:, None]) - y
        under = forest.predictions(below[:, None]) - y
        return np.asarray(np.maximum(over**2, under**2))
    if loss == "log_loss" and forest.link == "probability":
        labelled = values[np.arange(len(y)), y]
        least = -found.highest(-labelled, order) - rounding
        probability = np.clip(least, forest.clip, 1.0)
        return -np.log(probability)
    leads = [found.ahead(step, order) for step in range(1, forest.n_outputs)]
    ahead = np.stack(leads)
    if loss == "log_loss":
        # log(1 + sum_k exp(lead of k)), each lead as high as it can be
        rivals = np.logaddexp.reduce(forest.slope * ahead, axis=0)
        return np.asarray(np.logaddexp(0.0, rivals))
    margin = -ahead.max(axis=0)
    if loss == "hinge":
        return np.asarray(np.maximum(1.0 - margin, 0.0))
    return np.asarray(margin <= 0.0, dtype=np.float64)


def _staircase(found: LeafReach, losses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Thin running maxima of losses to a few steps, each as high as the end of it."""
    n_rows = len(found.y)
    n_trees = found.forest.n_trees
    order = found.order()
    # Sums count once every tree is in them: each row is in a box of each, at no distance.
    first = np.searchsorted(found.row, np.arange(n_rows))
    rank = np.arange(len(order)) - first[found.row]
    column = rank - (n_trees - 1)
    counted = column >= 0
    where = found.row[counted], column[counted]
    n_columns = int(column.max()) + 1
    shape = (n_rows, n_columns)
    squared = np.full(shape, np.inf)
    squared[where] = found.squared[order][counted]
    squared[:, 0] = 0.0
    height = np.full(shape, -np.inf)
    height[where] = losses[counted]
    height = np.maximum.accumulate(height, axis=1)
    # The number of each step; the row itself is a separate one, the rest is divided among the others.
    rises = height[:, 1:] > height[:, :-1]
    place = np.zeros(shape, dtype=np.int64)
    place[:, 1:] = np.cumsum(rises, axis=1)
    most = np.maximum(place[:, -1:], _STEPS - 1)
    others = np.maximum(place - 1, 0)
    coarse = 1 + others * (_STEPS - 1) // most
    coarse = np.where(place == 0, 0, coarse)
    width = int(coarse.max()) + 1
    near = np.full((n_rows, width), np.inf)
    high = np.zeros((n_rows, width))
    row = np.arange(n_rows)[:, None]
    np.minimum.at(near, (row, coarse), squared)
    np.maximum.at(high, (row, coarse), height)
    return near, high
