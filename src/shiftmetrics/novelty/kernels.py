"""Kernels: how alike two rows are, 1 for a row with itself.

The map step of novelty. Rows come as float64 blocks of the user's array library (array API standard), similarities
leave as NumPy float64. A kernel is a frozen record that maps a block of rows and a block of points to a matrix.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, directions, namespace, to_float64, to_numpy
from shiftmetrics._core.validation import describe

EPSILON = float(np.finfo(np.float64).eps)

_EXPANDED_LIMIT = 1e3
"""Largest squared norm, in bandwidths, at which ``|x|^2 + |y|^2 - 2 x.y`` keeps 12 digits of the kernel."""

_FEW_COLUMNS = 3
"""Up to here differences column by column cost no more than a matrix product."""


@dataclass(frozen=True, eq=False)
class GaussianKernel:
    """The kernel ``exp(-|x - y|^2 / (2 bandwidth^2))``.

    Parameters
    ----------
    bandwidth : float
        Distance at which two rows are 61 % alike.
    center : ndarray of shape (d,), optional
        A point amid the data. Distances do not depend on it, their rounding errors do.
    """

    bandwidth: float
    center: FloatArray | None = None

    positive_semidefinite: ClassVar[bool] = True

    def __call__(self, rows: Array, points: Array) -> FloatArray:
        """Return the similarities of ``rows`` (a, d) to ``points`` (b, d)."""
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            if rows.shape[1] <= _FEW_COLUMNS:
                return _exponential(self._by_columns(rows, points))
            expanded = self._expanded(rows, points)
            return _exponential(self._by_columns(rows, points) if expanded is None else expanded)

    def entry_error(self, spread: float) -> float:
        """Bound the rounding error of one similarity; ``spread`` is in squared units of the features."""
        relative = spread / self.bandwidth / self.bandwidth if math.isfinite(spread) else math.inf
        return EPSILON * (8.0 + (4.0 * relative if relative <= _EXPANDED_LIMIT else 0.0))

    def _expanded(self, rows: Array, points: Array) -> Array | None:
        """Return -|x - y|^2 / (2 sigma^2) by one matrix product, or None where that would lose digits."""
        xp = namespace(rows, points)
        rows, points = self._in_bandwidths(xp, rows), self._in_bandwidths(xp, points)
        row_norms, point_norms = xp.sum(rows * rows, axis=1), xp.sum(points * points, axis=1)
        largest = max(_largest(xp, row_norms), _largest(xp, point_norms))
        if not largest <= _EXPANDED_LIMIT:  # NaN counts as too large: it comes from an overflow
            return None
        exponent = rows @ points.T
        exponent -= 0.5 * row_norms[:, None]
        exponent -= 0.5 * point_norms[None, :]
        return exponent

    def _in_bandwidths(self, xp: Any, rows: Array) -> Array:
        """Return rows from the center, in bandwidths."""
        if self.center is not None:
            rows = rows - xp.asarray(self.center, device=getattr(rows, "device", None))
        return rows / self.bandwidth

    def _by_columns(self, rows: Array, points: Array) -> Array:
        """Return -|x - y|^2 / (2 sigma^2) from differences: exact wherever the rows lie, a pass for each column."""
        exponent = 0.0
        for column in range(rows.shape[1]):
            difference = (rows[:, column, None] - points[None, :, column]) / self.bandwidth
            difference *= difference
            exponent = exponent + difference if column else difference
        exponent *= -0.5
        return exponent


@dataclass(frozen=True, eq=False)
class CosineKernel:
    """The kernel ``x.y / (|x| |y|)``. Rows of zeros have no direction and are refused where data come in."""

    positive_semidefinite: ClassVar[bool] = True

    def __call__(self, rows: Array, points: Array) -> FloatArray:
        """Return the similarities of ``rows`` (a, d) to ``points`` (b, d)."""
        similarities = to_float64(directions(rows) @ directions(points).T)
        return np.clip(similarities, -1.0, 1.0)

    def entry_error(self, spread: float) -> float:
        """Bound the rounding error of one similarity."""
        return 16.0 * EPSILON


@dataclass(frozen=True, eq=False)
class CallableKernel:
    """A user's function ``kernel(rows, points)`` that returns the matrix of similarities."""

    function: Callable[[Any, Any], Any]

    positive_semidefinite: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """The name of the function."""
        return str(getattr(self.function, "__qualname__", type(self.function).__name__))

    def __call__(self, rows: Array, points: Array) -> FloatArray:
        """Return the similarities of ``rows`` (a, d) to ``points`` (b, d).

        Raises
        ------
        ValueError
            If the function returns another shape, or values that are not finite.
        """
        return to_float64(self._evaluate(rows, points))

    def entry_error(self, spread: float) -> float:
        """Bound the rounding error of one similarity: the function is taken to be right to double precision."""
        return 16.0 * EPSILON

    def precision(self, rows: Array) -> float:
        """Return the rounding unit of what the function returns: a float32 kernel is right to 1e-7 only."""
        dtype = to_numpy(self._evaluate(rows, rows)).dtype
        return float(np.finfo(dtype).eps) if dtype.kind == "f" else EPSILON

    def _evaluate(self, rows: Array, points: Array) -> Any:
        values = self.function(rows, points)
        expected = (rows.shape[0], points.shape[0])
        shape = tuple(getattr(values, "shape", ()))
        if shape != expected:
            wanted = f"a function that maps {expected[0]} and {expected[1]} rows to a matrix of shape {expected}"
            got = f"shape {shape}" if shape else type(values).__name__
            raise ValueError(describe("kernel", wanted, got))
        if not np.isfinite(to_float64(values)).all():
            raise ValueError(
                describe("kernel", "finite everywhere", "values that are NaN or infinite")
            )
        return values


class Kernel(Protocol):
    """How similar samples are: symmetric, positive semidefinite, and 1 between a sample and itself.

    Attributes
    ----------
    positive_semidefinite : bool
        Whether it is known to be so; otherwise the solution checks.
    """

    positive_semidefinite: ClassVar[bool]

    def __call__(self, rows: Array, points: Array) -> FloatArray:
        """Return the similarities of ``rows`` (a, d) to ``points`` (b, d)."""

    def entry_error(self, spread: float) -> float:
        """Bound the rounding error of one similarity; ``spread`` is the largest squared distance from the centre."""


def _exponential(exponent: Array) -> FloatArray:
    """Return exp(min(exponent, 0)), in place where the library allows it."""
    if isinstance(exponent, np.ndarray):
        np.minimum(exponent, 0.0, out=exponent)
        result: FloatArray = np.exp(exponent, out=exponent)
        return result
    xp = namespace(exponent)
    return to_float64(xp.exp(xp.where(exponent > 0.0, xp.zeros_like(exponent), exponent)))


def _largest(xp: Any, values: Array) -> float:
    return float(xp.max(values)) if values.shape[0] else 0.0
