"""Maximum mean discrepancy between two samples of features: unbiased, tile by tile, with a standard error."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, float64_rows, to_float64
from shiftmetrics._core.blocks import map_reduce, one_blas_thread, row_blocks
from shiftmetrics._core.confidence import normal_interval
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.neighbours import (
    TILE_BYTES,
    TILE_POINTS,
    distance_blocks,
    pairwise_distances,
)
from shiftmetrics._core.options import Computing, computing_of
from shiftmetrics._core.result import settings_of
from shiftmetrics._core.tables import Align
from shiftmetrics._core.validation import (
    check_choice,
    check_integer,
    check_number,
    check_rng,
)
from shiftmetrics_lab.distances.inputs import check_samples
from shiftmetrics_lab.result import COMPUTED, CONFIDENCE_LEVEL, LabResult

EPSILON = float(np.finfo(np.float64).eps)

BlockKernel = Callable[[Array, Array], FloatArray]

_MEDIAN_ROWS = 1000


def maximum_mean_discrepancy(
    features: Any,
    reference: Any,
    *,
    kernel: str = "gaussian",
    bandwidth: float | Literal["median"] = "median",
    degree: int = 3,
    gamma: float | None = None,
    coef0: float = 1.0,
    align: Align = "labels",
    rng: Any = None,
    computing: Computing | None = None,
) -> LabResult:
    """Squared maximum mean discrepancy: the unbiased estimate, and its standard error.

    ``mean k(x, x') + mean k(y, y') - 2 mean k(x, y)`` over different rows (Gretton et al., JMLR 2012). Its
    expectation is 0 for samples of one distribution, whatever their sizes, so it can come out below 0; lower is
    more alike.

    Parameters
    ----------
    features : array of shape (n_samples, n_columns)
        Features of the sample under test.
    reference : array of shape (n_reference, n_columns)
        Features of the reference.
    kernel : {"gaussian", "polynomial"}, default "gaussian"
        ``exp(-|x - y|^2 / (2 bandwidth^2))``, or ``(gamma x.y + coef0)^degree``: with its defaults, over all rows,
        the kernel Inception distance (KID; Binkowski et al., arXiv:1801.01401). Implementations that average over
        random subsets estimate the same number with more noise.
    bandwidth : float or "median", default "median"
        Of the Gaussian kernel, in units of the features; "median" is the median distance between at most 1,000 rows
        of each sample.
    degree : int, default 3
        Degree of the polynomial kernel.
    gamma : float, optional
        Factor of its inner product. Default: 1 / n_columns.
    coef0 : float, default 1.0
        Its constant.
    align : {"labels", "position"}, default "labels"
        Whether the columns of two DataFrames match by name or by position.
    rng : int or Generator, optional
        Draws the rows of the median. Default: a fixed seed.
    computing : Computing, optional
        Threads.

    Returns
    -------
    LabResult
        With a jackknife standard error and the interval that follows.

    Raises
    ------
    ValueError
        If a sample has fewer than three rows, columns differ, values are not finite, or an option is out of range.
    TypeError
        If the inputs are not numbers, or come from two array libraries.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(200, 2))
    >>> result = maximum_mean_discrepancy(x[:100] + 1.0, x[100:], bandwidth=1.0)
    >>> result.value > 4 * result.standard_error
    True
    >>> zeros, ones = [[0.0], [0.0], [0.0]], [[1.0], [1.0], [1.0]]
    >>> maximum_mean_discrepancy(zeros, ones, kernel="polynomial").value  # 1 + 8 - 2
    7.0
    """
    check_choice(kernel, "kernel", ("gaussian", "polynomial"))
    options = computing_of(computing)
    first, second = check_samples(features, reference, align=align, min_rows=3)
    if kernel == "gaussian":
        seed = 0 if rng is None else rng
        if isinstance(bandwidth, str):
            if bandwidth != "median":
                raise ArgumentValueError(
                    "bandwidth", 'a positive number or "median"', value=bandwidth
                )
            width = _median_distance(first, second, check_rng(seed))
        else:
            width = check_number(bandwidth, "bandwidth", low=0.0, open_low=True)
        name = "Maximum mean discrepancy"
        settings = {
            "bandwidth": width,
            "rule": bandwidth if isinstance(bandwidth, str) else None,
            "rng": seed,
        }
        similarity = _gaussian(width)
    else:
        degree = check_integer(degree, "degree", low=1)
        gamma = 1.0 / int(first.shape[1]) if gamma is None else gamma
        gamma = check_number(gamma, "gamma", low=0.0, open_low=True)
        coef0 = check_number(coef0, "coef0", low=0.0)
        name = "Kernel Inception distance"
        settings = {"degree": degree, "gamma": gamma, "coef0": coef0}
        similarity = _polynomial(degree, gamma, coef0)
    settings |= {"kernel": kernel, "align": align}
    return _discrepancy(name, first, second, similarity, options.executor, settings)


def _gaussian(width: float) -> BlockKernel:
    def kernel(rows: Array, points: Array) -> FloatArray:
        with np.errstate(under="ignore", over="ignore"):
            exponent = pairwise_distances(rows, points) / width
            return np.asarray(np.exp(-0.5 * exponent * exponent))

    return kernel


def _polynomial(degree: int, gamma: float, coef0: float) -> BlockKernel:
    def kernel(rows: Array, points: Array) -> FloatArray:
        inner = to_float64(rows @ points.T)
        inner *= gamma
        inner += coef0
        return np.asarray(inner**degree)

    return kernel


@dataclass(frozen=True, eq=False)
class _RowSums:
    """Sums of the kernel over the other rows of the same sample, and over the other sample."""

    own: FloatArray
    cross: FloatArray
    size: float
    """Sum of the absolute values."""


def _discrepancy(
    name: str,
    first: Array,
    second: Array,
    kernel: BlockKernel,
    executor: Executor | None,
    settings: dict[str, Any],
) -> LabResult:
    n, m = int(first.shape[0]), int(second.shape[0])
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        x, y = (
            _row_sums(first, second, kernel, executor),
            _row_sums(second, first, kernel, executor),
        )
    xx, yy, xy = float(x.own.sum()), float(y.own.sum()), float(x.cross.sum())
    value = xx / (n * (n - 1)) + yy / (m * (m - 1)) - 2.0 * xy / (n * m)
    if not math.isfinite(value):
        expected = "of a size whose kernel is finite"
        got = f"a kernel sum of {xx + yy + xy:g}"
        raise ArgumentValueError("features", expected, got, "Standardise them.")
    # Leave one row out: the jackknife, from the row sums alone.
    without_x = (
        (xx - 2.0 * x.own) / ((n - 1) * (n - 2))
        + yy / (m * (m - 1))
        - 2.0 * (xy - x.cross) / ((n - 1) * m)
    )
    without_y = (
        xx / (n * (n - 1))
        + (yy - 2.0 * y.own) / ((m - 1) * (m - 2))
        - 2.0 * (xy - y.cross) / (n * (m - 1))
    )
    variance = (n - 1) * float(without_x.var()) + (m - 1) * float(without_y.var())
    error = math.sqrt(variance)
    size = x.size / n**2 + y.size / m**2
    return LabResult(
        title=name,
        value=value,
        error_bound=EPSILON * (64 + int(first.shape[1])) * size,
        interval=normal_interval(value, error, CONFIDENCE_LEVEL, "jackknife"),
        status=COMPUTED,
        n_samples=n,
        parts={"n_reference": m},
        standard_error=error,
        settings=settings_of(**settings),
    )


def _row_sums(
    features: Array, others: Array, kernel: BlockKernel, executor: Executor | None
) -> _RowSums:
    """Sum the kernel over tiles, for each row of ``features``."""
    n_rows = int(features.shape[0])
    own, cross = np.zeros(n_rows), np.zeros(n_rows)
    width = max(1, min(TILE_POINTS, TILE_BYTES // (8 * int(features.shape[1]))))

    def add(rows: slice) -> float:
        block = float64_rows(features, rows)
        size = 0.0
        for array, sums in ((features, own), (others, cross)):
            for tile in row_blocks(int(array.shape[0]), 1, block_bytes=width):
                values = kernel(block, float64_rows(array, tile))
                if array is features:  # a row is no pair with itself
                    same = np.arange(max(rows.start, tile.start), min(rows.stop, tile.stop))
                    values[same - rows.start, same - tile.start] = 0.0
                sums[rows] += values.sum(axis=1)
                size += float(np.abs(values).sum())
        return size

    size = map_reduce(add, distance_blocks(features), executor=executor)
    return _RowSums(own, cross, size)


def _median_distance(first: Array, second: Array, rng: np.random.Generator) -> float:
    drawn = np.concatenate(
        [
            to_float64(array)[rng.permutation(int(array.shape[0]))[:_MEDIAN_ROWS]]
            for array in (first, second)
        ]
    )
    distances = pairwise_distances(drawn, drawn)
    positive = distances[np.triu_indices(len(drawn), 1)]
    positive = positive[positive > 0.0]
    return float(np.median(positive)) if len(positive) else 1.0
