"""The page: a verdict, the results in their sections, and the methods, in one file of at most a megabyte."""

from __future__ import annotations

import datetime
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from shiftmetrics._core.drawing import printable
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.files import write_text
from shiftmetrics._core.result import Result, error_in_words
from shiftmetrics._version import __version__
from shiftmetrics.views.drawings.kinds import kinds_of
from shiftmetrics.views.report.answer import answer_of, overall
from shiftmetrics.views.report.card import chart_of
from shiftmetrics.views.report.context import Context, Rows
from shiftmetrics.views.report.parts import (
    Entry,
    Number,
    ReportTable,
    facts_of,
    render,
    stylesheet,
    view_of,
)

SECTIONS = (
    "diff",
    "scores",
    "metrics",
    "tokens",
    "audit",
    "comparison",
    "agreement",
    "stability",
    "novelty",
    "other",
)
MAXIMUM_BYTES = 1_000_000
DETAILS = (12, 6, 3, 0)
"""Thumbnails for each mode and rows of each table: the next step is taken when a page grows too large."""
MOST_OUTCOMES = 200
"""Lines for the outcomes of rules."""
OUTCOMES = ("error", "failed", "warned", "passed")
_BEFORE_UNIT = re.compile(
    r"(?<=\d) (?=%|(?:nats|bits|points|rows|pairs|classes)\b)|(?<=\bp) (?=[=<])|(?<=\bp [=<]) "
)
LONGEST_SETTING = 200
"""Characters of a setting to show."""


def write_report(
    results: Result | Sequence[Result] | Mapping[str, Result],
    path: str | os.PathLike[str],
    *,
    title: str = "How this model holds under shift",
    context: Context | None = None,
) -> Path:
    """Write results as one self-contained HTML file of at most a megabyte.

    Parameters
    ----------
    results : Result, sequence of Result or mapping of str to Result
        The results, with a name for each where several come from one measure.
    path : path
        The HTML file. It appears complete or not at all.
    title : str
        The title of the page.
    context : Context, optional
        What was evaluated, and the rows behind the results: with it the report draws curves, pairs, pictures and
        tables that the results alone cannot give.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    TypeError
        If something in ``results`` is not a result.
    ValueError
        If there are no results, or the folder of ``path`` does not exist.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from shiftmetrics import write_report
    >>> from shiftmetrics.stability import FixedLoss, stability_criterion
    >>> result = stability_criterion(FixedLoss([0.0, 0.0, 1.0, 0.0]), 0.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(result, Path(folder) / "report.html").read_text(encoding="utf-8")
    >>> "<script" in page, "http://" in page
    (False, False)
    """
    # rendered as a whole first, so that an error leaves no half page
    page = render_report(results, title=title, context=context)
    write_text(path, page)
    return Path(path)


def render_report(
    results: Result | Sequence[Result] | Mapping[str, Result],
    *,
    title: str = "How this model holds under shift",
    context: Context | None = None,
) -> str:
    """Return the page that `write_report` writes; see there for the parameters."""
    named = _named(results)
    context = context if context is not None else Context()
    # fewer pictures and rows until the page is small enough
    for detail in DETAILS:
        page = _page(named, title, context, detail)
        if len(page.encode("utf-8")) <= MAXIMUM_BYTES:
            break
    return page


def _named(results: Any) -> dict[str, Result]:
    """Give every result a distinct name: its title, numbered where it would repeat."""
    named: dict[str, Result] = {}
    if isinstance(results, Mapping):
        named = {str(name): result for name, result in results.items()}
    else:
        for result in [results] if isinstance(results, Result) else list(results):
            title = getattr(result, "title", "")
            name = title
            number = 2
            while name in named:
                name = f"{title} {number}"
                number += 1
            named[name] = result
    for result in named.values():
        if not isinstance(result, Result):
            raise ArgumentTypeError("results", "results of a measure", type(result).__name__)
    if not named:
        raise ArgumentValueError("results", "at least one result", "none")
    return named


def _page(named: Mapping[str, Result], title: str, context: Context, detail: int) -> str:
    # what each result says, then where it stands on the page
    entries = [_entry(name, result, context, detail) for name, result in named.items()]
    sections = {name: [entry for entry in entries if entry.section == name] for name in SECTIONS}
    shown = {name: part for name, part in sections.items() if part}
    chart = None
    answer = overall({entry.name: entry.answer for entry in entries})
    if len(entries) == 1:
        (entry,) = entries
        answer = entry.answer
        chart = _first_picture(entry)
    page = render(
        "page.html.j2",
        {
            "title": title,
            "version": __version__,
            "css": stylesheet(),
            "context": context,
            "gate": _gate(context.rules),
            "answer": answer,
            "chart": chart,
            "measurements": entries,
            "above": _of_whom(named, [entry.answer.above for entry in entries]),
            "warnings": _of_whom(named, [_doubts(entry) for entry in entries]),
            "sections": {name: _body(name, part) for name, part in shown.items()},
            "methods": _methods(named, list(shown)),
            "settings": _settings(named),
            "written": f"{datetime.datetime.now(datetime.UTC):%d %B %Y, %H:%M UTC}",
        },
    )
    # names of rows may hold characters that end a page, or that turn it; a number stays on the line of its unit
    return _BEFORE_UNIT.sub("\N{NO-BREAK SPACE}", printable(page))


def _first_picture(entry: Entry) -> Markup | None:
    """Return the picture of the first screen; one that the section has too is moved, and not drawn again."""
    kind = entry.answer.chart
    if kind is None:
        kind = next(iter(kinds_of(type(entry.result))), "")
    for figure in entry.figures:
        if figure.kind == kind:
            entry.figures.remove(figure)
            return figure.svg
    return chart_of(entry.result, entry.answer, entry.name)


def _entry(name: str, result: Result, context: Context, detail: int) -> Entry:
    # what the caller says comes before what the measure says
    remark = context.remarks.get(name)
    entry = Entry(
        name=name,
        section=view_of(result).section,
        result=result,
        answer=answer_of(result).named(context.files, context.command),
        rows=context.rows.get(name, Rows()),
        detail=detail,
        command=context.command,
        facts=facts_of(result),
        sentences=[remark] if remark else [],
    )
    # the file of the measure fills in the rest
    view_of(result).fill(entry)
    headline = result.headline()
    if headline in entry.answer.findings and headline not in entry.sentences:
        # the first screen of a measure is shorter than its headline
        entry.sentences.insert(0, headline)
    return entry


def _body(section: str, entries: list[Entry]) -> str:
    # results of one measure are compared before each is shown
    values = {"anchor": section, "overview": _overview(entries), "entries": entries}
    return render("measure.html.j2", values)


def _overview(entries: list[Entry]) -> ReportTable | None:
    """Return the figures of the results of one class, a line for each; None where no class has two."""
    # a section may hold a value, a curve and features: their figures do not compare
    ((cls, n_results),) = Counter(type(entry.result) for entry in entries).most_common(1)
    if n_results < 2:
        return None
    lines: list[dict[str, Any]] = []
    for entry in entries:
        if type(entry.result) is cls:
            figures = {fact.name: Number(fact.value) for fact in entry.facts}
            lines.append({"Result": entry.name, **figures})
    return ReportTable(lines)


def _gate(checked: Any) -> dict[str, Any] | None:
    """Return how rules ended: a sentence, and a line for each outcome, failures first."""
    if checked is None:
        return None
    # an error closes the gate too, but is another thing
    ended = "failed"
    if checked.passed:
        ended = "passed"
    elif checked.errors:
        ended = "error"
    return {
        "says": checked.headline().partition(": ")[2],
        "ended": ended,
        "lines": sorted(checked.outcomes, key=lambda outcome: OUTCOMES.index(outcome.ended)),
        "most": MOST_OUTCOMES,
        "unchecked": ", ".join(checked.unchecked),
    }


def _doubts(entry: Entry) -> list[str]:
    """Return the warnings of a result; a status that is no answer comes first, unless a verdict has said it."""
    messages = list(entry.answer.warnings)
    status = entry.result.status
    if not status.ok and not hasattr(entry.result, "verdict"):
        messages.insert(0, status.text)
    return messages


def _of_whom(named: Mapping[str, Result], messages: Sequence[Sequence[str]]) -> list[str]:
    """Return the messages of all results; of several, each with the name of its result."""
    lines = []
    for (name, result), texts in zip(named.items(), messages, strict=True):
        whom = f"{_full_name(name, result)}: " if len(named) > 1 else ""
        lines += [f"{whom}{text}" for text in texts]
    return lines


def _methods(named: Mapping[str, Result], sections: Sequence[str]) -> str:
    """Return how to read each measure, and its limits."""
    # the largest of the numerical errors holds for all numbers of the page
    bounds = [result.error_bound for result in named.values() if np.isfinite(result.error_bound)]
    error = error_in_words(max(bounds, default=0.0))
    return render("methods.html.j2", {"sections": sections, "error": error})


def _settings(named: Mapping[str, Result]) -> dict[str, dict[str, str]]:
    """Return the settings behind every number."""
    settings = {}
    for name, result in named.items():
        settings[_full_name(name, result)] = {
            "samples": f"{result.n_samples:,}",
            "status": f"{result.status}: {result.status.text}",
            "numerical error": f"{result.error_bound:.1e}" if result.error_bound else "none",
            **{key: _short(value) for key, value in result.settings.items()},
        }
    return settings


def _full_name(name: str, result: Result) -> str:
    return name if name == result.title else f"{result.title}, {name}"


def _short(value: Any) -> str:
    # what is longer than a line says nothing
    text = str(value)
    return text if len(text) <= LONGEST_SETTING else f"{text[:LONGEST_SETTING]}…"
