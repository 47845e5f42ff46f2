"""Changes that are no mode: a shift of columns, a wider or narrower spread.

A new mode hardly changes the median of a column or the spread around it; a gradual change changes nothing else. So
the reference is given the medians and the spreads of the sample, column by column where they differ for certain, and
the gate runs again: where nothing stands out any more, the change was gradual. This is a heuristic: it was measured
on shifts of 0.5 and 1 standard deviations and on spreads of 0.8 and 1.3 times, and it says nothing of changes along
directions that are no column.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray
from shiftmetrics._core.record import Record
from shiftmetrics.novelty.modes.contrast import areas_under_roc

MOST_SHIFT = 1.5
"""In standard deviations: samples that went further are new."""

MOST_SPREAD = 2.0
"""Times as wide or as narrow."""

_OUTSIDE = 1.0 / 3.0
"""Fraction of a sample beyond all but a hundredth of the other, from which it is new or missing: after a shift of 1.5
standard deviations a fifth is there, where half of a column is cut off a half."""

_FEW_VALUES = 5
"""Columns of fewer values hold categories, which have no shift to undo."""

_OUTER = (0.15, 0.85)
_OUTER_DISTANCE = 2.073
"""Distance of these quantiles of a normal distribution, in standard deviations."""

_MIDDLE = np.linspace(0.2, 0.8, 13)
"""Quantiles whose mean difference is the shift."""

_SHOWN = 3


@dataclass(frozen=True, eq=False, kw_only=True)
class GradualChange(Record):
    """A column whose median or spread changed.

    Attributes
    ----------
    name : str
        Of the column.
    shift : float
        Difference of the medians, in standard deviations of the reference; 0 where it may be chance.
    spread : float
        How many times as wide the sample spreads; 1 where it may be chance.
    """

    name: str
    shift: float
    spread: float


def changes_of_columns(
    test: FloatArray, reference: FloatArray, names: tuple[str, ...], alpha: float
) -> tuple[GradualChange, ...]:
    """Return the columns whose median or spread changed significantly (Bonferroni), the largest changes first.

    Parameters
    ----------
    test, reference : ndarray of shape (n_rows, n_columns)
        Both samples.
    names : tuple of str
        Of the columns.
    alpha : float
        Level of all tests together.
    """
    changes = []
    # Two tests of each column: of its median, and of its spread.
    level = alpha / (2 * len(names))
    for number, name in enumerate(names):
        if min(len(np.unique(part[:, number])) for part in (test, reference)) < _FEW_VALUES:
            continue
        both = np.concatenate([test[:, number], reference[:, number]])
        own, other = np.split(smoothed(both, np.random.default_rng(0)), [len(test)])
        # Quantiles, so that a new mode of a sixth of the sample on one side hardly counts.
        own_spread = _spread(own)
        other_spread = _spread(other)
        if not min(own_spread, other_spread) > 0.0:
            continue
        shift = 0.0
        if _differ(own, other, level):
            gaps = np.quantile(own, _MIDDLE) - np.quantile(other, _MIDDLE)
            shift = float(gaps.mean()) / other_spread
        spread = 1.0
        # Distances from the median show which sample spreads wider.
        own_distances = np.abs(own - np.median(own))
        other_distances = np.abs(other - np.median(other))
        if _differ(own_distances, other_distances, level):
            spread = own_spread / other_spread
        if shift != 0.0 or spread != 1.0:
            changes.append(GradualChange(name=name, shift=float(shift), spread=float(spread)))
    return tuple(sorted(changes, key=lambda change: -_size(change)))


def is_gradual(
    test: FloatArray,
    reference: FloatArray,
    names: tuple[str, ...],
    changes: tuple[GradualChange, ...],
) -> bool:
    """Return whether there are changes, none of which puts much of a sample where the other has next to nothing."""
    for change in changes:
        if abs(change.shift) > MOST_SHIFT:
            return False
        if max(change.spread, 1.0 / change.spread) > MOST_SPREAD:
            return False
        number = names.index(change.name)
        sides = test[:, number], reference[:, number]
        for one, other in (sides, sides[::-1]):
            low, high = np.quantile(other, [0.01, 0.99])
            if ((one < low) | (one > high)).mean() > _OUTSIDE:
                return False
    return bool(changes)


def matched(
    features: FloatArray,
    in_test: BoolArray,
    names: tuple[str, ...],
    changes: tuple[GradualChange, ...],
    rng: np.random.Generator,
) -> FloatArray:
    """Return the samples with the changed columns of the reference shifted and scaled to those of the test sample."""
    matched = features.copy()
    for change in changes:
        number = names.index(change.name)
        # Shifted integers would no longer be integers, which would give them away.
        column = smoothed(matched[:, number], rng)
        # Scaled about its median, then shifted to that of the sample.
        center = np.median(column[in_test])
        other = np.median(column[~in_test])
        # A column whose median stayed keeps it.
        stretched = (column[~in_test] - other) * change.spread
        column[~in_test] = stretched + (center if change.shift != 0.0 else other)
        matched[:, number] = column
    return matched


def smoothed(values: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return values with random noise within half of the gaps beside them, where they repeat; others as they are."""
    distinct, place = np.unique(values, return_inverse=True)
    if len(distinct) > 0.5 * len(values) or len(distinct) < 2:
        return values.copy()
    gaps = np.diff(distinct)
    below = np.append(gaps[:1], gaps)[place]
    above = np.append(gaps, gaps[-1:])[place]
    return values + 0.5 * rng.uniform(-below, above)


def changes_in_words(changes: tuple[GradualChange, ...]) -> str:
    """Say which columns shifted, and which spread wider or narrower."""
    sentences = []
    shifted = sorted((c for c in changes if c.shift), key=lambda change: -abs(change.shift))
    if shifted:
        parts = [f"{_column(c.name)} by {c.shift:+.1f} sd" for c in shifted[:_SHOWN]]
        sentences.append(f"gradual shift in {_listed(parts, len(shifted))}")
    for word, sign in (("wider", 1.0), ("narrower", -1.0)):
        spread = [c for c in changes if (c.spread - 1.0) * sign > 0.0]
        if spread:
            parts = [f"{_column(c.name)} ({c.spread:.2g} times)" for c in spread[:_SHOWN]]
            sentences.append(f"{word} spread of {_listed(parts, len(spread))}")
    return "; ".join(sentences)


def _listed(parts: list[str], count: int) -> str:
    more = f" and {count - len(parts)} more columns" if count > len(parts) else ""
    return ", ".join(parts) + more


def _column(name: str) -> str:
    return name if name.startswith("column ") else f"column {name}"


def _size(change: GradualChange) -> float:
    return abs(change.shift) + abs(float(np.log(change.spread)))


def _spread(values: FloatArray) -> float:
    low, high = np.quantile(values, _OUTER)
    return float(high - low) / _OUTER_DISTANCE


def _differ(own: FloatArray, other: FloatArray, level: float) -> bool:
    """Return whether one of two samples tends to be larger, by the rank sum test (normal approximation)."""
    from scipy.special import ndtri

    labels = np.arange(len(own) + len(other)) < len(own)
    area = areas_under_roc(np.concatenate([own, other])[:, None], labels)[0]
    # The standard error of the area where both samples are of one distribution.
    n, m = len(own), len(other)
    error = np.sqrt((n + m + 1) / (12.0 * n * m))
    return bool(abs(area - 0.5) > -ndtri(level / 2.0) * error)
