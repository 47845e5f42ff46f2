"""One thread for each matrix product while blocks have threads of their own, and as many as before afterwards."""

import pytest
import threadpoolctl

from shiftmetrics._core.threads import one_blas_thread


def counts() -> list[int]:
    return [
        library["num_threads"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"
    ]


def test_products_keep_to_one_thread_inside() -> None:
    before = counts()
    with one_blas_thread():
        assert set(counts()) <= {1}
    assert counts() == before


def test_the_limit_ends_with_an_error() -> None:
    before = counts()
    with pytest.raises(KeyError), one_blas_thread():
        raise KeyError
    assert counts() == before
