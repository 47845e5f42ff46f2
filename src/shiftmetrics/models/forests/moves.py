"""The moves of rows along one axis of a grid, and what they gain."""

from __future__ import annotations

from dataclasses import dataclass

from shiftmetrics._core.arrays import FloatArray


@dataclass(frozen=True)
class Moves:
    """The moves of rows along one axis, and the rows before them, each of shape (n_cells,).

    Attributes
    ----------
    heights : array
        Height after each move.
    squared : array
        Squared distance from the start after each move; inf beyond the limit of the row.
    height, spent : array
        Height and squared distance of the row before.
    """

    heights: FloatArray
    squared: FloatArray
    height: FloatArray
    spent: FloatArray
