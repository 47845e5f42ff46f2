"""Losses of a linear score, or of the greatest of several, whose worst cases have closed forms.

A sample changes along the gradient of its score, so its margin (or residual) and the norm of the weights suffice.
The norm is the one dual to the distance: for weights w and a cost (x - x')' M (x - x') of a change it is
sqrt(w' M^-1 w), and over some features alone it is the norm of their weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, IntArray, as_array, float64_rows, to_numpy
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics._core.validation import (
    check_matrix,
    check_number,
    check_same_shape,
    check_vector,
    refuse_where,
)
from shiftmetrics.stability.losses.base import Loss, Reach, Transform, best_columns

_NEWTON_STEPS = 60
# Of the last step: convergence is quadratic, so the root is good to about its square.
_NEWTON_TOLERANCE = 1e-6


class _LinearLoss(Loss):
    """Base of losses of a linear score: a margin ``y (w.x + b)`` or a residual, the first field."""

    weight_norm: float

    def __post_init__(self) -> None:
        name = next(iter(vars(self)))
        object.__setattr__(self, name, check_vector(getattr(self, name), name))
        object.__setattr__(
            self, "weight_norm", check_number(self.weight_norm, "weight_norm", low=0.0)
        )

    def _reach(self, rows: slice) -> Reach:
        loss = self.base(rows)
        if self.weight_norm > 0.0:
            loss = np.full_like(loss, math.inf)
        return Reach(loss, np.zeros_like(loss))


@dataclass(frozen=True, eq=False)
class HingeLoss(_LinearLoss):
    """The hinge loss ``max(0, 1 - margin)`` of a linear score.

    Parameters
    ----------
    margins : array_like of shape (n_samples,)
        ``y (w.x + b)`` with y in {-1, +1}; not divided by the norm of w.
    weight_norm : float
        Norm of w that is dual to the distance of a change.

    Raises
    ------
    ValueError
        If a margin is not finite, or the norm is negative.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.stability import HingeLoss, stability_criterion
    >>> loss = HingeLoss(np.linspace(-0.5, 2.4, 30), weight_norm=1.5)
    >>> round(stability_criterion(loss, 1.0).value, 7)
    0.0690334
    """

    margins: Array
    weight_norm: float

    def in_words(self) -> str:
        """Return its name."""
        return "hinge loss"

    def base(self, rows: slice) -> FloatArray:
        """Return the losses of ``rows`` before they change."""
        losses: FloatArray = np.maximum(1.0 - self.margins[rows], 0.0)
        return losses

    def _perturbed(self, dual: float, theta1: float, rows: slice) -> Transform:
        # how far a sample with a loss changes, and what that adds to its loss
        step = dual * self.weight_norm / (2.0 * theta1)
        gain = step * self.weight_norm
        # in this order it is exact where a margin is near 1
        loss: FloatArray = (1.0 - self.margins[rows]) + gain
        # h u + h^2 |a|^2 / (4 theta1); the other piece is zero
        value = loss - 0.5 * gain
        value *= dual
        active = value > 0.0
        np.maximum(value, 0.0, out=value)
        loss *= active
        return Transform(value, loss, np.multiply(active, step * step))


@dataclass(frozen=True, eq=False)
class LogisticLoss(_LinearLoss):
    """The logistic loss ``log(1 + exp(-margin))`` (nats) of a linear score.

    Parameters
    ----------
    margins : array_like of shape (n_samples,)
        ``y (w.x + b)`` with y in {-1, +1}; not divided by the norm of w.
    weight_norm : float
        Norm of w that is dual to the distance of a change.

    Raises
    ------
    ValueError
        If a margin is not finite, or the norm is negative.

    Notes
    -----
    A change by t along w gives ``h softplus(z) - theta1 t^2`` at ``z = t |w| - margin``. Its stationary points solve
    ``z = k sigmoid(z) - margin`` with ``k = h |w|^2 / (2 theta1)``; for k > 4 there may be two maxima. The
    reflection ``z -> -z, margin -> k - margin`` maps one to the other, and they are equally good at margin k/2:
    so the global maximum has z > 0 iff margin < k/2, and one Newton iteration that is monotone finds it.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics import LogisticLoss, stability_criterion
    >>> loss = LogisticLoss(np.linspace(-0.5, 2.4, 30), 1.5)
    >>> round(stability_criterion(loss, 1.0).value, 6)
    0.186629
    """

    margins: Array
    weight_norm: float

    def in_words(self) -> str:
        """Return its name."""
        return "log loss"

    def base(self, rows: slice) -> FloatArray:
        """Return the losses of ``rows`` before they change."""
        return _softplus(-self.margins[rows])

    def _perturbed(self, dual: float, theta1: float, rows: slice) -> Transform:
        margins = self.margins[rows]
        norm = self.weight_norm
        gain = dual * norm * norm / (2.0 * theta1)
        if gain == 0.0:
            return self.transform(dual, math.inf, rows)
        # Which of the two maxima is the global one? The upper one is reflected to the lower one.
        upper = margins < 0.5 * gain
        reflected = np.where(upper, gain - margins, margins)
        point = _lower_root(reflected, gain)
        # does not overflow: the point is at most 0
        decay = np.exp(point)
        sigmoid = decay / (1.0 + decay)
        # t = s sigmoid(z) with s = h |w| / (2 theta1), at z = -point above and z = point below
        step = (gain / norm) * np.where(upper, 1.0 - sigmoid, sigmoid)
        loss = _softplus(step * norm - margins)
        squared = step * step
        return Transform(dual * loss - theta1 * squared, loss, squared)


def _softplus(score: FloatArray) -> FloatArray:
    """Return ``log(1 + exp(score))``; faster than `numpy.logaddexp`."""
    rest = np.log1p(np.exp(-np.abs(score)))
    rest += np.maximum(score, 0.0)
    return rest


def _lower_root(margins: FloatArray, gain: float | FloatArray) -> FloatArray:
    """Return the lowest root of ``z + margin - gain sigmoid(z)``, for margins of at least gain / 2.

    On z <= 0 the function is concave and negative at z = -margin, so Newton's method from there never oversteps.
    For lower margins, where there may be no such root, the result is a point between it and 0.
    """
    point = np.minimum(-margins, 0.0)
    for _ in range(_NEWTON_STEPS):
        decay = np.exp(point)
        sigmoid = decay / (1.0 + decay)
        # Two roots may meet, at margin = gain / 2 and gain = 4: there the slope is 0.
        slope = np.maximum(1.0 - gain * sigmoid * (1.0 - sigmoid), 1e-12)
        step = (gain * sigmoid - margins - point) / slope
        # Never beyond 0, up to where the function is concave.
        step = np.minimum(step, -point)
        point = point + step
        if (step + _NEWTON_TOLERANCE * point).max() <= _NEWTON_TOLERANCE:
            break
    return point


@dataclass(frozen=True, eq=False)
class SquaredLoss(_LinearLoss):
    """The squared loss ``residual^2`` of a linear regression.

    Parameters
    ----------
    residuals : array_like of shape (n_samples,)
        ``w.x + b - y``.
    weight_norm : float
        Norm of w that is dual to the distance of a change.

    Raises
    ------
    ValueError
        If a residual is not finite, or the norm is negative.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.stability import SquaredLoss, stability_criterion
    >>> loss = SquaredLoss(np.linspace(-1.0, 1.0, 30), weight_norm=1.5)
    >>> round(stability_criterion(loss, 1.0).value, 7)
    0.0272018
    """

    residuals: Array
    weight_norm: float

    def in_words(self) -> str:
        """Return its name."""
        return "squared error"

    def base(self, rows: slice) -> FloatArray:
        """Return the losses of ``rows`` before they change."""
        residuals = self.residuals[rows]
        squared: FloatArray = residuals * residuals
        return squared

    def largest_dual(self, theta1: float) -> float:
        """Return ``theta1 / |w|^2``: at this price of a unit of loss every change pays for itself."""
        if math.isinf(theta1) or self.weight_norm == 0.0:
            return math.inf
        return theta1 / self.weight_norm / self.weight_norm

    def _perturbed(self, dual: float, theta1: float, rows: slice) -> Transform:
        base = self.base(rows)
        if self.weight_norm == 0.0:
            return self.transform(dual, math.inf, rows)
        # t = h |w| |e| / (theta1 - h |w|^2), loss (|e| + |w| t)^2; the slack of h keeps its digits near the pole.
        pole = self.largest_dual(theta1)
        growth = pole / (pole - dual)
        step = dual / (pole - dual) / self.weight_norm
        return Transform((dual * growth) * base, (growth * growth) * base, (step * step) * base)

    def lift(self, risk: float, rows: slice) -> Reach | None:
        """Return the changes that raise every sample to the loss ``risk``."""
        residuals = np.abs(self.residuals[rows])
        change = (math.sqrt(risk) - residuals) / self.weight_norm
        return Reach(np.full_like(residuals, risk), change * change)


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
