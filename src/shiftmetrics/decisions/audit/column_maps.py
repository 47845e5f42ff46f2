"""One map that explains a changed column: another unit, scale, sign or clock, other spellings of known levels."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.result import format_percent
from shiftmetrics.decisions.audit.column_changes import (
    ks_effect,
    ordered_values,
    times_of_day,
)
from shiftmetrics.tables.encoder.categories import level_counts
from shiftmetrics.tables.encoder.roles import Column

if TYPE_CHECKING:
    import pandas as pd

_LEAST_EFFECT = 0.3
"""Effect of a change from which a map is looked for: of smaller ones many maps explain a part."""
_LEAST_CLOCK_EFFECT = 0.15
_LEFT = 1.0 / 3.0
"""Part of the effect that a map may leave."""
_SMALL = 0.05
_KOLMOGOROV = 1.63
"""The 99 % quantile of the statistic of Kolmogorov and Smirnov, by the square root of n m / (n + m)."""
_LEAST_SAMPLES = 20
_MOST_CODES = 20
_EXPLAINED = 0.95
"""Fraction of the samples with new levels that a spelling must explain."""
_HOURS = 24
_HALF = ":30 hours"
_RARE = 0.01
"""Fraction of a level that may be missing in a sample by chance."""

_SCALES = (
    *(10.0**power for power in range(1, 10)),
    60.0,
    3_600.0,
    24.0,
    1_440.0,
    86_400.0,
    7.0,
    12.0,
    2.54,
    0.3048,
    1.609344,
    0.45359237,
)
"""Units of the decimal system, of time, and of length and weight in inches, feet, miles and pounds."""


def explaining_map(column: Column, reference: pd.Series, current: pd.Series) -> str:
    """Return what one map makes of a column, such as "as if x 1,000 (effect 0.02 is left)"; empty where none does.

    A map explains a change where the mapped reference and the current sample differ by no more than chance, or by at
    most a twentieth, and by a third of what they differed before. It is not said that it happened: the effect that
    is left lets the reader judge.

    Parameters
    ----------
    column : Column
        The column and its role.
    reference, current : Series
        Its cells on both sides.
    """
    if column.role == "category":
        return _spelling(reference, current) or _exchanged(reference, current)
    if column.role not in ("number", "date"):
        return ""
    sides = [np.sort(ordered_values(column.role, side.dropna())) for side in (reference, current)]
    if min(map(len, sides)) < _LEAST_SAMPLES:
        return ""
    before, now = sides
    if column.role == "date":
        # Of dates only the clock can be another one: later samples are later.
        before, now = times_of_day(before), times_of_day(now)
        effect = ks_effect(before, now)
        candidates = _zones() if effect >= _LEAST_CLOCK_EFFECT else []
    else:
        effect = ks_effect(before, now)
        candidates = _affine(before) if effect >= _LEAST_EFFECT else []
        if effect >= _LEAST_CLOCK_EFFECT:
            candidates += _clocks(str(column.name), before, now)
    most = _most_left(effect, len(before), len(now))
    found = [(ks_effect(np.sort(mapped(before)), now), words) for words, mapped in candidates]
    # Of two that leave as much, the first one is simpler.
    left, words = min(found, key=lambda each: each[0], default=(most, ""))
    if left >= most:
        return ""
    beside = ""
    if _HALF in words:
        # Few samples do not tell half an hour from a whole one, and most zones are whole hours apart.
        whole = min(each for each in found if _HALF not in each[1])
        beside = f"; {whole[1].removeprefix('shifted by ')} leave {whole[0]:.2f}"
    return f"as if {words} (effect {left:.2f} is left{beside})"


def _most_left(effect: float, n_before: int, n_now: int) -> float:
    """Return the effect that a map must leave less than: a part of what there was, and no more than chance."""
    by_chance = _KOLMOGOROV * float(np.sqrt(1.0 / n_before + 1.0 / n_now))
    return min(_LEFT * effect, max(_SMALL, by_chance))


Candidate = tuple[str, Callable[[FloatArray], FloatArray]]


def _affine(before: FloatArray) -> list[Candidate]:
    """Return maps a x + b: units, signs, and codes in the reverse order."""
    lines: list[tuple[str, float, float]] = [("-x", -1.0, 0.0)]
    for scale in _SCALES:
        lines.append((f"x {scale:,.10g}", scale, 0.0))
        lines.append((f"/ {scale:,.10g}", 1.0 / scale, 0.0))
    lines += [
        ("x 1.8 + 32", 1.8, 32.0),
        ("(x - 32) / 1.8", 1.0 / 1.8, -32.0 / 1.8),
        ("+ 273.15", 1.0, 273.15),
        ("- 273.15", 1.0, -273.15),
    ]
    codes = np.unique(before)
    if len(codes) <= _MOST_CODES and np.all(codes == np.round(codes)):
        total = float(codes[0] + codes[-1])
        lines.append((f"{total:g} - x", -1.0, total))
    return [(words, partial(_line, slope=slope, shift=shift)) for words, slope, shift in lines]


def _line(x: FloatArray, *, slope: float, shift: float) -> FloatArray:
    return slope * x + shift


def _later(x: FloatArray, *, hours: float) -> FloatArray:
    return np.asarray(np.mod(x + hours, _HOURS))


def _clocks(name: str, before: FloatArray, now: FloatArray) -> list[Candidate]:
    """Return the shifts of a column of hours of the day: one of that name, or integers from 0 to 23."""
    both = np.concatenate([before, now])
    is_within = both.min() >= 0.0 and both.max() <= _HOURS - 1 and np.all(both == np.round(both))
    if not is_within or (both.max() < _HOURS - 1 and "hour" not in name.lower()):
        return []
    return [candidate for candidate in _zones() if _HALF not in candidate[0]]


def _zones() -> list[Candidate]:
    """Return the shifts of times of day by hours and half hours, as zones have them; an hour before a half one."""
    found: list[Candidate] = []
    shifts = [half for half in range(1 - _HOURS, _HOURS + 1) if half]
    for half in sorted(shifts, key=lambda half: (half % 2, abs(half))):
        hours = f"{'-' if half < 0 else '+'}{abs(half) // 2}"
        words = f"shifted by {hours}{_HALF}" if half % 2 else f"shifted by {hours} hours"
        found.append((words, partial(_later, hours=0.5 * half)))
    return found


def _spelling(reference: pd.Series, current: pd.Series) -> str:
    """Say which other spelling of known levels the new levels are, if it is one."""
    known = set(level_counts(reference).index) - {"missing"}
    counts = level_counts(current)
    new = counts[~counts.index.isin(known | {"missing"})]
    n_new = int(new.sum())
    if n_new < _LEAST_SAMPLES:
        return ""
    best = ""
    highest = _EXPLAINED
    for words, spelled in (
        ("in upper case", str.upper),
        ("in lower case", str.lower),
        ("in title case", str.title),
        ("in other case", str.casefold),
        ("without leading zeros", lambda level: level.lstrip("0")),
        ("with other blanks or signs between words", _letters),
        ("in other case, with other blanks or signs", lambda level: _letters(level.casefold())),
    ):
        mapped = {spelled(level) for level in known}
        # A map that makes levels one could explain anything.
        if len(mapped) < len(known):
            continue
        explained = [
            level for level in new.index if spelled(level) in mapped and spelled(level) != ""
        ]
        fraction = int(new[explained].sum()) / n_new
        is_exact = all(level in mapped for level in explained)
        # Of two that explain as much, the first one is simpler.
        if fraction > highest or (fraction == highest and not best):
            if words.startswith(("in upper", "in lower", "in title")) and not is_exact:
                continue
            if words.startswith("without") and not is_exact:
                words = "with leading zeros"
            highest = fraction
            best = f"{format_percent(fraction)} of {n_new} new cells are known levels {words}"
    return best


def _letters(level: str) -> str:
    return "".join(letter for letter in level if letter.isalnum())


def _exchanged(reference: pd.Series, current: pd.Series) -> str:
    """Say that two levels have each other's frequency, or that all have those of the reverse order."""
    counts = [level_counts(side) for side in (reference, current)]
    levels = sorted(set(counts[0].index) | set(counts[1].index))
    if not 2 <= len(levels) <= _MOST_CODES or min(len(reference), len(current)) < _LEAST_SAMPLES:
        return ""
    before, now = (
        np.array([float(side.get(level, 0)) for level in levels]) / side.sum() for side in counts
    )
    effect = 0.5 * float(np.abs(now - before).sum())
    # A level that came or went is no exchange, unless it is rare.
    came_or_went = (np.minimum(before, now) == 0.0) & (np.maximum(before, now) >= _RARE)
    if effect < _LEAST_EFFECT or came_or_went.any():
        return ""
    best = ""
    least = _most_left(effect, len(reference), len(current))
    candidates = {
        f"{levels[one]} and {levels[other]} were exchanged": {one: other, other: one}
        for one, other in itertools.combinations(range(len(levels)), 2)
    }
    candidates["the order of the levels were reversed"] = {
        place: len(levels) - 1 - place for place in range(len(levels))
    }
    # Of two that leave as much, the exchange of two is simpler.
    for words, moved in candidates.items():
        place = [moved.get(each, each) for each in range(len(levels))]
        left = 0.5 * float(np.abs(now - before[place]).sum())
        if left < least:
            least = left
            best = f"as if {words} (effect {left:.2f} is left)"
    return best
