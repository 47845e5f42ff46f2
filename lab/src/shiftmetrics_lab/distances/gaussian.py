"""Mean and covariance of a sample, block by block, without forming the covariance."""

from __future__ import annotations

import math
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, float64_rows, to_float64
from shiftmetrics._core.blocks import BLOCK_BYTES, map_reduce, one_blas_thread, row_blocks
from shiftmetrics._core.validation import check_magnitude

_BLOCK_ROWS = 2
"""Rows of a block for each column, at least: a triangular factor then costs little more than a matrix product."""


@dataclass(frozen=True, eq=False)
class GaussianFit:
    """Mean and covariance of a sample; fits of two parts add up to the fit of both."""

    count: float
    mean: FloatArray
    root: FloatArray
    """R of shape (rank, n_columns) with R'R = the sum of the centred squares."""

    def __add__(self, other: GaussianFit) -> GaussianFit:
        count = self.count + other.count
        shift = other.mean - self.mean
        between = math.sqrt(self.count * other.count / count) * shift
        return GaussianFit(
            count=count,
            mean=self.mean + (other.count / count) * shift,
            root=_triangle(np.concatenate([self.root, other.root, between[None]])),
        )

    @property
    def factor(self) -> FloatArray:
        """F with F'F = the covariance."""
        return self.root / math.sqrt(self.count - 1.0)

    @property
    def trace(self) -> float:
        """Total variance."""
        return float(np.einsum("ij,ij->", self.root, self.root)) / (self.count - 1.0)


def gaussian_fit(
    array: Array, argument: str = "features", *, executor: Executor | None = None
) -> GaussianFit:
    """Fit mean and covariance block by block, without forming the covariance.

    Raises
    ------
    ValueError
        If values are so large that their squares overflow; ``argument`` is named.
    """
    check_magnitude(array, argument)
    columns = int(array.shape[1])

    def fit(rows: slice) -> GaussianFit:
        block = to_float64(float64_rows(array, rows))
        mean = block.mean(axis=0)
        return GaussianFit(float(len(block)), mean, _triangle(block - mean))

    block_bytes = max(BLOCK_BYTES, 8 * columns * _BLOCK_ROWS * columns)
    with one_blas_thread():
        return map_reduce(
            fit,
            row_blocks(int(array.shape[0]), 8 * columns, block_bytes=block_bytes),
            executor=executor,
        )


def _triangle(rows: FloatArray) -> FloatArray:
    """Return as few rows with the same Gram matrix."""
    if len(rows) <= rows.shape[1]:
        return rows
    triangle: FloatArray = np.asarray(np.linalg.qr(rows, mode="r"))
    return triangle
