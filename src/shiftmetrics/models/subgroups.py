"""Parts of the population: which rows they are, and how their values compare."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, IntArray, is_table
from shiftmetrics._core.result import Interval
from shiftmetrics._core.validation import describe
from shiftmetrics.models.feature_result import FeatureStability


def subgroups_of(X: Any, by: Any, n_samples: int) -> dict[str, IntArray]:
    """Return the rows of each subgroup."""
    if by is None:
        return {}
    if isinstance(by, Mapping):
        masks: dict[str, BoolArray] = {}
        for name, mask in by.items():
            array = np.asarray(mask)
            if array.dtype != np.bool_ or array.shape != (n_samples,):
                raise ValueError(
                    describe(
                        f"by[{name!r}]", f"a bool array of length {n_samples}", f"{array.dtype} {array.shape}"
                    )
                )
            masks[str(name)] = array
    else:
        import pandas as pd

        if isinstance(by, str):
            if not is_table(X) or by not in X.columns:
                raise ValueError(
                    describe(
                        "by", "labels of the rows, masks, or a column of X", repr(by), "Pass the labels."
                    )
                )
            by = X[by]
        labels = pd.Series(pd.Categorical(by))
        if len(labels) != n_samples:
            raise ValueError(describe("by", f"of length {n_samples}", f"length {len(labels)}"))
        if labels.isna().any():
            raise ValueError(
                describe("by", "free of missing labels", f"{int(labels.isna().sum())}", "Give them a label.")
            )
        masks = {str(label): np.asarray(labels == label) for label in labels.cat.categories}
    rows = {name: np.flatnonzero(mask) for name, mask in masks.items()}
    empty = [name for name, held in rows.items() if not held.size]
    if empty and isinstance(by, Mapping):
        raise ValueError(describe(f"by[{empty[0]!r}]", "a subgroup of at least one row", "an empty one"))
    return {name: held for name, held in rows.items() if held.size}


def compared(records: list[FeatureStability], level: float) -> list[FeatureStability]:
    """Add intervals that are meant to be compared: where two do not overlap, the subgroups differ.

    H. Goldstein and M. Healy, "The graphical presentation of a collection of means", Journal of the Royal
    Statistical Society A 158 (1995), doi:10.2307/2983411: standard errors s_i and s_j are shortened so that the
    chance of no overlap is 1 - level on the average of all pairs.
    """
    from scipy.special import ndtri

    known = [part for part in records if part.standard_error is not None and math.isfinite(part.value)]
    errors = np.array([part.standard_error for part in known], dtype=np.float64)
    first, second = np.triu_indices(len(known), 1)
    usable = errors[first] + errors[second] > 0.0
    first, second = first[usable], second[usable]
    if not first.size:
        return records
    shrink = float(np.mean(np.hypot(errors[first], errors[second]) / (errors[first] + errors[second])))
    half = float(ndtri(0.5 + 0.5 * level)) * shrink
    compared = {
        part.subgroup: Interval(
            low=max(part.value - half * error, 0.0), high=part.value + half * error, level=level,
            method="comparison of subgroups",
        )
        for part, error in zip(known, errors.tolist(), strict=True)
    }  # fmt: skip
    return [replace(part, comparison_interval=compared.get(part.subgroup)) for part in records]
