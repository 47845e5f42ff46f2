"""A plugin for pytest: tests that fail unless a new model is safe to put in the place of an old one.

It is loaded in every run of pytest, of other projects too, so that it imports nothing but pytest until it is used.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from shiftmetrics._core.result import Result

FOLDER_OPTION = "--shiftmetrics-reports"
FOLDER_SETTING = "shiftmetrics_reports"
PROPERTY = "shiftmetrics.verdict"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the folder of reports, as an option and as a setting of the configuration."""
    group = parser.getgroup("shiftmetrics")
    help_text = "Folder for one HTML report of each comparison that a test makes with assert_safe."
    group.addoption(FOLDER_OPTION, dest=FOLDER_SETTING, metavar="FOLDER", help=help_text)
    parser.addini(FOLDER_SETTING, help_text)


class SafeGate:
    """What the fixture `assert_safe` calls: it compares, keeps the report, and fails the test.

    Attributes
    ----------
    test : str
        The id of the test, which names its reports.
    record : callable
        Writes a property of the test into the JUnit file.
    folder : Path or None
        Where reports go.
    """

    def __init__(self, test: str, record: Callable[[str, object], None], folder: Path | None):
        self.test = test
        self.record = record
        self.folder = folder
        self._n_calls = 0

    def __call__(
        self,
        old: Any,
        new: Any,
        *,
        allow: float,
        labels: Any = None,
        scores: str | None = None,
        name: str | None = None,
        **options: Any,
    ) -> Any:
        """Fail the test unless the new model is safe, with the verdict as the message.

        Parameters
        ----------
        old, new : table, array, log or path
            Predictions of both models for the same rows, or scores of the same questions. A path is read as the
            command ``diff`` reads it.
        allow : float
            By how much the new model may be worse.
        labels : str, array, DataFrame or Path, optional
            True labels: a column, one for each row, or a table of ids and labels.
        scores : str, optional
            The column of scores of questions; of logs of an evaluation, the name of the score.
        name : str, optional
            What this comparison is called where a test makes several.
        **options
            Those of `diff_models`; with scores and logs, those of `diff_scores`.

        Returns
        -------
        DiffResult or ScoreDiffResult
            If the new model is safe.

        Raises
        ------
        ValueError, TypeError
            If the inputs cannot be compared: an error of the test, not a verdict.
        """
        __tracebackhide__ = True
        from shiftmetrics.decisions.verdicts import SAFE

        # another argument than a number would let everything pass
        if allow is None:
            raise TypeError("allow must be a number, got None. A test needs a limit to fail at.")
        result = compared_inputs(
            old, new, labels=labels, scores=scores, options={**options, "allow": allow}
        )
        verdict = result.verdict
        self._n_calls += 1
        suffix = "" if name is None else f".{name}"
        self.record(f"{PROPERTY}{suffix}", verdict)
        self.record(f"shiftmetrics.sentence{suffix}", result.sentence)
        lines = [result.headline(), *result.next_steps]
        if name is not None:
            lines.insert(0, f"{name}:")
        if self.folder is not None:
            page = self._write(result, name)
            self.record(f"shiftmetrics.report{suffix}", str(page))
            lines.append(f"Report: {page}")
        if verdict != SAFE:
            pytest.fail("\n".join(lines), pytrace=False)
        return result

    def _write(self, result: Result, name: str | None) -> Path:
        """Write the report, named by the test; the digest tells tests apart that differ in odd signs alone."""
        from shiftmetrics.views import write_report

        assert self.folder is not None
        whole = f"{self.test} {name or self._n_calls}"
        words = re.sub(r"[^\w.-]+", "-", whole).strip("-")[:100]
        digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        self.folder.mkdir(parents=True, exist_ok=True)
        return write_report(result, self.folder / f"{words}-{digest}.html", title=name or self.test)


def compared_inputs(
    old: Any, new: Any, *, labels: Any, scores: str | None, options: dict[str, Any]
) -> Any:
    """Return the comparison of predictions, or of scores where a score is named or a log is given."""
    from shiftmetrics.decisions import diff_models, diff_scores
    from shiftmetrics.tables.logs import LogCells

    first = _opened(old, "old")
    second = _opened(new, "new")
    is_log = isinstance(first, LogCells) or isinstance(second, LogCells)
    if scores is None and not is_log:
        return diff_models(first, second, labels=_opened_labels(labels), **options)
    if labels is not None:
        raise TypeError("labels must be left out with scores, which need none.")
    return diff_scores(first, second, scores=scores, **options)


def _opened(value: Any, argument: str) -> Any:
    """Return what is in a file where a path was given."""
    if not isinstance(value, str | Path):
        return value
    from shiftmetrics.tables.register import read_file

    return read_file(value, argument)


def _opened_labels(labels: Any) -> Any:
    # a string is the name of a column
    return _opened(labels, "labels") if isinstance(labels, Path) else labels


@pytest.fixture
def assert_safe(request: pytest.FixtureRequest) -> SafeGate:
    """Return a function that fails the test unless a new model is safe: ``assert_safe(old, new, allow=0.01)``."""
    config = request.config
    typed = config.getoption(FOLDER_SETTING)
    folder = None
    if typed:
        folder = config.invocation_params.dir / typed
    elif config.getini(FOLDER_SETTING):
        folder = config.rootpath / config.getini(FOLDER_SETTING)
    properties = request.node.user_properties

    # the fixture of pytest warns of a family of JUnit files that is its own default
    def record(name: str, value: object) -> None:
        properties.append((name, value))

    return SafeGate(request.node.nodeid, record, folder)
