"""The parts of a problem: features that change alone, their values resampled, and subgroups of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray, is_table
from shiftmetrics._core.tables import check_labels
from shiftmetrics._core.validation import describe, first_few
from shiftmetrics.models.domain import Domain
from shiftmetrics.models.feature_result import MoveKind
from shiftmetrics.models.model import ModelProblem
from shiftmetrics.models.routes import worst_cases_by_group
from shiftmetrics.models.worst_case import ValueRisks, WorstCase

_MOST_VALUES = 32
"""Values of a column that are tried: of more, their quantiles. Of several columns four times as many, at random."""
_FEWEST_ROWS = 30
_MOST_LABELS = 10
"""Different numbers that stand for subgroups themselves; more are cut at quantiles."""
_RANGES = 4


class FeatureGroup(NamedTuple):
    """Columns that move together, under a name."""

    name: str
    columns: tuple[str, ...]
    moves: MoveKind = "columns"
    unit: float | None = None


def parts_of(problem: ModelProblem, features: Any) -> list[FeatureGroup]:
    """Return the features to look at, one by one or in the named groups of a dict."""
    domain = problem.domain
    if isinstance(features, Mapping):
        wanted: dict[str, IntArray] = {}
        for name, group in features.items():
            wanted[str(name)] = domain.positions(group, f"features[{name!r}]")
    else:
        # A column by itself; one of a one-hot group stands for the group.
        flip_of = {int(column): flip for flip in domain.flips for column in flip.columns}
        wanted = {}
        chosen = (
            range(domain.n_features) if features is None else domain.positions(features).tolist()
        )
        for column in chosen:
            name = domain.names[column]
            columns = np.array([column])
            if column in flip_of:
                name = flip_of[column].name
                columns = flip_of[column].columns
            if features is not None or not domain.restricted(columns).is_fixed:
                wanted[name] = columns
    for name, columns in wanted.items():
        if not len(columns) or domain.restricted(columns).is_fixed:
            remedy = "They are immutable, or have one category."
            raise ValueError(
                describe("features", "columns that may move", value=name, remedy=remedy)
            )
    if not wanted:
        raise ValueError(describe("features", "at least one column that may move", "none"))
    return [_part(domain.restricted(columns), name, columns) for name, columns in wanted.items()]


def _part(domain: Domain, name: str, columns: IntArray) -> FeatureGroup:
    names = tuple(domain.names[k] for k in columns)
    sliding = np.flatnonzero(domain.numeric)
    if len(sliding) + len(domain.mutable_flips) > 1:
        return FeatureGroup(name, names)
    if not sliding.size:
        return FeatureGroup(name, names, "category")
    column = sliding[0]
    moves: MoveKind = "whole steps" if domain.integer[column] else "number"
    return FeatureGroup(name, names, moves, float(domain.unit[column]))


def answers_of(
    problem: ModelProblem,
    parts: Sequence[FeatureGroup],
    method: str,
    weights: FloatArray | None = None,
) -> Iterator[tuple[FeatureGroup, WorstCase]]:
    """Yield the answer for each part; models of trees answer for all parts at once."""
    groups = [part.columns for part in parts]
    for position, found in worst_cases_by_group(problem, groups, method, weights):
        yield parts[position], found


def redrawn(problem: ModelProblem, columns: IntArray, parts: FloatArray) -> ValueRisks:
    """Ask the model for the risks at the values that columns take together.

    Parameters
    ----------
    problem : ModelProblem
        The model and its rows.
    columns : array of int
        Positions of the columns.
    parts : array of shape (n_parts, n_samples)
        Weights of the rows in each part, which sum to 1; the values are drawn from the first part.
    """
    codes = problem.codes
    values, shares = _values(codes[:, columns], parts[0])
    risks = np.empty((len(parts), len(values)))
    for place, value in enumerate(values):
        points = codes.copy()
        points[:, columns] = value
        risks[:, place] = parts @ problem.losses(points, slice(None))
    return ValueRisks(shares, risks)


def _values(held: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the values of shape (n_values, n_columns) that rows hold, or some of them, and their shares."""
    values, codes = np.unique(held, axis=0, return_inverse=True)
    shares: FloatArray = np.bincount(codes.ravel(), weights).astype(np.float64)
    most = _MOST_VALUES if held.shape[1] == 1 else 4 * _MOST_VALUES
    if len(values) > most:
        # Quantiles of the values, in the middle of as many equal parts of the rows.
        levels = (np.arange(most) + 0.5) / most
        if held.shape[1] > 1:  # which have no order
            mixed = np.random.default_rng(0).permutation(len(values))
            values = values[mixed]
            shares = shares[mixed]
        values = values[np.searchsorted(np.cumsum(shares), levels * shares.sum())]
        shares = np.full(most, 1.0 / most)
    kept = shares > 0.0
    return values[kept], shares[kept]


def subgroups_of(X: Any, by: Any, n_samples: int) -> tuple[dict[str, IntArray], tuple[str, ...]]:
    """Return the rows of each subgroup, and a warning of those with too few rows to say anything."""
    if by is None:
        return {}, ()
    masks: dict[str, BoolArray]
    if isinstance(by, Mapping):
        masks = {str(name): np.asarray(mask) for name, mask in by.items()}
        for name, mask in masks.items():
            if mask.dtype != np.bool_ or mask.shape != (n_samples,):
                expected = f"a bool array of length {n_samples}"
                got = f"{mask.dtype} {mask.shape}"
                raise ValueError(describe(f"by[{name!r}]", expected, got))
            if not mask.any():
                raise ValueError(
                    describe(f"by[{name!r}]", "a subgroup of at least one row", "an empty one")
                )
        return {name: np.flatnonzero(mask) for name, mask in masks.items()}, ()
    if isinstance(by, str):
        if not is_table(X) or by not in X.columns:
            expected = "labels of the rows, masks, or a column of X"
            raise ValueError(describe("by", expected, value=by, remedy="Pass the labels."))
        by = X[by]
    column = getattr(by, "name", None)
    labels = check_labels(by, "by", length=n_samples)
    # One subgroup for each label, or for each quarter of many numbers.
    found = {str(label): np.flatnonzero(labels == label) for label in np.unique(labels)}
    if labels.dtype.kind in "iuf" and len(found) > _MOST_LABELS:
        found = _ranges(labels)
    if column is not None:
        found = {f"{column} = {label}": rows for label, rows in found.items()}
    kept = {name: rows for name, rows in found.items() if len(rows) >= _FEWEST_ROWS}
    if not kept:
        got = f"at most {max(map(len, found.values()))} rows in each of {len(found)}"
        raise ValueError(
            describe("by", f"subgroups of at least {_FEWEST_ROWS} rows", got, "Join some of them.")
        )
    small = [f"{name} ({len(rows)})" for name, rows in found.items() if name not in kept]
    if not small:
        return kept, ()
    listed = first_few(small, show=str)
    return kept, (f"Subgroups of fewer than {_FEWEST_ROWS} rows are left out: {listed}.",)


def _ranges(values: FloatArray) -> dict[str, IntArray]:
    """Return the rows between quantiles of their values: quarters, or fewer parts where these would be small."""
    n_ranges = max(1, min(_RANGES, len(values) // _FEWEST_ROWS))
    edges = np.unique(np.quantile(values, np.arange(1, n_ranges) / n_ranges, method="inverted_cdf"))
    place = np.searchsorted(edges, values, side="left")
    found = {}
    for k in range(len(edges) + 1):
        rows = np.flatnonzero(place == k)
        if rows.size:
            found[f"{values[rows].min():g} to {values[rows].max():g}"] = rows
    return found
