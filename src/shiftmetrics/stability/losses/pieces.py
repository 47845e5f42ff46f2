"""The piecewise linear loss: the greatest of several linear scores, such as a multiclass hinge."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, IntArray, as_array, float64_rows, to_numpy
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics._core.validation import check_matrix, check_same_shape, check_vector, refuse_where
from shiftmetrics.stability.losses.base import Loss, Reach, Transform, best_columns


@dataclass(frozen=True, eq=False)
class PiecewiseLinearLoss(Loss):
    """The loss ``max_k (a_k.x + b_k)``, whose pieces may depend on the label of the sample.

    Parameters
    ----------
    values : array_like of shape (n_samples, n_pieces)
        ``a_k.x + b_k`` of each sample: its loss is the greatest, which must be at least 0. A loss that never falls
        below zero, like the hinge, has a piece of zeros with norm 0.
    slope_norms : array_like of shape (n_pieces,) or (n_samples, n_pieces)
        Norms of ``a_k`` that are dual to the distance of a change.

    Raises
    ------
    ValueError
        If a value is not finite, a norm is negative, the shapes do not match, or a sample has a negative loss.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.stability import PiecewiseLinearLoss, stability_criterion
    >>> margins = np.linspace(-0.5, 2.4, 30)
    >>> hinge = PiecewiseLinearLoss(np.stack([1 - margins, np.zeros(30)], axis=1), [1.5, 0.0])
    >>> round(stability_criterion(hinge, 1.0).value, 7)
    0.0690334
    """

    values: Array
    slope_norms: Array

    def __post_init__(self) -> None:
        values = to_numpy(check_matrix(self.values, "values"))
        norms = to_numpy(as_array(self.slope_norms, "slope_norms"))
        if norms.ndim == 1:
            norms = check_vector(norms, "slope_norms", length=values.shape[1], low=0.0)
        else:
            norms = check_matrix(norms, "slope_norms")
            check_same_shape(norms, values, "slope_norms", "values")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "slope_norms", norms)
        object.__setattr__(self, "row_bytes", 32 * values.shape[1])
        # Whether a loss is negative is known only from all pieces of a sample.
        for rows in row_blocks(self.n_samples, self.row_bytes):
            loss = self.base(rows)
            start = rows.start
            expected = "at least 0 for the greatest piece of each sample"
            remedy = "Add a piece of zeros with norm 0 if the loss is cut off at zero."
            refuse_where(loss < 0.0, loss, "values", expected, remedy, first_row=start)
            if norms.ndim == 2:
                block = float64_rows(norms, rows)
                refuse_where(
                    block < 0.0, block, "slope_norms", "at least 0 everywhere", first_row=start
                )

    def _norms(self, rows: slice) -> FloatArray:
        """Return the norms of the pieces, which broadcast to the values."""
        norms: FloatArray = self.slope_norms
        return norms if norms.ndim == 1 else float64_rows(norms, rows)

    def base(self, rows: slice) -> FloatArray:
        """Return the losses of ``rows`` before they change."""
        return self._rest(rows).loss

    def _rest(self, rows: slice) -> Reach:
        loss, piece = best_columns(float64_rows(self.values, rows))
        return Reach(loss, np.zeros_like(loss), piece)

    def _perturbed(self, dual: float, theta1: float, rows: slice) -> Transform:
        values = float64_rows(self.values, rows)
        norms = self._norms(rows)
        # what the best change along a piece adds to it
        gains = norms * norms * (dual / (2.0 * theta1))
        # h u_k + h^2 |a_k|^2 / (4 theta1)
        scores = dual * (values + 0.5 * gains)
        gains = np.broadcast_to(gains, values.shape)
        value, loss, gain, piece = best_columns(scores, values, gains)
        # |h a / (2 theta1)|^2 = gain h / (2 theta1)
        return Transform(value, loss + gain, gain * (dual / (2.0 * theta1)), piece)

    def _reach(self, rows: slice) -> Reach:
        rest, steepest = self._rest(rows), self._norms(rows).max(axis=-1)
        return rest._replace(loss=np.where(steepest > 0.0, math.inf, rest.loss))

    def take(self, rows: IntArray) -> Self:
        """Return the loss of some of the samples."""
        norms = self.slope_norms[rows] if self.slope_norms.ndim == 2 else self.slope_norms
        return type(self)(self.values[rows], norms)

    def describe(self) -> dict[str, Any]:
        """Return what `settings` should record of this loss."""
        return {"loss": type(self).__name__, "n_pieces": int(self.values.shape[1])}
