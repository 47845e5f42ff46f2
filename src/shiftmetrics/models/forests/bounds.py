"""Certified lower bounds for sums of trees: the losses, and the distances of errors, that no point can exceed.

Within a given distance each tree reaches the best of the leaf boxes that are so near, and no point is worse than the
sum of these. Near a row only a few leaves of each tree can be reached: there, trees are put together one after
another. Most combinations of their boxes do not meet, are too far, or leave a margin that the other trees cannot
take back at their best; if none is left, no error is nearer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import Array, BoolArray, FloatArray, IntArray
from shiftmetrics.models.forests.loss_bounds import LeafReach
from shiftmetrics.models.forests.standing import Standing

_MOST_JOINT = 4_000  # pairs of boxes beyond which a shorter distance is tried
_MOST_LEAVES = 6  # leaves within reach, for each tree, at the first distance that is tried
_SHRINK = 0.7  # factor from one squared distance to the next
_MOST_TRIALS = 4
_MOST_MEETINGS = 4_000_000  # pairs with boxes of all trees left, beyond which it tries less
_ALL_MEETINGS = 40_000_000_000  # over the square of the number of rows, for each of them


def least_distances(
    standing: Standing, y: IntArray, *, n_wanted: int
) -> tuple[FloatArray, FloatArray]:
    """Return squared distances below which rows have no error, and the distance within which each was searched.

    The rows are searched within growing distances, until an error cannot be excluded.

    Parameters
    ----------
    standing : Standing
        The rows.
    y : array of shape (n_rows,)
        Their labels.
    n_wanted : int
        How many cells to reach at first.
    """
    grid = standing.grid
    costs = standing.costs
    # Beyond the sum of the highest costs of all axes nothing can be reached.
    finite = np.where(np.isfinite(costs), costs, 0.0)
    highest = np.maximum.reduceat(finite, grid.first, axis=1)
    most = highest.sum(axis=1)
    # At first as far as so many cells are, of all axes; one cell of each costs nothing.
    rank = min(n_wanted + len(grid.axes), costs.shape[1] - 1)
    first = np.partition(costs, rank, axis=1)[:, rank]
    limit = np.minimum(first, most)
    squared = np.full(len(y), np.inf)
    pending = np.arange(len(y))
    while pending.size:
        part = standing.take(pending)
        found = LeafReach.of(part, y[pending], limit[pending])
        order = found.order()
        able = np.zeros(len(order), dtype=np.bool_)
        for rival in range(grid.forest.n_outputs):
            able |= found.ahead(rival, order) >= 0.0
        # The first leaves of a row are those where it stands; sums count from the last of them on.
        first_of_row = np.searchsorted(found.row, np.arange(len(pending)))
        place = np.arange(len(order)) - first_of_row[found.row]
        able &= place >= grid.forest.n_trees - 1
        # The nearest leaf with which some rival may lead is as near as an error can be.
        hits = np.flatnonzero(able)
        rows, first_hit = np.unique(found.row[hits], return_index=True)
        nearest = order[hits[first_hit]]
        squared[pending[rows]] = found.squared[nearest]
        # Rows without a hit are searched within three times the squared distance.
        left = np.delete(pending, rows)
        pending = left[limit[left] < most[left]]
        farther = 3.0 * limit[pending] + 1e-300
        limit[pending] = np.minimum(farther, most[pending])
    return squared, limit


@dataclass(frozen=True)
class _NearBoxes:
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
    ) -> _NearBoxes:
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


# Boxes with sides along the axes have a point in common if each two of them have: so of boxes put together it is
# enough to know which boxes of later trees meet all of them.
@dataclass(frozen=True)
class _Joint:
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

    def take(self, which: Array | slice) -> _Joint:
        """Return some of them."""
        return _Joint(
            self.members[which], self.costs[which], self.margins[which], self.meets[which]
        )

    @classmethod
    def of(cls, boxes: _NearBoxes, n_members: int) -> _Joint:
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
        boxes: _NearBoxes,
        tree: slice,
        squared: float,
        rest: FloatArray,
    ) -> _Joint:
        """Return what meets the boxes of one more tree, is near enough and has a margin that the rest may take."""
        n_added = tree.stop - tree.start
        may_fall = np.zeros((len(self.meets), n_added), dtype=np.bool_)
        for rival, left in enumerate(rest):
            margins = self.margins[:, rival, None] + boxes.margins[tree, rival]
            may_fall |= margins <= -left
        first, second = np.nonzero(may_fall & self.meets[:, :n_added])
        costs = np.maximum(self.costs[first], boxes.costs[tree][second])
        near = costs.sum(axis=1) < squared
        first = first[near]
        second = second[near]
        return _Joint(
            members=np.column_stack([self.members[first], tree.start + second]),
            costs=costs[near],
            margins=self.margins[first] + boxes.margins[tree][second],
            meets=self.meets[first, n_added:] & boxes.meets[tree, tree.stop :][second],
        )

    def able(
        self,
        boxes: _NearBoxes,
        starts: IntArray,
        base: FloatArray,
    ) -> _Joint:
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


class Budget(NamedTuple):
    """How much work to spend on the bound of one row.

    Attributes
    ----------
    leaves : int
        Leaves within reach at the first distance that is tried, for each tree.
    pairs : int
        Pairs of boxes of some trees together with those of one more, beyond which a shorter distance is tried.
    meetings : int
        Pairs with boxes of all trees left, to find the boxes that no later tree can turn.
    """

    leaves: int
    pairs: int
    meetings: int

    @classmethod
    def of(cls, effort: float, n_rows: int) -> Budget:
        """Return the budget of each of some rows: the more rows, the fewer meetings."""
        # Measured with 100 deep trees on 1,000 rows of 6 columns, and on 2,000 of 76: a tenth of the meetings makes
        # the lower bound 39 and 10 % lower and saves 9 and 6 % of the time; ten times as many raise it by 0 and 4 %.
        n_pairs = max(n_rows, 1) ** 2
        of_each = int(_ALL_MEETINGS * effort) // n_pairs
        meetings = min(_MOST_MEETINGS, of_each)
        leaves = int(_MOST_LEAVES * effort)
        pairs = int(_MOST_JOINT * effort)
        return cls(leaves, pairs, meetings)


# Branch and bound for one row at a time: distances are tried from the known error down, each with all boxes nearer
# than that. Where the boxes of all trees are put together in time, the nearest of them is the distance sought.
def certified_distances(
    standing: Standing,
    y: IntArray,
    lower: FloatArray,
    upper: FloatArray,
    budget: Budget,
) -> tuple[FloatArray, dict[int, IntArray]]:
    """Return squared distances below which rows have no error, at least the known ones.

    Parameters
    ----------
    standing : Standing
        The rows, on axes of numbers only: with others nothing is gained.
    y : array of shape (n_rows,)
        Their labels.
    lower : array of shape (n_rows,)
        Squared distances below which no row has an error.
    upper : array of shape (n_rows,)
        Squared distances of known errors.
    budget : Budget
        How much work to spend.

    Returns
    -------
    squared : array of shape (n_rows,)
        The sharper distances.
    nearest : dict of int to array of shape (n_axes,)
        By row, the cells where an error stands at this distance, if the model breaks ties as the sums here.
    """
    grid = standing.grid
    squared: FloatArray = lower.copy()
    nearest: dict[int, IntArray] = {}
    if grid.by_state.any():
        return squared, nearest
    most = budget.leaves * grid.forest.n_trees
    box_row, leaves, distances = standing.leaves_within(upper)
    ends = np.searchsorted(box_row, np.arange(len(y) + 1))
    is_open = (lower > 0.0) & (upper > lower)
    for row in np.flatnonzero(is_open).tolist():
        of_row = slice(ends[row], ends[row + 1])
        leaf = leaves[of_row]
        apart = distances[of_row]
        # As far as the known error, or as there are not too many leaves.
        trial = float(upper[row])
        if len(apart) > most:
            within = np.partition(apart, most)[most]
            trial = min(float(within), trial)
        for _ in range(_MOST_TRIALS):
            if not squared[row] < trial < np.inf:
                break
            near = leaf[apart < trial]
            found = _nearest_joint(standing, row, near, int(y[row]), trial, budget)
            if found is None:  # too much work: a shorter distance
                trial *= _SHRINK
                continue
            distance, cells = found
            squared[row] = max(squared[row], min(distance, trial))
            if cells is not None:
                nearest[row] = cells
            break
    return squared, nearest


def _nearest_joint(
    standing: Standing,
    row: int,
    leaf: IntArray,
    label: int,
    squared: float,
    budget: Budget,
) -> tuple[float, IntArray | None] | None:
    """Return the least squared distance, and cells, of boxes of all trees together where a row may be an error.

    Parameters
    ----------
    standing : Standing
        The rows.
    row : int
        The position of the row.
    leaf : array
        The leaves that are nearer, tree by tree.
    label : int
        The label of the row.
    squared : float
        How far to look; if there is nothing, the distance is inf.
    budget : Budget
        How many pairs of boxes to look at; None is returned where there are more.
    """
    grid = standing.grid
    forest = grid.forest
    nothing = np.inf, None
    # What each leaf adds to the lead of the label over each rival, and the least that each tree can add.
    values = forest.factor * forest.value[leaf]
    margins = values[:, [label]] - np.delete(values, label, axis=1)
    base = forest.base[label] - np.delete(forest.base, label)
    base = base - 2.0 * forest.tolerance
    first = np.flatnonzero(np.diff(grid.tree[leaf], prepend=-1))
    lowest = np.minimum.reduceat(margins, first)
    total = lowest.sum(axis=0) + base
    if (total > 0.0).all():
        return nothing
    # Boxes that take the whole margin together with the best of all other trees.
    size = np.diff(first, append=len(leaf))
    others = np.repeat(total - lowest, size, axis=0)
    able = (margins + others <= 0.0).any(axis=1)
    counts = np.add.reduceat(able, first)
    if not counts.all():
        return nothing
    # Trees with the fewest such boxes come first; those with one, all at once.
    order = np.argsort(counts, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    kept = np.flatnonzero(able)
    tree_of_leaf = np.repeat(rank, size)
    kept = kept[np.argsort(tree_of_leaf[kept], kind="stable")]
    boxes = _NearBoxes.of(standing, row, leaf[kept], margins[kept])
    n_single = int((counts == 1).sum())
    joint = _Joint.of(boxes, n_single)
    rest = total - lowest[order[:n_single]].sum(axis=0)
    counts = counts[order]
    starts = np.cumsum(counts) - counts
    for place in range(n_single, len(order)):
        tree = slice(starts[place], starts[place] + counts[place])
        rest = rest - lowest[order[place]]
        if len(joint.meets) * counts[place] > budget.pairs:
            # Too many pairs: drop those whose margin no boxes that meet them can take.
            if joint.meets.size > budget.meetings:
                return None
            joint = joint.able(boxes, starts[place:], base)
            if len(joint.meets) * counts[place] > budget.pairs:
                return None
        joint = joint.with_tree(boxes, tree, squared, rest)
        if not len(joint.meets):
            return nothing
    if not len(joint.meets):
        return nothing
    distances = joint.costs.sum(axis=1)
    best = distances.argmin()
    # The nearest cells: the row's own, but on the axes where the boxes are away from it.
    away = joint.costs[best] > 0.0
    axes = boxes.axes[away]
    members = np.ix_(joint.members[best], away)
    cells: IntArray = standing.cells[row].copy()
    cells[axes] = np.clip(
        cells[axes], boxes.low[members].max(axis=0), boxes.high[members].min(axis=0)
    )
    return float(distances[best]), cells
