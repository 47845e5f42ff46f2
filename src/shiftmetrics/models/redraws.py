"""Values of a feature that are drawn anew, without regard to the rest of a row: the risk on average, and at worst."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.options import Computing
from shiftmetrics.stability.criterion import worst_case_risk
from shiftmetrics.stability.losses import FixedLoss

if TYPE_CHECKING:
    from shiftmetrics.models.question import Question

RADIUS = 0.02
"""How far the distribution of the values may shift in the worst case: its relative entropy, in nats.

The shares of values then change by about a fifth. In `benchmarks/decisions.py stability` larger radii predict less
well what another domain does, and 0 no better.
"""
_MOST_VALUES = 32
"""Values of a column that are tried: of more, their quantiles. Of several columns four times as many, at random."""


class Redraws(NamedTuple):
    """The risk when all rows take the same value of a feature, for each of its values.

    Attributes
    ----------
    shares : array of shape (n_values,)
        How often each value occurs.
    risks : array of shape (n_parts, n_values)
        The risk of each part of the rows at each value.
    """

    shares: FloatArray
    risks: FloatArray

    def average(self, part: int = 0) -> float:
        """Return the risk of a part when values are drawn as they occur: that of a shuffle."""
        return float(self.risks[part] @ self.shares)

    def worst(self, part: int = 0) -> float:
        """Return the highest risk of a part when the distribution of the values shifts by at most `RADIUS`."""
        values, quiet = FixedLoss(self.risks[part]), Computing(progress=False)
        prices: dict[str, Any] = {"theta1": np.inf, "theta2": 1.0, "sample_weight": self.shares}
        return worst_case_risk(values, RADIUS, **prices, resampling=None, computing=quiet).value


def redrawn(question: Question, columns: IntArray, parts: FloatArray) -> Redraws:
    """Ask the model for the risks at the values that columns take together.

    Parameters
    ----------
    question : Question
        The model and its rows.
    columns : array of int
        Positions of the columns.
    parts : array of shape (n_parts, n_samples)
        Weights of the rows in each part, which sum to 1; the values are drawn from the first part.
    """
    codes = question.codes
    values, shares = _values(codes[:, columns], parts[0])
    risks = np.empty((len(parts), len(values)))
    for place, value in enumerate(values):
        points = codes.copy()
        points[:, columns] = value
        risks[:, place] = parts @ question.losses(points, slice(None))
    return Redraws(shares, risks)


def _values(held: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the values of shape (n_values, n_columns) that rows hold, or some of them, and their shares."""
    values, codes = np.unique(held, axis=0, return_inverse=True)
    shares: FloatArray = np.bincount(codes.ravel(), weights).astype(np.float64)
    most = _MOST_VALUES if held.shape[1] == 1 else 4 * _MOST_VALUES
    if len(values) > most:
        levels = (np.arange(most) + 0.5) / most
        if held.shape[1] > 1:  # which have no order
            mixed = np.random.default_rng(0).permutation(len(values))
            values, shares = values[mixed], shares[mixed]
        values = values[np.searchsorted(np.cumsum(shares), levels * shares.sum())]
        shares = np.full(most, 1.0 / most)
    kept = shares > 0.0
    return values[kept], shares[kept]
