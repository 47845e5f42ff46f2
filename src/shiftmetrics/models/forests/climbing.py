"""Climbing over the cells near a row, one move along one axis at a time, to an error or to a higher loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics.models.forests.neighbourhood import Moves, Neighbourhood

GAIN = 1e-9
"""Relative gain below which nothing is better."""
_MOST_STEPS = 24

Score: TypeAlias = Callable[[Moves], FloatArray]
"""How good each move is: the best one of a row is taken if it is above 0."""


def climb(
    block: Neighbourhood,
    cells: IntArray,
    score: Score,
    *,
    to_error: bool = False,
    closed: IntArray | None = None,
) -> IntArray:
    """Take the best move of each row along one axis again and again, until none is better.

    Parameters
    ----------
    block : Neighbourhood
        The rows.
    cells : array of shape (n_rows, n_axes)
        Where they begin.
    score : callable
        Which moves are good.
    to_error : bool
        Whether a row stops once its height is positive.
    closed : array of shape (n_rows,), optional
        An axis along which each row may not change.
    """
    ends = cells.copy()
    rows = np.arange(len(cells))
    cells = cells.copy()
    outside = block.outside(cells)
    going = np.ones(len(cells), dtype=np.bool_)
    for _ in range(_MOST_STEPS):
        if 2 * going.sum() < len(going):
            # Most rows have arrived: go on without them.
            ends[rows] = cells
            left = np.flatnonzero(going)
            outside = outside[going[block.box_row]]
            block = block.take(left, np.full(len(left), np.inf))
            rows = rows[left]
            cells = cells[left]
            going = going[left]
        moves = block.moves(cells, outside, going)
        able = np.isfinite(moves.squared)
        if to_error:
            able &= moves.height <= 0.0
        if closed is not None:
            able &= moves.axis != closed[rows[moves.row]]
        scores = np.where(able, score(moves), -np.inf)
        position, highest = moves.best(scores, len(cells))
        going = highest > 0.0
        better = np.flatnonzero(going)
        if not better.size:
            break
        taken = position[better]
        axis = moves.axis[taken]
        block.put(cells, better, axis, moves.cell[taken], outside)
    ends[rows] = cells
    return ends


def _nearest_error(moves: Moves) -> FloatArray:
    """Prefer the nearest error."""
    nearness = 1.0 / (1.0 + moves.squared)
    return np.where(moves.heights > 0.0, nearness, -np.inf)


def shortest_error(moves: Moves) -> FloatArray:
    """Prefer the error that saves most."""
    saved = moves.spent - moves.squared
    return np.where(moves.heights > 0.0, saved, -np.inf)


def _steepest(moves: Moves) -> FloatArray:
    """Prefer what gains most height, up to an error, for its cost."""
    price = moves.squared - moves.spent
    gain = np.minimum(moves.heights, 0.0) - moves.height
    has_price = price > 0.0
    rate = gain / np.where(has_price, price, 1.0)
    return np.where(has_price, rate, -np.inf)


def worth(price: FloatArray | float) -> Score:
    """Prefer what gains most height, less its cost at a price."""

    def score(moves: Moves) -> FloatArray:
        gain = moves.heights - moves.height
        cost = price * (moves.squared - moves.spent)
        # A gain within rounding is none.
        least = GAIN * 1e-3 * (1.0 + price)
        return np.asarray(gain - cost - least)

    return score


# A heuristic in three ways, each followed by shortening: the nearest error along one axis; the steepest ascent; and
# the steepest ascent from the best error without its most expensive change, whose axis is closed. It fails where an
# error needs several moves at once none of which gains height.
def shortest_errors(block: Neighbourhood) -> tuple[FloatArray, IntArray]:
    """Return the squared distance of the nearest error found for each row (inf: none), and its cells."""
    everyone = np.arange(len(block.start))
    best = np.full(len(everyone), np.inf)
    where = block.start.copy()

    def keep(part: Neighbourhood, rows: IntArray, cells: IntArray) -> None:
        heights = part.heights_at(cells)
        errors = np.flatnonzero(heights > 0.0)
        reached = part.spent(cells).sum(axis=1)
        part = part.take(errors, reached[errors])
        rows = rows[errors]
        cells = climb(part, cells[errors], shortest_error)
        squared = part.spent(cells).sum(axis=1)
        nearer = squared < best[rows]
        best[rows[nearer]] = squared[nearer]
        where[rows[nearer]] = cells[nearer]

    for score in (_nearest_error, _steepest):
        # Nothing beyond the best error so far counts, which leaves the second search fewer boxes.
        part = block.take(everyone, best)
        climbed = climb(part, block.start, score, to_error=True)
        keep(part, everyone, climbed)
    rows = np.flatnonzero(np.isfinite(best))
    if rows.size:
        part = block.take(rows, best[rows])
        cells = where[rows].copy()
        spent = part.spent(cells)
        dearest = spent.argmax(axis=1)
        place = np.arange(len(rows)), dearest
        cells[place] = part.start[place]
        climbed = climb(part, cells, _steepest, to_error=True, closed=dearest)
        keep(part, rows, climbed)
    return best, where
