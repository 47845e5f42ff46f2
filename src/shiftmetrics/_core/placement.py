"""The map step over out-of-core data: each chunk's blocks are mapped where the chunk lives.

Threads read stored chunks, each of them once. Workers of Dask map the blocks of the partitions that they hold, and
nothing but the sums over blocks comes back.
"""

from __future__ import annotations

import functools
import io
import itertools
import operator
import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shiftmetrics._core.arrays import IntArray, is_in_chunks
from shiftmetrics._core.blocks import PlacedBlocks, cpu_count, map_blocks
from shiftmetrics._core.chunks import COPIES, Chunks, computed, dask
from shiftmetrics._core.options import Computing, check_memory

if TYPE_CHECKING:
    from concurrent.futures import Executor

THREAD_BYTES = 8 << 20
"""Memory of a thread beside its chunks: its blocks, and caches of readers. Of chunks the caller is one more."""


def check_rows_fit(
    arrays: Sequence[Any], row_bytes: int, computing: Computing, argument: str
) -> None:
    """Raise a MemoryError if the chunks of all threads, and ``row_bytes`` for each row, exceed a limit given.

    It reads nothing but what tells the number of rows, so it stands before whatever reads rows.
    """
    if computing.memory_limit is None:
        return
    # Each thread holds a few copies of a chunk of each array.
    threads = getattr(computing.executor, "_max_workers", cpu_count())
    if _any_sequential(arrays):
        threads = 1
    stored = [array for array in arrays if is_in_chunks(array)]
    # A thread without a chunk holds none.
    threads = min(threads, max((array.n_chunks for array in stored), default=threads))
    held = COPIES * sum(array.chunk_bytes for array in stored) + THREAD_BYTES
    needed = threads * held + row_bytes * len(arrays[0])
    if stored:
        needed += THREAD_BYTES
    remedy = "Take fewer rows, smaller chunks or row groups, or one thread (executor)."
    what = f"{argument}, of {len(arrays[0])} rows read by {threads} threads,"
    check_memory(needed, computing.memory_limit, what, remedy)


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
    if not any(is_in_chunks(array) for array in arrays):
        return blocks
    if _any_sequential(arrays):
        return PlacedBlocks(blocks, lambda kernel, _reduce, _executor: map(kernel, blocks))
    # Cut the blocks at the ends of chunks: a job is what one thread or worker does with one chunk.
    jobs: list[_ChunkTask] = []
    # Blocks count the rows of all samples one after the other, edges those of one sample.
    first = 0
    for sample in samples:
        cut_at = [array.edges for array in sample if is_in_chunks(array)]
        edges = cut_at[0] if cut_at else np.array([0, len(sample[0])])
        for number, (start, stop) in enumerate(itertools.pairwise((first + edges).tolist())):
            inside = [block for block in blocks if block.start < stop and block.stop > start]
            cut = [slice(max(block.start, start), min(block.stop, stop)) for block in inside]
            if cut and stop > start:
                jobs.append(_ChunkTask(cut, number, sample))
        first += len(sample[0])
    on_workers = any(getattr(array, "delayed", None) is not None for array in arrays)
    run = _on_workers if on_workers else _in_threads
    all_blocks = [block for job in jobs for block in job.blocks]
    return PlacedBlocks(all_blocks, functools.partial(run, jobs))


def _any_sequential(arrays: Sequence[Any]) -> bool:
    return any(getattr(array, "sequential", False) for array in arrays)


class _ChunkTask(NamedTuple):
    """The blocks of one chunk of a sample."""

    blocks: list[slice]
    number: int
    arrays: Sequence[Any]


def _in_threads(
    jobs: list[_ChunkTask], kernel: Callable[[slice], Any], _reduce: bool, executor: Executor | None
) -> Iterator[Any]:
    """Map the blocks of each chunk by one thread, which reads it once."""

    def run(place: slice) -> list[Any]:
        return [kernel(block) for block in jobs[place.start].blocks]

    places = [slice(number, number + 1) for number in range(len(jobs))]
    return itertools.chain.from_iterable(map_blocks(run, places, executor=executor))


def _on_workers(
    jobs: list[_ChunkTask], kernel: Callable[[slice], Any], reduce: bool, _executor: Executor | None
) -> Iterator[Any]:
    """Map the blocks of each partition by one task of Dask; with ``reduce`` only the sum of a task comes back."""
    from shiftmetrics._core.kept_chunks import keep_on_workers

    keep_on_workers(array for job in jobs for array in job.arrays)
    # Packed once: all tasks take the same kernel, and each puts in the rows of its own partition.
    shipped = dask().delayed(_pack(kernel), pure=False)
    run = dask().delayed(_run, pure=False)
    tasks = []
    for blocks, number, arrays in jobs:
        ends = np.array([(block.start, block.stop) for block in blocks])
        keys = [array.key for array in arrays]
        data = [array.partitions[number] for array in arrays]
        tasks.append(run(shipped, ends, reduce, number, keys, data))
    return itertools.chain.from_iterable(computed(tasks, jobs[0].arrays[0].argument))


def _run(
    shipped: bytes, blocks: IntArray, reduce: bool, number: int, keys: list[str], data: list[Any]
) -> list[Any]:
    """Map a kernel over blocks of one partition, on a worker."""
    here = dict(zip(keys, data, strict=True))
    kernel = _Unpickler(shipped, number, here).load()
    found = (kernel(slice(start, stop)) for start, stop in blocks.tolist())
    if reduce:
        return [functools.reduce(operator.add, found)]
    return list(found)


def _pack(kernel: Callable[[slice], Any]) -> bytes:
    """Pickle a kernel without the rows that it reads: `_run` puts in those of the partition."""
    import cloudpickle

    # Arrays of chunks travel by their description: pickle calls `persistent_id` for each object, and what it returns
    # takes the place of the object.
    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        def persistent_id(self, value: Any) -> bytes | None:
            return pickle.dumps(value) if isinstance(value, Chunks) else None

    file = io.BytesIO()
    Pickler(file).dump(kernel)
    return file.getvalue()


class _Unpickler(pickle.Unpickler):
    """Restores a kernel with the rows of one partition."""

    def __init__(self, shipped: bytes, number: int, data: dict[str, Any]) -> None:
        super().__init__(io.BytesIO(shipped))
        self._number = number
        self._data = data
        self._known: dict[bytes, Chunks] = {}

    def persistent_load(self, known: bytes) -> Chunks:
        # One object for each array, however often the kernel refers to it.
        if known not in self._known:
            chunks: Chunks = pickle.loads(known)
            # An array of another sample has no rows here, and this task asks it for none.
            if chunks.key in self._data:
                chunks = chunks.holding(self._number, self._data[chunks.key])
            self._known[known] = chunks
        return self._known[known]
