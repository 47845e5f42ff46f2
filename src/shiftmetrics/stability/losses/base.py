"""The interface of losses: the worst-case transform of a block of rows, and how far the loss can be raised."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray

Kind = Literal["exact", "upper_bound", "lower_bound"]
KINDS: tuple[Kind, ...] = ("exact", "upper_bound", "lower_bound")


FARTHEST = 1e75
"""Largest finite distance: the square of a longer one, times a weight, would overflow."""


class Transform(NamedTuple):
    """The worst case of a block of rows at one dual price; three arrays of shape (n_rows,)."""

    # Greatest ``dual * loss - theta1 * squared_distance`` over the points that the sample can
    # change to.
    value: FloatArray
    # The loss at the best such point.
    loss: FloatArray
    # How far away that point is.
    squared_distance: FloatArray
    # Which candidate or piece it is, for losses that have any.
    choice: IntArray | None = None


class Reach(NamedTuple):
    """A loss that each sample of a block can have, such as its highest, and the least squared distance to it."""

    # Inf where the loss has no upper limit.
    loss: FloatArray
    squared_distance: FloatArray
    choice: IntArray | None = None


class Loss(ABC):
    """Base of all losses: the labels of samples stay fixed while they change.

    A new loss, a dataclass of arrays, implements `base`, `_perturbed` and `_reach`; everything else about stability
    is the same for all. ``theta1 = inf`` and ``dual = 0`` never reach a subclass: there no sample changes.

    Attributes
    ----------
    kind : {"exact", "upper_bound", "lower_bound"}
        Whether the transform is the true worst case of the model. Where it is searched only among some of the
        points that a sample can reach, the stability is an upper bound.
    may_count_errors : bool
        Whether losses of 0 and 1 alone are errors and hits, so that their mean is an error rate.
    row_bytes : int
        Memory that a sample of a block takes with its temporaries, to choose the size of blocks.
    """

    kind: Kind = "exact"
    may_count_errors: ClassVar[bool] = False
    row_bytes: int = 32

    @property
    def n_samples(self) -> int:
        """Number of samples: those of the first field."""
        return int(next(iter(vars(self).values())).shape[0])

    @property
    def on_workers(self) -> bool:
        """Whether its samples are in partitions of Dask."""
        return any(getattr(value, "delayed", None) is not None for value in vars(self).values())

    @abstractmethod
    def base(self, rows: slice) -> FloatArray:
        """Return the losses of ``rows`` before they change."""

    @abstractmethod
    def _perturbed(self, dual: float, theta1: float, rows: slice) -> Transform:
        """Return the worst case at a finite price ``theta1`` and a positive ``dual``."""

    @abstractmethod
    def _reach(self, rows: slice) -> Reach:
        """Return the highest losses that changes reach."""

    def take(self, rows: IntArray) -> Self:
        """Return the loss of some of the samples, in that order: those rows of every field that has rows."""
        fields = {}
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            part = getattr(self, field.name)
            if hasattr(part, "__getitem__") and not isinstance(part, str):
                part = part[rows]
            fields[field.name] = part
        return type(self)(**fields)

    def _rest(self, rows: slice) -> Reach:
        """Return the losses of samples that stay as they are."""
        loss = self.base(rows)
        return Reach(loss, np.zeros_like(loss))

    def transform(self, dual: float, theta1: float, rows: slice) -> Transform:
        """Return the worst case of ``rows`` at the dual price ``dual`` of a unit of loss."""
        if math.isinf(theta1) or dual == 0.0:
            rest = self._rest(rows)
            return Transform(dual * rest.loss, *rest)
        return self._perturbed(dual, theta1, rows)

    def reach(self, theta1: float, rows: slice) -> Reach:
        """Return the highest losses of ``rows``; at ``theta1 = inf`` those are the current losses."""
        return self._rest(rows) if math.isinf(theta1) else self._reach(rows)

    def largest_dual(self, theta1: float) -> float:
        """Return the dual price at which the worst case becomes infinite.

        Inf for a loss that grows more slowly than the squared distance, 0 for one that grows faster.
        """
        return math.inf

    def lift(self, risk: float, rows: slice) -> Reach | None:
        """Return the changes that raise every sample to the loss ``risk``, where `largest_dual` is finite.

        Called only when the loss of every sample is negligible beside ``risk``; None when there are no such changes.
        """
        return None

    def in_words(self) -> str:
        """Return what a mean of this loss is called in sentences, such as ``hinge loss``."""
        return "loss"

    def describe(self) -> dict[str, Any]:
        """Return what `settings` should record of this loss."""
        options = {name: part for name, part in vars(self).items() if isinstance(part, str | float)}
        return {"loss": type(self).__name__, **options}


def best_columns(scores: FloatArray, *others: FloatArray) -> list[Any]:
    """Return the highest score of each row (of equal ones the first), and what stands in that column of the others.

    All arrays have the shape (n_rows, n_columns). The positions of the columns come last.
    """
    column: IntArray = scores.argmax(axis=1)
    # Several times as fast as take_along_axis.
    flat = np.arange(len(column)) * scores.shape[1] + column
    return [*(block.reshape(-1).take(flat) for block in (scores, *others)), column]


def nearest_best(scores: FloatArray, losses: FloatArray, squared: FloatArray) -> list[Any]:
    """Return the highest score of each row, and loss, squared distance and column there: the nearest among equals."""
    is_highest = scores == scores.max(axis=1, keepdims=True)
    nearness = np.where(is_highest, -squared, -math.inf)
    return best_columns(nearness, scores, losses, squared)[1:]
