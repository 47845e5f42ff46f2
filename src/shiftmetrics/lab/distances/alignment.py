"""Alignment of first principal components: what a representation encodes, the class or the shift."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, IntArray, float64_rows, to_float64
from shiftmetrics._core.blocks import map_blocks, row_blocks
from shiftmetrics._core.labels import check_labels, label_codes
from shiftmetrics._core.record import StatusEnum as Status
from shiftmetrics._core.result import Result, format_number, settings_of
from shiftmetrics._core.tables import Align
from shiftmetrics.agreement.gaussian import GaussianFit, gaussian_fit
from shiftmetrics.lab.distances.features import EPSILON
from shiftmetrics.lab.distances.inputs import check_pairs


class AlignmentStatus(Status):
    """How the search for the principal components ended."""

    computed = ("computed", True, "Both first principal components are determined.")
    constant = (
        "constant",
        False,
        "The features of a sample are constant, so it has no principal component: the error is taken as 0. Check the "
        "features.",
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class PrincipalAlignment(Result):
    """How alike two samples look along their first principal components, and how far these tell the classes apart.

    Attributes
    ----------
    value : float
        Cross-domain error: mean squared difference of the standardised projections of pairs, ``2 - 2 correlation``,
        from 0 to 2. Lower is more alike.
    class_variance, reference_class_variance : float or None
        Class-conditional variance of the standardised projections of the sample and of the reference: the share of
        the variance that is within classes, from 0 (the component tells the classes apart) to 1. None without labels.
    correlation : float
        Of the projections of pairs, at least 0: the sign of a component is free.
    direction_cosine : float
        Cosine of the angle between both components, with that sign.
    explained, reference_explained : float
        Share of the variance of all features that the component explains.
    projections, reference_projections : ndarray of shape (n_samples,)
        Standardised projections: mean 0 and variance 1.
    """

    measure: ClassVar[str] = "principal_alignment"
    title: ClassVar[str] = "Alignment of first principal components"
    unit: ClassVar[str] = ""
    higher_is_better: ClassVar[bool] = False

    status: AlignmentStatus
    class_variance: float | None
    reference_class_variance: float | None
    correlation: float
    direction_cosine: float
    explained: float
    reference_explained: float
    projections: FloatArray
    reference_projections: FloatArray

    def headline(self) -> str:
        """Return one sentence with the cross-domain error and the class-conditional variances."""
        text = f"Cross-domain error of the first principal components: {format_number(self.value)} (of at most 2)"
        if self.class_variance is None or self.reference_class_variance is None:
            return text + "."
        return (
            f"{text}; {self.class_variance:.1%} of their variance in the sample, and "
            f"{self.reference_class_variance:.1%} in the reference, is within classes."
        )

    def notes(self) -> list[str]:
        """Return what share of all variance the components explain, and the sentences of every result."""
        mine, other = f"{self.explained:.1%}", f"{self.reference_explained:.1%}"
        shares = f"{mine} of the variance of the sample and {other} of that of the reference"
        return [f"The components explain {shares}.", *super().notes()]


def pca_alignment(
    features: Any, reference: Any, *, labels: Any = None, align: Align = "labels"
) -> PrincipalAlignment:
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
        Class of each pair: numbers or texts. Without it there are no class-conditional variances.
    align : {"labels", "position"}, default "labels"
        Whether two DataFrames are matched by row and column labels or as they stand.

    Returns
    -------
    PrincipalAlignment

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
    >>> round(result.value, 12), round(result.class_variance, 12), round(result.correlation, 12)
    (0.0, 0.0, 1.0)
    """
    first, second = check_pairs(features, reference, "features", "reference", align=align, min_rows=2)
    n_samples = int(first.shape[0])
    codes = None
    if labels is not None:
        (codes,), _ = label_codes((check_labels(labels, "labels", length=n_samples), "labels"))
    sides = [_project(first, "features"), _project(second, "reference")]
    constant = not all(side.explained for side in sides)
    correlation = 0.0 if constant else float(np.mean(sides[0].values * sides[1].values))
    sign = -1.0 if correlation < 0.0 else 1.0
    correlation = min(1.0, abs(correlation))
    error = 0.0 if constant else float(np.mean((sign * sides[0].values - sides[1].values) ** 2))
    variances = [None if codes is None else _within(side.values, codes) for side in sides]
    return PrincipalAlignment(
        value=error,
        error_bound=EPSILON * (64 + int(first.shape[1])),
        status=AlignmentStatus.constant if constant else AlignmentStatus.computed,
        n_samples=n_samples,
        class_variance=variances[0],
        reference_class_variance=variances[1],
        correlation=correlation,
        direction_cosine=sign * float(sides[0].direction @ sides[1].direction),
        explained=sides[0].explained,
        reference_explained=sides[1].explained,
        projections=sign * sides[0].values,
        reference_projections=sides[1].values,
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
