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
from shiftmetrics.stability.losses.base import FARTHEST, KINDS, Kind, Loss, Reach, Transform, pick


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
    # Whether a distance is inf.
    padded: bool = field(default=False, init=False)
    # Whether another point than the sample itself is at distance 0.
    free_moves: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        check_choice(self.kind, "kind", KINDS)
        losses, distances, padded, zeros = _checked(self.losses, self.distances)
        first = distances[:, 0]
        remedy = "Put the current loss of each sample first, at distance 0."
        refuse_where(first != 0.0, first, "distances", "0 in column 0, the sample itself", remedy)
        fields = {
            "losses": losses,
            "distances": distances,
            "padded": padded,
            "free_moves": zeros > len(first),
        }
        for name, value in {**fields, "row_bytes": 32 * int(losses.shape[1])}.items():
            object.__setattr__(self, name, value)

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
        losses, distances, *_ = _checked(losses, distances)
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
        if self.free_moves:
            # A sample is at the worst of the points that cost nothing.
            losses, squared = self._block(rows)
            worst = np.where(squared == 0.0, losses, -math.inf).argmax(axis=1)
            return Reach(*self._at(rows, worst))
        loss = float64_rows(self.losses, rows)[:, 0]
        return Reach(loss, np.zeros_like(loss), np.zeros(len(loss), dtype=np.int64))

    def _perturbed(self, dual: float, theta1: float, rows: slice) -> Transform:
        # the maximum over the candidates j of h l_j - theta1 d_j^2
        losses, squared = self._block(rows)
        scores = dual * losses - theta1 * squared
        column = scores.argmax(axis=1)
        value, loss, distance = pick([scores, losses, squared], column)
        return Transform(value, loss, distance, column)

    def _reach(self, rows: slice) -> Reach:
        # the nearest of the candidates with the highest loss
        losses, squared = self._block(rows)
        reachable = np.where(np.isinf(squared), -math.inf, losses)
        highest = reachable.max(axis=1, keepdims=True)
        nearest = np.where(reachable == highest, squared, math.inf).argmin(axis=1)
        return Reach(*self._at(rows, nearest))

    def _at(self, rows: slice, column: IntArray) -> tuple[FloatArray, FloatArray, IntArray]:
        """Return loss, squared distance and position of one candidate of each sample."""
        loss, squared = pick(list(self._block(rows)), column)
        return loss, squared, column

    def _block(self, rows: slice) -> tuple[FloatArray, FloatArray]:
        """Return losses and squared distances as float64; padding has loss 0 at distance inf."""
        losses = float64_rows(self.losses, rows)
        distances = float64_rows(self.distances, rows)
        if self.padded:
            losses = np.where(np.isinf(distances), 0.0, losses)
        return losses, distances * distances

    def take(self, rows: IntArray) -> Self:
        """Return the loss of some of the samples."""
        return type(self)(self.losses[rows], self.distances[rows], kind=self.kind)

    def describe(self) -> dict[str, Any]:
        """Return what `settings` should record of this loss."""
        return {**super().describe(), "n_candidates": self.n_candidates}


def _checked(losses: Any, distances: Any) -> tuple[Array, Array, bool, int]:
    """Return both as matrices, whether a distance is inf, and how many are 0."""
    losses, distances = _columns(losses, "losses"), _columns(distances, "distances")
    check_same_shape(losses, distances, "losses", "distances")
    padded = False
    zeros = 0
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
        padded |= bool(unreachable.any())
        zeros += int(np.count_nonzero(lengths == 0.0))
    return losses, distances, padded, zeros


def _columns(value: Any, argument: str) -> Array:
    """Return an array with rows and columns; a vector becomes one column."""
    array = to_numpy(as_array(value, argument))
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim == 2 and 0 not in array.shape:
        return array
    return check_matrix(array, argument)
