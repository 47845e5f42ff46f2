"""Outcomes as a JUnit file, which continuous integration shows beside the tests."""

from __future__ import annotations

import datetime
import os
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

from shiftmetrics._core.files import atomic_path
from shiftmetrics.tools.rules.outcomes import Outcome, RulesResult

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 has no way to write."""


def write_junit(checked: RulesResult, path: str | os.PathLike[str], *, suite: str = "shiftmetrics") -> Path:
    """Write checked rules as JUnit XML: one test case for each rule and result.

    A rule that does not hold is a failure, one that could not be checked an error, and a warning a test that passes
    with the warning as its output.

    Parameters
    ----------
    checked : RulesResult
        What `check_results` returned.
    path : path
        The XML file. It appears complete or not at all.
    suite : str, default "shiftmetrics"
        Name of the test suite.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    ValueError
        If the folder of ``path`` does not exist.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from shiftmetrics.tools.rules import Rule, check_results, write_junit
    >>> checked = check_results({}, [Rule(measure="stability", at_least=0.1)])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = write_junit(checked, Path(folder) / "junit.xml").read_text(encoding="utf-8")
    >>> '<testcase classname="shiftmetrics" name="stability: value at least 0.1"' in text, 'errors="1"' in text
    (True, True)
    """
    counts: dict[str, Any] = {
        "tests": str(len(checked.outcomes)),
        "failures": str(len(checked.failed)),
        "errors": str(len(checked.errors)),
    }
    root = ET.Element("testsuites", name=_clean(suite), **counts, time="0")
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").removesuffix("+00:00")
    group = ET.SubElement(
        root,
        "testsuite",
        name=_clean(suite),
        **counts,
        skipped="0",
        time="0",
        timestamp=now,
        hostname="localhost",
    )
    for outcome in checked.outcomes:
        _add(group, outcome, suite)
    ET.indent(root)
    with atomic_path(path) as temporary:
        ET.ElementTree(root).write(temporary, encoding="utf-8", xml_declaration=True)
    return Path(path)


def _add(group: ET.Element, outcome: Outcome, suite: str) -> None:
    rule = outcome.rule
    name = f"{rule.name} [{outcome.where}]" if outcome.where else rule.name
    classname = f"{suite}.{outcome.measure}" if outcome.measure else suite
    case = ET.SubElement(group, "testcase", classname=_clean(classname), name=_clean(name), time="0")
    told = "\n".join(part for part in (outcome.text, rule.reason, f"Rule: {rule.in_words()}.") if part)
    if outcome.ended in ("failed", "error"):
        tag = "failure" if outcome.ended == "failed" else "error"
        kind = "rule" if outcome.ended == "failed" else "unchecked"
        ET.SubElement(case, tag, message=_clean(outcome.text), type=kind).text = _clean(told)
    elif outcome.ended == "warned":
        ET.SubElement(case, "system-out").text = _clean(f"Warning: {told}")


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("?", text)
