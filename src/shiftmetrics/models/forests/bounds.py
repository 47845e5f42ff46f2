"""Certified lower bounds for sums of trees: the losses, and the distances of errors, that no point can exceed.

Within a given distance each tree reaches the best of the leaf boxes that are so near, and no point is worse than the
sum of these. Near a row only a few leaves of each tree can be reached: there, trees are put together one after
another. Most combinations of their boxes do not meet, are too far, or leave a margin that the other trees cannot
take back at their best; if none is left, no error is nearer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics.models.forests.joint_boxes import JointBoxes, NearBoxes
from shiftmetrics.models.forests.loss_bounds import LeafReach
from shiftmetrics.models.forests.standing import Standing

_MOST_JOINT = 2_000  # pairs of boxes beyond which it looks less far
_MOST_LEAVES = 6  # leaves within reach, for each tree, at first
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
        for step in range(1, grid.forest.n_outputs):
            able |= found.ahead(step, order) >= 0.0
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


class Budget(NamedTuple):
    """How much work to spend on the bound of one row.

    Attributes
    ----------
    leaves : int
        Leaves within reach at first, for each tree.
    pairs : int
        Pairs of boxes of some trees together with those of one more, beyond which it looks less far.
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


# Branch and bound for one row at a time, with all boxes that are nearer than its known error. Where these are too
# many to put together, what is farther than the nearer half of them is left out, as often as it takes: what is found
# holds for the distance that is left. The nearest of the boxes of all trees together is then the distance sought.
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
        if not squared[row] < trial < np.inf:
            continue
        near = leaf[apart < trial]
        least, cells = _nearest_joint(standing, row, near, int(y[row]), trial, budget)
        squared[row] = max(squared[row], least)
        if cells is not None:
            nearest[row] = cells
    return squared, nearest


def _nearest_joint(
    standing: Standing,
    row: int,
    leaf: IntArray,
    label: int,
    squared: float,
    budget: Budget,
) -> tuple[float, IntArray | None]:
    """Return a squared distance below which a row has no error, and the cells of an error there, where it is known.

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
        How far to look.
    budget : Budget
        How many pairs of boxes to look at; where there are more, it looks less far.
    """
    grid = standing.grid
    forest = grid.forest
    nothing = squared, None
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
    boxes = NearBoxes.of(standing, row, leaf[kept], margins[kept])
    n_single = int((counts == 1).sum())
    joint = JointBoxes.of(boxes, n_single)
    counts = counts[order]
    starts = np.cumsum(counts) - counts
    # After each tree: the least that all later ones can add to each lead, with the base.
    rest = _sums_after(lowest[order]) + base
    for place in range(n_single, len(order)):
        tree = slice(starts[place], starts[place] + counts[place])
        most = budget.pairs // counts[place]
        if len(joint.meets) > most and joint.meets.size <= budget.meetings:
            # Too many pairs: drop those whose margin no boxes that meet them can take.
            joint = joint.able(boxes, starts[place:], base)
        if len(joint.meets) > most:
            # Still too many: look less far, for the nearest of them, half as many as there may be.
            squared = joint.nearest(most // 2)
            joint = joint.within(boxes, squared)
            left = boxes.margins_within(squared)[starts[place] :]
            lowest = np.minimum.reduceat(left, starts[place:] - starts[place])
            rest[place:] = _sums_after(lowest) + base
        joint = joint.with_tree(boxes, tree, squared, rest[place])
        if not len(joint.meets):
            return squared, None
    distances = joint.costs.sum(axis=1)
    if not distances.size or distances.min() >= squared:
        return squared, None
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


def _sums_after(lowest: FloatArray) -> FloatArray:
    """Return the sum of what stands after each place."""
    sums = np.zeros_like(lowest)
    sums[:-1] = np.cumsum(lowest[:0:-1], axis=0)[::-1]
    return sums
