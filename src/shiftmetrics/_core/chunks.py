"""Out-of-core data: an array whose chunks are read one at a time.

Measures take blocks of rows from `Chunks` as they do from an array. Only the map step (`_core.placement`) knows
where the chunks are: batches come in order and by one thread, stored arrays and files are read by threads, and
partitions of Dask stay with the workers that hold them.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import IntArray, as_array, to_numpy
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import check_finite

COPIES = 4
"""Copies of a chunk in memory at a time: as read, as checked, joined to the rows before it, and converted."""


class Chunks:
    """A virtual array behind chunks that are read one at a time.

    Parameters
    ----------
    argument : str
        Name for messages.
    read : callable
        Returns the chunk at a position, as it is stored.
    empty : array or DataFrame
        A chunk without rows: it has the shape of a row, and the type of its numbers.
    sizes : sequence of int, optional
        Rows of each chunk. Default: only reading the chunks tells, and one pass counts them when it is needed.
    names : sequence of str, optional
        Of the columns.
    delayed : list, optional
        The chunks of a Dask collection.
    sequential : bool, default False
        Whether chunks must be read in their order, by one thread.
    """

    in_chunks = True
    is_held = False

    def __init__(
        self,
        argument: str,
        read: Callable[[int], Any],
        empty: Any,
        *,
        sizes: Sequence[int] | None = None,
        names: Sequence[str] | None = None,
        delayed: list[Any] | None = None,
        sequential: bool = False,
    ) -> None:
        self.argument = argument
        self.read = read
        self.empty = empty
        self.delayed = delayed
        # The same partitions with fewer columns, where they are read to be counted alone.
        self.counted: list[Any] | None = None
        # Whether workers may still be asked to keep the partitions between passes, and those that they keep.
        self.may_keep = delayed is not None
        self.held: list[Any] | None = None
        self.sequential = sequential
        # A kernel that travels to a worker names its arrays by these keys, and finds the rows of its partition by
        # them.
        self.key = os.urandom(16).hex()
        # Each so-manyth row stands in `kept`, from row 0 on.
        self.kept_step = 1
        self.names = names
        self.finite = True
        self._sizes = sizes
        self._pairs: tuple[Chunks, int] | None = None
        # For each thread: the position of the first row that it still holds, and the rows from there on.
        self._window = threading.local()

    @property
    def n_chunks(self) -> int:
        """Return the number of chunks."""
        if self.delayed is not None:
            return len(self.delayed)
        assert self._sizes is not None  # only partitions of Dask are of unknown size
        return len(self._sizes)

    @cached_property
    def edges(self) -> IntArray:
        """Return the position of the first row of each chunk, and the number of rows at the end."""
        sizes = self._sizes
        if sizes is None and self.counted is not None:
            count = dask().delayed(len, pure=False)
            sizes = computed([count(chunk) for chunk in self.counted], self.argument)
        elif sizes is None:
            sizes = self.map(len)
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @cached_property
    def kept(self) -> npt.NDArray[Any]:
        """Return some rows, perhaps none, that need no reading."""
        return to_numpy(as_array(self.empty, self.argument))

    @property
    def dtype(self) -> np.dtype[Any]:
        """Return the type of the numbers."""
        return self.kept.dtype

    @property
    def ndim(self) -> int:
        """Return the number of axes."""
        return self.kept.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the array that all chunks make up."""
        return (int(self.edges[-1]), *self.kept.shape[1:])

    @property
    def n_bytes(self) -> int:
        """Return the bytes of all rows."""
        return self.dtype.itemsize * int(np.prod(self.shape, dtype=np.int64))

    @property
    def chunk_bytes(self) -> int:
        """Return the bytes of the largest chunk that is held here: none of Dask, whose chunks stay with workers."""
        if self.delayed is not None:
            return 0
        row_bytes = self.dtype.itemsize * int(np.prod(self.kept.shape[1:]))
        return row_bytes * int(np.diff(self.edges).max(initial=0))

    def __len__(self) -> int:
        return int(self.edges[-1])

    def __getitem__(self, key: Any) -> npt.NDArray[Any]:
        """Return the rows of a slice, or at an array of positions."""
        if self._pairs is not None:
            # Both sides ask the same array for rows, so that pairs are read once for the two of them.
            pairs, side = self._pairs
            return pairs[key][:, side]
        rows = key[0] if isinstance(key, tuple) else key
        if isinstance(rows, slice):
            start, stop, step = rows.indices(len(self))
            if step == 1:
                return self._block(start, max(start, stop))
            rows = np.arange(start, stop, step)
        return self._at(np.asarray(rows))

    def __array__(self, dtype: Any = None, copy: Any = None) -> npt.NDArray[Any]:
        """Return all rows in memory, for what has no other way."""
        chunks = [self._chunk(number) for number in range(self.n_chunks)]
        return np.concatenate(chunks).astype(dtype or self.dtype, copy=False)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a worker has to know of this array beside one of its chunks."""
        state = dict(self.__dict__)
        # What is computed on first access is computed here, where chunks can be read.
        state["edges"] = self.edges
        state["kept"] = self.kept
        state["is_held"] = self.held is not None
        for name in ("delayed", "counted", "held", "read", "empty", "_window"):
            state[name] = None
        return state

    def select(self, order: list[int]) -> Chunks:
        """Return the same rows with some of the columns, in this order."""
        argument = self.argument
        other = self.converted(lambda chunk: to_numpy(as_array(chunk, argument))[:, order])
        other.finite = True
        if self.names is not None:
            other.names = [self.names[column] for column in order]
        return other

    def converted(
        self, convert: Callable[[Any], Any], sizes: Sequence[int] | None = None
    ) -> Chunks:
        """Return the array that ``convert`` makes of each chunk; ``sizes`` are those of the chunks, if known."""
        read = self.read
        other = object.__new__(Chunks)
        other.__dict__.update(self.__dict__)
        other.__dict__.pop("kept", None)
        other.key = os.urandom(16).hex()
        other.read = lambda number: convert(read(number))
        other.empty = convert(self.empty)
        other.names = None
        # What a conversion makes, such as codes of words, need not be finite numbers.
        other.finite = False
        other.kept_step = 1
        other.may_keep = self.may_keep or self.held is not None
        other.held = None
        other._window = threading.local()
        if sizes is not None:
            other._sizes = sizes
        if self.delayed is not None:
            shipped = dask().delayed(convert, pure=False)
            other.delayed = [shipped(chunk) for chunk in self.delayed]
        return other

    def side(self, number: int) -> Chunks:
        """Return one of the two samples of rows that are pairs; both sides take the rows of one reading."""
        other = object.__new__(Chunks)
        other.__dict__.update(self.__dict__)
        other.kept = self.kept[:, number]
        other._pairs = self, number
        return other

    @property
    def pairs(self) -> Chunks | None:
        """The rows of pairs of which this array is one side, if it is one."""
        return None if self._pairs is None else self._pairs[0]

    @property
    def partitions(self) -> list[Any]:
        """The chunks of Dask as they are to be read: those that workers keep, where they keep them."""
        if self.pairs is not None:
            return self.pairs.partitions
        found = self.delayed if self.held is None else self.held
        assert found is not None
        return found

    def hold(self) -> None:
        """Have the workers keep the chunks as checked arrays for as long as this array is in use."""
        described = dask().delayed(pickle.dumps(self), pure=False)
        check = dask().delayed(_checked_chunk, pure=False)
        parts = [check(described, chunk, number) for number, chunk in enumerate(self.partitions)]
        self.held = list(dask().persist(*parts, traverse=False))
        _held.add(self)

    def map(self, function: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        """Return ``function`` of each chunk as it is stored, and of what goes with it, computed where it lives."""
        numbers = range(self.n_chunks)
        if self.delayed is None:
            return [
                function(self.read(number), *(part[number] for part in arguments))
                for number in numbers
            ]
        shipped = dask().delayed(function, pure=False)
        tasks = [
            shipped(self.delayed[number], *(part[number] for part in arguments))
            for number in numbers
        ]
        return list(computed(tasks, self.argument))

    def holding(self, number: int, chunk: Any) -> Chunks:
        """Return this array on a worker, where one chunk alone can be read, and is here."""
        self._window = threading.local()
        # The window of this thread is the whole chunk, so that every block of it is a slice.
        rows = chunk if self.is_held else self.checked(chunk, number)
        self._window.rows = int(self.edges[number]), rows
        return self

    def checked(self, chunk: Any, number: int) -> npt.NDArray[Any]:
        """Return a chunk as an array of finite numbers of the expected shape."""
        array = to_numpy(as_array(chunk, self.argument))
        first = int(self.edges[number])
        last = int(self.edges[number + 1])
        expected = (last - first, *self.kept.shape[1:])
        if array.shape != expected:
            raise ArgumentValueError(
                self.argument, f"of shape {expected} in chunk {number}", f"{array.shape}"
            )
        if self.finite:
            check_finite(array, self.argument, first_row=first)
        return array

    def _chunk(self, number: int) -> npt.NDArray[Any]:
        if self.held is not None:
            return cast(npt.NDArray[Any], computed([self.held[number]], self.argument)[0])
        return self.checked(self.read(number), number)

    def _block(self, start: int, stop: int) -> npt.NDArray[Any]:
        """Return consecutive rows.

        Blocks are asked for one after the other, and their ends are not those of chunks. What is left of a chunk
        is therefore kept for the next block, so that a pass over all blocks reads each chunk once.
        """
        first, held = getattr(self._window, "rows", (0, None))
        if held is None or not first <= start <= first + len(held):
            # Elsewhere than before: begin with the chunk that holds the first row.
            number = max(0, int(np.searchsorted(self.edges, start, side="right")) - 1)
            first = int(self.edges[min(number, len(self.edges) - 2)])
            held = np.empty((0, *self.shape[1:]))
        # Chunks are read until the last row is there; rows before the first one are dropped.
        end = first + len(held)
        pieces = []
        if end > start:
            pieces.append(held[start - first :])
        while end < stop:
            # Empty chunks have equal edges: the last of these begins the chunk that holds the row.
            number = int(np.searchsorted(self.edges, end, side="right")) - 1
            pieces.append(self._chunk(number)[max(start - end, 0) :])
            end = int(self.edges[number + 1])
        if pieces:
            held = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
            self._window.rows = start, held
        return held[: stop - start]

    def _at(self, positions: IntArray) -> npt.NDArray[Any]:
        """Return rows anywhere: each chunk that holds some of them is read once."""
        found = np.empty((len(positions), *self.shape[1:]), dtype=self.dtype)
        # The chunk of each position, and the chunks that hold any.
        numbers = np.searchsorted(self.edges, positions, side="right") - 1
        wanted = np.unique(numbers).tolist()
        places = [np.flatnonzero(numbers == number) for number in wanted]
        rows = []
        for number, place in zip(wanted, places, strict=True):
            rows.append(positions[place] - self.edges[number])
        for place, chunk in zip(places, self._rows_of_chunks(wanted, rows), strict=True):
            found[place] = chunk
        return found

    def _rows_of_chunks(
        self, wanted: list[int], rows: list[IntArray]
    ) -> Iterable[npt.NDArray[Any]]:
        if self.delayed is None:
            for number, inside in zip(wanted, rows, strict=True):
                yield self._chunk(number)[inside]
            return
        # Workers send the rows that are asked for, not their chunks.
        take = dask().delayed(rows_of_chunk, pure=False)
        tasks = []
        for number, inside in zip(wanted, rows, strict=True):
            tasks.append(take(self.partitions[number], inside))
        for chunk in computed(tasks, self.argument):
            yield to_numpy(as_array(chunk, self.argument))


_held: weakref.WeakSet[Chunks] = weakref.WeakSet()


def kept_bytes() -> int:
    """Return the bytes of the rows that workers keep at present for measures of this process."""
    return sum(array.n_bytes for array in list(_held))


def _checked_chunk(described: bytes, chunk: Any, number: int) -> npt.NDArray[Any]:
    array: Chunks = pickle.loads(described)
    return np.ascontiguousarray(array.checked(chunk, number))


def rows_of_chunk(chunk: Any, rows: IntArray) -> Any:
    """Return some rows of an array or a table."""
    return chunk.iloc[rows] if hasattr(chunk, "iloc") else chunk[rows]


def dask() -> Any:
    """Return Dask, which whoever holds a collection of it has loaded."""
    return sys.modules["dask"]


@contextmanager
def quiet() -> Iterator[None]:
    """Keep Dask from logging: what goes wrong is said by one error, which its connections would say many times."""
    import logging

    logs = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    levels = [log.level for log in logs]
    for log in logs:
        log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for log, level in zip(logs, levels, strict=True):
            log.setLevel(level)


def computed(tasks: list[Any], argument: str) -> Sequence[Any]:
    """Compute tasks on the scheduler of Dask that is active."""
    try:
        with quiet():
            return cast(Sequence[Any], dask().compute(*tasks, traverse=False))
    except Exception as error:
        if type(error).__name__ == "KilledWorker":
            raise ConnectionError(
                f"{argument} must be in partitions that workers can hold, got one of which several workers died. "
                "Take smaller partitions, or workers with more memory."
            ) from error
        if type(error).__module__.startswith("distributed"):
            raise lost_scheduler(argument, f"{type(error).__name__} ({error})") from error
        raise


def lost_scheduler(argument: str, got: str) -> ConnectionError:
    """Return the error of a client whose scheduler is gone."""
    return ConnectionError(
        f"{argument} must be on a scheduler that can be reached, got {got}. "
        "Start the cluster again, and connect to it."
    )
