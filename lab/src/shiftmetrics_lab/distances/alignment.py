"""Alignment of first principal components: what a representation encodes, the class or the shift."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, IntArray, float64_rows, to_float64
from shiftmetrics._core.blocks import map_blocks, row_blocks
from shiftmetrics._core.result import Status, settings_of
from shiftmetrics._core.tables import Align, check_labels, label_codes
from shiftmetrics_lab.distances.features import EPSILON
from shiftmetrics_lab.distances.gaussian import GaussianFit, gaussian_fit
from shiftmetrics_lab.distances.inputs import check_pairs
from shiftmetrics_lab.result import COMPUTED, LabResult

CONSTANT = Status(
    "constant",
    "The features of a sample are constant, so it has no principal component: the error is taken as 0.",
    "Check the features.",
    ok=False,
)


def pca_alignment(
    features: Any, reference: Any, *, labels: Any = None, align: Align = "labels"
) -> LabResult:
    """Compare the first principal component of a sample's features with that of its reference.

    Two readings of a representation (V. Jimenez Rodriguez, master thesis, ETH Zurich 2024, experiment 5c): a high
    *cross-domain error*, the mean squared difference of the projections of each pair, says that the shift drives the
    features; a high *class-conditional variance* says that the class does not. Projections are standardised, as in
    the thesis's figures, so that both numbers compare across layers and models.

    Parameters
    ----------
    features : array of shape (n_samples, n_columns)
        Features of the sample under test.
    reference : array of the same number of rows
        Features of the reference; row i belongs to the same observation as row i of ``features``.
    labels : array of shape (n_samples,), optional
        Class of each pair: numbers or strings. Without it there are no class-conditional variances.
    align : {"labels", "position"}, default "labels"
        Whether two DataFrames are matched by row and column labels or as they stand.

    Returns
    -------
    LabResult
        Its value is the cross-domain error: the mean squared difference of the standardised projections of pairs,
        ``2 - 2 correlation``, from 0 to 2; lower is more alike. Its ``parts`` are, for the sample and, with the
        prefix ``reference_``, for the reference:

        - ``class_variance``: class-conditional variance of the standardised projections, the fraction of the variance
          that is within classes, from 0 (the component tells the classes apart) to 1; None without labels;
        - ``explained``: fraction of the variance of all features that the component explains;
        - ``projections`` of shape (n_samples,): standardised, of mean 0 and variance 1;

        and of both together ``correlation`` of the projections of pairs, at least 0 since the sign of a component is
        free, and ``direction_cosine`` of the angle between both components, with that sign.

    Raises
    ------
    ValueError
        If there are fewer than two rows, shapes differ, or values are not finite.
    TypeError
        If the inputs are not numbers, or come from two array libraries.

    Examples
    --------
    >>> import numpy as np
    >>> reference = np.array([[-3.0, 0.1], [-3.0, -0.1], [3.0, 0.1], [3.0, -0.1]])
    >>> result = pca_alignment(2.0 * reference + 1.0, reference, labels=["a", "a", "b", "b"])
    >>> round(result.value, 12), round(result.parts["class_variance"], 12), round(result.parts["correlation"], 12)
    (0.0, 0.0, 1.0)
    """
    first, second = check_pairs(
        features, reference, "features", "reference", align=align, min_rows=2
    )
    n_samples = int(first.shape[0])
    codes = None
    if labels is not None:
        (codes,), _ = label_codes((check_labels(labels, "labels", length=n_samples), "labels"))
    sides = [_project(first, "features"), _project(second, "reference")]
    constant = not all(side.explained for side in sides)
    first_side, second_side = sides
    correlation = 0.0 if constant else float(np.mean(first_side.values * second_side.values))
    sign = -1.0 if correlation < 0.0 else 1.0
    rows = np.zeros(n_samples) if constant else (sign * first_side.values - second_side.values) ** 2
    within, reference_within = (
        None if codes is None else _within(side.values, codes) for side in sides
    )
    parts = {
        "class_variance": within,
        "reference_class_variance": reference_within,
        "correlation": min(1.0, abs(correlation)),
        "direction_cosine": sign * float(first_side.direction @ second_side.direction),
        "explained": first_side.explained,
        "reference_explained": second_side.explained,
        "projections": sign * first_side.values,
        "reference_projections": second_side.values,
    }
    remark = (
        f"The components explain {first_side.explained:.1%} of the variance of the sample and "
        f"{second_side.explained:.1%} of that of the reference"
    )
    if within is not None:
        remark += f"; {within:.1%} and {reference_within:.1%} of theirs is within classes"
    return LabResult(
        title="Cross-domain error of the first principal components",
        unit="(of at most 2)",
        value=float(rows.mean()),
        error_bound=EPSILON * (64 + int(first.shape[1])),
        status=CONSTANT if constant else COMPUTED,
        n_samples=n_samples,
        per_sample=rows,
        parts=parts,
        remark=remark + ".",
        settings=settings_of(labels=labels is not None, align=align),
    )


@dataclass(frozen=True, eq=False)
class _Projection:
    """The first principal component of a sample, and the standardised projections of its rows on it."""

    direction: FloatArray
    explained: float
    values: FloatArray


def _project(array: Array, argument: str) -> _Projection:
    fit = gaussian_fit(array, argument)
    direction, variance = _first_component(fit)
    if variance == 0.0:
        return _Projection(direction, 0.0, np.zeros(int(array.shape[0])))

    def project(rows: slice) -> FloatArray:
        return np.asarray((to_float64(float64_rows(array, rows)) - fit.mean) @ direction)

    values = np.concatenate(
        list(map_blocks(project, row_blocks(int(array.shape[0]), 8 * int(array.shape[1]))))
    )
    values = values - values.mean()
    values = values / math.sqrt(float(np.mean(values * values)))
    return _Projection(direction, min(1.0, variance / fit.trace), values)


def _first_component(fit: GaussianFit) -> tuple[FloatArray, float]:
    """Return the direction of the largest variance, its largest entry positive, and that variance."""
    from scipy.linalg import eigh

    root = fit.factor
    rank = len(root)
    # 0 up to rounding: constant features
    if fit.trace <= (EPSILON * fit.count * float(np.abs(fit.mean).max())) ** 2:
        return np.zeros(root.shape[1]), 0.0
    wide = root.shape[1] > rank
    gram = root @ root.T if wide else root.T @ root
    last = len(gram) - 1
    _, vectors = eigh(gram, subset_by_index=[last, last])
    direction = root.T @ vectors[:, 0] if wide else vectors[:, 0]
    direction = direction / float(np.linalg.norm(direction))
    direction = direction * np.sign(direction[np.argmax(np.abs(direction))])
    along = root @ direction
    return direction, float(along @ along)


def _within(values: FloatArray, codes: IntArray) -> float:
    """Return the variance within classes of values of variance 1."""
    counts = np.bincount(codes)
    means = np.bincount(codes, weights=values) / np.maximum(counts, 1)
    return float(np.mean((values - means[codes]) ** 2))
