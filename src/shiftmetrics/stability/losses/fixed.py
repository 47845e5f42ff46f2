"""Fixed losses, and 0/1 losses with the distance to an error."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, float64_rows, is_in_chunks
from shiftmetrics._core.blocks import map_reduce, row_blocks
from shiftmetrics._core.chunk_readers import in_chunks
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.placement import placed
from shiftmetrics._core.validation import (
    LARGEST,
    check_choice,
    check_vector,
    refuse_where,
)
from shiftmetrics.stability.losses.base import FARTHEST, KINDS, Kind, Loss, Reach, Transform


@dataclass(frozen=True, eq=False)
class FixedLoss(Loss):
    """Losses of samples that may not change: only their weights may shift.

    Parameters
    ----------
    losses : array_like of shape (n_samples,)
        Loss of each sample, at least 0. Booleans are 0/1 losses: True is an error. They may be out-of-core
        data: of HDF5, zarr or Dask.

    Raises
    ------
    ValueError
        If a loss is negative, not finite, or so large that its square overflows.

    Examples
    --------
    >>> from shiftmetrics.stability import FixedLoss
    >>> FixedLoss([True, False, False]).n_samples
    3
    """

    may_count_errors: ClassVar[bool] = True

    losses: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "losses", _checked(self.losses, "losses", most=LARGEST))

    def base(self, rows: slice) -> FloatArray:
        """Return the losses of ``rows``."""
        losses: FloatArray = float64_rows(self.losses, rows)
        return losses

    def _perturbed(self, dual: float, theta1: float, rows: slice) -> Transform:
        return self.transform(dual, math.inf, rows)

    def _reach(self, rows: slice) -> Reach:
        return self._rest(rows)


@dataclass(frozen=True, eq=False)
class ZeroOneLoss(Loss):
    """The 0/1 loss of a classifier, from the distance of each sample to the nearest error.

    Parameters
    ----------
    distances : array_like of shape (n_samples,)
        Distance (unsquared) that a sample must change by to be misclassified: 0 when it already is, inf when no
        change does it. They may be out-of-core data, as in `FixedLoss`.
    kind : {"exact", "upper_bound", "lower_bound"}, default "exact"
        What the distances are. Stability is monotone in them, so their kind is its kind.

    Raises
    ------
    ValueError
        If a distance is negative, NaN, or finite and above 1e75.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.stability import ZeroOneLoss, stability_criterion
    >>> loss = ZeroOneLoss([0.0, 0.5, 1.0, np.inf])
    >>> round(stability_criterion(loss, 0.5, theta1=1.0, theta2=np.inf).value, 6)  # the second one changes by 0.5
    0.0625
    """

    may_count_errors: ClassVar[bool] = True

    distances: Array
    kind: Kind = field(default="exact", kw_only=True)

    def __post_init__(self) -> None:
        distances = _checked(self.distances, "distances", most=FARTHEST, allow_inf=True)
        object.__setattr__(self, "distances", distances)
        check_choice(self.kind, "kind", KINDS)

    def _squared(self, rows: slice) -> FloatArray:
        distances: FloatArray = float64_rows(self.distances, rows)
        return distances * distances

    def base(self, rows: slice) -> FloatArray:
        """Return 1.0 for the samples that are errors and 0.0 for the others."""
        errors: FloatArray = (self._squared(rows) == 0.0).astype(np.float64)
        return errors

    def _perturbed(self, dual: float, theta1: float, rows: slice) -> Transform:
        squared = self._squared(rows)
        value = dual - theta1 * squared
        # a sample changes iff h > theta1 dist^2
        wrong = (value > 0.0).astype(np.float64)
        np.maximum(value, 0.0, out=value)
        # (h - value) / theta1 would lose digits, and 0 * inf is not a number: no change is longer than this
        np.minimum(squared, dual / theta1, out=squared)
        squared *= wrong
        return Transform(value, wrong, squared)

    def _reach(self, rows: slice) -> Reach:
        squared = self._squared(rows)
        finite = np.isfinite(squared)
        return Reach(finite.astype(np.float64), np.where(finite, squared, 0.0))


def _checked(value: Any, argument: str, *, most: float, allow_inf: bool = False) -> Array:
    """Return losses or distances from 0 to ``most`` (perhaps inf), wherever they are."""
    rows = in_chunks(value, argument)
    expected = f"at most {most:g} everywhere"
    remedy = "Divide losses and threshold by one number."
    if allow_inf:
        expected = f"at most {most:g} or inf"
        remedy = "Measure them in a larger unit."

    def check(part: Any) -> FloatArray:
        vector = check_vector(part, argument, low=0.0, allow_inf=allow_inf)
        refuse_where((vector > most) & np.isfinite(vector), vector, argument, expected, remedy)
        return vector

    if not is_in_chunks(rows) or not len(rows):
        return check(rows)
    if rows.ndim != 1:
        raise ArgumentValueError(argument, "a one-dimensional array", f"shape {rows.shape}")
    # Readers refuse what is not finite, unless distances may be infinite.
    rows.finite = not allow_inf
    map_reduce(lambda block: len(check(rows[block])), placed(row_blocks(len(rows), 8), [rows]))
    return rows
