"""Threads of the linear algebra library: one each while the blocks of a sum have threads of their own."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep matrix products to one thread inside the block, where that can be asked for.

    A pool of threads in which each calls a matrix product that starts threads too makes them wait for each other:
    on two cores such a sum took up to ten times as long.
    """
    with _controller().limit(limits=1, user_api="blas"):
        yield


@functools.cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()
