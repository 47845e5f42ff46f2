"""Which predictions are right, where labels say so."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import BoolArray, IntArray
from shiftmetrics.tables.label_cells import as_strings, is_missing


@dataclass(frozen=True, eq=False)
class RightOrWrong:
    """Which predictions are right, where that is known.

    Attributes
    ----------
    right : array of bool of shape (n_samples,)
        Whether the prediction is the label; False where the label is not known.
    known : array of bool of shape (n_samples,)
        Whether the label is known.
    """

    right: BoolArray
    known: BoolArray

    def counts(self, rows: IntArray | BoolArray | slice = slice(None)) -> tuple[int, int]:
        """Return how many predictions are right, and how many are known, among some rows."""
        return int(self.right[rows].sum()), int(self.known[rows].sum())


def right_or_wrong(
    predicted: npt.NDArray[np.generic], labels: npt.NDArray[np.generic]
) -> RightOrWrong:
    """Compare predictions with labels by what they look like, 1 and "1" alike; labels may be missing."""
    known: BoolArray = ~is_missing(labels)
    right: BoolArray = np.zeros(len(labels), dtype=bool)
    right[known] = as_strings(labels[known]) == as_strings(predicted[known])
    return RightOrWrong(right, known)
