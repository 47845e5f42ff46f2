"""Rows that are read batch by batch, as often as needed, as if they were one array."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray, is_table, to_float64
from shiftmetrics._core.validation import check_matrix, describe


def is_batches(value: Any) -> bool:
    """Tell whether ``value`` is an iterable of two-dimensional batches rather than one array or table."""
    if is_table(value) or hasattr(value, "shape") or hasattr(value, "__array__"):
        return False
    if isinstance(value, list | tuple):
        return bool(value) and getattr(value[0], "ndim", 0) == 2
    return isinstance(value, Iterable) and not isinstance(value, str)


class Batches:
    """An array of float64 rows behind an iterable of batches.

    Blocks of rows are cheap when they are taken in order; each start from the beginning reads all batches again.

    Parameters
    ----------
    batches : iterable of array of shape (n_rows, n_columns)
        Gives the same batches each time.
    argument : str
        Name for messages.

    Raises
    ------
    ValueError
        If it can be read only once, holds no rows, or batches differ in their columns.
    """

    ndim = 2

    def __init__(self, batches: Iterable[Any], argument: str) -> None:
        if isinstance(batches, Iterator):
            remedy = "Pass a list of batches, a data loader, or an object whose __iter__ starts anew."
            expected = "an iterable of batches that can be read more than once"
            raise ValueError(describe(argument, expected, type(batches).__name__, remedy))
        self._batches, self._argument = batches, argument
        sizes = [batch.shape for batch in self._read()]
        if len({columns for _, columns in sizes}) != 1:
            expected = "of batches with as many columns each" if sizes else "of at least one batch"
            raise ValueError(
                describe(argument, expected, sorted({columns for _, columns in sizes}) or "none")
            )
        self.shape = (sum(rows for rows, _ in sizes), sizes[0][1])
        self._restart()

    def __getitem__(self, key: Any) -> FloatArray:
        """Return the rows of a slice, or at an array of positions."""
        rows = key[0] if isinstance(key, tuple) else key
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(self.shape[0])
            return self._block(start, stop)
        return self._at(rows)

    def whole(self) -> FloatArray:
        """Return all rows."""
        return np.concatenate(list(self._read()))

    def _read(self) -> Iterator[FloatArray]:
        for batch in self._batches:
            yield to_float64(check_matrix(batch, self._argument))

    def _restart(self) -> None:
        self._reader, self._first, self._buffer = self._read(), 0, np.empty((0, self.shape[1]))

    def _block(self, start: int, stop: int) -> FloatArray:
        if start < self._first:
            self._restart()
        parts, end = [self._buffer], self._first + len(self._buffer)
        while end < stop:
            if end <= start:
                parts, self._first = [], end
            batch = next(self._reader, None)
            if batch is None:
                expected = f"the same {self.shape[0]} rows each time that it is read"
                raise ValueError(describe(self._argument, expected, f"{end} rows"))
            parts.append(batch)
            end += len(batch)
        self._buffer = np.concatenate(parts)[start - self._first :]
        self._first = start
        return self._buffer[: stop - start]

    def _at(self, positions: IntArray) -> FloatArray:
        found, first = np.empty((len(positions), self.shape[1])), 0
        for batch in self._read():
            here = (positions >= first) & (positions < first + len(batch))
            found[here] = batch[positions[here] - first]
            first += len(batch)
        return found
