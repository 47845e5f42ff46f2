"""Check probabilities, and recognise them among scores."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, float64_rows, is_floating, namespace, to_float64
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics._core.validation import describe

SUM_TOLERANCE = 1e-2
"""How far a row of probabilities may be from 1: half-precision formats round each of many entries."""


def look_like_probabilities(array: Array) -> bool:
    """Tell whether floating scores are probabilities: not negative, and rows of sum 1 (or 1-D up to 1)."""
    if not is_floating(array):
        return False  # votes and one-hot rows are scores
    for low, high, sums in _row_ranges(array):
        if (low < 0.0).any() or (high > 1.0 + SUM_TOLERANCE).any():
            return False
        if array.ndim == 2 and (np.abs(sums - 1.0) > SUM_TOLERANCE).any():
            return False
    return True


def check_probabilities(*named: tuple[Array, str], floor: float | None) -> float | None:
    """Check the range and the sums of probabilities; return the floor, None when no entry is 0."""
    smallest, zeros = math.inf, False
    for array, argument in named:
        row = 0
        for low, high, sums in _row_ranges(array):
            bad = (low < 0.0) | (high > 1.0 + SUM_TOLERANCE)
            if array.ndim == 2:
                bad |= np.abs(sums - 1.0) > SUM_TOLERANCE
            if bad.any():
                first = int(np.argmax(bad))
                got = f"row {row + first} from {low[first]:g} to {high[first]:g}" + (
                    f" with sum {sums[first]:g}" if array.ndim == 2 else ""
                )
                raise ValueError(
                    describe(
                        argument,
                        "probabilities (between 0 and 1, each row of sum 1)",
                        got,
                        'Pass logits with kind="scores".',
                    )
                )
            row += len(low)
        positive, has_zero = _smallest_positive(array)
        smallest, zeros = min(smallest, positive), zeros or has_zero
    if not zeros:
        return floor
    return (smallest / 2 or smallest) if floor is None else floor  # half of the smallest double is 0


def _row_ranges(array: Array) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
    """Yield minimum, maximum and sum of each row, block by block."""
    for rows in row_blocks(int(array.shape[0]), 8 * math.prod(array.shape[1:])):
        block = float64_rows(array, rows)
        block = block if block.ndim == 2 else block[:, None]
        xp = namespace(block)
        low, high = xp.min(block, axis=1), xp.max(block, axis=1)
        with np.errstate(over="ignore"):  # scores of any size are looked at, too
            sums = xp.sum(block, axis=1)
        yield to_float64(low), to_float64(high), to_float64(sums)


def _smallest_positive(array: Array) -> tuple[float, bool]:
    """Return the smallest positive entry, and whether there is a zero; of a 1-D array also of 1 - p."""
    smallest, zeros = math.inf, False
    for rows in row_blocks(int(array.shape[0]), 8 * math.prod(array.shape[1:])):
        block = to_float64(float64_rows(array, rows))
        for values in (block,) if array.ndim == 2 else (block, 1.0 - block):
            positive = values > 0.0
            zeros = zeros or not positive.all()
            smallest = min(smallest, float(np.min(values, where=positive, initial=math.inf)))
    return smallest, zeros
