"""The rows of a comparison by a metric: how much each moves the difference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.record import Record


@dataclass(frozen=True, eq=False, kw_only=True)
class MovingRows(Record):
    """The rows whose prediction changes, those that cost the new model most first.

    Attributes
    ----------
    position : ndarray of shape (n_changed,)
        Place among the compared rows.
    id : ndarray of shape (n_changed,)
        The id, or the place where there are none.
    label, old, new : ndarray of shape (n_changed,)
        True value, and what both models predict: names of classes, probabilities of the positive class or of the
        label, or outputs.
    effect : ndarray of shape (n_changed,)
        By how much the row moves the difference: without it, the difference would be lower by about so much.
    beside : mapping of str to array
        What the files say of these rows beside the predictions. It stands in no JSON, and is empty after reading one.
    """

    position: IntArray
    id: npt.NDArray[Any]
    label: npt.NDArray[Any]
    old: npt.NDArray[Any]
    new: npt.NDArray[Any]
    effect: FloatArray
    beside: Mapping[str, Any] = field(default_factory=dict, repr=False)
