"""Kernels: right wherever the rows lie, the same from every array library, and strict about a user's function."""

from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from optional import array_api_strict, torch
from shiftmetrics import compare_novelty, kernel_entropic_novelty
from shiftmetrics.novelty.score.kernels import (
    EPSILON,
    KERNELS,
    CallableKernel,
    CosineKernel,
    GaussianKernel,
    KernelName,
)


@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(1, 8), st.integers(1, 8), st.integers(1, 7)),
    bandwidth=st.floats(1e-3, 1e3),
    offset=st.sampled_from([0.0, 1.0, 1e4, 1e8]),
)
def test_the_gaussian_kernel_is_right_wherever_the_rows_lie(
    seed: int, shape: tuple[int, int, int], bandwidth: float, offset: float
) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(shape[0], shape[2])) + offset
    y = rng.normal(size=(shape[1], shape[2])) + offset
    y[0] = x[0]
    found = GaussianKernel(bandwidth)(x, y)
    np.testing.assert_allclose(found, oracles.gaussian_kernel(x, y, bandwidth), rtol=0, atol=1e-11)
    assert found.dtype == np.float64
    assert 1.0 - 1e-11 <= found[0, 0] <= 1.0


@pytest.mark.parametrize("spread", [1.0, 5.0, 30.0, 1e3])
def test_the_error_of_an_entry_is_bounded(spread: float) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 20)) * spread / np.sqrt(20)
    kernel = GaussianKernel(1.0, x.mean(axis=0))
    furthest = float(((x - x.mean(axis=0)) ** 2).sum(axis=1).max())
    exact = np.exp(-((np.longdouble(1) * (x[:, None] - x[None])) ** 2).sum(axis=-1) / 2)
    assert np.abs(kernel(x, x) - exact).max() <= kernel.entry_error(furthest)


@pytest.mark.parametrize("columns", [1, 3, 4, 40])
def test_extreme_rows_are_alike_or_not_but_never_undefined(columns: int) -> None:
    rows = np.array([[0.0], [1e-300], [1e200], [-1e200], [1.7e308], [-1.7e308]]) * np.ones(columns)
    for bandwidth in (1e-320, 1e-200, 1.0, 1e200, 1.7e308):
        found = GaussianKernel(bandwidth)(rows, rows)
        assert np.isfinite(found).all()
        assert (np.diagonal(found) == 1.0).all()
        assert found.min() >= 0.0
        assert found.max() <= 1.0


@pytest.mark.parametrize("columns", [2, 5, 64])
@pytest.mark.parametrize("dtype", ["float64", "float32", "uint8"])
def test_all_array_libraries_give_the_same_block(columns: int, dtype: str) -> None:
    rng = np.random.default_rng(1)
    x, y = (rng.integers(0, 5, size=(n, columns)).astype(dtype) for n in (30, 20))
    if dtype != "uint8":
        x += rng.normal(size=x.shape).astype(dtype)
    x[:, 0] += 1  # no row of zeros
    y[:, 0] += 1
    wide = [a.astype(np.float64) for a in (x, y)]
    for kernel in (
        GaussianKernel(2.0, np.full(columns, 2.0)),
        GaussianKernel(0.01),
        CosineKernel(),
    ):
        expected = kernel(*wide)
        for found in (
            kernel(*(torch.asarray(a) for a in wide)),
            kernel(*(array_api_strict.asarray(a) for a in wide)),
        ):
            assert isinstance(found, np.ndarray)
            np.testing.assert_allclose(found, expected, rtol=0, atol=4e-15)


def test_the_cosine_kernel_neither_overflows_nor_vanishes() -> None:
    x = np.array([[1e300, 1e300], [1e-300, 0.0], [-3.0, 0.0]])
    expected = np.array([[1, 0.5**0.5, -(0.5**0.5)], [0.5**0.5, 1, -1], [-(0.5**0.5), -1, 1]])
    np.testing.assert_allclose(CosineKernel()(x, x), expected, atol=4 * EPSILON)


def test_a_function_is_a_kernel() -> None:
    def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return a @ b.T

    kernel = CallableKernel(product)
    x = np.eye(3, dtype=np.float32)
    assert kernel.name.endswith("product")
    np.testing.assert_array_equal(kernel(x, x), np.eye(3))
    assert kernel.fitted(None, lambda: x).precision == np.finfo(np.float32).eps
    assert kernel.fitted(None, lambda: x.astype(np.float64)).precision == EPSILON


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (np.ones((2, 2)), r"matrix of shape \(2, 3\), got shape \(2, 2\)"),
        (1.0, r"got float"),
        (np.full((2, 3), np.nan), "finite everywhere"),
    ],
)
def test_a_function_that_is_no_kernel_is_refused(returned: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CallableKernel(lambda a, b: returned)(np.zeros((2, 1)), np.zeros((3, 1)))


def test_types_and_docstrings_name_the_kernels_of_the_register() -> None:
    assert get_args(KernelName) == tuple(KERNELS)
    for function in (kernel_entropic_novelty, compare_novelty):
        (line,) = [
            part for part in function.__doc__.splitlines() if part.startswith("    kernel :")
        ]
        for name in KERNELS:
            assert f'"{name}"' in line
