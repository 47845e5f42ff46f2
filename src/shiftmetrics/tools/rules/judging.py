"""Whether a rule holds for what a field holds, and the sentence that says so."""

from __future__ import annotations

import math
from typing import Any

from shiftmetrics._core.result import Result, format_number
from shiftmetrics.tools.rules.baseline import direction_of
from shiftmetrics.tools.rules.fields import Reading
from shiftmetrics.tools.rules.rule import Rule


def judge(rule: Rule, result: Result, reading: Reading) -> tuple[bool, str]:
    """Tell whether a bound holds for all that a number may be, and in which words.

    Raises
    ------
    ValueError
        If the field holds no number, and the rule bounds one.
    """
    value, low, high = reading.value, reading.low, reading.high
    if rule.equal_to is not None:
        holds = _is_equal(value, rule.equal_to)
        return holds, f"{rule.field} is {_printed(value)}{'' if holds else f', not {rule.bound_in_words()}'}."
    if low is None or high is None:
        raise ValueError(
            f"The field {rule.field!r} is {_printed(value)}, no number that could be {rule.bound_in_words()}. "
            "Write equal_to instead."
        )
    lower, upper = rule.lower_holds(low), rule.upper_holds(high)
    has_lower = rule.at_least is not None or rule.above is not None
    counted = low if has_lower and (not lower or upper) else high  # the end that decides
    found = f"{rule.field} {_apart(value, rule)}{_counted(counted, reading, rule)}"
    if lower and upper:
        return True, f"{found}: {rule.bound_in_words()}.{_wrong_side(rule, result)}"
    if not (rule.lower_holds(float(value)) and rule.upper_holds(float(value))):
        return False, f"{found}: not {rule.bound_in_words()}."
    remedy = ' More rows narrow an interval; using = "value" judges the value alone.'
    return False, f"{found}: not shown to be {rule.bound_in_words()}.{remedy if rule.using is None else ''}"


def judge_worse(rule: Rule, new: Reading, old: Reading, worse: Reading, margin: float) -> tuple[bool, str]:
    """Tell whether a field is worse than before by no more than a margin, and in which words."""
    end, gap = float(worse.high or 0.0), float(worse.value)
    holds = end <= margin
    moved = f"{format_number(abs(gap))} {'worse' if gap > 0 else 'better'}" if gap else "as before"
    start = f"{rule.field} {_printed(new.value)} after {_printed(old.value)}, {moved}"
    return holds, f"{start}{_counted(end, worse, rule)}: {'' if holds else 'not '}{rule.bound_in_words()}."


def _wrong_side(rule: Rule, result: Result) -> str:
    """Say that a bound lets the bad side pass: a mistake that nothing else would show."""
    higher = direction_of(rule, result)
    if higher is None or rule.equal_to is not None:
        return ""
    lower, upper = rule.lower > -math.inf, rule.upper < math.inf
    if (higher and upper and not lower) or (not higher and lower and not upper):
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
    short = _printed(number)
    bounds = [rule.at_least, rule.above, rule.at_most, rule.below]
    alike = any(bound is not None and bound != number and format_number(bound) == short for bound in bounds)
    return repr(number) if alike else short


def _printed(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return format_number(value) if isinstance(value, int | float) else repr(value)


def _is_equal(value: Any, wanted: Any) -> bool:
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    return bool(value == wanted)
