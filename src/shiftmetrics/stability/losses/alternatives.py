"""The worst of several losses that a sample can switch to at a fixed distance, such as flips of categories."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, IntArray
from shiftmetrics._core.validation import check_choice
from shiftmetrics.stability.losses.base import KINDS, Kind, Loss, Reach, Transform


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
    ``choice`` counts ``part + n_parts * choice within the part``.

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
        losses = np.stack([place.loss for place in places])
        scores = np.where(self.offsets[rows].T == 0.0, losses, -math.inf)
        return Reach(*self._best(scores, places, rows)[1:])

    def _perturbed(self, dual: float, theta1: float, rows: slice) -> Transform:
        places = [self._part(k, dual, theta1, rows) for k in range(len(self.parts))]
        values = np.stack([place.value for place in places])
        with np.errstate(over="ignore"):
            scores = values - theta1 * self.offsets[rows].T ** 2
        return self._best(scores, [Reach(*place[1:]) for place in places], rows)

    def _part(self, k: int, dual: float, theta1: float, rows: slice) -> Transform:
        """Return the worst case of a part, at value -inf for the samples that it cannot serve."""
        part = self.parts[k]
        offsets = self.offsets[rows, k]
        wanted = np.isfinite(offsets)
        if self.from_ratio is not None:
            wanted &= (offsets == 0.0) | (self.from_ratio[rows, k] < dual / theta1)
        if wanted.all():
            return part.transform(dual, theta1, rows)
        n_rows = len(wanted)
        full = Transform(
            np.full(n_rows, -math.inf),
            np.zeros(n_rows),
            np.zeros(n_rows),
            np.zeros(n_rows, dtype=np.int64),
        )
        where = np.flatnonzero(wanted)
        if where.size:
            some = part.take(where + rows.indices(self.n_samples)[0])
            found = some.transform(dual, theta1, slice(0, where.size))
            for array, values in zip(full, found, strict=True):
                if array is not None and values is not None:
                    array[where] = values
        return full

    def _reach(self, rows: slice) -> Reach:
        places = [part.reach(0.0, rows) for part in self.parts]
        losses = np.stack([place.loss for place in places])
        scores = np.where(np.isfinite(self.offsets[rows].T), losses, -math.inf)
        return Reach(*self._best(scores, places, rows)[1:])

    def _best(self, scores: FloatArray, places: Sequence[Reach], rows: slice) -> Transform:
        """Return for each sample the part of the highest score, the nearest among equals."""
        losses = np.stack([place.loss for place in places])
        squared = np.stack([place.squared_distance for place in places])
        choices = np.zeros(losses.shape, dtype=np.int64)
        for k, place in enumerate(places):
            if place.choice is not None:
                choices[k] = place.choice
        with np.errstate(over="ignore"):
            squared = squared + self.offsets[rows].T ** 2
        part = np.where(scores == scores.max(axis=0), squared, math.inf).argmin(axis=0)
        best = (part, np.arange(len(part)))
        choice = part + len(self.parts) * choices[best]
        return Transform(scores[best], losses[best], squared[best], choice)

    def largest_dual(self, theta1: float) -> float:
        """Return the least of the parts' largest dual prices."""
        return min(part.largest_dual(theta1) for part in self.parts)

    def lift(self, risk: float, rows: slice) -> Transform | None:
        """Return the cheapest changes that raise every sample to the loss ``risk``."""
        nowhere = Reach(*[np.full(len(self.offsets[rows]), math.inf)] * 2)
        places = []
        for part in self.parts:
            lifted = part.lift(risk, rows)
            places.append(nowhere if lifted is None else Reach(*lifted[1:3]))
        if all(place is nowhere for place in places):
            return None
        squared = np.stack([place.squared_distance for place in places])
        with np.errstate(over="ignore"):
            squared = squared + self.offsets[rows].T ** 2
        best = self._best(-squared, places, rows)
        return best._replace(value=np.zeros_like(best.value))

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
