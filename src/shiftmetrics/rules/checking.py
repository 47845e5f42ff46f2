"""Rules applied to results: whether each holds, in a sentence, for each rule and result."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.result import Result, Status, format_number
from shiftmetrics.rules.fields import Place, Reading, find, read
from shiftmetrics.rules.outcomes import Ended, Outcome, RulesResult
from shiftmetrics.rules.rule import Rule, nearest_names


def check_results(results: Mapping[str, Result], rules: Sequence[Rule]) -> RulesResult:
    """Check rules on results, cautiously: what is uncertain counts against passing.

    Parameters
    ----------
    results : mapping of str to Result
        Results by their names.
    rules : sequence of Rule
        What must hold, such as `read_rules` returns.

    Returns
    -------
    RulesResult
        An outcome for each rule and result; ``passed`` is True if the release may go out. A rule that finds no
        result or no such field, or meets NaN, ends as an error.

    Raises
    ------
    TypeError
        If ``results`` is not a mapping of results, or ``rules`` holds something else.
    ValueError
        If there are no rules.

    Examples
    --------
    >>> from shiftmetrics import posterior_agreement
    >>> from shiftmetrics.rules import Rule, check_results
    >>> scores = [[4.0, 0.0], [0.0, 3.0], [2.0, 0.0], [0.0, 5.0]]
    >>> result = posterior_agreement(scores, scores)
    >>> checked = check_results({"noise": result}, [Rule(measure="posterior_agreement", at_most=0.1)])
    >>> checked.passed, checked.headline()
    (True, 'Passed: 1 check of 1 rule, 1 passed.')
    """
    if not isinstance(results, Mapping):
        raise ArgumentTypeError(
            "results", "a mapping from names to results", type(results).__name__
        )
    for name, result in results.items():
        if not isinstance(result, Result):
            raise ArgumentTypeError(
                f"results[{name!r}]", "a result of a measure", type(result).__name__
            )
    rules = list(rules)
    for rule in rules:
        if not isinstance(rule, Rule):
            raise ArgumentTypeError("rules", "rules", type(rule).__name__)
    if not rules:
        raise ArgumentValueError("rules", "at least one rule", "none")
    outcomes: list[Outcome] = []
    seen: set[str] = set()
    for rule in rules:
        # a rule is about all results that it names
        chosen = {
            name: result
            for name, result in results.items()
            if rule.result in (None, name) and _has_measure(result, rule.measure)
        }
        seen |= chosen.keys()
        if not chosen:
            nothing = _nothing(rule, results)
            outcomes.append(Outcome(rule=rule, result="", measure="", ended="error", text=nothing))
        for name, result in chosen.items():
            outcomes.append(_outcome(rule, name, result))
    # a result that no rule looks at is said: a misspelt rule would hide it
    unchecked = tuple(name for name in results if name not in seen)
    return RulesResult(outcomes=tuple(outcomes), unchecked=unchecked)


def _has_measure(result: Result, measure: str | None) -> bool:
    """Return True if a result is of a measure, by the whole name or a part of it, or derives from one that is."""
    if measure is None:
        return True
    # "stability" takes results of "model_stability" too, whose class derives from that of the other
    full = {result.measure, *(getattr(cls, "measure", "") for cls in type(result).__mro__)}
    return any(measure in (name, *name.split(".")) for name in full)


def _nothing(rule: Rule, results: Mapping[str, Result]) -> str:
    """Say that no result was found, and which there are."""
    measures = {result.measure for result in results.values()}
    by_measure = [name for name, part in results.items() if _has_measure(part, rule.measure)]
    if rule.measure is not None and not by_measure:
        return f"No result is of the measure {rule.measure!r}. {nearest_names(rule.measure, sorted(measures))}"
    return f"No result has the name {rule.result!r}. {nearest_names(rule.result or '', by_measure)}"


def _outcome(rule: Rule, name: str, result: Result) -> Outcome:
    """Return the outcome of one rule on one result."""
    counted: dict[str, Any] = {}
    ended: Ended
    try:
        # a figure that people can interpret, where the rule names none
        field = rule.field or result.rule_field
        if not field:
            raise ValueError(
                f"A rule on results of {result.measure!r} must name a field, such as models.NAME.rank_low."
            )
        # A status that is no answer fails the rule, before the number is read at all.
        place = find(result, field)
        text = _unmet_status(field, result, place)
        holds = not text
        if holds:
            reading = read(place, field, rule.using)
            holds, text = _judge(rule, field, result, reading)
            counted = {"value": reading.value, "low": reading.low, "high": reading.high}
        if holds:
            ended = "passed"
        else:
            ended = "failed" if rule.severity == "fail" else "warned"
    except (ValueError, TypeError) as error:
        ended, text = "error", str(error)
    return Outcome(
        rule=rule, result=name, measure=result.measure, ended=ended, text=text, **counted
    )


def _unmet_status(field: str, result: Result, place: Place) -> str:
    """Name the first status on the way to a field that is no answer; nothing where all are."""
    for owner in (result, *place.owners):
        status = getattr(owner, "status", None)
        if owner is result:
            status = result.status_of(field)
        if not isinstance(status, Status):
            continue
        if not status.ok:
            return f"Status {status}, which is no answer: {status.text}"
    return ""


def _judge(rule: Rule, field: str, result: Result, reading: Reading) -> tuple[bool, str]:
    """Return whether a bound holds for all that a number may be, and the words for it."""
    value, low, high = reading.value, reading.low, reading.high
    high_enough = low >= rule.lower
    low_enough = high <= rule.upper
    # the end that decides: the lower one, unless only the upper one fails
    decides = high
    if rule.at_least is not None and (not high_enough or low_enough):
        decides = low
    found = f"{field} {_apart(value, rule)}{_counted(decides, reading, rule)}"
    if high_enough and low_enough:
        return True, f"{found}: {rule.bound_in_words()}.{_wrong_side(rule, field, result)}"
    # the value itself is outside, or only what is uncertain about it
    if not rule.lower <= value <= rule.upper:
        return False, f"{found}: not {rule.bound_in_words()}."
    remedy = ""
    if rule.using is None:
        remedy = ' More samples narrow an interval; using = "value" checks the value alone.'
    return False, f"{found}: not shown to be {rule.bound_in_words()}.{remedy}"


def _wrong_side(rule: Rule, field: str, result: Result) -> str:
    """Say that a bound lets the bad side pass: a mistake that nothing else would show."""
    if field != result.rule_field:
        return ""
    # another default than the value is a fraction of what went wrong
    higher_is_better = result.higher_is_better and field == "value"
    if higher_is_better and rule.at_least is None:
        return " Higher is better here: did you mean at_least?"
    if not higher_is_better and rule.at_most is None:
        return " Lower is better here: did you mean at_most?"
    return ""


def _counted(end: float, reading: Reading, rule: Rule) -> str:
    """Say which end of what is uncertain was counted, where that is not the value itself."""
    if not reading.because or _apart(end, rule) == _apart(reading.value, rule):
        return ""
    counted = "" if math.isinf(end) else f", counted as {_apart(end, rule)}"
    return f"{counted} ({', '.join(reading.because)})"


def _apart(number: float, rule: Rule) -> str:
    """Print a number with enough digits to tell it from the bounds."""
    short = format_number(number)
    for bound in (rule.lower, rule.upper):
        if bound != number and format_number(bound) == short:
            return repr(number)
    return short
