"""Whether a rule holds for a field, and a sentence about it."""

from __future__ import annotations

import math
from typing import Any

from shiftmetrics._core.result import Result, format_number
from shiftmetrics.tools.rules.fields import Reading
from shiftmetrics.tools.rules.rule import Rule, printed

NO_DIRECTION = ("comparison", "novelty.")
"""Measures that are neither better nor worse when they rise: novelty, or a comparison, whatever it compares."""


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


def _wrong_side(rule: Rule, result: Result) -> str:
    """Say that a bound lets the bad side pass: a mistake that nothing else would show."""
    if rule.field != "value" or rule.row is not None or result.measure.startswith(NO_DIRECTION):
        return ""
    higher = result.higher_is_better
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
