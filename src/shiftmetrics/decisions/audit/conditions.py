"""Conditions on single columns that one side meets and the other hardly does: new levels, gaps, values out of range.

A sample whose job is one that the reference never had is new for certain, and no search has to be asked. Such
conditions are counted exactly; the search for modes by kernels goes on among the other samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from shiftmetrics._core.arrays import IntArray
from shiftmetrics._core.result import format_percent
from shiftmetrics.decisions.audit.column_changes import (
    COMPARED,
    in_words,
    infinite_cells,
    median_of,
    ordered_values,
)
from shiftmetrics.decisions.audit.new_modes import Contrast, level_in_words
from shiftmetrics.tables.encoder.categories import level_codes, level_counts
from shiftmetrics.tables.encoder.roles import Column

if TYPE_CHECKING:
    import pandas as pd

_TIMES = 5.0
"""How many times as frequent as in the other side a condition must be for its samples to count as new."""
_SAME_ROWS = 0.8
"""Fraction of the samples of the rarer of two conditions that meet both, from which they are one mode."""
_ALIKE = 0.5
"""Samples that meet both over samples that meet either, from which both conditions define the mode."""
_NO_ROWS: IntArray = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class ModeRows:
    """The rows of a mode on both sides, before the mode is described.

    Attributes
    ----------
    own, other : arrays of int
        Its rows on the side that has it, and on the other side.
    p_value : float
        Of "as frequent on both sides", adjusted for all that was tried.
    contrasts : tuple of Contrast
        The conditions on single columns that define it; none for a mode that the search found without a rule.
    has_rule : bool
        Whether its samples are those that meet all conditions together.
    early : array of int
        Rows of its own side that are like members and lie before the date from which on it was looked for.
    looked_at : float
        Fraction of its own side that lies after that date.
    """

    own: IntArray
    other: IntArray
    p_value: float = 1.0
    contrasts: tuple[Contrast, ...] = ()
    has_rule: bool = False
    early: IntArray = field(default_factory=lambda: _NO_ROWS)
    looked_at: float = 1.0


def condition_modes(
    columns: Sequence[Column],
    own: pd.DataFrame,
    other: pd.DataFrame,
    *,
    alpha: float = 0.025,
    rows: tuple[IntArray | slice, IntArray | slice] = (slice(None), slice(None)),
) -> list[ModeRows]:
    """Return the modes of a side that single columns show.

    Each condition has Fisher's one-sided test, by Bonferroni over all conditions that were tried. Those that the
    same samples meet become one mode.

    Parameters
    ----------
    columns : sequence of Column
        The columns and their roles.
    own, other : DataFrame
        The side under test, and the one it is compared with.
    alpha : float, default 0.025
        Level of all conditions together.
    rows : pair of arrays of int, optional
        The rows of both sides that take part. Default: all. Rows of the result are places among them.
    """
    # All conditions that could be met, most of which are not: each of them counts in the correction.
    tried = []
    n_own = len(own.index[rows[0]])
    n_other = len(other.index[rows[1]])
    for column in columns:
        if column.role not in COMPARED:
            continue
        # Column by column: of a million rows a copy of the tables would take most of the memory.
        mine = own[column.name].iloc[rows[0]]
        theirs = other[column.name].iloc[rows[1]]
        if column.role == "category":
            tried += _levels(column, mine, theirs)
        else:
            tried += _gaps(column, mine, theirs)
            tried += _out_of_range(column, mine, theirs)
    met = []
    for condition in tried:
        p_value = len(tried) * _p_value(condition, n_own, n_other)
        if p_value <= alpha:
            met.append(replace(condition, p_value=p_value))
    # The most frequent condition names the mode, and the rarer ones join it.
    return joined_modes(met)


def joined_modes(found: Iterable[ModeRows]) -> list[ModeRows]:
    """Return modes by size; those that nearly the same samples meet, or samples of a larger one, are one mode."""
    modes: list[ModeRows] = []
    for part in sorted(found, key=lambda part: -len(part.own)):
        for place, mode in enumerate(modes):
            shared = len(np.intersect1d(part.own, mode.own, assume_unique=True))
            if shared >= _SAME_ROWS * min(len(part.own), len(mode.own)):
                modes[place] = _joined(mode, part, shared)
                break
        else:
            modes.append(part)
    return modes


def _p_value(condition: ModeRows, n_own: int, n_other: int) -> float:
    """Return Fisher's one-sided p-value; 1 where the condition is not several times as frequent."""
    from scipy.stats import hypergeom

    # The probability that k or more of those who meet it stand on this side, if sides were assigned at random.
    k = len(condition.own)
    other = len(condition.other)
    if k * n_other < _TIMES * other * n_own:
        return 1.0
    return float(hypergeom.sf(k - 1, n_own + n_other, k + other, n_own))


def _joined(mode: ModeRows, condition: ModeRows, shared: int) -> ModeRows:
    """Add a condition to a mode; it defines the mode, too, where both are nearly the same samples."""
    p_value = min(mode.p_value, condition.p_value)
    either = len(condition.own) + len(mode.own) - shared
    if shared < _ALIKE * either:
        return replace(mode, p_value=p_value)
    named = {contrast.column for contrast in mode.contrasts}
    others = [contrast for contrast in condition.contrasts if contrast.column not in named]
    contrasts = (*mode.contrasts, *others)
    # Ordinary samples that one condition lets in are none of the mode: the likelier condition says which are.
    if len(mode.other) or len(condition.other):
        leading = min(mode, condition, key=lambda part: (part.p_value, len(part.other)))
        return replace(leading, p_value=p_value, contrasts=contrasts)
    own = np.union1d(mode.own, condition.own)
    return ModeRows(own, mode.other, p_value, contrasts)


def _condition(
    column: Column,
    text: str,
    own: IntArray,
    other: IntArray,
    *,
    inside: str,
    outside: str,
    is_beyond: bool = False,
) -> ModeRows:
    contrast = Contrast(
        column=str(column.name),
        effect=1.0,
        inside=inside,
        outside=outside,
        text=text,
        is_beyond=is_beyond,
    )
    return ModeRows(own, other, contrasts=(contrast,))


def _levels(column: Column, own: pd.Series, other: pd.Series) -> list[ModeRows]:
    """Return one condition for each level of a side."""
    own_codes, own_names = level_codes(own)
    other_codes, other_names = level_codes(other)
    counts = level_counts(own).sort_index()
    others = level_counts(other)
    found = []
    for level, n_own in counts.items():
        n_others = int(others.get(level, 0))
        rows = ModeRows(_NO_ROWS, _NO_ROWS)
        # Most levels are as frequent on both sides: their rows are not looked up.
        if n_own * len(other) >= _TIMES * n_others * len(own):
            rows = _condition(
                column,
                level_in_words(column, str(level)),
                _rows_of_level(own_codes, own_names, str(level)),
                _rows_of_level(other_codes, other_names, str(level)),
                inside="100 %",
                outside=format_percent(n_others / len(other)),
            )
        found.append(rows)
    return found


def _rows_of_level(codes: IntArray, names: Sequence[str], level: str) -> IntArray:
    """Return the rows of a level, from the codes of all cells and the names of the codes."""
    places = [place for place, name in enumerate(names) if name == level]
    return np.flatnonzero(np.isin(codes, places))


def _gaps(column: Column, own: pd.Series, other: pd.Series) -> list[ModeRows]:
    """Return the conditions that a cell is missing, or infinite."""
    found = []
    for word, is_so, others_are in (
        ("missing", own.isna().to_numpy(), other.isna().to_numpy()),
        ("infinite", infinite_cells(column.role, own), infinite_cells(column.role, other)),
    ):
        rows = np.flatnonzero(is_so)
        others = np.flatnonzero(others_are)
        if not len(rows):
            continue
        inside = f"{word} in 100 %"
        outside = f"{word} in {format_percent(len(others) / len(other))}"
        text = f"{column.name} {word}"
        found.append(_condition(column, text, rows, others, inside=inside, outside=outside))
    return found


def _out_of_range(column: Column, own: pd.Series, other: pd.Series) -> list[ModeRows]:
    """Return the conditions of lying above, or below, all values of the other side but the k farthest.

    One outlier of the other side would otherwise hide all that lies before it, and in a million samples there is one.
    The p-value is exact although the limit is taken from the data: that j or more samples of one side lie beyond all
    but k of the other means that of the j + k farthest at most k are of the other. That is Fisher's table. Each k
    that is tried counts in the correction, met or not; of those that are met, the most likely one is the condition.
    """
    rows = np.flatnonzero(own.notna())
    values = ordered_values(column.role, own.iloc[rows])
    other_rows = np.flatnonzero(other.notna())
    others = ordered_values(column.role, other.iloc[other_rows])
    # Infinite values are no numbers to compare with: such a column is left to the search.
    if not len(others) or len(values) != len(rows) or len(others) != len(other_rows):
        return []
    ascending, known = np.sort(values), np.sort(others)
    found: list[ModeRows] = []
    for sign, word, opposite in ((1.0, "above", "at most"), (-1.0, "below", "at least")):
        if sign > 0.0:
            mine, limits = ascending, known[::-1]
        else:
            mine, limits = -ascending[::-1], -known
        best = 0.0
        chosen: float | None = None
        n_tried = 0
        for k in _set_aside(len(values)):
            if k >= len(limits):
                break
            beyond = len(mine) - int(np.searchsorted(mine, limits[k], side="right"))
            known_beyond = int((limits[: k + 1] > limits[k]).sum())
            if not beyond:
                continue
            n_tried += 1
            gain = log_likelihood_ratio(beyond, known_beyond, len(own), len(other))
            if beyond * len(other) >= _TIMES * known_beyond * len(own) and gain > best:
                best = gain
                chosen = float(limits[k])
        # Those that were tried and are not the condition count as well.
        found += [ModeRows(_NO_ROWS, _NO_ROWS)] * (n_tried - (chosen is not None))
        if chosen is None:
            continue
        beyond_rows = rows[sign * values > chosen]
        known_rows = other_rows[sign * others > chosen]
        nearest = float(mine[np.searchsorted(mine, chosen, side="right")])
        shown = _limit_in_words(column.role, sign * chosen, sign * nearest)
        outside = f"{opposite} {shown}"
        if len(known_rows):
            outside = f"{word} it in {format_percent(len(known_rows) / len(other))}"
        found.append(
            _condition(
                column,
                f"{column.name} {word} {shown}",
                beyond_rows,
                known_rows,
                inside=in_words(column.role, median_of(values[sign * values > chosen])),
                outside=outside,
                is_beyond=True,
            )
        )
    return found


def _set_aside(n_own: int) -> list[int]:
    """Return how many of the farthest values of the other side are set aside: 0, 1, 2, 4, ... to a fifth of n."""
    steps = [0]
    k = 1
    while k * _TIMES <= n_own:
        steps.append(k)
        k *= 2
    return steps


def log_likelihood_ratio(own: int, other: int, n_own: int, n_other: int) -> float:
    """Return how much likelier a fraction of its own is for those beyond a limit (M. Kulldorff, 1997)."""
    both = own + other
    if not both:
        return 0.0
    expected = n_own / (n_own + n_other)
    rate = own / both
    if rate <= expected:
        return 0.0
    gain = own * np.log(rate / expected)
    if other:
        gain += other * np.log((1.0 - rate) / (1.0 - expected))
    return float(gain)


def _limit_in_words(role: str, limit: float, nearest: float) -> str:
    """Return a limit in four digits, or as many as leave it between both values, so that a recount gives the same."""
    if role == "date":
        return in_words(role, limit)
    low, high = sorted((limit, nearest))
    for digits in range(4, 18):
        shown = float(f"{limit:.{digits}g}")
        step = 10.0 ** (np.floor(np.log10(abs(limit))) - digits + 1) if limit else 0.0
        # Rounded, the limit may lie beyond either value: then one step nearer to the other.
        for candidate in (shown, shown + np.copysign(step, nearest - limit)):
            rounded = float(f"{candidate:.{digits}g}")
            inside = low <= rounded < high if nearest > limit else low < rounded <= high
            if inside:
                return in_words(role, rounded) if digits == 4 else f"{rounded:.{digits}g}"
    return in_words(role, limit)
