"""Blocks come back in order, from any executor, with bounded memory, and an exception ends the run."""

import multiprocessing
import os
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from shiftmetrics._core import blocks
from shiftmetrics._core.blocks import (
    BLOCK_BYTES,
    cpu_count,
    map_blocks,
    map_reduce,
    one_blas_thread,
    row_blocks,
    threads_of,
)

TEN = [slice(i, i + 1) for i in range(10)]


def start(block: slice) -> int:
    """A kernel that a child process can import."""
    return block.start


# --- cutting ---------------------------------------------------------------------------------------------


@given(st.integers(0, 5000), st.integers(0, 5000), st.integers(1, 4000))
def test_blocks_cover_all_rows_once_and_in_order(
    n_rows: int, row_bytes: int, block_bytes: int
) -> None:
    cut = row_blocks(n_rows, row_bytes, block_bytes=block_bytes)
    assert [row for block in cut for row in range(block.start, block.stop)] == list(range(n_rows))
    for block in cut:
        rows = block.stop - block.start
        assert rows == 1 or rows * row_bytes <= block_bytes


def test_a_block_of_doubles_fits_a_cache() -> None:
    first = row_blocks(10**5, 8 * 1000)[0]
    assert first.stop * 8 * 1000 <= BLOCK_BYTES <= 2**21


# --- mapping ---------------------------------------------------------------------------------------------


def test_results_come_in_the_order_of_the_blocks() -> None:
    def slow_first(block: slice) -> int:
        time.sleep(0.02 if block.start == 0 else 0.0)
        return block.start

    assert list(map_blocks(slow_first, TEN)) == list(range(10))


def test_threads_work_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "cpu_count", lambda: 2)
    blocks._thread_pool.cache_clear()
    both = threading.Barrier(2, timeout=20)  # passes only when two kernels are inside it together
    assert map_reduce(lambda block: both.wait() * 0 + 1, TEN[:2]) == 2
    blocks._thread_pool.cache_clear()


def test_one_block_needs_no_thread() -> None:
    assert list(map_blocks(lambda _: threading.get_ident(), TEN[:1])) == [threading.get_ident()]
    assert list(map_blocks(start, [])) == []


@pytest.mark.parametrize("n_threads", [1, 3])
def test_the_sum_does_not_depend_on_the_threads(n_threads: int) -> None:
    values = np.random.default_rng(0).standard_normal(10_000) * 10.0 ** np.arange(-5, 5).repeat(
        1000
    )
    cut = row_blocks(len(values), 8, block_bytes=512)
    expected = values[cut[0]].sum()
    for block in cut[1:]:
        expected = expected + values[block].sum()
    with ThreadPoolExecutor(n_threads) as executor:
        assert map_reduce(lambda block: values[block].sum(), cut, executor=executor) == expected
    assert map_reduce(lambda block: values[block].sum(), cut) == expected


def test_the_executor_is_an_argument() -> None:
    class Counting(ThreadPoolExecutor):
        submitted = 0

        def submit(self, *args: object, **kwargs: object) -> Future:
            self.submitted += 1
            return super().submit(*args, **kwargs)

    with Counting(1) as executor:
        assert map_reduce(start, TEN, executor=executor) == 45
    assert executor.submitted == 10


def test_processes_work_too() -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
        assert map_reduce(abs, [-1, 2], executor=executor) == 3


def test_a_sum_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="blocks must be at least one slice, got none"):
        map_reduce(start, [])


# --- what can go wrong -----------------------------------------------------------------------------------


def test_only_a_few_results_wait() -> None:
    """The producer stays within a window of the consumer, so memory does not grow with the number of blocks."""
    many = [slice(i, i + 1) for i in range(2000)]
    done = 0
    lock = threading.Lock()

    def kernel(block: slice) -> int:
        nonlocal done
        with lock:
            done += 1
        return block.start

    for taken, _ in enumerate(map_blocks(kernel, many)):
        assert done <= taken + 1 + 4 * cpu_count() + cpu_count()
    assert done == len(many)


def test_an_exception_cancels_what_has_not_begun() -> None:
    begun = []

    def kernel(block: slice) -> int:
        begun.append(block.start)
        if block.start == 1:
            raise ZeroDivisionError("block 1")
        time.sleep(0.01)
        return 0

    many = [slice(i, i + 1) for i in range(500)]
    with ThreadPoolExecutor(2) as executor, pytest.raises(ZeroDivisionError, match="block 1"):
        map_reduce(kernel, many, executor=executor)
    assert len(begun) < 60


def test_the_pool_survives_an_exception() -> None:
    with pytest.raises(ZeroDivisionError):
        map_reduce(lambda block: 1 // (block.start - 5), TEN)
    assert map_reduce(start, TEN) == 45


def test_a_reader_may_stop_early() -> None:
    parts = map_blocks(start, TEN)
    assert [next(parts), next(parts)] == [0, 1]
    parts.close()
    assert map_reduce(start, TEN) == 45


def test_a_kernel_may_map_blocks_itself() -> None:
    """Threads that wait for their own pool would wait for ever."""
    assert map_reduce(lambda _: map_reduce(lambda _: map_reduce(start, TEN), TEN), TEN) == 4500


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_has_its_own_threads() -> None:
    assert map_reduce(start, TEN) == 45  # the parent's pool exists now
    child = multiprocessing.get_context("fork").Process(target=_exit_with_the_sum)
    child.start()
    child.join(timeout=60)
    assert child.exitcode == 45


def _exit_with_the_sum() -> None:
    os._exit(map_reduce(start, TEN))


def blas_threads() -> set[int]:
    found = [part["num_threads"] for part in threadpool_info() if part["user_api"] == "blas"]
    return set(found)


def test_a_kernel_starts_no_threads_of_its_own() -> None:
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        if before != {2}:
            pytest.skip("this library of matrix products has one thread only")
        with ThreadPoolExecutor(2) as executor:
            found = list(
                map_blocks(
                    lambda _: blas_threads(), row_blocks(8, 1, block_bytes=2), executor=executor
                )
            )
        assert found == [{1}] * 4
        assert blas_threads() == before


@pytest.mark.parametrize("order", ["nested", "crossed"])
def test_the_limit_ends_with_the_last_block_in_any_order(order: str) -> None:
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        assert blas_threads() == {1}
        ends = [second, first] if order == "nested" else [first, second]
        ends[0].__exit__(None, None, None)
        assert blas_threads() == {1}
        ends[1].__exit__(None, None, None)
        assert blas_threads() == before


def test_a_reader_that_stops_early_gives_the_threads_back() -> None:
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with ThreadPoolExecutor(1) as executor:
            parts = map_blocks(
                lambda block: block.start, row_blocks(8, 1, block_bytes=2), executor=executor
            )
            assert next(parts) == 0
            assert blas_threads() == {1}
            parts.close()
        assert blas_threads() == before


@pytest.mark.parametrize(("n_workers", "expected"), [(1, 1), (2, 2), (3, 3), (8, 3), (None, 3)])
def test_matrix_products_take_no_more_threads_than_the_executor(
    n_workers: int | None, expected: int
) -> None:
    with threadpool_limits(3, user_api="blas"):
        if blas_threads() != {3}:
            pytest.skip("this library of matrix products has fewer threads")
        executor = None if n_workers is None else ThreadPoolExecutor(n_workers)
        with threads_of(executor):
            assert blas_threads() == {expected}
        assert blas_threads() == {3}
