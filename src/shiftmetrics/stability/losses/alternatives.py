"""The worst of several losses that a sample can switch to at a fixed distance, such as flips of categories."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from shiftmetrics._core.arrays import Array, BoolArray, FloatArray, IntArray
from shiftmetrics._core.validation import check_choice
from shiftmetrics.stability.losses.base import KINDS, Kind, Loss, Reach, Transform, nearest_best


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
        equal = np.zeros(self.offsets[rows].shape)
        return Reach(*self._best(equal, places, rows)[1:])

    def take(self, rows: IntArray) -> Self:
        """Return the loss of some of the samples."""
        ratio = None if self.from_ratio is None else self.from_ratio[rows]
        parts = [part.take(rows) for part in self.parts]
        return type(self)(parts, self.offsets[rows], kind=self.kind, from_ratio=ratio)

    def describe(self) -> dict[str, Any]:
        """Return what `settings` should record of this loss."""
        return {
            "loss": type(self.parts[0]).__name__,
            "n_alternatives": len(self.parts),
            "kind": self.kind,
        }
