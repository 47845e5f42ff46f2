"""Scores that are no numbers: gaps and infinities, named by row and column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics.tables.ask import UnreadableTableError


def refuse_gaps(scores: FloatArray, names: Sequence[str], label: str) -> None:
    """Refuse gaps and plus infinity; minus infinity is a probability of 0, unless a row holds nothing else.

    Raises
    ------
    UnreadableTableError
        It names the first row, by its number from 0, and the column.
    """
    for block in row_blocks(len(scores), scores.itemsize * scores.shape[1]):
        part = scores[block]
        if np.isfinite(part).all():
            continue
        bad = np.isnan(part) | (part == np.inf)
        bad |= (part == -np.inf).all(axis=1, keepdims=True)
        if not bad.any():
            continue
        row, column = np.argwhere(bad)[0]
        row += block.start
        raise UnreadableTableError(
            f"{label} must have a finite number in each row of its scores, got {scores[row, column]:g} in the "
            f"column {names[column]!r}, row {row}. Drop these rows, or predict them again."
        )
