"""Which columns change together as one feature, and which samples are a subgroup."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from shiftmetrics._core.arrays import IntArray, is_table
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.tables import check_labels
from shiftmetrics._core.validation import first_few
from shiftmetrics.models.domain.domain import Domain
from shiftmetrics.models.measures.feature_result import ChangeKind

_FEWEST_SAMPLES = 30


class FeatureGroup(NamedTuple):
    """Columns that change together, under a name; see `FeatureStability`."""

    name: str
    columns: tuple[str, ...]
    change: ChangeKind = "columns"
    unit: float | None = None


def feature_groups(domain: Domain, features: Any) -> list[FeatureGroup]:
    """Return the features, one by one or in the named groups of a dict.

    Raises
    ------
    ValueError
        If a feature is unknown or cannot change, or none can.
    """
    wanted: dict[str, IntArray] = {}
    if isinstance(features, Mapping):
        for name, group in features.items():
            wanted[str(name)] = domain.positions(group, f"features[{name!r}]")
    else:
        # A column by itself; one of a one-hot group stands for the group.
        flip_of = {int(column): flip for flip in domain.flips for column in flip.columns}
        chosen = list(range(domain.n_features))
        if features is not None:
            chosen = domain.positions(features).tolist()
        for column in chosen:
            name = domain.names[column]
            columns = np.array([column])
            if column in flip_of:
                name = flip_of[column].name
                columns = flip_of[column].columns
            if features is not None or not domain.restricted(columns).is_fixed:
                wanted[name] = columns
    if not wanted:
        raise ArgumentValueError("features", "at least one column that may change", "none")
    # Each must be free to change, alone.
    groups = []
    for name, columns in wanted.items():
        if not len(columns) or domain.restricted(columns).is_fixed:
            remedy = "They are immutable, or have one category."
            expected = "columns that may change"
            raise ArgumentValueError("features", expected, value=name, remedy=remedy)
        groups.append(_group(domain.restricted(columns), name, columns))
    return groups


def _group(domain: Domain, name: str, columns: IntArray) -> FeatureGroup:
    names = tuple(domain.names[column] for column in columns)
    numbers = np.flatnonzero(domain.numeric)
    if len(numbers) + len(domain.mutable_flips) > 1:
        return FeatureGroup(name, names)
    if not numbers.size:
        return FeatureGroup(name, names, "category")
    change: ChangeKind = "number"
    if domain.integer[numbers[0]]:
        change = "integer"
    return FeatureGroup(name, names, change, float(domain.unit[numbers[0]]))


def subgroups_of(X: Any, by: Any, n_samples: int) -> tuple[dict[str, IntArray], tuple[str, ...]]:
    """Return the samples of each subgroup, and a warning of those with too few samples to say anything.

    Raises
    ------
    ValueError
        If ``by`` is neither labels of the samples nor a column, or all subgroups are too small.
    """
    if by is None:
        return {}, ()
    if isinstance(by, str):
        if not is_table(X) or by not in X.columns:
            expected = "labels of the samples, or a column of X"
            raise ArgumentValueError("by", expected, value=by, remedy="Pass the labels.")
        by = X[by]
    # One subgroup for each label.
    labels = check_labels(by, "by", length=n_samples)
    found = {str(label): np.flatnonzero(labels == label) for label in np.unique(labels)}
    column = getattr(by, "name", None)
    if column is not None:
        found = {f"{column} = {label}": rows for label, rows in found.items()}
    kept = {name: rows for name, rows in found.items() if len(rows) >= _FEWEST_SAMPLES}
    if not kept:
        got = f"at most {max(map(len, found.values()))} samples in each of {len(found)}"
        expected = f"subgroups of at least {_FEWEST_SAMPLES} samples"
        raise ArgumentValueError("by", expected, got, "Join some of them.")
    small = [f"{name} ({len(rows)})" for name, rows in found.items() if name not in kept]
    if not small:
        return kept, ()
    listed = first_few(small, show=str)
    return kept, (f"Subgroups of fewer than {_FEWEST_SAMPLES} samples are left out: {listed}.",)
