"""Rules applied to results: an outcome for each rule and result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shiftmetrics._core.result import Result
from shiftmetrics._core.status import Status
from shiftmetrics._core.validation import describe
from shiftmetrics.tools.rules.fields import Place, Row, find, matches, read, rows_of
from shiftmetrics.tools.rules.judging import judge
from shiftmetrics.tools.rules.outcomes import Ended, Outcome, RulesResult
from shiftmetrics.tools.rules.rule import Rule, nearest_names


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
        An outcome for each rule and result; ``passed`` tells whether the release may go out. A rule that finds no
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
    >>> from shiftmetrics.tools.rules import Rule, check_results
    >>> scores = [[4.0, 0.0], [0.0, 3.0], [2.0, 0.0], [0.0, 5.0]]
    >>> result = posterior_agreement(scores, scores)
    >>> checked = check_results({"noise": result}, [Rule(measure="posterior_agreement", at_least=0.5)])
    >>> checked.passed, checked.headline()
    (True, 'Passed: 1 check of 1 rule, 1 passed.')
    """
    if not isinstance(results, Mapping):
        raise TypeError(describe("results", "a mapping from names to results", type(results).__name__))
    for name, result in results.items():
        if not isinstance(result, Result):
            raise TypeError(describe(f"results[{name!r}]", "a result of a measure", type(result).__name__))
    rules = [rules] if isinstance(rules, Rule) else list(rules)
    for rule in rules:
        if not isinstance(rule, Rule):
            raise TypeError(describe("rules", "rules", type(rule).__name__))
    if not rules:
        raise ValueError(describe("rules", "at least one rule", "none"))
    outcomes: list[Outcome] = []
    seen: set[str] = set()
    for rule in rules:
        chosen = {name: result for name, result in results.items() if _is_meant(rule, name, result)}
        seen |= chosen.keys()
        if not chosen:
            outcomes.append(
                Outcome(rule=rule, result="", measure="", ended="error", text=_nothing(rule, results))
            )
        for name, result in chosen.items():
            outcomes.extend(_outcomes(rule, name, result))
    return RulesResult(
        outcomes=tuple(outcomes), unchecked=tuple(name for name in results if name not in seen)
    )


def _has_measure(result: Result, pattern: str) -> bool:
    """Tell whether a rule means a result by its measure, a part of that, or one that it is a kind of."""
    full = {result.measure}
    if result.measure == type(result).measure:
        full |= {str(cls.measure) for cls in type(result).__mro__ if issubclass(cls, Result) and cls.measure}
    return any(matches(part, pattern) for name in full for part in (name, *name.split(".")))


def _is_meant(rule: Rule, name: str, result: Result) -> bool:
    return matches(name, rule.result) and _has_measure(result, rule.measure)


def _nothing(rule: Rule, results: Mapping[str, Result]) -> str:
    """Say that no result was found, and which there are."""
    measures = {result.measure for result in results.values()}
    by_measure = [name for name, part in results.items() if _has_measure(part, rule.measure)]
    if not by_measure:
        return (
            f"No result is of the measure {rule.measure!r}. {nearest_names(rule.measure, sorted(measures))}"
        )
    which = "" if rule.measure == "*" else f" of the measure {rule.measure!r}"
    return f"No result{which} has the name {rule.result!r}. {nearest_names(rule.result, by_measure)}"


def _outcomes(rule: Rule, name: str, result: Result) -> Iterator[Outcome]:
    """Yield the outcome of one rule on one result; with a row, one for each row that it means."""
    common: dict[str, Any] = {"rule": rule, "result": name, "measure": result.measure}
    ended: Ended
    try:
        rows = [Row(result, "", rule.field)] if rule.row is None else rows_of(result, rule.row, rule.field)
    except (ValueError, TypeError) as error:
        yield Outcome(**common, ended="error", text=str(error))
        return
    for row in rows:
        try:
            place = find(row.content, row.path)
            unmet = _unmet_status(rule, result, place)
            if unmet:
                yield Outcome(**common, row=row.words, ended=_not_held(rule), text=unmet)
                continue
            reading = read(place, rule.field, rule.using)
            holds, text = judge(rule, result, reading)
        except (ValueError, TypeError) as error:
            yield Outcome(**common, row=row.words, ended="error", text=str(error))
            continue
        counted: dict[str, Any] = {"value": reading.value, "low": reading.low, "high": reading.high}
        ended = "passed" if holds else _not_held(rule)
        yield Outcome(**common, row=row.words, ended=ended, text=text, **counted)


def _not_held(rule: Rule) -> Ended:
    return "failed" if rule.severity == "fail" else "warned"


def _unmet_status(rule: Rule, result: Result, place: Place) -> str:
    """Name the first status on the way to a field that the rule does not accept; nothing where it accepts all."""
    if "any" in rule.status:
        return ""
    for owner in dict.fromkeys([result, *place.owners]):
        status = getattr(owner, "status", None)
        if not isinstance(status, Status) or str(status) in rule.status:
            continue
        if not (status.ok and "ok" in rule.status):
            accepted = "" if rule.status == ("ok",) else f", not {' or '.join(rule.status)}"
            return f"Status {status}{accepted}: {status.text}"
    return ""
