"""The page: results in their sections, one file, at most a megabyte."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from shiftmetrics._core.files import write_text
from shiftmetrics._core.result import Result
from shiftmetrics._core.validation import describe
from shiftmetrics._version import __version__
from shiftmetrics.views.report import methods, sections, verdict
from shiftmetrics.views.report.context import Context
from shiftmetrics.views.report.templating import render, stylesheet

MAXIMUM_BYTES = 1_000_000
DETAILS = (12, 6, 3, 0)
"""Thumbnails for each mode and rows of each table: the next step is taken when a page grows too large."""


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
        What was found, with a name for each where several results come from one measure.
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
    >>> from shiftmetrics.views.report import write_report
    >>> from shiftmetrics.stability import FixedLoss, stability_criterion
    >>> result = stability_criterion(FixedLoss([0.0, 0.0, 1.0, 0.0]), 0.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(result, Path(folder) / "report.html").read_text(encoding="utf-8")
    >>> "<script" in page, "http://" in page
    (False, False)
    """
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
    for detail in DETAILS:
        page = _page(named, title, context, detail)
        if len(page.encode("utf-8")) <= MAXIMUM_BYTES:
            break
    return page


def _page(named: Mapping[str, Result], title: str, context: Context, detail: int) -> str:
    return render(
        "page.html.j2",
        title=title,
        version=__version__,
        css=Markup(stylesheet()),
        context=context,
        gate=verdict.gate_of(context.rules),
        verdicts=[verdict.verdict_of(name, result, context) for name, result in named.items()],
        warnings=verdict.warnings_of(named),
        sections=sections.build_sections(named, context, detail),
        methods=methods.build_methods(named),
        written=datetime.datetime.now(datetime.UTC).strftime("%d %B %Y, %H:%M UTC").lstrip("0"),
    )


def _named(results: Any) -> dict[str, Result]:
    """Give every result a name of its own: its title, numbered where it would repeat."""
    if isinstance(results, Mapping):
        named = {str(name): result for name, result in results.items()}
    else:
        listed = [results] if isinstance(results, Result) else list(results)
        named = {}
        for result in listed:
            name = base = getattr(result, "title", "")
            number = 1
            while name in named:
                number += 1
                name = f"{base} {number}"
            named[name] = result
    for result in named.values():
        if not isinstance(result, Result):
            raise TypeError(describe("results", "results of a measure", type(result).__name__))
    if not named:
        raise ValueError(describe("results", "at least one result", "none"))
    return named
