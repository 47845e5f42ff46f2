"""Rows in parts that are read one at a time, and blocks of them that are mapped where the rows live.

Measures take blocks of rows from `Parts` as they do from an array: batches in order and by one thread, stored rows by
threads, partitions of Dask on the workers that hold them, from which nothing but the sums of the blocks comes back.
"""

from __future__ import annotations

import functools
import io
import itertools
import operator
import pickle
import sys
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import IntArray, as_array, is_in_parts, to_numpy
from shiftmetrics._core.blocks import PlacedBlocks, cpu_count, map_blocks
from shiftmetrics._core.options import Computing, check_memory
from shiftmetrics._core.validation import check_finite, describe

COPIES = 4
"""How often a part is held while it is worked on: as read, as checked, joined to rows before it, and converted."""

THREAD_BYTES = 8 << 20
"""What a thread holds beside its parts: blocks at work, and caches of readers."""


class Parts:
    """A virtual array behind parts that are read one at a time.

    Parameters
    ----------
    argument : str
        Name for messages.
    sizes : sequence of int
        Rows of each part.
    like : ndarray
        Some rows, perhaps none: the shape of a row, and the type of its numbers.
    read : callable
        Returns the part at a position.
    sequential : bool, default False
        Whether parts must be read in their order, by one thread.
    names : sequence of str, optional
        Of the columns.
    delayed : list, optional
        The parts of a Dask collection.
    """

    in_parts = True

    def __init__(
        self,
        argument: str,
        sizes: Sequence[int],
        like: npt.NDArray[Any],
        read: Callable[[int], Any],
        *,
        sequential: bool = False,
        names: Sequence[str] | None = None,
        delayed: list[Any] | None = None,
    ) -> None:
        self.argument, self.sequential, self.names, self.delayed = argument, sequential, names, delayed
        self.edges = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.shape: tuple[int, ...] = (int(self.edges[-1]), *like.shape[1:])
        self.dtype, self.ndim, self.key = like.dtype, like.ndim, uuid.uuid4().hex
        self.read, self._order, self.finite, self.kept, self.kept_step = read, None, True, like, 1
        self._wide, self._all_names = like.shape[1:], names
        self._window = (
            threading.local()
        )  # the first row that this thread still holds, and the rows from there on

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def part_bytes(self) -> int:
        """Bytes of the largest part that is held here: none of Dask, whose parts stay with the workers."""
        row_bytes = self.dtype.itemsize * int(np.prod(self._wide))
        return 0 if self.delayed is not None else row_bytes * int(np.diff(self.edges).max(initial=0))

    def __getitem__(self, key: Any) -> npt.NDArray[Any]:
        """Return the rows of a slice, or at an array of positions."""
        rows = key[0] if isinstance(key, tuple) else key
        if isinstance(rows, slice):
            start, stop, step = rows.indices(len(self))
            if step == 1:
                return self._block(start, max(start, stop))
            rows = np.arange(start, stop, step)
        return self._at(np.asarray(rows))

    def __array__(self, dtype: Any = None, copy: Any = None) -> npt.NDArray[Any]:
        """Return all rows: what has no other way takes them to memory."""
        parts = [self._part(number) for number in range(len(self.edges) - 1)]
        return np.concatenate(parts).astype(dtype or self.dtype, copy=False)

    def select(self, order: list[int]) -> Parts:
        """Return the same rows with other columns."""
        other = object.__new__(Parts)
        order = order if self._order is None else [self._order[column] for column in order]
        names = None if self._all_names is None else [self._all_names[column] for column in order]
        shape = (self.shape[0], len(order))
        other.__dict__.update(
            self.__dict__, _order=order, names=names, shape=shape, _window=threading.local()
        )
        other.key = uuid.uuid4().hex
        return other

    def __getstate__(self) -> dict[str, Any]:
        """Return what a worker needs to know of these rows, beside one of the parts."""
        return {**self.__dict__, "delayed": None, "read": None, "_window": None}

    def holding(self, number: int, part: Any) -> Parts:
        """Return these rows where one part alone can be read, and is here."""
        self._window = threading.local()
        self._window.rows = int(self.edges[number]), self.checked(part, number)
        return self

    def checked(self, part: Any, number: int) -> npt.NDArray[Any]:
        """Return a part as an array of finite numbers of the shape that was told."""
        array = to_numpy(as_array(part, self.argument))
        first, last = self.edges[number], self.edges[number + 1]
        expected = (int(last - first), *self._wide)
        if array.shape != expected:
            raise ValueError(
                describe(self.argument, f"of shape {expected} in part {number}", f"{array.shape}")
            )
        if self.finite:
            check_finite(array, self.argument, first_row=int(first))
        return array if self._order is None else array[:, self._order]

    def _part(self, number: int) -> npt.NDArray[Any]:
        return self.checked(self.read(number), number)

    def _block(self, start: int, stop: int) -> npt.NDArray[Any]:
        first, held = getattr(self._window, "rows", (0, None))
        if held is None or not first <= start <= first + len(held):
            number = max(0, int(np.searchsorted(self.edges, start, side="right")) - 1)
            first, held = int(self.edges[min(number, len(self.edges) - 2)]), np.empty((0, *self.shape[1:]))
        end = first + len(held)
        pieces = [held[start - first :]] if end > start else []
        while end < stop:
            number = int(np.searchsorted(self.edges, end, side="right")) - 1
            pieces.append(self._part(number)[max(start - end, 0) :])
            end = int(self.edges[number + 1])
        if pieces:
            held = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
            self._window.rows = start, held
        return held[: stop - start]

    def _at(self, positions: IntArray) -> npt.NDArray[Any]:
        found = np.empty((len(positions), *self.shape[1:]), dtype=self.dtype)
        numbers = np.searchsorted(self.edges, positions, side="right") - 1
        here = {int(number): np.flatnonzero(numbers == number) for number in np.unique(numbers)}
        rows = {number: positions[where] - self.edges[number] for number, where in here.items()}
        if self.delayed is None:
            taken: Iterable[Any] = (self._part(number)[part] for number, part in rows.items())
        else:
            take = dask().delayed(rows_of, pure=False)
            tasks = [take(self.delayed[number], part) for number, part in rows.items()]
            arrays = (to_numpy(as_array(part, self.argument)) for part in computed(tasks, self.argument))
            taken = (part if self._order is None else part[:, self._order] for part in arrays)
        for where, part in zip(here.values(), taken, strict=True):
            found[where] = part
        return found


class PairSide:
    """One of the two samples of `Parts` whose rows are pairs."""

    in_parts, delayed, names = True, None, None

    def __init__(self, pairs: Parts, number: int) -> None:
        self._pairs, self._number = pairs, number
        self.sequential, self.dtype, self.ndim = pairs.sequential, pairs.dtype, pairs.ndim - 1
        self.shape: tuple[int, ...] = (pairs.shape[0], *pairs.shape[2:])
        self.part_bytes, self.kept, self.kept_step = pairs.part_bytes, pairs.kept[:, number], pairs.kept_step

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> npt.NDArray[Any]:
        """Return rows, as of `Parts`."""
        return self._pairs[key][:, self._number]


def check_rows_fit(arrays: Sequence[Any], row_bytes: int, computing: Computing, argument: str) -> None:
    """Raise a MemoryError where parts held by all threads, and ``row_bytes`` for each row, exceed a limit given."""
    if computing.memory_limit is None:
        return
    threads = getattr(computing.executor, "_max_workers", cpu_count())
    threads = 1 if any(getattr(array, "sequential", False) for array in arrays) else threads
    held = COPIES * sum(array.part_bytes for array in arrays if is_in_parts(array)) + THREAD_BYTES
    remedy = "Take fewer rows, smaller chunks or row groups, or one thread (executor)."
    what = f"{argument}, of {len(arrays[0])} rows read by {threads} threads,"
    check_memory(threads * held + row_bytes * len(arrays[0]), computing.memory_limit, what, remedy)


def placed(blocks: list[slice], *samples: Sequence[Any]) -> list[slice]:
    """Return blocks that are mapped where their rows live.

    Parameters
    ----------
    blocks : list of slice
        One after the other, none across the end of a sample.
    *samples : sequence of array
        The arrays that hold the rows of each sample, which follow each other; those of one sample are cut alike.
    """
    arrays = [array for sample in samples for array in sample]
    if not any(is_in_parts(array) for array in arrays):
        return blocks
    if any(getattr(array, "sequential", False) for array in arrays):
        return PlacedBlocks(blocks, lambda kernel, _reduce, _executor: map(kernel, blocks))
    jobs, first = list[_ChunkTask](), 0
    for sample in samples:
        cut_at = [array.edges for array in sample if is_in_parts(array)] or [np.array([0, len(sample[0])])]
        edges = cut_at[0] + first
        for number, (start, stop) in enumerate(itertools.pairwise(edges.tolist())):
            inside = [block for block in blocks if block.start < stop and block.stop > start]
            cut = [slice(max(block.start, start), min(block.stop, stop)) for block in inside]
            if cut and stop > start:
                jobs.append(_ChunkTask(cut, number, sample))
        first += len(sample[0])
    run = _on_workers if any(getattr(array, "delayed", None) is not None for array in arrays) else _in_threads
    return PlacedBlocks([block for job in jobs for block in job.blocks], functools.partial(run, jobs))


class _ChunkTask(NamedTuple):
    """The blocks of one part of a sample."""

    blocks: list[slice]
    number: int
    arrays: Sequence[Any]


def _in_threads(
    jobs: list[_ChunkTask], kernel: Callable[[slice], Any], _reduce: bool, executor: Executor | None
) -> Iterator[Any]:
    """Map the blocks of each part by one thread, which reads it once."""

    def run(place: slice) -> list[Any]:
        return [kernel(block) for block in jobs[place.start].blocks]

    places = [slice(number, number + 1) for number in range(len(jobs))]
    return itertools.chain.from_iterable(map_blocks(run, places, executor=executor))


def _on_workers(
    jobs: list[_ChunkTask], kernel: Callable[[slice], Any], reduce: bool, _executor: Executor | None
) -> Iterator[Any]:
    """Map the blocks of each partition by one task of Dask; with ``reduce`` only the sum of a task comes back."""
    shipped = dask().delayed(_pack(kernel), pure=False)
    run = dask().delayed(_run, pure=False)
    tasks = []
    for blocks, number, arrays in jobs:
        ends = np.array([(block.start, block.stop) for block in blocks])
        keys, data = [array.key for array in arrays], [array.delayed[number] for array in arrays]
        tasks.append(run(shipped, ends, reduce, number, keys, data))
    return itertools.chain.from_iterable(computed(tasks, jobs[0].arrays[0].argument))


def _run(
    shipped: bytes, blocks: IntArray, reduce: bool, number: int, keys: list[str], data: list[Any]
) -> list[Any]:
    """Map a kernel over blocks of one partition, on a worker."""
    kernel = _Unpickler(shipped, number, dict(zip(keys, data, strict=True))).load()
    found = (kernel(slice(start, stop)) for start, stop in blocks.tolist())
    return [functools.reduce(operator.add, found)] if reduce else list(found)


def _pack(kernel: Callable[[slice], Any]) -> bytes:
    """Pickle a kernel without the rows that it reads: `_run` puts in those of the partition."""
    import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        def persistent_id(self, value: Any) -> bytes | None:
            return pickle.dumps(value) if isinstance(value, Parts) else None

    file = io.BytesIO()
    Pickler(file).dump(kernel)
    return file.getvalue()


class _Unpickler(pickle.Unpickler):
    def __init__(self, shipped: bytes, number: int, data: dict[str, Any]) -> None:
        super().__init__(io.BytesIO(shipped))
        self._number, self._data, self._known = number, data, dict[bytes, Parts]()

    def persistent_load(self, known: bytes) -> Parts:
        if known not in self._known:
            parts: Parts = pickle.loads(known)
            held = parts.key in self._data
            self._known[known] = parts.holding(self._number, self._data[parts.key]) if held else parts
        return self._known[known]


def rows_of(part: Any, rows: IntArray) -> Any:
    return part.iloc[rows] if hasattr(part, "iloc") else part[rows]


def dask() -> Any:
    return sys.modules["dask"]  # who holds a collection of Dask has loaded it


def computed(tasks: list[Any], argument: str) -> Sequence[Any]:
    """Compute tasks on the scheduler of Dask that is active."""
    try:
        return cast(Sequence[Any], dask().compute(*tasks, traverse=False))
    except Exception as error:
        if type(error).__name__ != "KilledWorker":
            raise
        raise ConnectionError(
            f"{argument} must be in partitions that workers can hold, got one of which several workers died. "
            "Take smaller partitions, or workers with more memory."
        ) from error
