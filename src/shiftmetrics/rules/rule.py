"""Rules: which results, which field, which bound. Each is validated when it is made."""

from __future__ import annotations

import dataclasses
import difflib
import math
import os
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError, error_at
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import format_number
from shiftmetrics._core.validation import (
    check_choice,
    check_keys,
    check_number,
    first_few,
)

Using = Literal["interval", "value"]
Severity = Literal["fail", "warn"]

BOUNDS = ("at_least", "at_most")
"""The keys that bound a field; each rule has one of them, or both."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Rule(Record):
    """A bound on a field of results.

    Attributes
    ----------
    name : str
        What the rule is called. Default: its own words.
    measure : str, optional
        Results of this measure, such as "posterior_agreement" or "novelty". "stability" takes results of
        "model_stability" too. Default: every measure.
    result : str, optional
        The result of this name. Default: every result.
    field : str, optional
        What is bounded: a field, a property or a part of one, such as "normalized", "interval.low",
        "new.0.fraction", "settings.threshold" or "new.count". Parts that have names are chosen by them:
        "models.new.value", "features.age.value", "differences.new-old.difference". Default: what the class of
        the result says: the fraction of changed predictions, the fraction that is new, or the value.
    at_least, at_most : float or None
        Bounds of a number; they may go together, and be equal for counts and settings.
    using : {"interval", "value"} or None
        "interval": the unfavourable end of the interval is checked, and there must be one. "value": the number as
        printed, with its numerical error. Default: the interval where there is one, and what a search is certified
        not to have missed.
    severity : {"fail", "warn"}, default "fail"
        Whether a rule that does not hold fails the gate.
    reason : str
        Why the rule is there, and what to do: printed when it does not hold.

    Raises
    ------
    TypeError, ValueError
        If there is no bound, or two that contradict, or another part is not what it should be.

    Examples
    --------
    >>> from shiftmetrics.rules import Rule
    >>> Rule(measure="posterior_agreement", field="normalized", at_least=0.8).name
    'posterior_agreement: normalized at least 0.8'
    """

    name: str = ""
    measure: str | None = None
    result: str | None = None
    field: str = ""
    at_least: float | None = None
    at_most: float | None = None
    using: Using | None = None
    severity: Severity = "fail"
    reason: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        # words first, then the bounds
        for name in ("name", "measure", "result", "field", "reason"):
            text = getattr(self, name)
            if text is not None and not isinstance(text, str):
                raise ArgumentTypeError(name, "a string", value=text)
        check_choice(self.severity, "severity", get_args(Severity))
        if self.using is not None:
            check_choice(self.using, "using", get_args(Using))
        self._check_bounds()
        if not self.name:
            object.__setattr__(self, "name", self.in_words())

    @property
    def lower(self) -> float:
        """The least that passes: -inf without such a bound."""
        return -math.inf if self.at_least is None else self.at_least

    @property
    def upper(self) -> float:
        """The most that passes: inf without such a bound."""
        return math.inf if self.at_most is None else self.at_most

    def bound_in_words(self) -> str:
        """Say what the field must be: "at least 0.8"."""
        words = []
        if self.at_least is not None:
            words.append(f"at least {format_number(self.at_least)}")
        if self.at_most is not None:
            words.append(f"at most {format_number(self.at_most)}")
        return " and ".join(words)

    def in_words(self) -> str:
        """Say what the rule demands, and of which results."""
        which = [part for part in (self.measure, self.result) if part is not None]
        what = f"{self.field} {self.bound_in_words()}".strip()
        return f"{', '.join(which) or 'every result'}: {what}"

    def _check_bounds(self) -> None:
        for name in BOUNDS:
            bound = getattr(self, name)
            if bound is not None:
                object.__setattr__(self, name, check_number(bound, name, allow_inf=True))
        if self.at_least is None and self.at_most is None:
            expected = f"{' or '.join(BOUNDS)}, or both"
            raise ArgumentValueError("The bound of a rule", expected, "none")
        # a bound that nothing meets is a slip of the pen
        if self.lower > self.upper:
            raise ValueError(
                f"The rule must leave something that passes, got {self.bound_in_words()}."
            )


def nearest_names(name: str, known: Iterable[str], *, most: int = 8) -> str:
    """Say which names there are, the most alike ones first: a remedy for a name that is not known."""
    names = list(dict.fromkeys(known))
    if not names:
        return "There are none."
    # a slip of the pen is more likely than another name
    alike = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    if alike:
        return f"Did you mean {' or '.join(map(repr, alike))}?"
    return f"There are {first_few(names, most)}."


KEYS = tuple(field.name for field in dataclasses.fields(Rule))


def read_rules(source: str | os.PathLike[str] | Mapping[str, Any]) -> tuple[Rule, ...]:
    """Read rules from a TOML file, or from what such a file holds.

    Parameters
    ----------
    source : path or mapping
        The file, or ``{"rule": [{...}, ...]}``.

    Returns
    -------
    tuple of Rule
        In their order; at least one.

    Raises
    ------
    TypeError, ValueError
        If the file is missing or not TOML, has no rules or something else, a key is unknown, two rules have one name,
        or a rule is not as `Rule` demands. The message names the rule.

    Examples
    --------
    >>> from shiftmetrics.rules import read_rules
    >>> rules = read_rules({"rule": [{"measure": "posterior_agreement", "field": "normalized", "at_least": 0.8}]})
    >>> rules[0].bound_in_words()
    'at least 0.8'
    >>> try:
    ...     read_rules({"rule": [{"name": "gate", "atleast": 0.8}]})
    ... except ValueError as error:
    ...     print(error)
    rules: Rule 1 ('gate') must be a table of known keys, got 'atleast'. Did you mean 'at_least'?
    """
    if isinstance(source, Mapping):
        document, where = source, "rules"
    else:
        document, where = read_toml(Path(source), "rules"), str(source)
    check_keys(map(str, document), where, ["rule"])
    # [[rule]] in two brackets gives a list
    tables = document.get("rule", [])
    if not isinstance(tables, list | tuple):
        raise ValueError(
            f"{where} must hold [[rule]] tables, got [rule]. Write the name in two brackets."
        )
    if not tables:
        raise ValueError(f"{where} must hold at least one [[rule]], got none.")
    rules = tuple(
        _rule(table, f"{where}: Rule {place}") for place, table in enumerate(tables, start=1)
    )
    check_names(rules, where)
    return rules


def check_names(rules: Iterable[Rule], where: str) -> None:
    """Raise a ValueError if two rules have one name."""
    name, times = Counter(rule.name for rule in rules).most_common(1)[0]
    if times > 1:
        raise ValueError(f"{where} must have rules of distinct names, got {name!r} twice.")


def read_toml(path: Path, argument: str) -> dict[str, Any]:
    """Return what a TOML file holds; raise a ValueError if it is missing or not TOML."""
    if not path.is_file():
        got = f"the folder {str(path)!r}" if path.is_dir() else f"{str(path)!r}, which is not there"
        raise ArgumentValueError(argument, "an existing TOML file", got)
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ArgumentValueError(argument, "a TOML file", f"{str(path)!r} ({error})") from error


def _rule(table: Mapping[str, Any], called: str) -> Rule:
    """Make one rule; its errors tell which one it is."""
    if isinstance(table.get("name"), str) and table["name"]:
        called = f"{called} ({table['name']!r})"
    check_keys(map(str, table), called, KEYS)
    try:
        return Rule(**table)
    except (TypeError, ValueError) as error:
        raise error_at(error, called) from error
