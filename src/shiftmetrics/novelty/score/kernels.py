"""Kernels: how similar two samples are, 1 for a sample with itself.

The map step of novelty. Samples come as float64 blocks of the user's array library (array API standard), similarities
leave as NumPy float64. A kernel is a frozen record that follows the protocol `Kernel`, and stands in `KERNELS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NoReturn, Protocol, Self

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, directions, namespace, to_float64, to_numpy
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import check_directions

EPSILON = float(np.finfo(np.float64).eps)

_EXPANDED_LIMIT = 1e3
"""Largest squared norm, in bandwidths, at which ``|x|^2 + |y|^2 - 2 x.y`` keeps 12 digits of the kernel."""

_FEW_COLUMNS = 3
"""Up to here differences column by column cost no more than a matrix product."""

_FLOAT32 = 1e-8
"""Error that is allowed to a user's kernel of any precision."""


class Kernel(Protocol):
    """How similar samples are: symmetric, positive semidefinite, and 1 between a sample and itself."""

    @property
    def name(self) -> str:
        """The name in results."""

    @property
    def bandwidth(self) -> float | None:
        """How far samples are similar, in units of the columns, or None: then the kernel has one width alone."""

    @property
    def linear(self) -> bool:
        """Whether it is the inner product of `points`, so that a covariance of the columns is exact."""

    @property
    def knows_columns(self) -> bool:
        """Whether it compares column by column: columns then need one unit, and may be named as what changed."""

    @property
    def chooses_bandwidth(self) -> bool:
        """Whether the rule of `choose_bandwidth` is meant for it: the rule counts modes under a Gaussian kernel."""

    def __call__(self, rows: Array, points: Array) -> FloatArray:
        """Return the similarities of ``rows`` (a, d) to ``points`` (b, d)."""

    def at_width(self, similarities: FloatArray, width: float) -> FloatArray:
        """Return what ``similarities`` are at ``width`` times the bandwidth; never asked of a kernel without one."""

    def entry_error(self, spread: float) -> float:
        """Bound the rounding error of one similarity; ``spread`` is the largest squared distance from the center."""

    def fitted(self, center: FloatArray | None, probes: Callable[[], Array]) -> Self:
        """Return the kernel for some data, of which ``center`` is the mean and ``probes()`` are a few samples."""

    def check(self, array: Array, argument: str) -> None:
        """Raise a ValueError where samples have no similarity, such as directions of zeros."""

    def points(self, rows: Array) -> Array | None:
        """Return samples as points that are the more similar, the nearer they are; None where there are none."""


@dataclass(frozen=True, eq=False)
class GaussianKernel:
    """The kernel ``exp(-|x - y|^2 / (2 bandwidth^2))``.

    Parameters
    ----------
    bandwidth : float
        Distance at which two samples are 61 % similar.
    center : ndarray of shape (d,), optional
        A point amid the data. Distances do not depend on it, their rounding errors do.
    """

    bandwidth: float
    center: FloatArray | None = None

    name: ClassVar[str] = "gaussian"
    linear: ClassVar[bool] = False
    knows_columns: ClassVar[bool] = True
    chooses_bandwidth: ClassVar[bool] = True

    def __call__(self, rows: Array, points: Array) -> FloatArray:
        """Return the similarities of ``rows`` (a, d) to ``points`` (b, d)."""
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            exponent = None
            if rows.shape[1] > _FEW_COLUMNS:
                exponent = self._expanded(rows, points)
            if exponent is None:
                exponent = self._by_columns(rows, points)
            return _exponential(exponent)

    def at_width(self, similarities: FloatArray, width: float) -> FloatArray:
        """Return ``similarities ** (1 / width^2)``: the exponent has the squared bandwidth below it."""
        return _power_at_width(similarities, width)

    def entry_error(self, spread: float) -> float:
        """Bound the rounding error of one similarity; ``spread`` is in squared units of the features."""
        relative = spread / self.bandwidth / self.bandwidth
        # Beyond the limit, and where the spread overflows, differences are taken column by column: exact.
        if not relative <= _EXPANDED_LIMIT:
            return 8.0 * EPSILON
        return EPSILON * (8.0 + 4.0 * relative)

    def fitted(self, center: FloatArray | None, probes: Callable[[], Array]) -> GaussianKernel:
        """Return the kernel with the mean of the data as its center."""
        return replace(self, center=center)

    def check(self, array: Array, argument: str) -> None:
        """Accept all samples."""

    def points(self, rows: Array) -> Array:
        """Return the samples themselves."""
        return rows

    def _expanded(self, rows: Array, points: Array) -> Array | None:
        """Return -|x - y|^2 / (2 sigma^2) by one matrix product, or None where that would lose digits."""
        xp = namespace(rows, points)
        rows = self._in_bandwidths(xp, rows)
        points = self._in_bandwidths(xp, points)
        row_norms = xp.sum(rows * rows, axis=1)
        point_norms = xp.sum(points * points, axis=1)
        # Cancellation loses as many digits as the norms have beyond the distances.
        largest = max(_largest(xp, row_norms), _largest(xp, point_norms))
        # NaN counts as too large: it comes from an overflow.
        if not largest <= _EXPANDED_LIMIT:
            return None
        # -|x - y|^2 / 2 = x.y - |x|^2 / 2 - |y|^2 / 2
        exponent = rows @ points.T
        exponent -= 0.5 * row_norms[:, None]
        exponent -= 0.5 * point_norms[None, :]
        return exponent

    def _in_bandwidths(self, xp: Any, rows: Array) -> Array:
        """Return samples from the center, in bandwidths."""
        if self.center is not None:
            rows = rows - xp.asarray(self.center, device=getattr(rows, "device", None))
        return rows / self.bandwidth

    def _by_columns(self, rows: Array, points: Array) -> Array:
        """Return -|x - y|^2 / (2 sigma^2) from differences: exact wherever the data lie, a pass for each column."""
        exponent = 0.0
        for column in range(rows.shape[1]):
            # Divided before it is squared, so that nothing overflows that the kernel can tell apart.
            difference = (rows[:, column, None] - points[None, :, column]) / self.bandwidth
            difference *= difference
            exponent = exponent + difference if column else difference
        exponent *= -0.5
        return exponent


@dataclass(frozen=True, eq=False)
class CosineKernel:
    """The kernel ``x.y / (|x| |y|)``. Zeros have no direction and are refused."""

    name: ClassVar[str] = "cosine"
    bandwidth: ClassVar[None] = None
    linear: ClassVar[bool] = True
    knows_columns: ClassVar[bool] = False
    chooses_bandwidth: ClassVar[bool] = False

    def __call__(self, rows: Array, points: Array) -> FloatArray:
        """Return the similarities of ``rows`` (a, d) to ``points`` (b, d)."""
        similarities = to_float64(directions(rows) @ directions(points).T)
        return np.clip(similarities, -1.0, 1.0)

    def at_width(self, similarities: FloatArray, width: float) -> FloatArray:
        """Refuse: directions have no width."""
        raise _one_width_alone(self.name)

    def entry_error(self, spread: float) -> float:
        """Bound the rounding error of one similarity."""
        return 16.0 * EPSILON

    def fitted(self, center: FloatArray | None, probes: Callable[[], Array]) -> Self:
        """Return the kernel, which does not depend on the data."""
        return self

    def check(self, array: Array, argument: str) -> None:
        """Raise a ValueError for samples of zeros."""
        check_directions(array, argument)

    def points(self, rows: Array) -> Array:
        """Return samples scaled to length 1."""
        return directions(rows)


@dataclass(frozen=True, eq=False)
class DirectionKernel(CosineKernel):
    """The Gaussian kernel between samples scaled to length 1: the cosine kernel's neighbour that has a bandwidth.

    Parameters
    ----------
    bandwidth : float
        In units of the unit sphere.
    """

    bandwidth: float  # type: ignore[assignment,misc]

    linear: ClassVar[bool] = False
    # What changed gradually in the samples that the directions are of is told by their columns.
    knows_columns: ClassVar[bool] = True

    def __call__(self, rows: Array, points: Array) -> FloatArray:
        """Return the similarities of ``rows`` (a, d) to ``points`` (b, d)."""
        # Points of length 1 are at the squared distance 2 - 2 cos.
        cosines = super().__call__(rows, points)
        return np.exp((cosines - 1.0) / self.bandwidth**2)

    def at_width(self, similarities: FloatArray, width: float) -> FloatArray:
        """Return ``similarities ** (1 / width^2)``, as of the Gaussian kernel."""
        return _power_at_width(similarities, width)


@dataclass(frozen=True, eq=False)
class CallableKernel:
    """A user's function ``kernel(rows, points)`` that returns the matrix of similarities.

    Parameters
    ----------
    function : callable
        What the user gave.
    precision : float
        Rounding unit of its values: a float32 kernel is right to 1e-7 only.
    """

    function: Callable[[Any, Any], Any]
    precision: float = EPSILON

    bandwidth: ClassVar[None] = None
    linear: ClassVar[bool] = False
    knows_columns: ClassVar[bool] = False
    chooses_bandwidth: ClassVar[bool] = False

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

    def at_width(self, similarities: FloatArray, width: float) -> FloatArray:
        """Refuse: what a function does with its widths is not known."""
        raise _one_width_alone(self.name)

    def entry_error(self, spread: float) -> float:
        """Bound the rounding error of one similarity, by the type of the function's values."""
        return max(16.0 * EPSILON, 4.0 * self.precision)

    def fitted(self, center: FloatArray | None, probes: Callable[[], Array]) -> CallableKernel:
        """Return the kernel with its precision, once it was found to be a kernel on the probes.

        Raises
        ------
        ValueError
            If it is not symmetric, not 1 between a sample and itself, or not positive semidefinite.
        """
        # A few samples of both sides show most mistakes; the others are met when the matrix is factored.
        rows = probes()
        values = self._evaluate(rows, rows)
        dtype = to_numpy(values).dtype
        precision = float(np.finfo(dtype).eps) if dtype.kind == "f" else EPSILON
        among = to_float64(values)
        allowed = max(_FLOAT32, 256.0 * precision)
        # A kernel in float32 passes all three tests; a mistake in a formula is larger by orders of magnitude.
        asymmetry = float(np.abs(among - among.T).max())
        if asymmetry > allowed * max(1.0, float(np.abs(among).max())):
            got = f"kernel(x, y) and kernel(y, x) that differ by {asymmetry:.2g}"
            raise ArgumentValueError("kernel", "symmetric", got)
        diagonal = np.diagonal(among)
        furthest = int(np.abs(diagonal - 1.0).argmax())
        gap = abs(float(diagonal[furthest]) - 1.0)
        if gap > allowed:
            remedy = "Divide k(x, y) by sqrt(k(x, x) k(y, y))."
            got = f"{diagonal[furthest]:g}"
            raise ArgumentValueError("kernel", "1 between a row and itself", got, remedy)
        lowest = float(np.linalg.eigvalsh(among)[0])
        if lowest < -allowed * len(among):
            refuse_indefinite(f"an eigenvalue of {lowest:.2g}")
        return replace(self, precision=max(precision, gap))

    def check(self, array: Array, argument: str) -> None:
        """Accept all samples."""

    def points(self, rows: Array) -> None:
        """Return None: what a function makes similar need not be near."""

    def _evaluate(self, rows: Array, points: Array) -> Any:
        values = self.function(rows, points)
        expected = (rows.shape[0], points.shape[0])
        shape = tuple(getattr(values, "shape", ()))
        if shape != expected:
            wanted = f"a function that maps {expected[0]} and {expected[1]} rows to a matrix of shape {expected}"
            got = f"shape {shape}" if shape else type(values).__name__
            raise ArgumentValueError("kernel", wanted, got)
        if not np.isfinite(to_float64(values)).all():
            raise ArgumentValueError(
                "kernel", "finite everywhere", "values that are NaN or infinite"
            )
        return values


KernelName = Literal["gaussian", "cosine"]
"""The names of `KERNELS`, for type checkers and the command line."""

DEFAULT_KERNEL: KernelName = "gaussian"

KERNELS: dict[str, Callable[[float], Kernel]] = {
    "gaussian": GaussianKernel,
    "cosine": lambda bandwidth: CosineKernel(),
}
"""The register: by name, what makes a kernel of a bandwidth. One without a bandwidth leaves it aside."""

KernelChoice = KernelName | Callable[[Any, Any], Any]
"""What a user may ask for."""


def kernel_of(choice: KernelChoice, bandwidth: float | None = None) -> Kernel:
    """Return the kernel of a checked choice; without a bandwidth one of width 1, to ask what it is like."""
    if not isinstance(choice, str):
        return CallableKernel(choice)
    return KERNELS[choice](1.0 if bandwidth is None else bandwidth)


def refuse_indefinite(got: str) -> NoReturn:
    """Raise a ValueError for a function under which novelty is not defined."""
    remedy = "Use a positive semidefinite kernel, such as 'gaussian'."
    raise ArgumentValueError("kernel", "positive semidefinite", got, remedy)


def _power_at_width(similarities: FloatArray, width: float) -> FloatArray:
    """Return exp(-d^2 / (2 width^2)) from exp(-d^2 / 2): a power, by squares and roots at the usual widths."""
    if width == 0.5:
        return np.square(np.square(similarities))
    if width == 2.0:
        return np.sqrt(np.sqrt(similarities))
    return np.asarray(similarities ** (1.0 / width**2))


def _one_width_alone(name: str) -> ValueError:
    return ArgumentValueError("kernel", "one with a bandwidth to be taken at another width", name)


def _exponential(exponent: Array) -> FloatArray:
    """Return exp(min(exponent, 0)), in place where the library allows it."""
    if isinstance(exponent, np.ndarray):
        np.minimum(exponent, 0.0, out=exponent)
        result: FloatArray = np.exp(exponent, out=exponent)
        return result
    xp = namespace(exponent)
    # Rounding may leave an exponent above 0.
    bounded = xp.where(exponent > 0.0, xp.zeros_like(exponent), exponent)
    return to_float64(xp.exp(bounded))


def _largest(xp: Any, values: Array) -> float:
    return float(xp.max(values)) if values.shape[0] else 0.0
