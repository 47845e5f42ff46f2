"""Distances between features: of pairs of rows (cosine), of means (centroids), and of Gaussian fits (Frechet)."""

from __future__ import annotations

import math
from concurrent.futures import Executor
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import (
    Array,
    FloatArray,
    directions,
    float64_rows,
    namespace,
    to_float64,
)
from shiftmetrics._core.blocks import map_blocks, map_reduce, row_blocks
from shiftmetrics._core.confidence import normal_interval
from shiftmetrics._core.options import Computing, computing_of
from shiftmetrics._core.result import settings_of
from shiftmetrics._core.tables import Align
from shiftmetrics._core.validation import check_choice, check_directions, check_magnitude
from shiftmetrics_lab.distances.gaussian import gaussian_fit
from shiftmetrics_lab.distances.inputs import check_pairs, check_samples
from shiftmetrics_lab.result import COMPUTED, CONFIDENCE_LEVEL, LabResult, mean_distance

EPSILON = float(np.finfo(np.float64).eps)


METHODS = ("frechet", "cosine", "centroid")


def feature_distance(
    features: Any,
    reference: Any,
    *,
    method: str = "frechet",
    align: Align = "labels",
    computing: Computing | None = None,
) -> LabResult:
    """Distance between the features of two samples; lower is more alike, and 0 where nothing changed.

    Parameters
    ----------
    features : array of shape (n_samples, n_columns)
        Features of the sample under test: any array of the Python array API, DataFrame or nested lists.
    reference : array of shape (n_reference, n_columns)
        Features of the reference; for "cosine", row i belongs to the same observation as row i of ``features``.
    method : {"frechet", "cosine", "centroid"}, default "frechet"
        - "frechet": squared Frechet distance between Gaussian fits, ``|m - m'|^2 + tr(C + C' - 2 (C C')^(1/2))`` of
          means and covariances (divided by n - 1), in squared units of the features. With Inception features it is
          the Frechet Inception distance (FID).
        - "cosine": mean of ``1 - cos`` of pairs of rows, from 0 to 2.
        - "centroid": Euclidean distance between the means, in units of the features.
    align : {"labels", "position"}, default "labels"
        Whether the columns (and for "cosine" the rows) of two DataFrames match by label or by position.
    computing : Computing, optional
        Threads.

    Returns
    -------
    LabResult
        "cosine": with the distance of each row in ``per_sample``. "centroid": with the standard error by the delta
        method, where each sample has two rows and the means differ. "frechet": with a warning where a sample has no
        more rows than columns.

    Raises
    ------
    ValueError
        If shapes differ, values are not finite, there are too few rows, or a row is zero and so has no direction.
    TypeError
        If the inputs are not numbers, or come from two array libraries.

    Notes ----- The Frechet distance is defined by Heusel et al. (arXiv:1706.08500). No covariance is formed and no
    matrix square root is taken: with triangular factors C = A'A and C' = B'B, by QR of the centred rows, the last
    trace is the sum of the singular values of AB', which is as exact for singular covariances as for others. For
    two samples of one distribution it is above 0, the more so the fewer the rows: compare only distances of equal
    sizes.

    Examples
    --------
    Two Gaussians on a line: squared difference of the means plus that of the standard deviations.

    >>> feature_distance([[-1.0], [0.0], [1.0]], [[1.0], [3.0], [5.0]]).value
    10.0
    >>> feature_distance([[1.0, 0.0], [0.0, 2.0]], [[3.0, 0.0], [1.0, 0.0]], method="cosine").per_sample
    array([0., 1.])
    """
    check_choice(method, "method", METHODS)
    options = computing_of(computing)
    settings = {"method": method, "align": align}
    if method == "cosine":
        first, second = check_pairs(features, reference, "features", "reference", align=align)
        rows = _cosine_rows(first, second, options.executor)
        return mean_distance(
            "Cosine distance", rows, 1.0, n_classes=int(first.shape[1]), settings=settings
        )
    first, second = check_samples(
        features, reference, align=align, min_rows=2 if method == "frechet" else 1
    )
    compute = _frechet if method == "frechet" else _centroid
    return compute(first, second, options.executor, settings_of(**settings))


def _cosine_rows(first: Array, second: Array, executor: Executor | None) -> FloatArray:
    check_directions(first, "features")
    check_directions(second, "reference")

    def distances_of(rows: slice) -> FloatArray:
        a, b = (directions(float64_rows(array, rows)) for array in (first, second))
        xp = namespace(a, b)
        difference = a - b  # |a - b|^2 / 2 = 1 - a.b keeps its digits where directions are close
        return to_float64(0.5 * xp.sum(difference * difference, axis=1))

    blocks = row_blocks(int(first.shape[0]), 8 * int(first.shape[1]))
    return np.concatenate(list(map_blocks(distances_of, blocks, executor=executor)))


def _centroid(
    first: Array, second: Array, executor: Executor | None, settings: dict[str, Any]
) -> LabResult:
    arrays = (first, second)
    for array, name in zip(arrays, ("features", "reference"), strict=True):
        check_magnitude(array, name)
    means = [mean_row(array) for array in arrays]
    shift = means[0] - means[1]
    value = float(np.linalg.norm(shift))
    error = None
    if value > 0.0 and min(int(first.shape[0]), int(second.shape[0])) > 1:
        # Var |shift| is, to first order, the variance of the mean along the shift.
        pairs = zip(arrays, means, strict=True)
        error = math.sqrt(sum(_variance_along(array, mean, shift / value) for array, mean in pairs))
    size = sum(float(np.linalg.norm(mean)) for mean in means)
    return LabResult(
        title="Centroid distance",
        unit="units of the features",
        value=value,
        error_bound=EPSILON * (32 + int(first.shape[1])) * size,
        interval=None
        if error is None
        else normal_interval(value, error, CONFIDENCE_LEVEL, "delta method", least=0.0),
        status=COMPUTED,
        n_samples=int(first.shape[0]),
        parts={"n_reference": int(second.shape[0])},
        standard_error=error,
        settings=settings,
    )


def _frechet(
    first: Array, second: Array, executor: Executor | None, settings: dict[str, Any]
) -> LabResult:
    from scipy.linalg import svdvals

    a = gaussian_fit(first, "features", executor=executor)
    b = gaussian_fit(second, "reference", executor=executor)
    shift = float(np.sum((a.mean - b.mean) ** 2))
    shared = float(svdvals(a.factor @ b.factor.T).sum())
    size = a.trace + b.trace + shift
    columns = int(first.shape[1])
    return LabResult(
        title="Frechet distance",
        unit="squared units of the features",
        value=max(0.0, shift + a.trace + b.trace - 2.0 * shared),
        error_bound=EPSILON * (64 + columns) * size,
        status=COMPUTED,
        n_samples=int(first.shape[0]),
        parts={"n_reference": int(second.shape[0])},
        settings=settings,
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
