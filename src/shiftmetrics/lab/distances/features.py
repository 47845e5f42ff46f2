"""Distances between features: of pairs of rows (cosine), of means (centroids), and of Gaussian fits (Frechet)."""

from __future__ import annotations

import math
from concurrent.futures import Executor
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, float64_rows, namespace, to_float64
from shiftmetrics._core.blocks import map_blocks, map_reduce, row_blocks
from shiftmetrics._core.numerics import directions
from shiftmetrics._core.result import settings_of
from shiftmetrics._core.tables import Align
from shiftmetrics._core.validation import check_directions, check_magnitude
from shiftmetrics.agreement.gaussian import gaussian_fit
from shiftmetrics.lab.distances.inputs import check_pairs, check_samples
from shiftmetrics.lab.distances.result import Distance, DistanceStatus, mean_distance, normal_interval

EPSILON = float(np.finfo(np.float64).eps)


def cosine_distance(features: Any, reference: Any, *, align: Align = "labels") -> Distance:
    """Mean cosine distance ``1 - cos`` between the features of pairs of rows.

    0 where the directions are equal, 1 where they are orthogonal, 2 where they are opposite; lower is more alike. The
    mean cosine similarity is ``1 - value``.

    Parameters
    ----------
    features : array of shape (n_samples, n_columns)
        Features of the sample under test: any array of the Python array API, DataFrame or nested lists.
    reference : array of the same shape
        Features of the reference; row i belongs to the same observation as row i of ``features``.
    align : {"labels", "position"}, default "labels"
        Whether two DataFrames are matched by row and column labels or as they stand.

    Returns
    -------
    Distance
        With the distance of each row in ``per_sample``.

    Raises
    ------
    ValueError
        If shapes differ, values are not finite, or a row is zero and so has no direction.
    TypeError
        If the inputs are not numbers, or come from two array libraries.

    Examples
    --------
    >>> cosine_distance([[1.0, 0.0], [0.0, 2.0]], [[3.0, 0.0], [1.0, 0.0]]).per_sample
    array([0., 1.])
    """
    first, second = check_pairs(features, reference, "features", "reference", align=align)
    check_directions(first, "features")
    check_directions(second, "reference")
    blocks = row_blocks(int(first.shape[0]), 8 * int(first.shape[1]))

    def distances_of(rows: slice) -> FloatArray:
        a, b = (directions(float64_rows(array, rows)) for array in (first, second))
        xp = namespace(a, b)
        difference = a - b  # |a - b|^2 / 2 = 1 - a.b keeps its digits where directions are close
        return to_float64(0.5 * xp.sum(difference * difference, axis=1))

    rows = np.concatenate(list(map_blocks(distances_of, blocks)))
    return mean_distance("Cosine distance", rows, 1.0, n_classes=int(first.shape[1]), align=align)


def centroid_distance(features: Any, reference: Any, *, align: Align = "labels") -> Distance:
    """Euclidean distance between the means of two samples of features.

    In units of the features; 0 where the means are equal, lower is more alike. The samples need not be paired nor of
    one size.

    Parameters
    ----------
    features : array of shape (n_samples, n_columns)
        Features of the sample under test.
    reference : array of shape (n_reference, n_columns)
        Features of the reference.
    align : {"labels", "position"}, default "labels"
        Whether the columns of two DataFrames match by name or by position.

    Returns
    -------
    Distance
        With the standard error by the delta method, where each sample has two rows and the means differ.

    Raises
    ------
    ValueError
        If columns differ, or values are not finite.
    TypeError
        If the inputs are not numbers, or come from two array libraries.

    Examples
    --------
    >>> centroid_distance([[0.0, 0.0], [6.0, 8.0]], [[0.0, 0.0]]).value
    5.0
    """
    first, second = check_samples(features, reference, align=align)
    check_magnitude(first, "features")
    check_magnitude(second, "reference")
    means = [mean_row(array) for array in (first, second)]
    shift = means[0] - means[1]
    value = float(np.linalg.norm(shift))
    error = None
    if value > 0.0 and min(int(first.shape[0]), int(second.shape[0])) > 1:
        # Var |shift| is, to first order, the variance of the mean along the shift.
        parts = [
            _variance_along(array, mean, shift / value)
            for array, mean in zip((first, second), means, strict=True)
        ]
        error = math.sqrt(sum(parts))
    size = sum(float(np.linalg.norm(mean)) for mean in means)
    return Distance(
        name="Centroid distance",
        units="units of the features",
        value=value,
        error_bound=EPSILON * (32 + int(first.shape[1])) * size,
        interval=None if error is None else normal_interval(value, error, "delta method", low=0.0),
        status=DistanceStatus.computed,
        n_samples=int(first.shape[0]),
        n_reference=int(second.shape[0]),
        standard_error=error,
        settings=settings_of(align=align),
    )


def frechet_distance(
    features: Any, reference: Any, *, align: Align = "labels", executor: Executor | None = None
) -> Distance:
    """Squared Frechet distance between Gaussian fits of two samples: the FID, on whatever features are given.

    ``|m - m'|^2 + tr(C + C' - 2 (C C')^(1/2))`` of means and covariances (divided by n - 1). In squared units of the
    features; 0 for equal moments, lower is more alike. With Inception features it is the Frechet Inception distance.

    Parameters
    ----------
    features : array of shape (n_samples, n_columns)
        Features of the sample under test.
    reference : array of shape (n_reference, n_columns)
        Features of the reference.
    align : {"labels", "position"}, default "labels"
        Whether the columns of two DataFrames match by name or by position.
    executor : concurrent.futures.Executor, optional
        Threads that work on blocks of rows. Default: one for each CPU.

    Returns
    -------
    Distance
        With a warning where a sample has no more rows than columns.

    Raises
    ------
    ValueError
        If a sample has fewer than two rows, columns differ, or values are not finite.
    TypeError
        If the inputs are not numbers, or come from two array libraries.

    Notes
    -----
    Defined by Heusel et al. (arXiv:1706.08500). No covariance is formed and no matrix square root is taken: with
    triangular factors C = A'A and C' = B'B, by QR of the centred rows, the last trace is the sum of the singular
    values of AB', which is as exact for singular covariances as for others.

    The distance of two samples of one distribution is above 0, the more so the fewer the rows: compare only distances
    of equal sizes.

    Examples
    --------
    Two Gaussians on a line: squared difference of the means plus that of the standard deviations.

    >>> frechet_distance([[-1.0], [0.0], [1.0]], [[1.0], [3.0], [5.0]]).value
    10.0
    """
    from scipy.linalg import svdvals

    first, second = check_samples(features, reference, align=align, min_rows=2)
    a = gaussian_fit(first, "features", executor=executor)
    b = gaussian_fit(second, "reference", executor=executor)
    shift = float(np.sum((a.mean - b.mean) ** 2))
    shared = float(svdvals(a.factor @ b.factor.T).sum())
    size = a.trace + b.trace + shift
    columns = int(first.shape[1])
    return Distance(
        name="Frechet distance",
        units="squared units of the features",
        value=max(0.0, shift + a.trace + b.trace - 2.0 * shared),
        error_bound=EPSILON * (64 + columns) * size,
        status=DistanceStatus.computed,
        n_samples=int(first.shape[0]),
        n_reference=int(second.shape[0]),
        settings=settings_of(align=align),
        warnings=tuple(
            f"{name} has no more rows ({count:g}) than columns ({columns}): its covariance is singular, and the "
            "distance is biased upwards. Take more rows, or fewer principal components."
            for name, count in (("features", a.count), ("reference", b.count))
            if count <= columns
        ),
    )


def mean_row(array: Array) -> FloatArray:
    """Return the mean of the rows: of differences from the first, so that far data keep their digits."""
    start = to_float64(float64_rows(array, slice(0, 1)))[0]

    def total(rows: slice) -> FloatArray:
        sums: FloatArray = (to_float64(float64_rows(array, rows)) - start).sum(axis=0)
        return sums

    n_rows = int(array.shape[0])
    mean: FloatArray = start + map_reduce(total, row_blocks(n_rows, 8 * len(start))) / n_rows
    return mean


def _variance_along(array: Array, mean: FloatArray, direction: FloatArray) -> float:
    """Return the variance of the mean of a sample along a direction."""
    n_rows = int(array.shape[0])

    def squares(rows: slice) -> float:
        along = (to_float64(float64_rows(array, rows)) - mean) @ direction
        return float(along @ along)

    return map_reduce(squares, row_blocks(n_rows, 8 * len(mean))) / (n_rows - 1) / n_rows
