"""Subgroups of rows: by label, between quantiles, or by masks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray, is_table
from shiftmetrics._core.tables import check_labels
from shiftmetrics._core.validation import describe, first_few

_FEWEST_ROWS = 30
_MOST_VALUES = 10
"""Different numbers that stand for subgroups themselves; more are cut at quantiles."""
_RANGES = 4


def subgroups_of(X: Any, by: Any, n_samples: int) -> tuple[dict[str, IntArray], tuple[str, ...]]:
    """Return the rows of each subgroup, and a warning of those with too few rows to say anything."""
    if by is None:
        return {}, ()
    masks: dict[str, BoolArray]
    if isinstance(by, Mapping):
        masks = {str(name): np.asarray(mask) for name, mask in by.items()}
        for name, mask in masks.items():
            if mask.dtype != np.bool_ or mask.shape != (n_samples,):
                expected, got = f"a bool array of length {n_samples}", f"{mask.dtype} {mask.shape}"
                raise ValueError(describe(f"by[{name!r}]", expected, got))
            if not mask.any():
                raise ValueError(describe(f"by[{name!r}]", "a subgroup of at least one row", "an empty one"))
        return {name: np.flatnonzero(mask) for name, mask in masks.items()}, ()
    if isinstance(by, str):
        if not is_table(X) or by not in X.columns:
            expected = "labels of the rows, masks, or a column of X"
            raise ValueError(describe("by", expected, repr(by), "Pass the labels."))
        by = X[by]
    column = getattr(by, "name", None)
    labels = check_labels(by, "by", length=n_samples)
    found = {str(label): np.flatnonzero(labels == label) for label in np.unique(labels)}
    if labels.dtype.kind in "iuf" and len(found) > _MOST_VALUES:
        found = _ranges(labels)
    if column is not None:
        found = {f"{column} = {label}": rows for label, rows in found.items()}
    small = {name: rows for name, rows in found.items() if len(rows) < _FEWEST_ROWS}
    if len(small) == len(found):
        got = f"at most {max(map(len, found.values()))} rows in each of {len(found)}"
        raise ValueError(
            describe("by", f"subgroups of at least {_FEWEST_ROWS} rows", got, "Join some of them.")
        )
    listed = first_few([f"{name} ({len(rows)})" for name, rows in small.items()], show=str)
    warning = f"Subgroups of fewer than {_FEWEST_ROWS} rows are left out: {listed}."
    return {name: rows for name, rows in found.items() if name not in small}, (warning,) if small else ()


def _ranges(values: FloatArray) -> dict[str, IntArray]:
    """Return the rows between quantiles of their values: quarters, or fewer parts where these would be small."""
    n_ranges = max(1, min(_RANGES, len(values) // _FEWEST_ROWS))
    edges = np.unique(np.quantile(values, np.arange(1, n_ranges) / n_ranges, method="inverted_cdf"))
    place = np.searchsorted(edges, values, side="left")
    parts = (np.flatnonzero(place == k) for k in range(len(edges) + 1))
    return {f"{values[rows].min():g} to {values[rows].max():g}": rows for rows in parts if rows.size}
