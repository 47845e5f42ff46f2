"""Climbing without derivatives: points of higher ``dual loss - theta1 distance^2``, from values of the loss alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.models.decision.space import MoveSpace

Losses = Callable[[FloatArray, IntArray], FloatArray]
"""The losses of coded points, given the positions of the rows that they come from."""

LADDER = (1.0, 0.5, 0.25)
"""Shares of the dual price at which the points asked about are compared."""
_LONGEST = 1.0
_SHORTEST = 1e-4
_MOST_DIRECTIONS = 24
_MOST_JUMPS = 16


@dataclass(frozen=True)
class _Best:
    """The best points so far, at each price of the ladder."""

    points: FloatArray
    losses: FloatArray
    values: FloatArray

    def keep(
        self,
        level: int,
        which: IntArray,
        choice: IntArray,
        gain: FloatArray,
        loss: FloatArray,
        points: FloatArray,
    ) -> None:
        """Keep the chosen points where they are better."""
        everyone = np.arange(len(which))
        better = everyone[gain[everyone, choice] > self.values[level, which]]
        rows, choice = which[better], choice[better]
        self.values[level, rows] = gain[better, choice]
        self.losses[level, rows] = loss[better, choice]
        self.points[level, rows] = points[better, choice]


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
        enough: BoolArray = self.queries >= 2 * n_directions + 1 + len(LADDER) + min(n_jumps, _MOST_JUMPS)
        return enough

    def climb(self, points: FloatArray, dual: float, value: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Climb one round from ``points``, whose ``value`` at the price ``dual`` is given.

        Returns
        -------
        points : array of shape (len(LADDER), n_rows, n_columns)
            The best that were asked about, at the price and at some lower ones, since it may fall.
        losses : array of shape (len(LADDER), n_rows)
            Their losses; NaN where a row asked nothing, or at the price itself found nothing better.
        """
        found = np.repeat(points[None], len(LADDER), axis=0)
        losses = np.full(found.shape[:2], np.nan)
        values = np.stack([value, *[np.full(len(points), -np.inf) for _ in LADDER[1:]]])
        which = np.flatnonzero(self._may_ask() & (self._step > _SHORTEST))
        if which.size:
            self._round(which, points, dual, _Best(found, losses, values))
        return found, losses

    def _round(self, which: IntArray, start: FloatArray, dual: float, best: _Best) -> None:
        space, before = self.space, best.values[0, which].copy()
        base, here = start[which], space.moves(start[which], which)
        length, directions = self._step[which][:, None, None], self._directions()
        both = np.concatenate(
            [here[:, None] + length * directions, here[:, None] - length * directions], axis=1
        )
        trials = space.points(base, which, space.clip(both, which))
        jumps = list(space.jumps(base))
        if len(jumps) > _MOST_JUMPS:
            jumps = [jumps[place] for place in self._rng.permutation(len(jumps))[:_MOST_JUMPS]]
        if jumps:
            trials = np.concatenate([trials, np.stack(jumps, axis=1)], axis=1)
        loss = self._ask(which, trials, dual, best)
        k = len(directions)
        if k:
            slope = (loss[:, :k] - loss[:, k : 2 * k]) / (2.0 * length[:, :, 0])
            target = (dual / (2.0 * self._theta1)) * (
                slope @ directions
            )  # where the first-order gain is greatest
            ways = np.stack([target, 0.5 * (here + target), *[part * target for part in LADDER[1:]]], axis=1)
            self._ask(which, space.points(base, which, space.clip(ways, which)), dual, best)
        gained = best.values[0, which] > before + 1e-3 * np.abs(before)
        self._step[which] = np.minimum(np.where(gained, 1.2, 0.4) * self._step[which], _LONGEST)

    def _ask(self, which: IntArray, trials: FloatArray, dual: float, best: _Best) -> FloatArray:
        """Ask at several points of each row, keep the best at each price, and return the losses."""
        n_which, n_points, n_columns = trials.shape
        owner = np.repeat(which, n_points)
        flat = self.space.allowed(trials.reshape(-1, n_columns), owner)
        loss = self._losses(flat, owner).reshape(n_which, n_points)
        loss = np.nan_to_num(
            loss, nan=0.0, posinf=0.0
        )  # a point far off, where the model overflows, is no point
        self.queries[which] -= n_points
        cost = self._theta1 * np.square(self.space.distance(flat, owner)).reshape(n_which, n_points)
        points = flat.reshape(trials.shape)
        for level, part in enumerate(LADDER):
            gain = part * dual * loss - cost
            choice = gain.argmax(axis=1)
            best.keep(level, which, choice, gain, loss, points)
        return loss

    def _directions(self) -> FloatArray:
        p = self.space.n_numeric
        if p <= _MOST_DIRECTIONS:
            return np.eye(p)
        draw = self._rng.standard_normal((p, _MOST_DIRECTIONS))
        return np.asarray(np.linalg.qr(draw)[0].T)
