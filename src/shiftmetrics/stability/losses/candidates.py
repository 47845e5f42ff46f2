"""The best of several: of points that a sample can reach, or of losses that it can switch to.

Candidates serve any model: for each sample a growing list of points, with loss and distance. Alternatives are whole
losses, each at a fixed distance, such as flips of categories.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from shiftmetrics._core.arrays import (
    Array,
    BoolArray,
    FloatArray,
    IntArray,
    as_array,
    float64_rows,
    to_numpy,
)
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import (
    check_choice,
    check_matrix,
    check_same_shape,
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
            raise ArgumentValueError(
                "losses", f"of {self.n_samples} samples", f"{losses.shape[0]} samples"
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
        # The maximum over the candidates j of h l_j - theta1 d_j^2; padding, at distance inf, is worth -inf.
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

    def describe(self) -> dict[str, Any]:
        """Return what `settings` should record of this loss."""
        return {**super().describe(), "n_candidates": self.n_candidates}


@dataclass(frozen=True, eq=False, init=False)
class AlternativesLoss(Loss):
    """The greatest of several losses, each open to a sample at some distance that adds to that of its changes.

    Parameters
    ----------
    parts : sequence of Loss
        Losses of the same samples.
    offsets : array_like of shape (n_samples, n_parts)
        Distance (unsquared) of switching to each part: 0 for those that it starts with (at least one),
        inf where a sample may not switch.
    kind : {"exact", "upper_bound", "lower_bound"}, default "exact"
        What the stability of the whole is.
    from_ratio : array_like of shape (n_samples, n_parts), optional
        For each part a ratio of the dual price to ``theta1`` up to which another part is as good, so that
        it need not be evaluated.

    Notes
    -----
    ``choice`` is the position of the part.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.stability import HingeLoss, stability_criterion
    >>> from shiftmetrics.stability.losses import AlternativesLoss
    >>> here, after_flip = HingeLoss([2.0, 3.0], 1.0), HingeLoss([0.5, 1.5], 1.0)
    >>> loss = AlternativesLoss([here, after_flip], [[0.0, 1.0], [0.0, np.inf]])
    >>> result = stability_criterion(loss, 0.5, theta2=np.inf)
    >>> splits = result.plan.splits  # most of the first sample flips
    >>> round(result.value, 4), splits.rows.tolist(), splits.choices.tolist()
    (0.2472, [0], [1])
    """

    parts: tuple[Loss, ...]
    offsets: Array
    kind: Kind
    from_ratio: Array | None

    def __init__(
        self, parts: Sequence[Loss], offsets: Any, *, kind: Kind = "exact", from_ratio: Any = None
    ) -> None:
        fields = {
            "parts": tuple(parts),
            "offsets": np.asarray(offsets, dtype=np.float64),
            "kind": check_choice(kind, "kind", KINDS),
            "from_ratio": None if from_ratio is None else np.asarray(from_ratio),
            "row_bytes": max(part.row_bytes for part in parts) + 64,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.parts[0].n_samples

    def base(self, rows: slice) -> FloatArray:
        """Return the losses of ``rows`` before they change."""
        return self._rest(rows).loss

    def _rest(self, rows: slice) -> Reach:
        # Only the parts that a sample starts with are open to it.
        places = [part._rest(rows) for part in self.parts]
        return self._highest(places, rows, self.offsets[rows] == 0.0)

    def _reach(self, rows: slice) -> Reach:
        places = [part._reach(rows) for part in self.parts]
        return self._highest(places, rows, np.isfinite(self.offsets[rows]))

    def _perturbed(self, dual: float, theta1: float, rows: slice) -> Transform:
        places = [self._part(k, dual, theta1, rows) for k in range(len(self.parts))]
        values = np.stack([place.value for place in places], axis=1)
        scores = values - theta1 * self._squared_offsets(rows)
        return self._best(scores, places, rows)

    def _part(self, k: int, dual: float, theta1: float, rows: slice) -> Transform:
        """Return the worst case of a part, at value -inf for the samples that it cannot serve."""
        part = self.parts[k]
        offsets = self.offsets[rows, k]
        wanted = np.isfinite(offsets)
        if self.from_ratio is not None:
            wanted &= (offsets == 0.0) | (self.from_ratio[rows, k] < dual / theta1)
        if wanted.all():
            return part.transform(dual, theta1, rows)
        value = np.full(len(wanted), -math.inf)
        loss = np.zeros(len(wanted))
        squared = np.zeros(len(wanted))
        where = np.flatnonzero(wanted)
        if where.size:
            # Positions in the block become positions among all samples.
            some = part.take(where + rows.indices(self.n_samples)[0])
            found = some.transform(dual, theta1, slice(0, where.size))
            value[where] = found.value
            loss[where] = found.loss
            squared[where] = found.squared_distance
        return Transform(value, loss, squared)

    def _highest(self, places: Sequence[Reach], rows: slice, is_open: BoolArray) -> Reach:
        """Return for each sample the highest loss of the parts that are open to it."""
        losses = np.stack([place.loss for place in places], axis=1)
        best = self._best(np.where(is_open, losses, -math.inf), places, rows)
        return Reach(*best[1:])

    # All questions to a sample are one: in which open part is a score highest? At rest the score is the loss, among
    # the parts it starts with; in reach likewise, among all it may switch to; at a dual price h it is what the loss
    # is worth, h l - theta1 (d^2 + offset^2). An offset only adds to the squared distance, so each part is solved by
    # itself.
    def _best(
        self, scores: FloatArray, places: Sequence[Reach | Transform], rows: slice
    ) -> Transform:
        """Return for each sample the part of the highest score, the nearest among equals."""
        losses = np.stack([place.loss for place in places], axis=1)
        squared = np.stack([place.squared_distance for place in places], axis=1)
        return Transform(*nearest_best(scores, losses, squared + self._squared_offsets(rows)))

    def _squared_offsets(self, rows: slice) -> FloatArray:
        with np.errstate(over="ignore"):
            squared: FloatArray = self.offsets[rows] ** 2
        return squared

    def largest_dual(self, theta1: float) -> float:
        """Return the least of the parts' largest dual prices."""
        return min(part.largest_dual(theta1) for part in self.parts)

    def lift(self, risk: float, rows: slice) -> Reach | None:
        """Return the cheapest changes that raise every sample to the loss ``risk``."""
        lifted = [part.lift(risk, rows) for part in self.parts]
        places = [place for place in lifted if place is not None]
        if len(places) < len(lifted):
            return None
        # All parts reach the same loss, so the nearest one is the best.
        equal = np.zeros(self.offsets[rows].shape)
        return Reach(*self._best(equal, places, rows)[1:])

    def take(self, rows: IntArray) -> Self:
        """Return the loss of some of the samples."""
        ratio = None if self.from_ratio is None else self.from_ratio[rows]
        parts = [part.take(rows) for part in self.parts]
        return type(self)(parts, self.offsets[rows], kind=self.kind, from_ratio=ratio)

    def in_words(self) -> str:
        """Return the name of its parts."""
        return self.parts[0].in_words()

    def describe(self) -> dict[str, Any]:
        """Return what `settings` should record of this loss."""
        return {
            "loss": type(self.parts[0]).__name__,
            "n_alternatives": len(self.parts),
            "kind": self.kind,
        }


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
