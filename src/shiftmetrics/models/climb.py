"""Candidates of higher ``dual loss - theta1 distance^2``, added round by round; a climb without derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.memory import check_memory_limit, format_bytes
from shiftmetrics.models.decision.nearest import MoveSpace
from shiftmetrics.models.route import Answer
from shiftmetrics.stability.losses import CandidateLoss, Loss

_EVERYTHING = slice(None)
_PRICE_STEP = 4.0  # where no price is known yet, the next to try is so many times as high


@dataclass(frozen=True, eq=False)
class Columns:
    """Rows and the points found for them, as candidates of a loss.

    Attributes
    ----------
    loss : CandidateLoss
        Losses and distances of all points; column 0 is the row itself.
    places : tuple of pairs of arrays
        The rows that have a point in each column, and these points, coded, of shape (n_such_rows, n_features).
    memory_limit : int
        Bytes that the points may take.
    """

    loss: CandidateLoss
    places: tuple[tuple[IntArray, FloatArray], ...]
    memory_limit: int

    @classmethod
    def of(cls, codes: FloatArray, losses: FloatArray, *, memory_limit: int | None = None) -> Self:
        """Start from the rows where they stand."""
        start = CandidateLoss(losses[:, None], np.zeros((len(codes), 1)))
        return cls(start, ((np.arange(len(codes)), codes),), check_memory_limit(memory_limit))

    @property
    def is_full(self) -> bool:
        """Whether three more points for each row might not fit."""
        held = sum(points.nbytes for _, points in self.places[1:])
        return held + 3 * self.places[0][1].nbytes > self.memory_limit

    def appended(self, points: FloatArray, losses: FloatArray, distances: FloatArray) -> Columns:
        """Return more columns; a row at distance inf or 0 has no new point."""
        distances = np.where(distances > 0.0, distances, np.inf)
        losses = np.where(np.isfinite(distances), losses, 0.0)
        rows = np.flatnonzero(np.isfinite(distances))
        grown = (*self.places, (rows, points[rows]))
        return Columns(self.loss.appended(losses, distances), grown, self.memory_limit)

    def answer(
        self,
        refine: Callable[[float], Answer | None],
        *,
        lower: Loss | None = None,
        warnings: tuple[str, ...] = (),
    ) -> Answer:
        """Return the answer of a search, which goes on by ``refine`` while there is memory."""
        if self.is_full:
            text = (
                f"The search ended when its points took {format_bytes(self.memory_limit)} of memory, so the bound "
                "may be loose. Take fewer rows."
            )
            return Answer(self.loss, self.points, lower=lower, warnings=(*warnings, text))
        return Answer(self.loss, self.points, lower=lower, refine=refine, warnings=warnings)

    def points(self, rows: IntArray, distances: FloatArray, choices: IntArray | None) -> FloatArray:
        """Return the points that rows take in a plan, by their choices."""
        assert choices is not None
        points = np.empty((len(rows), self.places[0][1].shape[1]))
        for column in np.unique(choices):
            here = choices == column
            known, places = self.places[column]
            points[here] = places[np.searchsorted(known, rows[here])]
        return points

    def best(self, dual: float, theta1: float) -> tuple[FloatArray, FloatArray]:
        """Return the best point of each row at a dual price, and its value ``dual loss - theta1 distance^2``."""
        best = self.loss.transform(dual, theta1, _EVERYTHING)
        assert best.choice is not None
        rows = np.arange(self.loss.n_samples)
        return self.points(rows, np.sqrt(best.squared_distance), best.choice), best.value

    def best_away(self, dual: float, theta1: float) -> tuple[FloatArray, FloatArray]:
        """Return the best point of each row that is not the row itself, which it is only where it has no other."""
        losses, squared = self.loss.losses, np.square(self.loss.distances)
        with np.errstate(invalid="ignore"):
            values = np.where(np.isfinite(squared), dual * losses - theta1 * squared, -np.inf)
        values[:, 0] = np.where(np.isfinite(values[:, 1:]).any(axis=1), -np.inf, values[:, 0])
        choice = values.argmax(axis=1)
        rows = np.arange(self.loss.n_samples)
        return self.points(rows, squared[rows, choice], choice), values[rows, choice]


@dataclass
class Price:
    """The dual price at which points are searched; it grows while the threshold is out of reach."""

    guess: float

    def at(self, dual: float) -> float:
        """Return the price itself, or a higher one than before where it is infinite."""
        if math.isfinite(dual) and dual > 0.0:
            self.guess = dual
        else:
            self.guess *= _PRICE_STEP
        return self.guess


def pays(gain: FloatArray, value: FloatArray, rtol: float) -> bool:
    """Return whether gains of the rows at a dual price are worth another round."""
    return bool(gain.sum() > rtol * np.abs(value).sum())


Losses = Callable[[FloatArray, IntArray], FloatArray]
"""The losses of coded points, given the positions of the rows that they come from."""

LADDER = (1.0, 0.5, 0.25)
"""Shares of the dual price at which the evaluated points are compared."""
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
    """Rows that climb from where they are, each with a step length and a budget of its own.

    Each round evaluates both ends of a step along every column (or along some random directions, where there are
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
        return bool((self._affordable() & (self._step > _SHORTEST)).any())

    def restart(self) -> None:
        """Take longer steps again: the price has changed."""
        self._step = np.maximum(self._step, 0.1 * _LONGEST)

    def _affordable(self) -> BoolArray:
        n_directions = min(self.space.n_numeric, _MOST_DIRECTIONS)
        n_jumps = sum(len(flip.states) - 1 for flip in self.space.flips) + 2 * len(self.space.coarse)
        enough: BoolArray = self.queries >= 2 * n_directions + 1 + len(LADDER) + min(n_jumps, _MOST_JUMPS)
        return enough

    def climb(self, points: FloatArray, dual: float, value: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Climb one round from ``points``, whose ``value`` at the price ``dual`` is given.

        Returns
        -------
        points : array of shape (len(LADDER), n_rows, n_columns)
            The best evaluated points, at the price and at some lower ones, since it may fall.
        losses : array of shape (len(LADDER), n_rows)
            Their losses; NaN where no point was evaluated, or none was better at the price.
        """
        found = np.repeat(points[None], len(LADDER), axis=0)
        losses = np.full(found.shape[:2], np.nan)
        values = np.stack([value, *[np.full(len(points), -np.inf) for _ in LADDER[1:]]])
        which = np.flatnonzero(self._affordable() & (self._step > _SHORTEST))
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
        loss = self._evaluate(which, trials, dual, best)
        k = len(directions)
        if k:
            slope = (loss[:, :k] - loss[:, k : 2 * k]) / (2.0 * length[:, :, 0])
            target = (dual / (2.0 * self._theta1)) * (
                slope @ directions
            )  # where the first-order gain is greatest
            ways = np.stack([target, 0.5 * (here + target), *[part * target for part in LADDER[1:]]], axis=1)
            self._evaluate(which, space.points(base, which, space.clip(ways, which)), dual, best)
        gained = best.values[0, which] > before + 1e-3 * np.abs(before)
        self._step[which] = np.minimum(np.where(gained, 1.2, 0.4) * self._step[which], _LONGEST)

    def _evaluate(self, which: IntArray, trials: FloatArray, dual: float, best: _Best) -> FloatArray:
        """Evaluate several points of each row, keep the best at each price, and return the losses."""
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
