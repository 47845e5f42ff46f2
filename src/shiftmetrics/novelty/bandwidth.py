"""The bandwidth of the Gaussian kernel: at what distance two rows stop being alike.

A bandwidth decides how fine the modes are. The variance rule takes the finest bandwidth at which the number of modes
can still be told from samples of this size. Read literally, "the smallest bandwidth whose variance is below 0.01"
(Zhang, Li and Farnia, arXiv:2402.17287) is met by every bandwidth near 0, where each row is alike to itself alone; so
the search comes down from a wide one and stops before the variance passes the limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, IntArray, take_rows, to_float64
from shiftmetrics._core.memory import check_memory, check_memory_limit
from shiftmetrics._core.record import Record
from shiftmetrics._core.validation import (
    check_integer,
    check_matrix,
    check_number,
    check_rng,
    check_same_library,
    check_weights,
    describe,
)

VARIANCE_LIMIT = 0.01
N_RESAMPLES = 50
MAX_ROWS = 1000
"""Rows drawn from each sample."""

_STEP = math.sqrt(2.0)
_BISECTIONS = 6
_ROWS_PER_MODE = 4
_CANCELLED = 1e-6
"""Share of the norms below which a squared distance is taken from differences: a matrix product lost its digits."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Bandwidth(Record):
    """A bandwidth and how it was found.

    Attributes
    ----------
    value : float
        The bandwidth, in units of the features.
    rule : str
        "variance" or "median".
    mode_count : float
        Number of modes, ``1 / |C|_F^2``, of the rows taken together.
    variance : float
        Variance of that number over random halves of the rows.
    n_rows, n_resamples : int
        Rows that were used, of both samples together, and halves that were drawn.
    reason : str
        What stopped the search.
    """

    value: float
    rule: str
    mode_count: float
    variance: float
    n_rows: int
    n_resamples: int
    reason: str

    @property
    def relative_variance(self) -> float:
        """Return the variance relative to the squared number of modes."""
        return self.variance / self.mode_count**2


def variance_bandwidth(
    features: Any,
    reference: Any = None,
    *,
    limit: float = VARIANCE_LIMIT,
    n_resamples: int = N_RESAMPLES,
    max_rows: int = MAX_ROWS,
    sample_weight: Any = None,
    reference_weight: Any = None,
    rng: Any = None,
) -> Bandwidth:
    """Choose the finest bandwidth at which the number of modes varies little from sample to sample.

    The number of modes is ``1 / |C|_F^2``, the exponential of the order-2 Renyi entropy of the kernel covariance C.
    Its variance over random halves of the rows estimates that of a whole sample. The search goes down from a wide
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
        Rows drawn from each sample. Above it the bandwidth does not depend on the size of the samples.
    sample_weight, reference_weight : array of shape (n_rows,), optional
        Weights in proportion to which rows are drawn; rows of weight 0 are left out.
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
    >>> round(variance_bandwidth(ring).value, 2)
    0.13
    """
    limit = check_number(limit, "limit", low=0.0, open_low=True)
    n_resamples = check_integer(n_resamples, "n_resamples", low=2)
    generator = check_rng(0 if rng is None else rng)
    rows = _drawn_rows(features, reference, sample_weight, reference_weight, max_rows, generator)
    study = _Study.of(rows, n_resamples, generator)
    if study.finest is None:
        return study.bandwidth(
            study.widest, "variance", "all rows are equal, so every bandwidth gives the same"
        )
    width, refused = study.widest, study.widest
    reason = "it is the widest that was tried: so few rows tell nothing finer"
    if study.allows(width, limit):
        while width > study.finest and study.allows(width / _STEP, limit):
            width /= _STEP
        refused = width / _STEP
        reason = f"below it the number of modes varies by more than {limit:g}, or has fewer than 4 rows each"
        if width <= study.finest:
            width, reason = (
                study.finest,
                "it is a quarter of the smallest distance between two different rows",
            )
        else:
            for _ in range(_BISECTIONS):
                middle = math.sqrt(width * refused)
                width, refused = (middle, refused) if study.allows(middle, limit) else (width, middle)
    return study.bandwidth(width, "variance", reason)


def median_bandwidth(
    features: Any,
    reference: Any = None,
    *,
    max_rows: int = MAX_ROWS,
    sample_weight: Any = None,
    reference_weight: Any = None,
    rng: Any = None,
) -> Bandwidth:
    """Take the median distance between two different rows: a common heuristic, too wide for data with many modes.

    Parameters
    ----------
    features, reference, max_rows, sample_weight, reference_weight, rng
        As for `variance_bandwidth`.

    Returns
    -------
    Bandwidth

    Examples
    --------
    >>> median_bandwidth([[0.0], [1.0], [3.0]]).value
    2.0
    """
    generator = check_rng(0 if rng is None else rng)
    rows = _drawn_rows(features, reference, sample_weight, reference_weight, max_rows, generator)
    study = _Study.of(rows, N_RESAMPLES, generator)
    return study.bandwidth(study.median, "median", "it is the median distance between two different rows")


@dataclass(frozen=True, eq=False)
class _Study:
    """Squared distances among rows, and random halves of them: the number of modes at any bandwidth."""

    squares: FloatArray
    halves: FloatArray
    unit: float
    widest: float
    median: float
    finest: float | None

    @classmethod
    def of(cls, rows: FloatArray, n_resamples: int, rng: np.random.Generator) -> _Study:
        check_distances(len(rows))
        squares, unit = squared_distances(rows)
        n_rows = len(rows)
        # A column for each half: 1 for the rows in it.
        halves = (np.argsort(rng.random((n_rows, n_resamples)), axis=0) < n_rows // 2).astype(np.float64)
        different = squares[squares > 0.0]
        if not len(different):
            return cls(squares, halves, 1.0, 1.0, 1.0, None)
        largest, middle, least = (float(value) for value in np.quantile(different, (1.0, 0.5, 0.0)))
        widest = min(math.sqrt(largest), 64.0 * math.sqrt(middle))
        return cls(squares, halves, unit, widest, math.sqrt(middle), math.sqrt(least) / 4.0)

    def counts(self, width: float) -> tuple[float, float]:
        """Return the number of modes of all rows at a bandwidth, and its variance over the halves."""
        n_rows, size = len(self.squares), len(self.squares) // 2
        with np.errstate(under="ignore", over="ignore"):
            products = np.exp(-(self.squares / width / width))  # k^2
        sums = np.einsum("ij,ij->j", self.halves, products @ self.halves)
        return n_rows**2 / float(products.sum()), float(np.var(size**2 / sums, ddof=1))

    def allows(self, width: float, limit: float) -> bool:
        count, variance = self.counts(width)
        return variance <= limit and count * _ROWS_PER_MODE <= len(self.squares)

    def bandwidth(self, width: float, rule: str, reason: str) -> Bandwidth:
        count, variance = self.counts(width)
        limits = np.finfo(np.float64)
        return Bandwidth(
            value=min(max(width * self.unit, float(limits.smallest_subnormal)), float(limits.max)),
            rule=rule,
            mode_count=count,
            variance=variance,
            n_rows=len(self.squares),
            n_resamples=self.halves.shape[1],
            reason=reason,
        )


def _drawn_rows(
    features: Any,
    reference: Any,
    sample_weight: Any,
    reference_weight: Any,
    max_rows: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Check both samples and draw at most ``max_rows`` rows of each."""
    max_rows = check_integer(max_rows, "max_rows", low=2)
    first = check_matrix(features, "features", min_rows=1 if reference is not None else 2)
    parts = [_draw(first, check_weights(sample_weight, "sample_weight", int(first.shape[0])), max_rows, rng)]
    if reference is not None:
        second = check_matrix(reference, "reference")
        check_same_library(first, second, "features", "reference")
        if first.shape[1] != second.shape[1]:
            raise ValueError(
                describe(
                    "reference", f"of as many columns as features, {first.shape[1]}", f"{second.shape[1]}"
                )
            )
        weights = check_weights(reference_weight, "reference_weight", int(second.shape[0]))
        parts.append(_draw(second, weights, max_rows, rng))
    return np.concatenate(parts)


def _draw(array: Array, weights: FloatArray | None, max_rows: int, rng: np.random.Generator) -> FloatArray:
    n_rows = int(array.shape[0])
    kept: IntArray = np.arange(n_rows) if weights is None else np.flatnonzero(weights)
    if len(kept) > max_rows:
        share = None if weights is None else weights[kept] / weights[kept].sum()
        kept = np.sort(rng.choice(kept, max_rows, replace=False, p=share))
    return to_float64(take_rows(array, kept))


def check_distances(n_rows: int, *, copies: int = 4, argument: str = "max_rows") -> None:
    """Raise a MemoryError in words if ``copies`` of the distances among all rows do not fit in half of the memory."""
    check_memory(
        8 * copies * n_rows**2,
        check_memory_limit(None),
        f"{argument}, with {n_rows} rows of both samples,",
        f"Lower {argument}.",
    )


def squared_distances(rows: FloatArray) -> tuple[FloatArray, float]:
    """Return all squared distances, in units in which no square overflows, and the unit."""
    unit = float(np.abs(rows).max())
    if unit == 0.0 or len(rows) < 2:
        return np.zeros((len(rows), len(rows))), 1.0
    rows = rows / unit
    rows = rows - rows.mean(axis=0)
    norms = np.einsum("ij,ij->i", rows, rows)
    sums = norms[:, None] + norms
    squares: FloatArray = sums - 2.0 * (rows @ rows.T)
    close = squares < _CANCELLED * sums
    for row in np.flatnonzero(close.sum(axis=1) > 1):  # each row is close to itself
        others = np.flatnonzero(close[row])
        squares[row, others] = ((rows[others] - rows[row]) ** 2).sum(axis=1)
    np.fill_diagonal(squares, 0.0)
    return np.maximum(squares, 0.0), unit
