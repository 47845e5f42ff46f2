"""Check probabilities, and recognise them among scores."""

from __future__ import annotations

import math

import numpy as np

from shiftmetrics._core.arrays import (
    Array,
    float64_rows,
    is_floating,
    namespace,
    to_float64,
)
from shiftmetrics._core.blocks import map_blocks, row_blocks
from shiftmetrics._core.exceptions import ArgumentValueError, Setting, Wording
from shiftmetrics._core.placement import placed

SUM_TOLERANCE = 1e-2
"""How far a row of probabilities may be from 1: half-precision formats round each of many entries."""


def cohen_kappa(agreeing: float, by_chance: float) -> float | None:
    """Return Cohen's kappa: agreement beyond that of independent predictions, as a fraction of what is possible.

    From the fraction that agrees, and the one that would by chance; None where chance leaves nothing to agree on
    (J. Cohen, Educational and Psychological Measurement 20, 1960, doi:10.1177/001316446002000104).

    Examples
    --------
    >>> cohen_kappa(0.75, 0.5), cohen_kappa(1.0, 1.0)
    (0.5, None)
    """
    if by_chance >= 1.0 - 1e-12:
        return None
    return (agreeing - by_chance) / (1.0 - by_chance)


def look_like_probabilities(array: Array) -> bool:
    """Return True if floating scores are probabilities: not negative, and rows of sum 1 (or 1-D up to 1)."""
    # Votes and one-hot rows of integers are scores.
    if not is_floating(array):
        return False

    def bad(rows: slice) -> bool:
        outside = _outside(float64_rows(array, rows))
        return bool(namespace(outside).any(outside))

    return not any(map_blocks(bad, placed(_blocks(array), (array,))))


def check_probabilities(
    *named: tuple[Array, str], floor: float | None, divide: bool = False
) -> float | None:
    """Check the range and the sums of probabilities; return the floor, None when no entry is 0.

    With ``divide`` they are proportions of any positive sum, which rows are divided by.
    """
    smallest = math.inf
    zeros = False
    for array, argument in named:
        blocks = placed(_blocks(array), (array,))

        def least(
            rows: slice, array: Array = array, argument: str = argument
        ) -> tuple[float, bool]:
            return _least(array, rows, argument, divide)

        for positive, some_zeros in map_blocks(least, blocks):
            smallest = min(smallest, positive)
            zeros = zeros or some_zeros
    if floor is not None or not zeros:
        return floor
    return smallest / 2 or smallest  # half of the smallest double is 0


def _least(array: Array, rows: slice, argument: str, divide: bool) -> tuple[float, bool]:
    """Return the smallest positive entry of a block of probabilities, and whether any is 0; refuse others."""
    block = to_float64(float64_rows(array, rows))
    bad = _outside(block, divide)
    if bad.any():
        row = int(np.argmax(bad))
        values = block[row : row + 1]
        got = f"row {row + rows.start} from {values.min():g} to {values.max():g}"
        if array.ndim == 2:
            got += f" with sum {values.sum():g}"
        expected = "proportions (not negative, each row of positive sum)"
        remedy = Wording("Pass logits with ", Setting("kind", "scores"), ".")
        if not divide:
            expected = "probabilities (between 0 and 1, each row of sum 1)"
            if values.min() >= 0.0:
                remedy = Wording(
                    "Pass logits with ",
                    Setting("kind", "scores"),
                    ", or percentages and rounded probabilities with ",
                    Setting("kind", "proportions"),
                    ", which divides rows by their sum.",
                )
        raise ArgumentValueError(argument, expected, got, remedy)
    if divide:
        block = block / block.sum(axis=1, keepdims=True)
    # A single column holds the probability of one class of two.
    both = block if array.ndim == 2 else np.stack([block, 1.0 - block])
    positive = both > 0.0
    return float(np.min(both, where=positive, initial=math.inf)), not positive.all()


def _blocks(array: Array) -> list[slice]:
    return row_blocks(int(array.shape[0]), 8 * math.prod(array.shape[1:]))


def _outside(block: Array, any_sum: bool = False) -> Array:
    """Return which rows of a block are no probabilities, or no proportions of any sum."""
    xp = namespace(block)
    matrix = block if block.ndim == 2 else block[:, None]
    bad = xp.min(matrix, axis=1) < 0.0
    highest = xp.max(matrix, axis=1)
    if any_sum:
        return bad | (highest <= 0.0)
    bad = bad | (highest > 1.0 + SUM_TOLERANCE)
    if block.ndim == 2:
        with np.errstate(over="ignore"):  # scores may be of any size
            bad = bad | (xp.abs(xp.sum(matrix, axis=1) - 1.0) > SUM_TOLERANCE)
    return bad
