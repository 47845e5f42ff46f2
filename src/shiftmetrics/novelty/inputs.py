"""Two samples, in memory or in batches, their weights, groups and kernel: checked and joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import (
    Array,
    FloatArray,
    IntArray,
    as_array,
    is_in_chunks,
    namespace,
    take_rows,
    to_float64,
    to_numpy,
)
from shiftmetrics._core.chunk_readers import pair_in_chunks
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError, Setting, Wording
from shiftmetrics._core.options import Computing
from shiftmetrics._core.placement import check_rows_fit
from shiftmetrics._core.tables import align_tables
from shiftmetrics._core.validation import (
    check_matrix,
    check_number,
    check_same_library,
    check_weights,
)
from shiftmetrics.novelty.score.kernels import DEFAULT_KERNEL, KERNELS, KernelChoice, kernel_of

MAX_ETA = 1e12
"""Beyond it the reference's rounding errors outweigh the test sample."""

JOINED_ROWS = 16_384
"""Batches of so many samples in all are joined to one array: every route takes them."""

_UNITS = 10.0
"""How many times as far as the median column one must spread before columns are taken to differ in units."""
_NOISE = 1e-12
"""Spread relative to the largest value, below which a column is constant up to rounding."""
_LARGEST = 1e150
_COMPONENTS = 5
_IN_ORDER = 1.1
"""Principal components learned from other rows are in the order of their spreads, nearly."""
_EMBED = "shiftmetrics.adapters.embeddings.embed"
_SPREAD_ROWS = 20_000


def check_eta(eta: Any) -> float:
    """Return the multiplier of the reference as a float from 1 to `MAX_ETA`."""
    return check_number(eta, "eta", low=1.0, high=MAX_ETA)


def check_kernel(kernel: Any) -> KernelChoice:
    """Return a kernel's name, or the callable."""
    if not callable(kernel) and (not isinstance(kernel, str) or kernel not in KERNELS):
        listed = ", ".join(repr(name) for name in KERNELS)
        expected = f"one of {listed}, or a function of two arrays"
        raise ArgumentValueError("kernel", expected, value=kernel)
    return kernel  # type: ignore[no-any-return]


def check_samples(
    features: Any,
    reference: Any,
    kernel: KernelChoice = DEFAULT_KERNEL,
    computing: Computing | None = None,
) -> tuple[Array, Array]:
    """Return both samples as finite arrays of one library, with at least two rows each and matching columns.

    Out-of-core data become arrays, or `Chunks` where there are many.

    Raises
    ------
    ValueError, TypeError
        Naming the argument that is wrong.
    """
    # 1. Batches, stored arrays and data frames of Dask become chunks; tables are matched by the names of columns.
    features, reference = pair_in_chunks(features, reference, "features", "reference", paired=False)
    in_chunks = is_in_chunks(features) or is_in_chunks(reference)
    if not in_chunks:
        features, reference = align_tables(
            features, reference, "features", "reference", rows=False, option=None
        )
    if computing is not None:
        check_rows_fit([features, reference], 0, computing, "features")
    # 2. Each sample, then both together.
    test, base = _check_rows(features, "features"), _check_rows(reference, "reference")
    if not in_chunks:
        check_same_library(test, base, "features", "reference")
    else:
        test, base = (part if is_in_chunks(part) else to_numpy(part) for part in (test, base))
        if len(test) + len(base) <= JOINED_ROWS:
            test, base = (np.asarray(part, dtype=np.float64) for part in (test, base))
    # A kernel may refuse samples that are finite, as the cosine kernel does.
    asked = kernel_of(kernel)
    asked.check(test, "features")
    asked.check(base, "reference")
    # directions are the same at any length
    if asked.knows_columns:
        _check_size(test, "features")
        _check_size(base, "reference")
    if test.shape[1] != base.shape[1]:
        expected = f"of as many columns as features, {test.shape[1]}"
        remedy = "Compute both by the same features, and drop columns of labels."
        raise ArgumentValueError("reference", expected, f"{base.shape[1]}", remedy)
    return test, base


def _check_rows(value: Any, name: str) -> Array:
    """Return a matrix of numbers; for images and texts the error names what makes features of them."""
    if value is None:
        raise ArgumentTypeError(name, "an array of shape (n_samples, n_columns)", "None")
    try:
        array = as_array(value, name)
    except ArgumentTypeError as error:
        remedy = f"Turn texts and words into features first, by {_EMBED}."
        raise error.with_remedy(remedy) from error
    if array.ndim > 2:
        remedy = f"Turn images into features first, by {_EMBED}."
        shape = f"shape {tuple(array.shape)}"
        raise ArgumentValueError(name, "an array of shape (n_samples, n_columns)", shape, remedy)
    return check_matrix(array, name, min_rows=2)


def _check_size(matrix: Array, name: str) -> None:
    """Refuse values whose squared distances overflow; chunks are not read for it."""
    if is_in_chunks(matrix) or not matrix.shape[1]:
        return
    xp = namespace(matrix)
    largest = max(abs(float(xp.min(matrix))), abs(float(xp.max(matrix))))
    if largest > _LARGEST:
        expected = f"of values up to {_LARGEST:g}, whose squared distances are finite"
        remedy = "Divide the column by a number, or drop it."
        raise ArgumentValueError(name, expected, f"{largest:g}", remedy)


def fractions(weights: Any, argument: str, array: Array) -> FloatArray:
    """Return the weights of the rows of a sample, scaled to sum 1; equal ones by default."""
    n_rows = int(array.shape[0])
    checked = check_weights(weights, argument, n_rows)
    return np.full(n_rows, 1.0 / n_rows) if checked is None else checked / n_rows


def column_units(
    samples: Sequence[Array], weights: Sequence[FloatArray] | None = None
) -> FloatArray | None:
    """Return the standard deviation of each column of all samples where columns differ in units, else None.

    They do where one spreads over 10 times as far as the median of those that vary: it alone would decide what is
    alike. Five or more columns in the order of their spreads are principal components, whose spreads mean something.
    """
    parts = []
    for place, sample in enumerate(samples):
        rows = (
            np.arange(int(sample.shape[0])) if weights is None else np.flatnonzero(weights[place])
        )
        parts.append(to_float64(take_rows(sample, rows[:: len(rows) // _SPREAD_ROWS + 1])))
    # A spread of rounding is no spread.
    chosen = np.concatenate(parts)
    with np.errstate(over="ignore", invalid="ignore"):
        spread = chosen.std(axis=0)
        varies = spread > _NOISE * np.abs(chosen).max(axis=0)
    if not np.isfinite(spread).all() or not varies.any():
        return None
    # The widest column against the median of those that vary.
    if not spread.max() > _UNITS * np.quantile(spread[varies], 0.5, method="lower"):
        return None
    if len(spread) >= _COMPONENTS and (spread[1:] <= _IN_ORDER * spread[:-1]).all():
        return None
    return np.where(varies, spread, 1.0)


def units_warning(units: FloatArray | None, *, divided: bool) -> tuple[str, ...]:
    """Return what to know of columns that differ in units."""
    if units is None:
        return ()
    if divided:
        return ("Columns differ in units: each is divided by its spread.",)
    return (
        "Columns differ in units, and the widest alone decide what is alike: a bandwidth that is given is in the "
        "units of the features. Leave it out, and each column is divided by its spread.",
    )


def check_pairs(test_weights: FloatArray, reference_weights: FloatArray) -> None:
    """Raise a ValueError if two samples cannot be paired row by row."""
    sizes = (len(test_weights), len(reference_weights))
    if sizes[0] != sizes[1]:
        expected = "False unless both samples have as many rows"
        remedy = "Give the partner of each row at its place."
        raise ArgumentValueError("paired", expected, f"{sizes[0]} and {sizes[1]} rows", remedy)
    n_pairs = int(np.count_nonzero((test_weights > 0.0) & (reference_weights > 0.0)))
    if n_pairs < 2:
        expected = "False unless at least 2 pairs have weight in both samples"
        raise ArgumentValueError("paired", expected, f"{n_pairs} of them")


def check_groups(groups: Any, sizes: tuple[int, int], *, paired: bool) -> IntArray | None:
    """Return the number of the group, or of the pair, of each row of both samples; None where rows are independent.

    Raises
    ------
    ValueError
        If there is not one label for each row, or samples that are not paired have a group in common.
    """
    if groups is None:
        # Row i of both samples is pair i.
        return np.tile(np.arange(sizes[0]), 2) if paired else None
    if not isinstance(groups, tuple | list) or len(groups) != 2:
        expected = "a tuple of two arrays, the groups of the rows of features and of reference"
        raise ArgumentValueError("groups", expected, type(groups).__name__)
    labels = [np.asarray(side) for side in groups]
    for side, size, name in zip(labels, sizes, ("features", "reference"), strict=True):
        if side.shape != (size,):
            expected = f"of one label for each of the {size} rows of {name}"
            raise ArgumentValueError("groups", expected, side.shape)
    if paired:
        if not np.array_equal(labels[0], labels[1]):
            expected = Wording("the same in row i of both samples with ", Setting("paired", True))
            raise ArgumentValueError("groups", expected, "others")
    elif (common := np.intersect1d(labels[0], labels[1])).size:
        remedy = Wording(
            "Rows that belong together in pairs are swapped with ", Setting("paired", True), "."
        )
        raise ArgumentValueError("groups", "of one sample each", f"{common[0]} in both", remedy)
    # One numbering for both samples: rows of one pair, or of one group, have one number.
    return np.unique(np.concatenate(labels), return_inverse=True)[1]
