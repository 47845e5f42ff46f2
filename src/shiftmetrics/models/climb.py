"""Searches for moves: where rows may go, and candidates of higher ``dual loss - theta1 distance^2``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.options import check_memory_limit, format_bytes
from shiftmetrics.models.domain import FAR, Domain, differs
from shiftmetrics.models.question import Question
from shiftmetrics.models.route import Answer
from shiftmetrics.stability.losses import CandidateLoss, Loss

_EVERYTHING = slice(None)
_PRICE_STEP = 4.0  # where no price is known yet, the next to try is so many times as high
FEWEST_STEPS = 4.0
"""A column of integers whose unit is at least so many steps slides like any number; others jump."""


class MoveSpace:
    """Some rows and the moves they may make.

    A *move* is the part in the numeric columns that slide, of shape (n_numeric,), in units of cost. Categories and
    coarse integers *jump*: a point carries them along while it slides. A cell that is missing moves by 0.

    Parameters
    ----------
    domain : Domain
        Where rows may move.
    origin : array of shape (n_rows, n_columns)
        The rows, coded.

    Attributes
    ----------
    numeric : array of shape (n_numeric,)
        The columns that slide; the squared length of a move is its cost.
    low, high : array of shape (n_rows, n_numeric)
        The box of moves.
    jumping : list of arrays
        Columns that jump: those of each flip, and each coarse column of integers by itself.
    """

    def __init__(self, domain: Domain, origin: FloatArray) -> None:
        self.domain = domain
        self.origin = origin
        coarse = domain.sliding & domain.integer & (domain.unit < FEWEST_STEPS)
        self.numeric: IntArray = np.flatnonzero(domain.sliding & ~coarse)
        self.unit: FloatArray = domain.unit[self.numeric]
        low, high = domain.limits(origin)
        start = origin[:, self.numeric]
        self.low: FloatArray = _moves_by_zero((low[:, self.numeric] - start) / self.unit)
        self.high: FloatArray = _moves_by_zero((high[:, self.numeric] - start) / self.unit)
        self.flips = domain.movable_flips
        self.coarse: IntArray = np.flatnonzero(coarse)
        self.jumping: list[IntArray] = [flip.columns for flip in self.flips]
        self.jumping += [np.array([column]) for column in self.coarse]

    @property
    def n_numeric(self) -> int:
        """Number of columns that slide."""
        return len(self.numeric)

    def allowed(self, points: FloatArray, owner: IntArray) -> FloatArray:
        """Return the valid points nearest to ``points``; ``owner`` names the row of each."""
        return self.domain.clip(points, self.origin[owner])

    def distance(self, points: FloatArray, owner: IntArray) -> FloatArray:
        """Return the distances (unsquared) of points from their rows."""
        return self.domain.distances(points, self.origin[owner])

    def moves(self, points: FloatArray, owner: IntArray) -> FloatArray:
        """Return the moves that lead to points, of shape (n_points, n_numeric)."""
        return _moves_by_zero((points - self.origin[owner])[:, self.numeric] / self.unit)

    def points(self, base: FloatArray, owner: IntArray, moves: FloatArray) -> FloatArray:
        """Return the points of several moves of each row, with the jumps of ``base``.

        Parameters
        ----------
        base : array of shape (n_rows, n_columns) or (n_rows, n_points, n_columns)
        owner : array of shape (n_rows,)
        moves : array of shape (n_rows, n_points, n_numeric)

        Returns
        -------
        array of shape (n_rows, n_points, n_columns)
        """
        points = base.copy() if base.ndim == 3 else np.repeat(base[:, None, :], moves.shape[1], axis=1)
        points[:, :, self.numeric] = self.origin[owner][:, None, self.numeric] + moves * self.unit
        return points

    def clip(self, moves: FloatArray, owner: IntArray) -> FloatArray:
        """Return moves of shape (n_rows, n_points, n_numeric) inside the box."""
        inside: FloatArray = np.clip(moves, self.low[owner][:, None], self.high[owner][:, None])
        return inside

    def squared_costs(self, points: FloatArray, owner: IntArray) -> FloatArray:
        """Return what each part of a point adds to its squared distance: numeric columns, then jumps."""
        start = self.origin[owner]
        costs = [np.square(self.moves(points, owner))]
        for flip in self.flips:
            changed = differs(points[:, flip.columns], start[:, flip.columns]).any(axis=1)
            costs.append(np.where(changed, min(flip.distance, FAR) ** 2, 0.0)[:, None])
        steps = _moves_by_zero((points - start)[:, self.coarse])
        costs.append(np.square(steps / self.domain.unit[self.coarse]))
        return np.concatenate(costs, axis=1)

    def some_jumps(self, points: FloatArray, rng: np.random.Generator, most: int) -> FloatArray:
        """Return points with one more jump, of shape (n_points, n_jumps, n_columns): all, or some at random."""
        options = list(self._jumps(points))
        if len(options) > most:
            options = [options[place] for place in np.sort(rng.permutation(len(options))[: max(1, most)])]
        if options:
            return np.stack(options, axis=1)
        return np.empty((len(points), 0, points.shape[1]))

    def _jumps(self, points: FloatArray) -> Iterator[FloatArray]:
        """Yield points with one more jump each: another state of a flip, or a step up or down."""
        for flip in self.flips:
            held = flip.state_of(points)
            for shift in range(1, len(flip.states)):
                jumped = points.copy()
                flip.put(jumped, (held + shift) % len(flip.states))
                yield jumped
        for column in self.coarse:
            for step in (1.0, -1.0):
                jumped = points.copy()
                jumped[:, column] += step
                yield jumped


def _moves_by_zero(moves: FloatArray) -> FloatArray:
    """Return moves with 0 where a cell is missing."""
    return np.where(np.isnan(moves), 0.0, moves)


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
    def of(cls, question: Question, losses: FloatArray) -> Self:
        """Start from the rows where they stand, and their losses there."""
        start = CandidateLoss(losses[:, None], np.zeros((question.n_samples, 1)))
        places = ((np.arange(question.n_samples), question.codes),)
        return cls(start, places, check_memory_limit(question.memory_limit))

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
        held = sum(points.nbytes for _, points in self.places[1:])
        full = held + 3 * self.places[0][1].nbytes > self.memory_limit  # three more points for each row
        if full:
            text = (
                f"The search ended when its points took {format_bytes(self.memory_limit)} of memory, so the bound "
                "may be loose. Take fewer rows."
            )
            warnings = (*warnings, text)
        go_on = None if full else refine
        return Answer(self.loss, self.points, lower=lower, refine=go_on, warnings=warnings)

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


class BestPoints(NamedTuple):
    """The best points of the rows in a round.

    Attributes
    ----------
    points : array of shape (n_samples, n_features)
        A point for each row, coded.
    losses, values : array of shape (n_samples,)
        Its loss, and ``dual loss - theta1 distance^2``.
    found : bool array of shape (n_samples,)
        Whether it was found in this round.
    """

    points: FloatArray
    losses: FloatArray
    values: FloatArray
    found: BoolArray

    def keep(self, rows: IntArray, points: FloatArray, losses: FloatArray, values: FloatArray) -> None:
        """Take the points of these rows, one each, that are better than the best so far; in place."""
        better = np.flatnonzero(values > self.values[rows])
        rows = rows[better]
        self.points[rows] = points[better]
        self.losses[rows] = losses[better]
        self.values[rows] = values[better]
        self.found[rows] = True


class Ascent:
    """Ascent of ``dual loss - theta1 distance^2`` for every row, round by round (column generation).

    The worst case among the points found so far has a dual price: what a unit of risk costs. A round looks for
    points that are better at this price, which joins them to the candidates of the loss. When no round pays, no
    point that this search can find lowers the stability further. It is a heuristic: better points may exist.

    A subclass says how a round climbs, and at which price to start.

    Attributes
    ----------
    rtol : float
        A round pays when the values of the rows grow by more than this, relative to their size.
    warnings : tuple of str
        What the caller should know.
    price : float
        The dual price of the last round; it grows while the threshold is out of reach.
    """

    rtol: float
    warnings: tuple[str, ...] = ()

    def __init__(self, question: Question) -> None:
        codes = question.codes
        self.question = question
        self.space = MoveSpace(question.domain, codes)
        self.columns = Columns.of(question, question.losses(codes, _EVERYTHING))
        self.price = 1.0

    def climb(self, start: FloatArray, best: BestPoints, dual: float) -> None:
        """Climb from ``start``, the best points known, and keep better ones in ``best``."""
        raise NotImplementedError

    def next_price(self, dual: float) -> float | None:
        """Return the price of another round after one that did not pay, None to end."""
        raise NotImplementedError

    def round(self, price: float) -> bool:
        """Climb once, add what was found, and return whether that paid."""
        start, value = self.columns.best(price, self.question.theta1)
        n = len(start)
        best = BestPoints(start.copy(), np.zeros(n), value.copy(), np.zeros(n, dtype=np.bool_))
        self.climb(start, best, price)
        if not best.found.any():
            return False
        self.add(best, price)
        gain = best.values - value
        return bool(gain.sum() > self.rtol * np.abs(best.values).sum())

    def add(self, best: BestPoints, price: float) -> None:
        """Add the points that a round found to the candidates."""
        distances = self.question.domain.distances(best.points, self.question.codes)
        distances = np.where(best.found, distances, np.inf)
        self.columns = self.columns.appended(best.points, best.losses, distances)

    def refine(self, dual: float) -> Answer | None:
        """Climb at the dual price of the last solution; None when that no longer pays."""
        price: float | None = self.price_at(dual)
        while price is not None:
            if self.round(price):
                return self.answer()
            price = self.next_price(dual)
        return None

    def price_at(self, dual: float) -> float:
        """Return the dual price itself, or a higher one than before where it is infinite."""
        if math.isfinite(dual) and dual > 0.0:
            self.price = dual
        else:
            self.price *= _PRICE_STEP
        return self.price

    def answer(self) -> Answer:
        """Return the points found so far as an answer that can be refined."""
        return self.columns.answer(self.refine, warnings=self.warnings)
