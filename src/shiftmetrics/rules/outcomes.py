"""What checking rules gives: an outcome for each rule and result, as text, JSON, JUnit and a table."""

from __future__ import annotations

import datetime
import json
import os
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from shiftmetrics._core.documents import SCHEMA_VERSION, write_without_arrays
from shiftmetrics._core.files import MARK, WRITTEN_BY, atomic_path
from shiftmetrics._core.record import Record, encode_value
from shiftmetrics.rules.rule import Rule

Ended = Literal["passed", "failed", "warned", "error"]

WORDS = {"passed": "passed", "failed": "failed", "warned": "warned", "error": "could not be made"}
"""How outcomes are counted in a sentence."""

SUITE = "shiftmetrics"
"""Name of the test suite in JUnit files."""

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 has no way to write."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome(Record):
    """How one rule ended on one result.

    Attributes
    ----------
    rule : Rule
        The rule.
    result : str
        Name of the result; empty where the rule found none.
    measure : str
        Its measure.
    ended : {"passed", "failed", "warned", "error"}
        "warned": it does not hold, and is no more than a warning. "error": it could not be checked.
    value, low, high : float or None
        The number, and between what it was taken to lie: what is uncertain counts against passing. None where the
        rule was not checked.
    text : str
        What was found, in words.
    """

    rule: Rule
    result: str
    measure: str
    ended: Ended
    value: float | None = None
    low: float | None = None
    high: float | None = None
    text: str

    @property
    def with_reason(self) -> str:
        """What was found and, unless the rule holds, why it is there."""
        return self.text if self.ended == "passed" else f"{self.text} {self.rule.reason}".strip()

    def __str__(self) -> str:
        return f"{self.rule.name}: {self.ended}. {self.result + ': ' if self.result else ''}{self.with_reason}"


@dataclass(frozen=True, eq=False, kw_only=True)
class RulesResult(Record):
    """All rules, checked.

    Attributes
    ----------
    outcomes : tuple of Outcome
        By rule, then by result.
    unchecked : tuple of str
        Names of the results that no rule looks at.
    """

    outcomes: tuple[Outcome, ...]
    unchecked: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the release may go out: every rule could be checked, and none failed."""
        return not self.failed and not self.errors

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """The outcomes that fail the gate."""
        return self._that("failed")

    @property
    def warned(self) -> tuple[Outcome, ...]:
        """The outcomes of rules that do not hold and only warn."""
        return self._that("warned")

    @property
    def errors(self) -> tuple[Outcome, ...]:
        """The outcomes of rules that could not be checked."""
        return self._that("error")

    @property
    def exit_code(self) -> int:
        """0 when all passed, 1 when a rule failed, 2 when one could not be checked."""
        if self.errors:
            return 2
        return 1 if self.failed else 0

    def headline(self) -> str:
        """Say in one sentence how the rules ended."""
        # one rule may be about several results
        n_rules = len({outcome.rule.name for outcome in self.outcomes})
        checks = f"{len(self.outcomes)} check{'s' * (len(self.outcomes) != 1)}"
        of = f" of {n_rules} rule{'s' * (n_rules != 1)}"
        ended = Counter[str](outcome.ended for outcome in self.outcomes)
        counted = ", ".join(f"{ended[end]} {text}" for end, text in WORDS.items() if end in ended)
        verdict = ("Passed", "Failed", "Error")[self.exit_code]
        return f"{verdict}: {checks}{of}, {counted}."

    def __str__(self) -> str:
        unmet = [str(outcome) for outcome in self.outcomes if outcome.ended != "passed"]
        return "\n".join([self.headline(), *unmet])

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the outcomes as JSON, or write them too.

        Raises
        ------
        ValueError
            If the folder of ``path`` does not exist.
        """
        document = {
            **WRITTEN_BY,
            "schema_version": SCHEMA_VERSION,
            "passed": self.passed,
            "exit_code": self.exit_code,
            **encode_value(self, lambda _path, array: array.tolist()),
        }
        text = json.dumps(document, indent=2, allow_nan=False)
        if path is not None:
            write_without_arrays(path, text + "\n")
        return text

    def to_junit(
        self,
        path: str | os.PathLike[str],
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """Write the outcomes as JUnit XML, which continuous integration shows: one test case for each.

        A rule that does not hold is a failure, one that could not be checked an error, and a warning a test that
        passes with the warning as its output.

        Parameters
        ----------
        path : path
            The XML file. It appears complete or not at all.
        properties : mapping of str to str, optional
            What stands beside the cases, such as the answer of each result.

        Raises
        ------
        ValueError
            If the folder of ``path`` does not exist.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from shiftmetrics.rules import Rule, check_results
        >>> checked = check_results({}, [Rule(measure="stability", at_least=0.1)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     checked.to_junit(Path(folder) / "junit.xml")
        ...     text = (Path(folder) / "junit.xml").read_text(encoding="utf-8")
        >>> '<testcase classname="shiftmetrics" name="stability: at least 0.1"' in text, 'errors="1"' in text
        (True, True)
        """
        counts = {
            "name": SUITE, "tests": str(len(self.outcomes)), "failures": str(len(self.failed)),
            "errors": str(len(self.errors)), "time": "0",
        }  # fmt: skip
        # one suite, one case for each outcome
        root = ET.Element("testsuites", counts)
        root.append(ET.Comment(f" {MARK} "))
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S")
        about = {"skipped": "0", "timestamp": now, "hostname": "localhost"}
        suite = ET.SubElement(root, "testsuite", {**counts, **about})
        if properties:
            beside = ET.SubElement(suite, "properties")
            for name, value in properties.items():
                ET.SubElement(beside, "property", name=_clean(name), value=_clean(value))
        for outcome in self.outcomes:
            _add_case(suite, outcome)
        ET.indent(root)
        with atomic_path(path) as temporary:
            ET.ElementTree(root).write(temporary, encoding="utf-8", xml_declaration=True)

    def _that(self, ended: Ended) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.outcomes if outcome.ended == ended)


def _add_case(suite: ET.Element, outcome: Outcome) -> None:
    rule = outcome.rule
    name = f"{rule.name} [{outcome.result}]" if outcome.result else rule.name
    classname = f"{SUITE}.{outcome.measure}" if outcome.measure else SUITE
    case = ET.SubElement(
        suite, "testcase", classname=_clean(classname), name=_clean(name), time="0"
    )
    text = _clean(f"{outcome.text}\n{rule.reason}\nRule: {rule.in_words()}.")
    message = _clean(outcome.text)
    if outcome.ended == "failed":
        ET.SubElement(case, "failure", message=message, type="rule").text = text
    elif outcome.ended == "error":
        ET.SubElement(case, "error", message=message, type="unchecked").text = text
    elif outcome.ended == "warned":
        # JUnit has no warnings: a test that passes with output is the nearest
        ET.SubElement(case, "system-out").text = f"Warning: {text}"


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("?", text)
