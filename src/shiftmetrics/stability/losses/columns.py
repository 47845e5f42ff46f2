"""Values from one column of each row of a block, in any array library."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, IntArray, namespace, to_float64, to_numpy


def pick(blocks: Sequence[Array], column: Array) -> list[FloatArray]:
    """Return the values of each block, of shape (n_rows, n_columns), in the chosen column of each row."""
    if isinstance(column, np.ndarray):  # several times as fast as take_along_axis
        flat = np.arange(len(column)) * blocks[0].shape[1] + column
        return [block.reshape(-1).take(flat) for block in blocks]
    xp = namespace(column)
    return [to_float64(xp.take_along_axis(block, column[:, None], axis=1)[:, 0]) for block in blocks]


def as_positions(column: Array) -> IntArray:
    """Return positions as NumPy integers."""
    return to_numpy(column).astype(np.int64, copy=False)
