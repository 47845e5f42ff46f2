"""Candidates of higher ``dual loss - theta1 distance^2``, added round by round."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.options import check_memory_limit, format_bytes
from shiftmetrics.models.question import Question
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
