"""Whether a rule holds for a field, by itself or against an earlier release, and a sentence about it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from shiftmetrics._core.record import encode
from shiftmetrics._core.result import Result, format_number
from shiftmetrics.tools.rules.fields import Reading
from shiftmetrics.tools.rules.rule import Rule, nearest_names, printed

NO_DIRECTION = ("comparison", "novelty.")
"""Measures that are neither better nor worse when they rise: novelty, or a comparison, whatever it compares."""

_INCIDENTAL = {
    "versions", "rng", "seed", "reason", "progress", "executor", "n_jobs", "keep_rows", "max_iter", "memory_limit",
}  # fmt: skip
"""Settings that may differ between releases: how a number is computed, not what it measures."""


ReadResults: TypeAlias = Callable[[str], dict[str, Result]]


def partner_of(rule: Rule, name: str, result: Result, read_baseline: ReadResults) -> Result:
    """Return the earlier result that goes with one: of the same name, or the only one of its measure.

    Raises
    ------
    ValueError
        If the file cannot be read, has no such result, or one measured with other settings.
    """
    path = str(rule.baseline)
    if not Path(path).is_file():
        raise ValueError(f"baseline must be an existing file of results, got {path!r}, which is not there.")
    earlier = read_baseline(path)
    alike = {key: part for key, part in earlier.items() if part.measure == result.measure}
    partner = alike.get(name) or (next(iter(alike.values())) if len(alike) == 1 else None)
    if partner is None:
        raise ValueError(
            f"The baseline {path!r} has no result {name!r} of measure {result.measure!r}. "
            + nearest_names(name, alike or earlier)
        )
    if rule.same_settings:
        _check_settings(result.settings, partner.settings, path)
    return partner


def worse_by(rule: Rule, result: Result, now: Reading, earlier: Reading) -> Reading:
    """Return by how much a field is worse than before: positive where it is.

    Raises
    ------
    ValueError
        If it is no number, or its direction is not known.
    """
    if now.low is None or now.high is None or earlier.low is None or earlier.high is None:
        raise ValueError(f"The field {rule.field!r} must be a number to be worse than another one.")
    sign = 1.0 if _higher_is_better(rule, result) else -1.0
    if now.value == earlier.value:  # the same computation has the same error
        return Reading(value=0.0, low=0.0, high=0.0)
    low, high = sorted([sign * (earlier.low - now.high), sign * (earlier.high - now.low)])
    return Reading(
        value=sign * (float(earlier.value) - float(now.value)),
        low=low,
        high=high,
        because=now.because or earlier.because,
    )


def direction_of(rule: Rule, result: Result) -> bool | None:
    """Tell whether higher is better for the field of a rule; None where it is unknown."""
    if rule.better is not None:
        return rule.better == "higher"
    if rule.field != "value" or rule.row is not None or result.measure.startswith(NO_DIRECTION):
        return None
    return result.higher_is_better


def _higher_is_better(rule: Rule, result: Result) -> bool:
    higher = direction_of(rule, result)
    if higher is None:
        raise ValueError(
            f"Cannot tell which direction is better for the field {rule.field!r} of {result.measure}. "
            'Add better = "higher" or better = "lower".'
        )
    return higher


def _check_settings(now: Mapping[str, Any], earlier: Mapping[str, Any], path: str) -> None:
    """Refuse to compare results that were measured in two ways."""
    for name in now.keys() & earlier.keys() - _INCIDENTAL:
        if _comparable(now[name]) != _comparable(earlier[name]):
            raise ValueError(
                f"The baseline {path!r} was measured with {name} {earlier[name]!r}, and this result with "
                f"{now[name]!r}. Measure alike, or write same_settings = false."
            )


def _comparable(value: Any) -> Any:
    """Return a setting as its JSON would hold it, with arrays in full and without what is incidental."""
    if isinstance(value, Mapping):
        return {name: _comparable(part) for name, part in value.items() if name not in _INCIDENTAL}
    return encode(
        value, lambda _path, array: [str(array.dtype), array.shape, np.ascontiguousarray(array).tobytes()]
    )


def judge(rule: Rule, result: Result, reading: Reading) -> tuple[bool, str]:
    """Tell whether a bound holds for all that a number may be, and in which words.

    Raises
    ------
    ValueError
        If the field holds no number, and the rule bounds one.
    """
    value, low, high = reading.value, reading.low, reading.high
    if rule.equal_to is not None:
        is_flag = isinstance(value, bool) or isinstance(rule.equal_to, bool)
        holds = value is rule.equal_to if is_flag else bool(value == rule.equal_to)
        return holds, f"{rule.field} is {printed(value)}{'' if holds else f', not {rule.bound_in_words()}'}."
    if low is None or high is None:
        raise ValueError(
            f"The field {rule.field!r} is {printed(value)}, no number that could be {rule.bound_in_words()}. "
            "Write equal_to instead."
        )
    lower, upper = low >= rule.lower, high <= rule.upper
    counted = low if rule.at_least is not None and (not lower or upper) else high  # the end that decides
    found = f"{rule.field} {_apart(value, rule)}{_counted(counted, reading, rule)}"
    if lower and upper:
        return True, f"{found}: {rule.bound_in_words()}.{_wrong_side(rule, result)}"
    if not rule.lower <= float(value) <= rule.upper:
        return False, f"{found}: not {rule.bound_in_words()}."
    remedy = ' More rows narrow an interval; using = "value" judges the value alone.'
    return False, f"{found}: not shown to be {rule.bound_in_words()}.{remedy if rule.using is None else ''}"


def judge_worse(rule: Rule, new: Reading, old: Reading, worse: Reading) -> tuple[bool, str]:
    """Tell whether a field is worse than before by no more than the rule allows, and in which words."""
    end, gap, before = float(worse.high or 0.0), float(worse.value), float(old.value)
    margin, share = rule.margin
    if share:  # a share of infinity would forgive any fall from it
        margin *= abs(before) if math.isfinite(before) else 0.0
    holds = end <= margin
    moved = f"{format_number(abs(gap))} {'worse' if gap > 0 else 'better'}" if gap else "as before"
    start = f"{rule.field} {printed(new.value)} after {printed(old.value)}, {moved}"
    return holds, f"{start}{_counted(end, worse, rule)}: {'' if holds else 'not '}{rule.bound_in_words()}."


def _wrong_side(rule: Rule, result: Result) -> str:
    """Say that a bound lets the bad side pass: a mistake that nothing else would show."""
    higher = direction_of(rule, result)
    if higher is None:
        return ""
    lower, upper = rule.lower > -math.inf, rule.upper < math.inf
    if lower != upper and upper == higher:
        side = ("Higher", "at_least") if higher else ("Lower", "at_most")
        return f" {side[0]} is better here: did you mean {side[1]}?"
    return ""


def _counted(end: float, reading: Reading, rule: Rule) -> str:
    """Say which end of what is uncertain was counted, where that is not the value itself."""
    if not reading.because or _apart(end, rule) == _apart(reading.value, rule):
        return ""
    why = ", ".join(reading.because)
    if math.isinf(end):
        return f" ({why})"
    nothing = abs(end) <= 1e-9 * abs(float(reading.value) - end)  # rounding around zero
    return f", counted as {_apart(0.0 if nothing else end, rule)} ({why})"


def _apart(number: Any, rule: Rule) -> str:
    """Print a number with enough digits to tell it from the bounds."""
    short = printed(number)
    alike = any(bound != number and format_number(bound) == short for bound in (rule.lower, rule.upper))
    return repr(number) if alike else short
