"""Any model, by candidates: for each sample a growing list of points that it can reach, with loss and distance."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, IntArray, as_array, float64_rows, to_numpy
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics._core.validation import (
    check_choice,
    check_matrix,
    check_same_shape,
    describe,
    refuse_where,
)
from shiftmetrics.stability.losses.base import (
    FARTHEST,
    KINDS,
    Kind,
    Loss,
    Reach,
    Transform,
    best_columns,
    nearest_best,
)


@dataclass(frozen=True, eq=False)
class CandidateLoss(Loss):
    """The loss of any model at some of the points that each sample can change to.

    Parameters
    ----------
    losses : array_like of shape (n_samples, n_candidates)
        Loss of each candidate, at least 0. Column 0 is the sample as it is.
    distances : array_like of shape (n_samples, n_candidates)
        Distance (unsquared) of each candidate from its sample: 0 in column 0, inf where a sample has fewer
        candidates (its loss there is ignored). Other candidates at distance 0 are free: they count as the sample
        itself.
    kind : {"upper_bound", "exact", "lower_bound"}, default "upper_bound"
        "exact" where the candidates hold every worst case. Stability falls as candidates are added.

    Raises
    ------
    ValueError
        If the shapes differ, a loss is negative or not finite, a distance is negative or NaN, or column 0 is not
        at distance 0.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.stability import CandidateLoss, stability_criterion
    >>> loss = CandidateLoss([[0.0, 1.0], [0.0, 1.0]], [[0.0, 0.5], [0.0, np.inf]])
    >>> round(stability_criterion(loss, 0.5, theta1=1.0, theta2=np.inf).value, 6)
    0.125
    >>> nearer = loss.appended([1.0, 1.0], [0.3, 0.4])
    >>> round(stability_criterion(nearer, 0.5, theta1=1.0, theta2=np.inf).value, 6)
    0.045
    """

    may_count_errors: ClassVar[bool] = True

    losses: Array
    distances: Array
    kind: Kind = field(default="upper_bound", kw_only=True)

    def __post_init__(self) -> None:
        check_choice(self.kind, "kind", KINDS)
        losses, distances = _checked(self.losses, self.distances)
        first = distances[:, 0]
        remedy = "Put the current loss of each sample first, at distance 0."
        refuse_where(first != 0.0, first, "distances", "0 in column 0, the sample itself", remedy)
        object.__setattr__(self, "losses", losses)
        object.__setattr__(self, "distances", distances)
        object.__setattr__(self, "row_bytes", 32 * int(losses.shape[1]))

    @property
    def n_candidates(self) -> int:
        """Number of candidates of each sample, itself and padding included."""
        return int(self.losses.shape[1])

    def appended(self, losses: Any, distances: Any) -> Self:
        """Return a loss with more candidates.

        Parameters
        ----------
        losses, distances : array_like of shape (n_samples,) or (n_samples, n_new)
            Losses and distances of the new candidates; inf distances where a sample has none.

        Raises
        ------
        ValueError
            If the shapes do not match, or a value is not allowed.
        """
        losses, distances = _checked(losses, distances)
        if losses.shape[0] != self.n_samples:
            raise ValueError(
                describe("losses", f"of {self.n_samples} samples", f"{losses.shape[0]} samples")
            )
        return type(self)(
            np.concatenate([self.losses, losses], axis=1),
            np.concatenate([self.distances, distances], axis=1),
            kind=self.kind,
        )

    def base(self, rows: slice) -> FloatArray:
        """Return the losses of ``rows`` before any change that costs something."""
        return self._rest(rows).loss

    def _rest(self, rows: slice) -> Reach:
        # A sample is at the worst of the points that cost nothing.
        losses, squared = self._block(rows)
        free = np.where(squared == 0.0, losses, -math.inf)
        return Reach(*best_columns(free, losses, squared)[1:])

    def _perturbed(self, dual: float, theta1: float, rows: slice) -> Transform:
        # The maximum over the candidates j of h l_j - theta1 d_j^2.
        losses, squared = self._block(rows)
        return Transform(*best_columns(dual * losses - theta1 * squared, losses, squared))

    def _reach(self, rows: slice) -> Reach:
        # The nearest of the candidates with the highest loss.
        losses, squared = self._block(rows)
        possible = np.where(np.isinf(squared), -math.inf, losses)
        return Reach(*nearest_best(possible, losses, squared)[1:])

    def _block(self, rows: slice) -> tuple[FloatArray, FloatArray]:
        """Return losses and squared distances as float64; padding has loss 0 at distance inf."""
        distances = float64_rows(self.distances, rows)
        losses = np.where(np.isinf(distances), 0.0, float64_rows(self.losses, rows))
        return losses, distances * distances

    def take(self, rows: IntArray) -> Self:
        """Return the loss of some of the samples."""
        return type(self)(self.losses[rows], self.distances[rows], kind=self.kind)

    def describe(self) -> dict[str, Any]:
        """Return what `settings` should record of this loss."""
        return {**super().describe(), "n_candidates": self.n_candidates}


def _checked(losses: Any, distances: Any) -> tuple[Array, Array]:
    """Return both as matrices of one shape."""
    losses, distances = _columns(losses, "losses"), _columns(distances, "distances")
    check_same_shape(losses, distances, "losses", "distances")
    # Block by block, so that no copy of all candidates is made.
    for rows in row_blocks(int(losses.shape[0]), 16 * int(losses.shape[1])):
        values = float64_rows(losses, rows)
        lengths = float64_rows(distances, rows)
        negative = np.isnan(lengths) | (lengths < 0)
        expected = "at least 0 (inf is padding)"
        refuse_where(negative, lengths, "distances", expected, first_row=rows.start)
        unreachable = np.isinf(lengths)
        too_far = (lengths > FARTHEST) & ~unreachable
        expected = f"at most {FARTHEST:g}, or inf for padding"
        remedy = "Measure them in a larger unit."
        refuse_where(too_far, lengths, "distances", expected, remedy, first_row=rows.start)
        bad = ~(np.isfinite(values) & (values >= 0.0) | unreachable)
        expected = "finite and at least 0 wherever the distance is finite"
        refuse_where(bad, values, "losses", expected, first_row=rows.start)
    return losses, distances


def _columns(value: Any, argument: str) -> Array:
    """Return an array with rows and columns; a vector becomes one column."""
    array = to_numpy(as_array(value, argument))
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim == 2 and 0 not in array.shape:
        return array
    return check_matrix(array, argument)
