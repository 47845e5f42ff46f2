"""Along the columns: take back what the error does not need, column by column. Exact where boundaries are boxes."""

from __future__ import annotations

import numpy as np

from shiftmetrics._core.arrays import IntArray
from shiftmetrics.models.decision.nearest import Nearest

_WORTH = 0.01  # of the squared distance: what adds less is not worth a query


def take_back(nearest: Nearest, which: IntArray) -> None:
    """Put numbers and jumps of the best points back to where the row has them, the costliest first."""
    space = nearest.space
    if not which.size:
        return
    cost = space.squared_costs(nearest.point[which], which)
    order = np.argsort(-cost, axis=1, kind="stable")
    for place in range(cost.shape[1]):
        part = order[:, place]
        paid = cost[np.arange(len(which)), part] > 0.0
        if not paid.any():
            break
        rows, parts = which[paid], part[paid]
        points = nearest.point[rows].copy()
        slides = np.flatnonzero(parts < space.n_numeric)
        columns = space.numeric[parts[slides]]
        points[slides, columns] = space.origin[rows[slides], columns]
        for number, group in enumerate(space.jumping):
            here = np.flatnonzero(parts == space.n_numeric + number)
            points[np.ix_(here, group)] = space.origin[np.ix_(rows[here], group)]
        nearest.ask(rows, points[:, None])


def shorten_columns(nearest: Nearest, which: IntArray, *, n_steps: int, share: float = 0.05) -> None:
    """Shorten the move of each column alone: try a little, and where that is still an error, bisect."""
    space = nearest.space
    if not which.size:
        return
    order = np.argsort(-np.abs(nearest.move(which)), axis=1, kind="stable")
    for place in range(space.n_numeric):
        length = nearest.move(which)[np.arange(len(which)), order[:, place]]
        worth = np.square(length) > _WORTH * np.square(nearest.distance[which])
        if not worth.any():
            break
        _shorten(nearest, which[worth], order[worth, place], n_steps, share)


def _shorten(nearest: Nearest, rows: IntArray, column: IntArray, n_steps: int, share: float) -> None:
    best = nearest.move(rows)
    length = best[np.arange(len(rows)), column]
    right, wrong = np.zeros(len(rows)), np.ones(len(rows))  # factors of the length
    active = np.arange(len(rows))
    for step in range(n_steps + 1):
        factor = (1.0 - share) * wrong if step == 0 else 0.5 * (right + wrong)
        moves = best[active].copy()
        moves[np.arange(len(active)), column[active]] = (length * factor)[active]
        points = nearest.space.points(nearest.point[rows[active]], rows[active], moves[:, None])
        answer = nearest.ask(rows[active], points)[:, 0]
        wrong[active] = np.where(answer, factor[active], wrong[active])
        right[active] = np.where(answer, right[active], factor[active])
        if step == 0:
            active = active[answer]
        if not active.size:
            break
