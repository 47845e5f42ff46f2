"""The ascent of ``dual loss - theta1 distance^2``, and the points that it finds as candidates of a loss."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.options import check_memory_limit, format_bytes
from shiftmetrics.models.question import Question
from shiftmetrics.models.route import Answer
from shiftmetrics.models.space import MoveSpace
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
        # Is there memory for three more points of each row?
        held = sum(points.nbytes for _, points in self.places[1:])
        full = held + 3 * self.places[0][1].nbytes > self.memory_limit
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

    def keep(
        self, rows: IntArray, points: FloatArray, losses: FloatArray, values: FloatArray
    ) -> None:
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
