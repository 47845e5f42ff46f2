"""The worst of several losses that a row can switch to at a fixed distance: flips of categories, or of the label."""

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
    """The greatest of several losses, each open to a row at some distance that adds to that of its moves.

    Parameters
    ----------
    parts : sequence of Loss
        Losses of the same rows.
    offsets : array_like of shape (n_samples, n_parts)
        Distance (unsquared) of switching to each part: 0 for those that the row starts with (at least one),
        inf where a row may not switch.
    kind : {"exact", "upper_bound", "lower_bound"}, default "exact"
        What the stability of the whole is.
    from_ratio : array_like of shape (n_samples, n_parts), optional
        For each part a ratio of the dual price to ``theta1`` up to which another part is as good, so that
        it need not be looked at.

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
        object.__setattr__(self, "parts", tuple(parts))
        object.__setattr__(self, "offsets", np.asarray(offsets, dtype=np.float64))
        object.__setattr__(self, "kind", check_choice(kind, "kind", KINDS))
        object.__setattr__(
            self, "from_ratio", None if from_ratio is None else np.asarray(from_ratio)
        )
        object.__setattr__(self, "row_bytes", max(part.row_bytes for part in parts) + 64)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.parts[0].n_samples

    def base(self, rows: slice) -> FloatArray:
        """Return the losses of ``rows`` before any move."""
        return self._rest(rows).loss

    def _rest(self, rows: slice) -> Reach:
        losses = [part.base(rows) for part in self.parts]
        places = [Reach(loss, np.zeros_like(loss)) for loss in losses]
        return Reach(
            *self._best(np.where(self.offsets[rows].T == 0.0, losses, -math.inf), places, rows)[1:]
        )

    def _moved(self, dual: float, theta1: float, rows: slice) -> Transform:
        moved = [self._part(k, part, dual, theta1, rows) for k, part in enumerate(self.parts)]
        with np.errstate(over="ignore"):
            scores = np.stack([place.value for place in moved]) - theta1 * self.offsets[rows].T ** 2
        return self._best(scores, [Reach(*place[1:]) for place in moved], rows)

    def _part(self, k: int, part: Loss, dual: float, theta1: float, rows: slice) -> Transform:
        """Return the worst case of a part, at value -inf for the rows that it cannot serve."""
        offsets = self.offsets[rows, k]
        wanted = np.isfinite(offsets)
        if self.from_ratio is not None:
            wanted &= (offsets == 0.0) | (self.from_ratio[rows, k] < dual / theta1)
        if wanted.all():
            return part.transform(dual, theta1, rows)
        value, loss, squared = (
            np.full(len(wanted), -math.inf),
            np.zeros(len(wanted)),
            np.zeros(len(wanted)),
        )
        choice = np.zeros(len(wanted), dtype=np.int64)
        where = np.flatnonzero(wanted)
        if where.size:
            some = part.take(where + rows.indices(self.n_samples)[0])
            best = some.transform(dual, theta1, slice(0, where.size))
            value[where], loss[where], squared[where] = best[:3]
            choice[where] = 0 if best.choice is None else best.choice
        return Transform(value, loss, squared, choice)

    def _reach(self, rows: slice) -> Reach:
        places = [part.reach(0.0, rows) for part in self.parts]
        losses = [place.loss for place in places]
        scores = np.where(np.isfinite(self.offsets[rows].T), losses, -math.inf)
        return Reach(*self._best(scores, places, rows)[1:])

    def _best(self, scores: FloatArray, places: Sequence[Reach], rows: slice) -> Transform:
        """Return for each row the part of the highest score, the nearest among equals."""
        with np.errstate(over="ignore"):
            squared = (
                np.stack([place.squared_distance for place in places]) + self.offsets[rows].T ** 2
            )
        part = np.where(scores == scores.max(axis=0), squared, math.inf).argmin(axis=0)
        losses = np.stack([place.loss for place in places])
        inner = np.stack(
            [np.zeros(len(part)) if place.choice is None else place.choice for place in places]
        )
        score, loss, distance, choice = (
            np.take_along_axis(values, part[None], axis=0)[0]
            for values in (scores, losses, squared, inner)
        )
        return Transform(score, loss, distance, part + len(self.parts) * choice.astype(np.int64))

    def largest_dual(self, theta1: float) -> float:
        """Return the least of the parts' largest dual prices."""
        return min(part.largest_dual(theta1) for part in self.parts)

    def lift(self, risk: float, rows: slice) -> Transform | None:
        """Return the cheapest moves that raise every row to the loss ``risk``."""
        lifted = [part.lift(risk, rows) for part in self.parts]
        if all(place is None for place in lifted):
            return None
        nowhere = Reach(*[np.full(len(self.offsets[rows]), math.inf)] * 2)
        places = [nowhere if place is None else Reach(*place[1:3]) for place in lifted]
        with np.errstate(over="ignore"):
            squared = (
                np.stack([place.squared_distance for place in places]) + self.offsets[rows].T ** 2
            )
        best = self._best(-squared, places, rows)
        return best._replace(value=np.zeros_like(best.value))

    def take(self, rows: IntArray) -> Self:
        """Return the loss of some of the rows."""
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
