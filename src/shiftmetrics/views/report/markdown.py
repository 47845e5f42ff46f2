"""Results as Markdown: what a decision says on its first screen, for summaries of jobs and comments of reviews."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from shiftmetrics._core.drawing import printable
from shiftmetrics._core.files import MARK
from shiftmetrics._core.result import Result
from shiftmetrics.views.report.answer import Answer, answer_of
from shiftmetrics.views.report.steps import command_in

_MARKUP = re.compile(r"([\\`*_\[\]#|~$@])")
"""Signs that Markdown, or the site that shows it, may read as more than text."""

_NUMBERED = re.compile(r"^(\s*\d+)([.)])(?=\s|$)")


def render_markdown(
    results: Mapping[str, Result],
    *,
    title: str = "",
    notes: Sequence[str] = (),
    files: Mapping[str, str] | None = None,
    command: str = "",
) -> str:
    """Return results as Markdown: the answer, its numbers, what to do now, then what else was found.

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
    | Difference | Changed | To label |
    |---|---|---|
    | none | 0 | 0 |
    | for certain | of 50 (0 %) | nothing is left open |
    <BLANKLINE>
    **Ship it.**
    <BLANKLINE>
    """
    lines = [f"<!-- {MARK} -->"]
    for name, result in results.items():
        heading = title if len(results) == 1 and title else name
        lines += _section(answer_of(result).named(files or {}, command), heading)
    # what was read, below what was found
    lines += _bullets([f"Note: {note}" for note in dict.fromkeys(notes)])
    return "\n".join(lines)


def _section(answer: Answer, heading: str) -> list[str]:
    lines = [f"## {plain_text(f'{answer.word}: {heading}')}", ""]
    for warning in answer.above:
        lines += [f"**Warning:** {plain_text(warning)}", ""]
    lines += [plain_text(answer.sentence), ""]
    if answer.tiles:
        # one line of names, one of numbers: as wide as the page, and as short as it can be
        for cells in zip(
            *((tile.name, tile.value, tile.meaning) for tile in answer.tiles), strict=True
        ):
            lines.append(f"| {' | '.join(plain_text(cell) for cell in cells)} |")
        lines.insert(-2, "|---" * len(answer.tiles) + "|")
        lines.append("")
    for step in answer.steps:
        lines += [_step(step), ""]
    return lines + _bullets([*answer.findings, *(f"Warning: {text}" for text in answer.warnings)])


def _step(step: str) -> str:
    """Return a step; its command is code, which sites show with a button to copy it."""
    before, command, after = command_in(step)
    # a name of a file may hold the sign that ends code
    if not command or "`" in command:
        return f"**{plain_text(step)}**"
    rest = plain_text(after.removeprefix("."))
    return f"**{plain_text(before.rstrip())}** `{printable(command)}`{rest}"


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
