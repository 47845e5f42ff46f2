"""Results as Markdown: what a decision says on its first screen, for summaries of jobs and comments of reviews."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from shiftmetrics._core.drawing import printable
from shiftmetrics._core.files import MARK
from shiftmetrics._core.result import Result
from shiftmetrics.views.report.verdict import answer_of, verdict_of

_MARKUP = re.compile(r"([\\`*_\[\]#|~$@])")
"""Signs that Markdown, or the site that shows it, may read as more than text."""

_NUMBERED = re.compile(r"^(\s*\d+)([.)])")


def render_markdown(
    results: Mapping[str, Result], *, title: str = "", notes: Sequence[str] = ()
) -> str:
    """Return results as Markdown: the verdict, what it rests on, what to do now, then what else was found.

    Names in files may hold markup: it is shown as text.

    Examples
    --------
    >>> from shiftmetrics import diff_models
    >>> result = diff_models(["a"] * 50, ["a"] * 50, allow=0.01)
    >>> print(render_markdown({"diff": result}, title="From old.csv to new.csv"))
    <!-- Written by shiftmetrics. -->
    ## SAFE: From old.csv to new.csv
    <BLANKLINE>
    None of the 50 predictions changed. Accuracy on these 50 rows does not change, for certain.
    <BLANKLINE>
    **Ship it.**
    <BLANKLINE>
    """
    lines = [f"<!-- {MARK} -->"]
    for name, result in results.items():
        heading = title if len(results) == 1 and title else name
        lines += _section(result, heading)
    # what was read, below what was found
    lines += _bullets([f"Note: {note}" for note in dict.fromkeys(notes)])
    return "\n".join(lines)


def _section(result: Result, heading: str) -> list[str]:
    verdict = verdict_of(result)
    if verdict is None:
        # a measure leads with the word and the sentence of its page, where it has them
        answer = answer_of(result)
        leads = heading if answer is None else f"{answer.word}: {heading}"
        lines = [f"## {plain_text(leads)}", "", *_above(result)]
        if answer is not None:
            lines += [plain_text(answer.sentence), ""]
        return [*lines, plain_text(result.headline()), "", *_bullets(result.notes())]
    lines = [f"## {plain_text(f'{verdict.word}: {heading}')}", "", *_above(result)]
    lines += [plain_text(verdict.sentence), ""]
    for step in verdict.steps:
        lines += [f"**{plain_text(step)}**", ""]
    lines += _bullets([*verdict.findings, *(f"Warning: {text}" for text in result.warnings)])
    return lines


def _above(result: Result) -> list[str]:
    """Return what stands above an answer, such as that the reference is the later one of both samples."""
    lines = []
    for warning in getattr(result, "above", ()):
        lines += [f"**Warning:** {plain_text(warning)}", ""]
    return lines


def _bullets(sentences: Sequence[str]) -> list[str]:
    if not sentences:
        return []
    return [*(f"- {plain_text(sentence)}" for sentence in sentences), ""]


def plain_text(text: str) -> str:
    r"""Return text that Markdown shows as it is, on one line.

    Examples
    --------
    >>> print(plain_text("rows of <b>a|b</b> & *c*"))
    rows of &lt;b>a\|b&lt;/b> &amp; \*c\*
    """
    line = " ".join(printable(text).split())
    line = line.replace("&", "&amp;").replace("<", "&lt;")
    line = _MARKUP.sub(r"\\\1", line)
    # no list, no quotation: a number with a point at the start, a dash
    line = _NUMBERED.sub(r"\1\\\2", line)
    return f"\\{line}" if line.startswith(("-", "=", "+", ">")) else line
