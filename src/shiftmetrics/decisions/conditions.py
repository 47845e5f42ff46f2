"""Conditions on single columns that one side meets and the other hardly does: new levels, gaps, values out of range.

A sample whose job is one that the reference never had is new for certain, and no search has to be asked. Such
conditions are counted exactly; the search for modes by kernels goes on among the other samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shiftmetrics._core.arrays import BoolArray, IntArray
from shiftmetrics._core.result import format_percent
from shiftmetrics.decisions.column_changes import ordered_values
from shiftmetrics.encoding.parts import level_names
from shiftmetrics.encoding.roles import Column

if TYPE_CHECKING:
    import pandas as pd

_TIMES = 5.0
"""How many times as frequent as in the other side a condition must be for its samples to count as new."""
_SAME_ROWS = 0.8
"""Fraction of the samples of the rarer of two conditions that meet both, from which they are one mode."""
_ALIKE = 0.5
"""Samples that meet both over samples that meet either, from which both conditions define the mode."""


@dataclass(frozen=True, eq=False)
class MetCondition:
    """A condition, and the samples of both sides that meet it.

    Attributes
    ----------
    column : str
        The column.
    text : str
        In words: "job = rider", "income missing", "age above 90".
    inside, outside : str
        The value of the samples that meet it, and what all of the other side has.
    own, other : arrays of int
        Rows of both sides that meet it.
    p_value : float
        Of "as frequent on both sides" (Fisher, one-sided), adjusted for all conditions that were tried.
    """

    column: str
    text: str
    inside: str
    outside: str
    own: IntArray
    other: IntArray
    p_value: float


@dataclass(frozen=True, eq=False)
class ConditionMode:
    """Conditions that the same samples meet: a mode that needs no search."""

    conditions: tuple[MetCondition, ...]
    own: IntArray
    other: IntArray

    @property
    def p_value(self) -> float:
        """The least p-value of its conditions."""
        return min(condition.p_value for condition in self.conditions)


def condition_modes(
    columns: Sequence[Column],
    own: pd.DataFrame,
    other: pd.DataFrame,
    *,
    alpha: float = 0.025,
) -> list[ConditionMode]:
    """Return the modes of a side that single columns show, the largest first.

    Parameters
    ----------
    columns : sequence of Column
        The columns and their roles.
    own, other : DataFrame
        The side that is looked at, and the one it is held against.
    alpha : float, default 0.025
        Level of all conditions together.
    """
    tried = []
    for column in columns:
        if column.role == "category":
            tried += _unseen_levels(column, own[column.name], other[column.name])
        elif column.role in ("number", "date"):
            tried += _gaps(column, own[column.name], other[column.name])
            tried += _out_of_range(column, own[column.name], other[column.name])
    sizes = len(own), len(other)
    met = [_tested(condition, sizes, len(tried)) for condition in tried]
    met = [condition for condition in met if condition.p_value <= alpha]
    met.sort(key=lambda condition: -len(condition.own))
    modes: list[ConditionMode] = []
    for condition in met:
        place = _mode_of(condition, modes)
        if place is None:
            modes.append(ConditionMode((condition,), condition.own, condition.other))
        else:
            modes[place] = _joined(modes[place], condition)
    return modes


def _tested(condition: MetCondition, sizes: tuple[int, int], n_tried: int) -> MetCondition:
    """Return a condition with its p-value; 1 where it is not several times as frequent as in the other side."""
    from scipy.stats import hypergeom

    k, other = len(condition.own), len(condition.other)
    n, m = sizes
    p_value = 1.0
    if k * m >= _TIMES * other * n:
        p_value = min(1.0, n_tried * float(hypergeom.sf(k - 1, n + m, k + other, n)))
    return MetCondition(
        condition.column, condition.text, condition.inside, condition.outside,
        condition.own, condition.other, p_value,
    )  # fmt: skip


def _mode_of(condition: MetCondition, modes: Sequence[ConditionMode]) -> int | None:
    """Return the place of the mode whose samples meet a condition too."""
    for place, mode in enumerate(modes):
        shared = len(np.intersect1d(condition.own, mode.own, assume_unique=True))
        if shared >= _SAME_ROWS * min(len(condition.own), len(mode.own)):
            return place
    return None


def _joined(mode: ConditionMode, condition: MetCondition) -> ConditionMode:
    """Add a condition to a mode: its samples become members where both are nearly the same."""
    shared = len(np.intersect1d(condition.own, mode.own, assume_unique=True))
    either = len(condition.own) + len(mode.own) - shared
    own, other = mode.own, mode.other
    if shared >= _ALIKE * either:
        own = np.union1d(own, condition.own)
        other = np.union1d(other, condition.other)
    return ConditionMode((*mode.conditions, condition), own, other)


def _unseen_levels(column: Column, own: pd.Series, other: pd.Series) -> list[MetCondition]:
    """Return one condition for each level of a side: it is much more frequent there."""
    own_names, other_names = level_names(own), level_names(other)
    levels, codes = np.unique(own_names, return_inverse=True)
    places = np.searchsorted(levels, other_names)
    places[places == len(levels)] = 0
    known = levels[places] == other_names
    counts = np.bincount(codes, minlength=len(levels))
    other_counts = np.bincount(places[known], minlength=len(levels))
    found = []
    for code, level in enumerate(levels.tolist()):
        # Most levels are as frequent on both sides: their rows are not looked up.
        rows: IntArray = np.empty(0, dtype=np.int64)
        others = rows
        if counts[code] * len(other) >= _TIMES * other_counts[code] * len(own):
            rows = np.flatnonzero(codes == code)
            others = np.flatnonzero(known & (places == code))
        name = "missing" if level == "missing" else f"= {level}"
        inside = "100 %"  # of the samples that meet the condition
        outside = format_percent(other_counts[code] / len(other))
        found.append(
            MetCondition(
                str(column.name), f"{column.name} {name}", inside, outside, rows, others, 1.0
            )
        )
    return found


def _gaps(column: Column, own: pd.Series, other: pd.Series) -> list[MetCondition]:
    rows = np.flatnonzero(own.isna().to_numpy())
    others = np.flatnonzero(other.isna().to_numpy())
    if not len(rows):
        return []
    words = ["missing in 100 %", f"missing in {format_percent(len(others) / len(other))}"]
    return [
        MetCondition(
            str(column.name), f"{column.name} missing", words[0], words[1], rows, others, 1.0
        )
    ]


def _out_of_range(column: Column, own: pd.Series, other: pd.Series) -> list[MetCondition]:
    """Return the conditions of lying above, or below, all values of the other side.

    Their p-value is exact although the limit is taken from the data: that the k largest of all values are of one
    side has the probability of Fisher's table with k and none.
    """
    known = ordered_values(column.role, other.dropna())
    if not len(known):
        return []
    present: BoolArray = own.notna().to_numpy()
    rows = np.flatnonzero(present)
    values = ordered_values(column.role, own[present])
    if len(values) != len(rows):
        return []  # some values are infinite, and are told as gaps
    found = []
    none: IntArray = np.empty(0, dtype=np.int64)
    for word, opposite, limit, beyond in (
        ("above", "at most", known.max(), values > known.max()),
        ("below", "at least", known.min(), values < known.min()),
    ):
        if beyond.any():
            shown = _shown(column, float(limit))
            middle = _shown(column, float(np.median(values[beyond])))
            text = f"{column.name} {word} {shown}"
            condition = MetCondition(
                str(column.name), text, middle, f"{opposite} {shown}", rows[beyond], none, 1.0
            )
            found.append(condition)
    return found


def _shown(column: Column, value: float) -> str:
    if column.role == "date":
        return str(np.datetime64(int(value), "s").astype("datetime64[D]"))
    return f"{value:.4g}"
