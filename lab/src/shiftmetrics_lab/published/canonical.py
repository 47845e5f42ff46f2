"""Canonical correlation of two feature spaces from few anchors: class means, or pairs that are known.

The anchors alone would be matched perfectly in any space that holds them; so the covariances that whiten come from
all rows, and the anchors give the covariance between the spaces only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from shiftmetrics._core.arrays import (
    Array,
    FloatArray,
    IntArray,
    float64_rows,
    take_rows,
    to_float64,
)
from shiftmetrics._core.blocks import map_blocks, map_reduce, row_blocks
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import check_magnitude, check_matrix, check_number
from shiftmetrics.agreement.pairing import rows_of_classes

_NEGLIGIBLE = 1e-8
"""Canonical correlations below this fraction of the largest are rounding."""


class Moments(NamedTuple):
    """Mean and covariance of a sample."""

    mean: FloatArray
    covariance: FloatArray


class CanonicalCoordinates(NamedTuple):
    """Canonical variables of two samples, each weighted by its correlation.

    Attributes
    ----------
    features, reference : ndarray of shape (n_rows, n_components)
        Rows of either sample, in one space.
    correlations : ndarray of shape (n_components,)
        Canonical correlations, descending.
    """

    features: FloatArray
    reference: FloatArray
    correlations: FloatArray


def canonical_coordinates(
    features: Any,
    reference: Any,
    *,
    labels: Any = None,
    reference_labels: Any = None,
    seeds: Any = None,
    ridge: float = 1e-3,
) -> CanonicalCoordinates:
    """Bring two samples of different feature spaces into one, by canonical correlation.

    Their nearest neighbours there are pairs: pass the coordinates to `pair_samples`.

    Parameters
    ----------
    features : array of shape (n_samples, n_columns)
        The sample under test.
    reference : array of shape (n_reference, n_reference_columns)
        The reference.
    labels, reference_labels : array of shape (n_rows,), optional
        Labels of the rows, whose class means are matched; rows of a class that one sample lacks are left out.
    seeds : array of shape (n_seeds, 2), optional
        Known pairs to match instead: positions in ``features`` and in ``reference``.
    ridge : float, default 1e-3
        Added to the covariances, in units of the mean variance of a column.

    Returns
    -------
    CanonicalCoordinates

    Raises
    ------
    ValueError
        If neither labels nor seeds are given, seeds are no pairs of positions, or nothing is correlated.

    References
    ----------
    V. Jimenez Rodriguez, master thesis, ETH Zurich 2024, section 3.7.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.agreement import pair_samples
    >>> rng = np.random.default_rng(0)
    >>> features, labels = rng.normal(size=(50, 4)), np.arange(50) % 5
    >>> features += 9.0 * np.eye(5)[labels, :4]
    >>> turned = features @ rng.normal(size=(4, 6))
    >>> space = canonical_coordinates(features, turned, labels=labels, reference_labels=labels)
    >>> pairing = pair_samples(space.features, space.reference)
    >>> float(np.mean(pairing.reference_rows == pairing.rows)) > 0.5
    True
    """
    ridge = check_number(ridge, "ridge", low=0.0)
    first, second = check_matrix(features, "features"), check_matrix(reference, "reference")
    counts = (int(first.shape[0]), int(second.shape[0]))
    if seeds is not None:
        known = _check_seeds(seeds, counts)
        space = fit_pairs(first, second, known, ridge=ridge)
    else:
        classes = rows_of_classes(labels, reference_labels, counts, "correlation")
        if len(classes) < 2:
            remedy = "Give seeds instead."
            raise ArgumentValueError("labels", "of at least two classes", "one class", remedy)
        arguments: list[Any] = []
        for array, rows in zip((first, second), zip(*classes, strict=True), strict=True):
            codes = np.repeat(np.arange(len(rows)), [len(part) for part in rows])
            arguments += [take_rows(array, np.concatenate(rows)), codes]
        space = fit_class_means(*arguments, ridge=ridge)
    return CanonicalCoordinates(
        space.coordinates(first), space.coordinates(second, reference=True), space.correlations
    )


def _check_seeds(seeds: Any, counts: tuple[int, int]) -> IntArray:
    pairs = np.asarray(seeds)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu" or len(pairs) < 2:
        expected = "at least 2 pairs of positions, of shape (n_seeds, 2)"
        raise ArgumentValueError("seeds", expected, f"shape {pairs.shape} of {pairs.dtype}")
    if pairs.min() < 0 or (pairs.max(axis=0) >= counts).any():
        expected = (
            f"positions from 0 to {counts[0] - 1} in features and {counts[1] - 1} in reference"
        )
        raise ArgumentValueError("seeds", expected, pairs.max(axis=0).tolist())
    return pairs.astype(np.int64)


@dataclass(frozen=True, eq=False)
class CanonicalSpace:
    """Directions of two feature spaces that vary together, and how strongly.

    Attributes
    ----------
    correlations : ndarray of shape (n_components,)
        Descending.
    mean, reference_mean : ndarray of shape (n_columns,)
        What is subtracted from the rows of each sample.
    directions, reference_directions : ndarray of shape (n_columns, n_components)
        Maps from the features of each sample; components have variance 1.
    """

    correlations: FloatArray
    mean: FloatArray
    reference_mean: FloatArray
    directions: FloatArray
    reference_directions: FloatArray

    def coordinates(self, features: Array, *, reference: bool = False) -> FloatArray:
        """Return the canonical variables of the rows, each weighted by its correlation: (n_rows, n_components)."""
        mean = self.reference_mean if reference else self.mean
        directions = (
            self.reference_directions if reference else self.directions
        ) * self.correlations

        def project(rows: slice) -> FloatArray:
            return np.asarray((to_float64(float64_rows(features, rows)) - mean) @ directions)

        return np.concatenate(list(map_blocks(project, _slices(features))))


def fit_class_means(
    features: Array, codes: IntArray, reference: Array, reference_codes: IntArray, *, ridge: float
) -> CanonicalSpace:
    """Fit on the means of the classes, weighted by the size of a class in both samples."""
    n_classes = int(max(codes.max(), reference_codes.max())) + 1
    sizes = [np.bincount(part, minlength=n_classes) for part in (codes, reference_codes)]
    weights = np.sqrt(sizes[0] / len(codes) * sizes[1] / len(reference_codes))
    weights /= weights.sum()
    spaces = [_moments(features, "features"), _moments(reference, "reference")]
    means = [
        class_means(array, part, n_classes) - space.mean
        for array, part, space in zip(
            (features, reference), (codes, reference_codes), spaces, strict=True
        )
    ]
    means = [part - weights @ part for part in means]
    cross = (means[0] * weights[:, None]).T @ means[1]
    return _solve(spaces[0], spaces[1], cross, n_classes - 1, ridge)


def fit_pairs(
    features: Array, reference: Array, seeds: IntArray, *, ridge: float
) -> CanonicalSpace:
    """Fit on known pairs: rows of ``features`` and of ``reference``, of shape (n_pairs, 2)."""
    spaces = [_moments(features, "features"), _moments(reference, "reference")]
    sides = [
        to_float64(array[seeds[:, side], ...]) for side, array in enumerate((features, reference))
    ]
    sides = [side - side.mean(axis=0) for side in sides]
    cross = sides[0].T @ sides[1] / len(seeds)
    return _solve(spaces[0], spaces[1], cross, len(seeds) - 1, ridge)


def class_means(features: Array, codes: IntArray, n_classes: int) -> FloatArray:
    """Return the mean row of each class; every class must have a row."""
    counts = np.bincount(codes, minlength=n_classes)

    def total(rows: slice) -> FloatArray:
        block = to_float64(float64_rows(features, rows))
        sums = np.zeros((n_classes, block.shape[1]))
        np.add.at(sums, codes[rows], block)
        return sums

    sums: FloatArray = map_reduce(total, _slices(features))
    return sums / counts[:, None]


def _moments(features: Array, argument: str) -> Moments:
    """Return mean and covariance, block by block."""
    check_magnitude(features, argument)
    n_rows = int(features.shape[0])

    def centred(rows: slice) -> FloatArray:
        return np.asarray(to_float64(float64_rows(features, rows)) - mean)

    mean = np.zeros(1)
    mean = map_reduce(lambda rows: centred(rows).sum(axis=0), _slices(features)) / n_rows
    squares = map_reduce(lambda rows: centred(rows).T @ centred(rows), _slices(features))
    return Moments(mean, squares / max(n_rows - 1, 1))


def _whitening(moments: Moments, ridge: float) -> FloatArray:
    """Return W with W'CW = 1, after the mean variance times ``ridge`` was added to the covariance C."""
    values, vectors = np.linalg.eigh(moments.covariance)
    values = np.maximum(values, 0.0) + ridge * float(np.trace(moments.covariance)) / len(values)
    scales = np.where(values > 0.0, 1.0 / np.sqrt(np.where(values > 0.0, values, 1.0)), 0.0)
    return vectors * scales


def _solve(
    first: Moments, second: Moments, cross: FloatArray, max_rank: int, ridge: float
) -> CanonicalSpace:
    left, right = _whitening(first, ridge), _whitening(second, ridge)
    u, correlations, v = np.linalg.svd(left.T @ cross @ right, full_matrices=False)
    kept = correlations[:max_rank] > _NEGLIGIBLE * max(
        float(correlations[0]), np.finfo(np.float64).tiny
    )
    rank = int(kept.sum())
    if not rank:
        expected = "correlated over the classes or seeds"
        got = "no correlation: one of them is constant there"
        remedy = "Check the features, or pair by label."
        raise ArgumentValueError("features and reference", expected, got, remedy)
    return CanonicalSpace(
        correlations=np.minimum(correlations[:rank], 1.0),
        mean=first.mean,
        reference_mean=second.mean,
        directions=left @ u[:, :rank],
        reference_directions=right @ v[:rank].T,
    )


def _slices(features: Array) -> list[slice]:
    return row_blocks(int(features.shape[0]), 8 * int(features.shape[1]))
