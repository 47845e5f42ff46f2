"""Column generation: points that rows can reach, added round by round while they still pay at the dual price."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics.stability.losses import CandidateLoss

_EVERYTHING = slice(None)
_PRICE_STEP = 4.0  # where no price is known yet, the next to try is so many times as high


@dataclass(frozen=True, eq=False)
class Columns:
    """Rows and the points found for them, as candidates of a loss.

    Attributes
    ----------
    loss : CandidateLoss
        Losses and distances of all points; column 0 is the row itself.
    places : tuple of arrays of shape (n_rows, n_features)
        The coded points of each column.
    """

    loss: CandidateLoss
    places: tuple[FloatArray, ...]

    @classmethod
    def of(cls, codes: FloatArray, losses: FloatArray) -> Self:
        """Start from the rows where they stand."""
        return cls(CandidateLoss(losses[:, None], np.zeros((len(codes), 1))), (codes,))

    def appended(self, points: FloatArray, losses: FloatArray, distances: FloatArray) -> Columns:
        """Return more columns; a distance of inf, or of 0, says that a row has no new point."""
        distances = np.where(distances > 0.0, distances, np.inf)
        losses = np.where(np.isfinite(distances), losses, 0.0)
        return Columns(self.loss.appended(losses, distances), (*self.places, points))

    def points(self, rows: IntArray, distances: FloatArray, choices: IntArray | None) -> FloatArray:
        """Return the points that rows take in a plan, by their choices."""
        assert choices is not None
        points = np.empty((len(rows), self.places[0].shape[1]))
        for column in np.unique(choices):
            here = choices == column
            points[here] = self.places[column][rows[here]]
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
    """The dual price at which to look for points, and how it goes on while the threshold is out of reach."""

    guess: float

    def at(self, dual: float) -> float:
        """Return the price itself, or a higher one than before where it is infinite."""
        if math.isfinite(dual) and dual > 0.0:
            self.guess = dual
        else:
            self.guess *= _PRICE_STEP
        return self.guess


def pays(gain: FloatArray, value: FloatArray, rtol: float) -> bool:
    """Tell whether gains of the rows at a dual price are worth another round."""
    return bool(gain.sum() > rtol * np.abs(value).sum())
