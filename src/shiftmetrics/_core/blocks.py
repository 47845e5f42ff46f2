"""Blocks of rows of a large input, mapped by threads and added up in order.

A block is small enough for a core's cache, so the memory a measure needs beside its input is bounded by the
block size, whatever the number of rows. Blocks are added in their order, so a result does not depend on the
number of threads.

What is added up are statistics: frozen records of float64 numbers with a law, that the statistic of two samples
together is the sum of their statistics. `Statistic` adds field by field; a subclass whose law is another one (a
log-sum-exp that aligns its shift first) overrides ``__add__`` alone. All else, from threads to clusters, relies on
``+``.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.exceptions import ArgumentValueError

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future, ThreadPoolExecutor

BLOCK_BYTES = 1 << 20
"""Bytes of float64 in one block of one input: together with its temporaries it stays in a core's L2 cache."""


class Addable(Protocol):
    """Anything with ``+``: statistics, arrays, numbers."""

    def __add__(self, other: Self, /) -> Self: ...


A = TypeVar("A", bound=Addable)
T = TypeVar("T")


class PlacedBlocks(list[slice]):
    """Blocks of rows that are not in memory, and what maps a kernel over them where they live.

    ``run(kernel, reduce, executor)`` yields what the kernel returns for each block, in order; with ``reduce`` it may
    yield sums over consecutive blocks instead.
    """

    def __init__(
        self,
        blocks: list[slice],
        run: Callable[[Callable[[slice], Any], bool, Executor | None], Iterable[Any]],
    ) -> None:
        super().__init__(blocks)
        self.run = run


def row_blocks(n_rows: int, row_bytes: int, *, block_bytes: int = BLOCK_BYTES) -> list[slice]:
    """Cut ``n_rows`` rows into slices of at most ``block_bytes`` bytes (and at least one row) each."""
    size = max(1, block_bytes // max(1, row_bytes))
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def cpu_count() -> int:
    """Return the number of CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return max(1, os.cpu_count() or 1)


def map_reduce(
    kernel: Callable[[slice], A], blocks: Sequence[slice], *, executor: Executor | None = None
) -> A:
    """Return ``kernel(blocks[0]) + kernel(blocks[1]) + ...``.

    Parameters
    ----------
    kernel : callable
        Maps a slice of rows to a statistic. It must be thread-safe, and should release the interpreter lock
        (NumPy and torch do).
    blocks : sequence of slice
        At least one.
    executor : concurrent.futures.Executor, optional
        Where the kernels run. Default: a thread for each CPU when there are several blocks.

    Returns
    -------
    The sum, in the order of the blocks.

    Raises
    ------
    ValueError
        If there are no blocks: a sum of nothing has no shape.
    """
    if not blocks:
        raise ArgumentValueError("blocks", "at least one slice", "none")
    # A generator does nothing before its first item is asked for: where blocks are placed, it is dropped unused.
    parts: Iterator[A] = map_blocks(kernel, blocks, executor=executor)
    if isinstance(blocks, PlacedBlocks):
        parts = iter(blocks.run(kernel, True, executor))
    total = next(parts)
    for part in parts:
        total = total + part
    return total


def map_blocks(
    kernel: Callable[[slice], T], blocks: Sequence[slice], *, executor: Executor | None = None
) -> Iterator[T]:
    """Yield ``kernel(block)`` for each block, in order, with only a few results waiting at a time.

    Threads of the executor are all that is taken: a matrix product in a kernel starts no further ones.
    The first exception of a kernel ends it; blocks that have not begun are cancelled.
    """
    if isinstance(blocks, PlacedBlocks):
        yield from blocks.run(kernel, False, executor)
        return
    if executor is None:
        # A kernel that maps blocks itself processes them in its own thread: threads that wait for their own
        # pool would wait for ever.
        if len(blocks) < 2 or cpu_count() < 2 or getattr(_worker, "inside", False):
            yield from map(kernel, blocks)
            return
        executor = _thread_pool(os.getpid())
    # A few results wait at a time: submitting all blocks at once would hold all of their results in memory.
    waiting: deque[Future[T]] = deque()
    ahead = 4 * cpu_count()
    with one_blas_thread():
        try:
            for block in blocks:
                waiting.append(executor.submit(kernel, block))
                if len(waiting) >= ahead:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


_worker = threading.local()


def _enter_worker() -> None:
    _worker.inside = True


@functools.cache
def _thread_pool(process: int) -> ThreadPoolExecutor:
    """One pool for each process: a forked child must not inherit its parent's threads."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(
        max_workers=cpu_count(),
        thread_name_prefix=f"shiftmetrics-{process}",
        initializer=_enter_worker,
    )


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep matrix products to one thread inside the block, where that can be asked for.

    A pool of threads in which each calls a matrix product that starts threads too makes them wait for each other:
    on two cores such a sum took up to ten times as long.
    """
    # The limit holds for the whole process: it is set by the first block that asks, and ends with the last one,
    # in whatever order blocks of several threads begin and end.
    with _LIMIT.lock:
        if _LIMIT.n_blocks == 0:
            _LIMIT.limiter = _controller().limit(limits=1, user_api="blas")
        _LIMIT.n_blocks += 1
    try:
        yield
    finally:
        with _LIMIT.lock:
            _LIMIT.n_blocks -= 1
            if _LIMIT.n_blocks == 0:
                _LIMIT.limiter.restore_original_limits()
                _LIMIT.limiter = None


@contextmanager
def threads_of(executor: Executor | None) -> Iterator[None]:
    """Keep matrix products outside of blocks, such as those of eigenvectors, to the threads of an executor."""
    allowed = getattr(executor, "_max_workers", None)
    if allowed == 1:
        with one_blas_thread():
            yield
        return
    if allowed is not None:
        # never more than before: the environment may ask for fewer
        now = [part["num_threads"] for part in _controller().info() if part["user_api"] == "blas"]
        if allowed < max(now, default=1):
            with _controller().limit(limits=allowed, user_api="blas"):
                yield
            return
    yield


class _BlasLimit:
    """Which blocks of code keep matrix products to one thread now."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.n_blocks = 0
        self.limiter: Any = None


_LIMIT = _BlasLimit()
if hasattr(os, "register_at_fork"):
    # blocks of the parent's other threads do not end in a child
    os.register_at_fork(after_in_child=_LIMIT.__init__)  # type: ignore[misc]


@functools.cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


@dataclass(frozen=True, eq=False)
class Statistic:
    """Base of all additive statistics. Fields are floats or float64 arrays."""

    def __add__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        sums: dict[str, Any] = {}
        for name in self.field_names():
            mine = getattr(self, name)
            theirs = getattr(other, name)
            # Broadcasting would hide that shards are of two different runs.
            if np.shape(mine) != np.shape(theirs):
                expected = f"a {type(self).__name__} with {name} of shape {np.shape(mine)}"
                raise ArgumentValueError("other", expected, f"shape {np.shape(theirs)}")
            sums[name] = mine + theirs
        return dataclasses.replace(self, **sums)

    @classmethod
    def field_names(cls) -> tuple[str, ...]:
        """Return the names of the fields, in the order in which `pack` lays them out."""
        return tuple(field.name for field in dataclasses.fields(cls))

    def pack(self) -> FloatArray:
        """Lay all fields out in one float64 vector: the message a worker sends."""
        parts = [
            np.asarray(getattr(self, name), dtype=np.float64).ravel() for name in self.field_names()
        ]
        return np.concatenate(parts) if parts else np.empty(0)

    def unpack(self, vector: FloatArray) -> Self:
        """Rebuild a statistic with the shapes of this one from a packed ``vector``.

        Raises
        ------
        ValueError
            If the vector has another length than ``self.pack()``.
        """
        fields: dict[str, Any] = {}
        start = 0
        for name in self.field_names():
            shape = np.shape(getattr(self, name))
            size = int(np.prod(shape, dtype=np.int64))
            chunk = np.asarray(vector[start : start + size], dtype=np.float64)
            if chunk.size != size:
                break
            fields[name] = chunk.reshape(shape).copy() if shape else float(chunk[0])
            start += size
        if start != len(vector) or len(fields) != len(self.field_names()):
            expected = f"of length {self.pack().size}"
            raise ArgumentValueError("vector", expected, f"length {len(vector)}")
        return type(self)(**fields)
