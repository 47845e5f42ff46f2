"""Losses of a linear score, whose worst cases have closed forms.

A sample changes along the gradient of its score, so its margin (or residual) and the norm of the weights suffice.
The norm is the one dual to the distance: for weights w and a cost (x - x')' M (x - x') of a change it is
sqrt(w' M^-1 w), and over some features alone it is the norm of their weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, IntArray
from shiftmetrics._core.validation import check_number, check_vector
from shiftmetrics.stability.losses.base import Loss, Reach, Transform

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

    def take(self, rows: IntArray) -> Self:
        """Return the loss of some of the samples."""
        scores = next(iter(vars(self).values()))
        return type(self)(scores[rows], self.weight_norm)  # type: ignore[call-arg]


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
