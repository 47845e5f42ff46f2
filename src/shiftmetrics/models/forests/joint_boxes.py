"""Boxes of leaves near a row, and boxes of several trees put together: among them distances are certified."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import Array, BoolArray, FloatArray, IntArray
from shiftmetrics.models.forests.standing import Standing


@dataclass(frozen=True)
class NearBoxes:
    """Boxes of leaves near a row, one tree after another.

    Attributes
    ----------
    axes : array of shape (n_axes,)
        The axes on which a box is away from the row.
    low, high : array of shape (n_boxes, n_axes)
        First and last cell on these axes.
    costs : array of shape (n_boxes, n_axes)
        Least squared distance there.
    margins : array of shape (n_boxes, n_rivals)
        What each leaf adds to the lead of the label over each rival.
    meets : array of shape (n_boxes, n_boxes)
        Which boxes have a point in common.
    """

    axes: IntArray
    low: npt.NDArray[np.int32]
    high: npt.NDArray[np.int32]
    costs: FloatArray
    margins: FloatArray
    meets: BoolArray

    @classmethod
    def of(
        cls,
        standing: Standing,
        row: int,
        leaf: IntArray,
        margins: FloatArray,
    ) -> NearBoxes:
        """Return the boxes of leaves on the axes where one of them is not where a row stands."""
        grid = standing.grid
        box, axis = grid.bounds_of(leaf)
        costs = np.zeros((len(leaf), len(grid.axes)))
        rows = np.full(len(box), row)
        costs[box, axis] = standing.costs_on(rows, axis, leaf[box])
        axes = np.flatnonzero(costs.any(axis=0))
        costs = costs[:, axes]
        held = leaf[:, None], axes
        low = grid.boxes.low[held]
        high = grid.boxes.high[held]
        # Where neither is away from the row, both hold its cell: only axes on which one is away can part two boxes.
        away, axis = np.nonzero(costs)
        above = low[:, axis] > high[away, axis]
        below = high[:, axis] < low[away, axis]
        some, first = np.unique(away, return_index=True)
        misses = np.zeros((len(leaf), len(leaf)), dtype=np.bool_)
        if some.size:
            misses[:, some] = np.logical_or.reduceat(above | below, first, axis=1)
        return cls(axes, low, high, costs, margins, ~(misses | misses.T))

    def margins_within(self, squared: float) -> FloatArray:
        """Return the margins of boxes within a squared distance; inf beyond it."""
        near = self.costs.sum(axis=1) < squared
        return np.where(near[:, None], self.margins, np.inf)


# Boxes with sides along the axes have a point in common if each two of them have: so of boxes put together it is
# enough to know which boxes of later trees meet all of them.
@dataclass(frozen=True)
class JointBoxes:
    """Boxes of the first trees put together, one of each tree.

    Attributes
    ----------
    members : array of shape (n_joints, n_trees)
        Positions of the boxes that are put together.
    costs : array of shape (n_joints, n_axes)
        Least squared distance on each axis.
    margins : array of shape (n_joints, n_rivals)
        What the trees add to the lead of the label over each rival.
    meets : array of shape (n_joints, n_boxes_left)
        Which boxes of the trees left meet all members.
    """

    members: IntArray
    costs: FloatArray
    margins: FloatArray
    meets: BoolArray

    def take(self, which: Array | slice) -> JointBoxes:
        """Return some of them."""
        return JointBoxes(
            self.members[which], self.costs[which], self.margins[which], self.meets[which]
        )

    def nearest(self, n: int) -> float:
        """Return the squared distance of the nearest but ``n``."""
        distances = self.costs.sum(axis=1)
        place = min(n, len(distances) - 1)
        return float(np.partition(distances, place)[place])

    def within(self, boxes: NearBoxes, squared: float) -> JointBoxes:
        """Return those within a squared distance, which meet boxes within it alone."""
        near = boxes.costs.sum(axis=1) < squared
        found = self.take(self.costs.sum(axis=1) < squared)
        found.meets[:, ~near[len(near) - found.meets.shape[1] :]] = False
        return found

    @classmethod
    def of(cls, boxes: NearBoxes, n_members: int) -> JointBoxes:
        """Put the first boxes together; nothing where two of them do not meet."""
        first = slice(n_members)
        joint = cls(
            members=np.arange(n_members)[None],
            costs=boxes.costs[first].max(axis=0, initial=0.0)[None],
            margins=boxes.margins[first].sum(axis=0)[None],
            meets=np.asarray(boxes.meets[first, n_members:].all(axis=0))[None],
        )
        n_joints = int(boxes.meets[first, first].all())  # 1 or 0
        return joint.take(slice(n_joints))

    def with_tree(
        self,
        boxes: NearBoxes,
        tree: slice,
        squared: float,
        rest: FloatArray,
    ) -> JointBoxes:
        """Return what meets the boxes of one more tree, is near enough and has a margin that the rest may take."""
        n_added = tree.stop - tree.start
        # An error needs one rival whose lead all trees together can bring to 0: these margins and
        # the least that the trees left may add.
        may_fall = np.zeros((len(self.meets), n_added), dtype=np.bool_)
        for rival, left in enumerate(rest):
            margins = self.margins[:, rival, None] + boxes.margins[tree, rival]
            may_fall |= margins <= -left
        first, second = np.nonzero(may_fall & self.meets[:, :n_added])
        # Two intervals that meet: what they have in common is as far as the farther of them.
        costs = np.maximum(self.costs[first], boxes.costs[tree][second])
        near = costs.sum(axis=1) < squared
        first = first[near]
        second = second[near]
        return JointBoxes(
            members=np.column_stack([self.members[first], tree.start + second]),
            costs=costs[near],
            margins=self.margins[first] + boxes.margins[tree][second],
            meets=self.meets[first, n_added:] & boxes.meets[tree, tree.stop :][second],
        )

    def able(
        self,
        boxes: NearBoxes,
        starts: IntArray,
        base: FloatArray,
    ) -> JointBoxes:
        """Return those whose margins the boxes of the trees left that meet them may still take.

        ``starts`` are the positions of the first box of each of these trees.
        """
        able = np.zeros(len(self.meets), dtype=np.bool_)
        first = starts - starts[0]
        for rival, margin in enumerate(boxes.margins[starts[0] :].T):
            reached = np.where(self.meets, margin, np.inf)
            least = np.minimum.reduceat(reached, first, axis=1).sum(axis=1)
            able |= self.margins[:, rival] + least + base[rival] <= 0.0
        return self.take(able)
