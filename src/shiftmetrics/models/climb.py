"""Climbing without derivatives: points of higher ``dual loss - theta1 distance^2``, from values of the loss alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.models.decision.space import MoveSpace

Losses = Callable[[FloatArray, IntArray], FloatArray]
"""The losses of coded points, given the positions of the rows that they come from."""

_LONGEST = 1.0
_SHORTEST = 1e-4
_MOST_DIRECTIONS = 24
_MOST_JUMPS = 16


class Climber:
    """Rows that climb from where they are, each with its own length of step and its own budget.

    Each round asks at both ends of a step along every column (or along some random directions, where there are
    many), at one more jump of each category, and then where the gradient that these answers give points to.

    Parameters
    ----------
    losses : callable
        ``losses(points, rows)``.
    space : MoveSpace
        The rows and where they may move.
    queries : array of shape (n_rows,)
        What is left of the budget of each row; counted down in place.
    rng : Generator
        For random directions.
    """

    def __init__(
        self, losses: Losses, space: MoveSpace, queries: IntArray, theta1: float, rng: np.random.Generator
    ) -> None:
        self.space, self.queries = space, queries
        self._losses, self._theta1, self._rng = losses, theta1, rng
        self._step = np.full(len(space.origin), 0.3 * _LONGEST)

    @property
    def able(self) -> bool:
        """Whether some row can go on."""
        return bool((self._may_ask() & (self._step > _SHORTEST)).any())

    def restart(self) -> None:
        """Take longer steps again: the price has changed."""
        self._step = np.maximum(self._step, 0.1 * _LONGEST)

    def _may_ask(self) -> BoolArray:
        n_directions = min(self.space.n_numeric, _MOST_DIRECTIONS)
        n_jumps = sum(len(flip.states) - 1 for flip in self.space.flips) + 2 * len(self.space.coarse)
        enough: BoolArray = self.queries >= 2 * n_directions + 3 + min(n_jumps, _MOST_JUMPS)
        return enough

    def climb(
        self, points: FloatArray, dual: float, value: FloatArray, *, n_rounds: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return better points and their losses; rows that found none keep theirs, with a loss of NaN."""
        points, losses, value = points.copy(), np.full(len(points), np.nan), value.copy()
        for _ in range(n_rounds):
            directions = self._directions()
            which = np.flatnonzero(self._may_ask() & (self._step > _SHORTEST))
            if not which.size:
                break
            self._round(which, directions, points, losses, value, dual)
        return points, losses

    def _round(
        self, which: IntArray, directions: FloatArray, points: FloatArray, losses: FloatArray, value: FloatArray,
        dual: float,
    ) -> None:  # fmt: skip
        space, start = self.space, value[which].copy()
        base, here = points[which], space.moves(points[which], which)
        length = self._step[which][:, None, None]
        both = np.concatenate(
            [here[:, None] + length * directions, here[:, None] - length * directions], axis=1
        )
        trials = space.points(base, which, space.clip(both, which))
        jumps = list(space.jumps(base))
        if len(jumps) > _MOST_JUMPS:
            jumps = [jumps[place] for place in self._rng.permutation(len(jumps))[:_MOST_JUMPS]]
        if jumps:
            trials = np.concatenate([trials, np.stack(jumps, axis=1)], axis=1)
        found = self._ask(which, trials, points, losses, value, dual)
        k = len(directions)
        if k:
            slope = (found[:, :k] - found[:, k : 2 * k]) / (2.0 * dual * length[:, :, 0])
            gradient = slope @ directions
            target = here + (dual / (2.0 * self._theta1)) * gradient  # where the first-order gain is greatest
            ways = here[:, None] + np.array([1.0, 0.5, 0.15])[None, :, None] * (target - here)[:, None]
            trials = space.points(base, which, space.clip(ways, which))
            self._ask(which, trials, points, losses, value, dual)
        gained = value[which] > start + 1e-3 * np.abs(start)
        self._step[which] = np.minimum(np.where(gained, 1.2, 0.4) * self._step[which], _LONGEST)

    def _ask(
        self, which: IntArray, trials: FloatArray, points: FloatArray, losses: FloatArray, value: FloatArray,
        dual: float,
    ) -> FloatArray:  # fmt: skip
        """Ask at several points of each row, keep the best, and return ``dual loss`` of all."""
        n_which, n_points, n_columns = trials.shape
        owner = np.repeat(which, n_points)
        flat = self.space.allowed(trials.reshape(-1, n_columns), owner)
        loss = self._losses(flat, owner).reshape(n_which, n_points)
        self.queries[which] -= n_points
        distance = self.space.distance(flat, owner).reshape(n_which, n_points)
        gain = dual * loss - self._theta1 * np.square(distance)
        best = gain.argmax(axis=1)
        everyone = np.arange(n_which)
        better = everyone[gain[everyone, best] > value[which]]
        rows = which[better]
        value[rows] = gain[better, best[better]]
        losses[rows] = loss[better, best[better]]
        points[rows] = flat.reshape(trials.shape)[better, best[better]]
        return dual * loss

    def _directions(self) -> FloatArray:
        p = self.space.n_numeric
        if p <= _MOST_DIRECTIONS:
            return np.eye(p)
        draw = self._rng.standard_normal((p, _MOST_DIRECTIONS))
        return np.asarray(np.linalg.qr(draw)[0].T)
