"""Certified distances of rows that stand near an error: boxes in which several trees stand together.

Near a row only a few leaves of each tree can be reached at all. Where trees are put together one after another, most
combinations do not meet, are too far, or leave a margin that the other trees cannot take back at their best; if none
is left, no error is nearer than the one that was found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics.models.forests.axes import NumberAxis
from shiftmetrics.models.forests.boxes import LeafBoxes
from shiftmetrics.models.forests.single_moves import CellCosts

_MOST_PAIRS = 4_000
"""Pairs of boxes beyond which a shorter distance is tried."""
_MOST_LEAVES = 6
"""Leaves within reach, for each tree, at the first distance that is tried."""
_SHRINK = 0.7
"""Factor from one squared distance to the next."""
_MOST_TRIALS = 4
_NEAR = 0.25
"""Share of the rows, the nearest to an error, that get a sharper bound: these move first."""


def certified_distances(
    boxes: LeafBoxes, start: FloatArray, y: IntArray, lower: FloatArray, upper: FloatArray
) -> FloatArray:
    """Return squared distances below which rows have no error, at least those that are known.

    Parameters
    ----------
    boxes : LeafBoxes
        The leaf boxes of the forest.
    start : array of shape (n_rows, n_features)
        The rows.
    y : array of shape (n_rows,)
        Their classes.
    lower, upper : array of shape (n_rows,)
        Squared distances that no error is nearer than, and at which one was found.
    """
    joint = JointBoxes.of(boxes)
    squared = lower.copy()
    if joint is None:
        return squared
    most = min(_MOST_LEAVES * boxes.grid.forest.n_trees, len(boxes.leaf) - 1)
    right = np.flatnonzero((lower > 0.0) & (upper > 0.0))
    nearest = right[np.argsort(upper[right], kind="stable")[: int(np.ceil(_NEAR * len(right)))]]
    for block in boxes.blocks(len(nearest)):
        rows = nearest[block]
        prices = CellCosts.of(boxes.grid, start[rows])
        every = boxes.squared_distances(start[rows])
        reach = np.minimum(np.partition(every, most, axis=1)[:, most], upper[rows])
        for row, (to_boxes, farthest) in enumerate(zip(every, reach, strict=True)):
            known = float(squared[rows[row]])
            trial = float(farthest)
            for _ in range(_MOST_TRIALS):
                if not known < trial < np.inf:
                    break
                found = joint.certified(prices, row, to_boxes, int(y[rows[row]]), trial)
                if found is not None:
                    squared[rows[row]] = max(known, found)
                    break
                trial *= _SHRINK
    return squared


@dataclass(frozen=True)
class _Joint:
    """Boxes of some trees together: their cells, what each axis costs at least, and the margins over each rival."""

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


class JointBoxes:
    """The leaf boxes of a forest whose axes are all numbers, for questions about single rows."""

    def __init__(self, boxes: LeafBoxes) -> None:
        sections, n_cells = boxes.grid.trees.sections, boxes.grid.trees.n_open
        bounded = boxes.section >= 0
        self.boxes = boxes
        self.low = np.where(bounded, sections.low[boxes.section], 0)
        self.high = np.where(bounded, sections.high[boxes.section], n_cells - 1)

    @classmethod
    def of(cls, boxes: LeafBoxes) -> JointBoxes | None:
        """Return None where axes of states have a part."""
        if not all(isinstance(axis, NumberAxis) for axis in boxes.grid.axes):
            return None
        return cls(boxes)

    def certified(
        self, prices: CellCosts, row: int, to_boxes: FloatArray, label: int, squared: float
    ) -> float | None:
        """Return a squared distance below which a row has no error, at most ``squared``; None: too much work.

        Parameters
        ----------
        prices : CellCosts
            What cells cost.
        row : int
            Position of the row in ``prices``.
        to_boxes : array of shape (n_leaves,)
            Its squared distance to each leaf box.
        label : int
            Its class.
        squared : float
            How far to look.
        """
        boxes, forest = self.boxes, self.boxes.grid.forest
        stuck = (
            prices.own[row] == boxes.grid.trees.missing
        )  # boxes without the missing cell are out of reach already
        leaf = np.flatnonzero(to_boxes < squared)
        margins = self._margins(leaf, label)
        first = np.flatnonzero(np.diff(boxes.tree[leaf], prepend=-1))
        if len(first) < forest.n_trees:
            return None
        size = np.diff(first, append=len(leaf))
        lowest = np.minimum.reduceat(margins, first)
        total = lowest.sum(axis=0) + self._base(label) - 2.0 * forest.tolerance
        rest = total - lowest  # all but one tree, at their best
        # A tree of one box has no say in where the row goes: all points that are near enough are in it.
        order = np.flatnonzero(size > 1)
        able = (margins + np.repeat(rest, size, axis=0) <= 0.0).any(axis=1)
        lists = []
        for position in order[np.argsort(size[order], kind="stable")]:
            own = leaf[first[position] : first[position] + size[position]]
            kept = np.flatnonzero(able[first[position] : first[position] + size[position]])
            if not kept.size:
                return squared
            low, high = (np.where(stuck, 0, side[own[kept]]) for side in (self.low, self.high))
            _, costs = prices.nearest(np.full(low.shape, row), np.arange(low.shape[1]), low, high)
            costs = np.where(stuck, 0.0, costs)
            lists.append((_Joint(low, high, costs, margins[first[position] + kept]), lowest[position]))
        if (total > 0.0).all():
            return squared
        if not lists:
            return None
        joint, least = lists[0]
        rest = total - least
        for other, least in lists[1:]:
            if len(joint.low) * len(other.low) > _MOST_PAIRS:
                return None
            rest = rest - least
            joint = joint.with_tree(other, squared, rest)
            if not len(joint.low):
                return squared
        return float(min(joint.costs.sum(axis=1).min(), squared))

    def _margins(self, leaf: IntArray, label: int) -> FloatArray:
        """Return what leaves add to the margins of a class over each rival."""
        forest = self.boxes.grid.forest
        values = forest.factor * forest.value[self.boxes.leaf[leaf]]
        if forest.link == "sigmoid":
            return values if label == 1 else -values
        return values[:, [label]] - np.delete(values, label, axis=1)

    def _base(self, label: int) -> FloatArray:
        base = self.boxes.grid.forest.base
        if self.boxes.grid.forest.link == "sigmoid":
            return base if label == 1 else -base
        others: FloatArray = base[label] - np.delete(base, label)
        return others
