"""Along one line: shorten the best move until the model calls it right, by leaps first and by halves after."""

from __future__ import annotations

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics.models.decision.nearest import Nearest


def shrink(nearest: Nearest, which: IntArray, *, n_steps: int, leap: float = 0.5) -> None:
    """Shorten the moves of the best points.

    A first query leaps a share ``leap`` of the move, and leaps double until one goes too far; bisection follows.
    """
    if not which.size or not nearest.space.n_numeric:
        return
    best, base = nearest.move(which), nearest.point[which]
    right, wrong = np.zeros(len(which)), np.ones(len(which))  # factors
    step, bracketed = leap, np.zeros(len(which), dtype=bool)
    for _ in range(n_steps):
        middle = 0.5 * (right + wrong)
        factor = np.where(bracketed, middle, np.maximum(wrong - step, 0.5 * wrong))
        points = nearest.space.points(base, which, (best * factor[:, None])[:, None])
        answer = nearest.ask(which, points)[:, 0]
        right, wrong = np.where(answer, right, factor), np.where(answer, factor, wrong)
        bracketed |= ~answer
        step *= 2.0


def lengths(moves: FloatArray) -> FloatArray:
    """Return the length of each move along the last axis."""
    length: FloatArray = np.sqrt(np.einsum("...j,...j->...", moves, moves))
    return length
