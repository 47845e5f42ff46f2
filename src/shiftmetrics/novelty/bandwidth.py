"""The bandwidth of the Gaussian kernel: at what distance two samples stop being alike.

A bandwidth decides how fine the modes are. The variance rule takes the finest bandwidth at which the number of modes
can still be estimated from samples of this size. Read literally, "the smallest bandwidth whose variance is below
0.01" (Zhang, Li and Farnia, arXiv:2402.17287) is met by every bandwidth near 0, where each row is alike to itself
alone; so the search comes down from a wide one and stops before the variance passes the limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, IntArray, take_rows, to_float64
from shiftmetrics._core.exceptions import ArgumentValueError, Setting, Wording
from shiftmetrics._core.neighbours import pairwise_distances
from shiftmetrics._core.options import check_memory, check_memory_limit
from shiftmetrics._core.record import Record
from shiftmetrics._core.validation import (
    check_integer,
    check_matrix,
    check_number,
    check_rng,
)
from shiftmetrics.novelty.inputs import check_samples
from shiftmetrics.novelty.score.kernels import KernelChoice, kernel_of

LIMIT = 0.01
N_RESAMPLES = 50
MAX_ROWS = 1000
"""Rows taken at random from each sample."""

_STEP = math.sqrt(2.0)
_BISECTIONS = 6
_ROWS_PER_MODE = 4


@dataclass(frozen=True, eq=False, kw_only=True)
class Bandwidth(Record):
    """A bandwidth and how it was found.

    Attributes
    ----------
    value : float
        The bandwidth, in units of the features.
    mode_count : float
        Number of modes, ``1 / |C|_F^2``, of the rows taken together.
    variance : float
        Variance of that number over random halves of the rows.
    n_rows, n_resamples : int
        Rows that were used, of both samples together, and number of random halves.
    reason : str
        What stopped the search.
    """

    value: float
    mode_count: float
    variance: float
    n_rows: int
    n_resamples: int
    reason: str


def choose_bandwidth(
    features: Any,
    reference: Any = None,
    *,
    limit: float = LIMIT,
    n_resamples: int = N_RESAMPLES,
    max_rows: int = MAX_ROWS,
    rng: Any = None,
) -> Bandwidth:
    """Choose the bandwidth of the Gaussian kernel.

    The rule takes the finest bandwidth at which the number of modes varies little from sample to sample. The
    number of modes is ``1 / |C|_F^2``, the exponential of the order-2 Renyi entropy of the kernel covariance C. Its
    variance over random halves of the rows estimates that of a whole sample. The search goes down from a wide
    bandwidth and stops before the variance passes ``limit``, before fewer than four rows are left for each mode, or
    at a quarter of the smallest distance between two different rows.

    Parameters
    ----------
    features : array of shape (n_samples, n_columns)
        The sample under test.
    reference : array of shape (n_reference, n_columns), optional
        The reference; both samples are taken together.
    limit : float, default 0.01
        Largest variance of the number of modes: it is known to 0.1.
    n_resamples : int, default 50
        Random halves.
    max_rows : int, default 1000
        Rows taken at random from each sample. Above it the bandwidth does not depend on the size of the samples.
    rng : int or Generator, optional
        Draws rows and halves. Default: a fixed seed, so that equal data give equal bandwidths.

    Returns
    -------
    Bandwidth

    Raises
    ------
    ValueError
        If there are fewer than two rows, or values are not finite.
    MemoryError
        If the distances among so many rows take more than half of the memory that is free.

    Examples
    --------
    >>> import numpy as np
    >>> angles = np.repeat(np.arange(8) * np.pi / 4, 50)
    >>> noise = np.random.default_rng(0).normal(scale=0.03, size=(400, 2))
    >>> ring = np.c_[np.cos(angles), np.sin(angles)] + noise
    >>> round(choose_bandwidth(ring).value, 2)
    0.13
    """
    limit = check_number(limit, "limit", low=0.0, open_low=True)
    n_resamples = check_integer(n_resamples, "n_resamples", low=2)
    max_rows = check_integer(max_rows, "max_rows", low=2)
    if reference is None:
        samples = [check_matrix(features, "features", min_rows=2)]
    else:
        samples = list(check_samples(features, reference))
    return bandwidth_by_rule(
        samples,
        [None] * len(samples),
        check_rng(0 if rng is None else rng),
        limit=limit,
        n_resamples=n_resamples,
        max_rows=max_rows,
    )


def bandwidth_of(
    bandwidth: float | str,
    kernel: KernelChoice,
    samples: tuple[Array, Array],
    weights: tuple[FloatArray | None, FloatArray | None],
    rng: np.random.Generator,
    units: FloatArray | None = None,
) -> tuple[float | None, Bandwidth | None]:
    """Return the bandwidth, and how it was chosen; None for kernels without one.

    Raises
    ------
    ValueError
        If it is neither positive nor "auto", given for a kernel without one, or left to a rule that is not the
        kernel's.
    """
    asked = kernel_of(kernel)
    if asked.bandwidth is None:
        # Also the default, so that nobody has to unset it for a kernel without a bandwidth.
        if isinstance(bandwidth, str) and bandwidth == "auto":
            return None, None
        expected: str = "left out when kernel is a function"
        if isinstance(kernel, str):
            expected = Wording("left out with ", Setting("kernel", kernel))
        remedy = "This kernel has no bandwidth."
        raise ArgumentValueError("bandwidth", expected, value=bandwidth, remedy=remedy)
    if not isinstance(bandwidth, str):
        return check_number(bandwidth, "bandwidth", low=0.0, open_low=True), None
    if bandwidth != "auto":
        raise ArgumentValueError("bandwidth", "a number greater than 0 or 'auto'", value=bandwidth)
    if not asked.chooses_bandwidth:
        expected = Wording("a number greater than 0 with ", Setting("kernel", kernel))
        remedy = "The rule behind 'auto' counts modes under the Gaussian kernel alone."
        raise ArgumentValueError("bandwidth", expected, value=bandwidth, remedy=remedy)
    choice = bandwidth_by_rule(
        list(samples), list(weights), rng, units=1.0 if units is None else units
    )
    return choice.value, choice


def bandwidth_by_rule(
    samples: list[Array],
    weights: list[FloatArray | None],
    rng: np.random.Generator,
    *,
    limit: float = LIMIT,
    n_resamples: int = N_RESAMPLES,
    max_rows: int = MAX_ROWS,
    units: FloatArray | float = 1.0,
) -> Bandwidth:
    """Choose the bandwidth of samples that are checked, taken together, with each column divided by its unit."""
    rows = np.concatenate(
        [
            _draw(part, fraction, max_rows, rng)
            for part, fraction in zip(samples, weights, strict=True)
        ]
    )
    study = _Study.of(rows / units, n_resamples, rng)
    width, reason = study.search(limit)
    count, variance = study.counts(width)
    limits = np.finfo(np.float64)
    return Bandwidth(
        # Positive and finite also where the unit of the data is at the end of what floats hold.
        value=float(np.clip(width * study.unit, limits.smallest_subnormal, limits.max)),
        mode_count=count,
        variance=variance,
        n_rows=len(rows),
        n_resamples=n_resamples,
        reason=reason,
    )


@dataclass(frozen=True, eq=False)
class _Study:
    """Squared distances among rows, and random halves of them: the number of modes at any bandwidth."""

    squares: FloatArray
    halves: FloatArray
    unit: float
    widest: float
    finest: float | None

    @classmethod
    def of(cls, rows: FloatArray, n_resamples: int, rng: np.random.Generator) -> _Study:
        check_distances(len(rows))
        squares, unit = squared_distances(rows)
        n_rows = len(rows)
        # A column for each half: 1 for the rows in it.
        # Halves without replacement: a mean over one varies by 1 / (n / 2) - 1 / n = 1 / n, as that over all n rows
        # does from sample to sample.
        places = np.argsort(rng.random((n_rows, n_resamples)), axis=0)
        halves = (places < n_rows // 2).astype(np.float64)
        # Every bandwidth gives the same where all rows are equal.
        different = squares[squares > 0.0]
        if not len(different):
            return cls(squares, halves, 1.0, 1.0, None)
        least, middle, largest = np.quantile(different, (0.0, 0.5, 1.0)).tolist()
        # A row that is far from all others does not widen the search.
        widest = min(math.sqrt(largest), 64.0 * math.sqrt(middle))
        return cls(squares, halves, unit, widest, math.sqrt(least) / 4.0)

    def search(self, limit: float) -> tuple[float, str]:
        """Return the finest bandwidth that the variance rule allows, and what stopped the search."""
        width = self.widest
        if self.finest is None:
            return width, "all rows are equal, so every bandwidth gives the same"
        # Where not even the widest is allowed, nothing finer is.
        if not self.allows(width, limit):
            return width, "it is the widest that was tried: so few rows tell nothing finer"
        # Down by steps, then by bisection between the last one that is allowed and the first that is not.
        while width > self.finest and self.allows(width / _STEP, limit):
            width /= _STEP
        if width <= self.finest:
            return (
                self.finest,
                "it is a quarter of the smallest distance between two different rows",
            )
        # Six bisections of a factor of sqrt(2), on a logarithmic scale, leave half a per cent.
        refused = width / _STEP
        for _ in range(_BISECTIONS):
            middle = math.sqrt(width * refused)
            width, refused = (middle, refused) if self.allows(middle, limit) else (width, middle)
        reason = f"below it the number of modes varies by more than {limit:g}, or has fewer than 4 rows each"
        return width, reason

    def counts(self, width: float) -> tuple[float, float]:
        """Return the number of modes of all rows at a bandwidth, and its variance over the halves."""
        n_rows, size = len(self.squares), len(self.squares) // 2
        with np.errstate(under="ignore", over="ignore"):
            # In place from here on: memory for each step costs more than the step.
            products = self.squares / -width
            products /= width
            np.exp(products, out=products)  # k^2
        # 1 / |C|_F^2 = n^2 / sum of k^2, for all rows and within each half.
        sums = np.einsum("ij,ij->j", self.halves, products @ self.halves)
        count = n_rows**2 / float(products.sum())
        return count, float(np.var(size**2 / sums, ddof=1))

    def allows(self, width: float, limit: float) -> bool:
        count, variance = self.counts(width)
        return variance <= limit and count * _ROWS_PER_MODE <= len(self.squares)


def check_distances(n_rows: int, *, copies: int = 4, argument: str = "max_rows") -> None:
    """Raise a MemoryError if ``copies`` of the distances among all rows do not fit in half of the free memory."""
    what = f"{argument}, with {n_rows} rows of both samples,"
    check_memory(8 * copies * n_rows**2, check_memory_limit(None), what, f"Lower {argument}.")


def squared_distances(rows: FloatArray) -> tuple[FloatArray, float]:
    """Return all squared distances, in units in which no square overflows, and the unit."""
    unit = float(np.abs(rows).max()) or 1.0
    return np.square(pairwise_distances(rows / unit, rows / unit)), unit


def _draw(
    array: Array, weights: FloatArray | None, max_rows: int, rng: np.random.Generator
) -> FloatArray:
    n_rows = int(array.shape[0])
    kept: IntArray = np.arange(n_rows) if weights is None else np.flatnonzero(weights)
    if len(kept) > max_rows:
        fraction = None if weights is None else weights[kept] / weights[kept].sum()
        kept = np.sort(rng.choice(kept, max_rows, replace=False, p=fraction))
    return to_float64(take_rows(array, kept))
