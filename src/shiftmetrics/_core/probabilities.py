"""Check probabilities, and recognise them among scores."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from shiftmetrics._core.arrays import Array, BoolArray, float64_rows, is_floating, namespace, to_float64
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics._core.validation import describe

SUM_TOLERANCE = 1e-2
"""How far a row of probabilities may be from 1: half-precision formats round each of many entries."""


def look_like_probabilities(array: Array) -> bool:
    """Tell whether floating scores are probabilities: not negative, and rows of sum 1 (or 1-D up to 1)."""
    # Votes and one-hot rows of integers are scores.
    return is_floating(array) and not any(bad.any() for _, bad in _rows_outside(array))


def check_probabilities(*named: tuple[Array, str], floor: float | None, divide: bool = False) -> float | None:
    """Check the range and the sums of probabilities; return the floor, None when no entry is 0.

    With ``divide`` they are proportions of any positive sum, which rows are divided by.
    """
    smallest, zeros = math.inf, False
    for array, argument in named:
        for rows, bad in _rows_outside(array, divide):
            if bad.any():
                row = rows.start + int(np.argmax(bad))
                values = to_float64(float64_rows(array, slice(row, row + 1)))
                got = f"row {row} from {values.min():g} to {values.max():g}"
                if array.ndim == 2:
                    got += f" with sum {values.sum():g}"
                expected = "proportions (not negative, each row of positive sum)"
                remedy = 'Pass logits with kind="scores".'
                if not divide:
                    expected = "probabilities (between 0 and 1, each row of sum 1)"
                    if values.min() >= 0.0:
                        remedy = (
                            f'{remedy[:-1]}, or percentages and rounded probabilities with kind="proportions", which '
                            "divides rows by their sum."
                        )
                raise ValueError(describe(argument, expected, got, remedy))
            block = to_float64(float64_rows(array, rows))
            block = block / block.sum(axis=1, keepdims=True) if divide else block
            for values in (block,) if array.ndim == 2 else (block, 1.0 - block):
                positive = values > 0.0
                zeros = zeros or not positive.all()
                smallest = min(smallest, float(np.min(values, where=positive, initial=math.inf)))
    if not zeros:
        return floor
    return (smallest / 2 or smallest) if floor is None else floor  # half of the smallest double is 0


def _rows_outside(array: Array, any_sum: bool = False) -> Iterator[tuple[slice, BoolArray]]:
    """Yield blocks of rows, and which of them are no probabilities, or no proportions of any sum."""
    for rows in row_blocks(int(array.shape[0]), 8 * math.prod(array.shape[1:])):
        block = float64_rows(array, rows)
        xp = namespace(block)
        block = block if block.ndim == 2 else block[:, None]
        bad = to_float64(xp.min(block, axis=1)) < 0.0
        if any_sum:
            bad |= to_float64(xp.max(block, axis=1)) <= 0.0
            yield rows, bad
            continue
        bad |= to_float64(xp.max(block, axis=1)) > 1.0 + SUM_TOLERANCE
        if array.ndim == 2:
            with np.errstate(over="ignore"):  # scores may be of any size
                bad |= np.abs(to_float64(xp.sum(block, axis=1)) - 1.0) > SUM_TOLERANCE
        yield rows, bad
