"""The parts of a report: facts, tables and entries, and how each class of result is reported."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any

import numpy as np
from markupsafe import Markup, escape

from shiftmetrics._core.result import Interval, Result, format_number, format_percent
from shiftmetrics.views.drawings.style import cut
from shiftmetrics.views.loading import load_views
from shiftmetrics.views.report.answer import Answer
from shiftmetrics.views.report.context import Rows
from shiftmetrics.views.report.pictures import inline_figure
from shiftmetrics.views.report.steps import command_in

LONGEST_WORD = 40
"""Characters of a word, such as a name without spaces."""
LONGEST_TEXT = 240
"""Characters of a text to show."""


class Number(str):
    """A printed number: tables align it to the right."""


def number(value: float | None, unit: str = "") -> Number:
    """Print a number with its unit; None as a dash."""
    return Number("–" if value is None else f"{format_number(value)} {unit}".strip())


def percent(value: float | None, digits: int = 2) -> Number:
    """Print a fraction in per cent, with so many significant digits; None as a dash."""
    if value is None or math.isnan(value):
        return Number("–")
    return Number(format_percent(value, digits))


def excerpt(text: str) -> str:
    """Return the beginning of a text on one line, cut between words."""
    # line breaks of a text would break its cell
    line = " ".join(text.split())
    if len(line) <= LONGEST_TEXT:
        return line
    return line[: LONGEST_TEXT + 1].rsplit(" ", 1)[0][:LONGEST_TEXT] + " …"


def short(text: Any) -> Any:
    """Cut a text with a word that is too long for a column, with the whole text in its title; Markup stays."""
    # the whole word shows when the pointer rests on it
    if isinstance(text, Markup) or max(map(len, text.split()), default=0) <= LONGEST_WORD:
        return text
    return Markup('<span title="{}">{}</span>').format(text, cut(text, LONGEST_WORD))


def with_code(step: str) -> Markup:
    """Return a step whose command looks as one, and is selected as a whole by a click."""
    before, command, after = command_in(step)
    if not command:
        return with_names(step)
    # a command has a line of its own, which ends without a point
    rest = after.removeprefix(".")
    return Markup('{}<code class="command">{}</code>{}').format(with_names(before), command, rest)


def with_names(text: str) -> Markup:
    """Return a text in which names between backticks, such as those of columns, look as code.

    Examples
    --------
    >>> print(with_names("Left out `a<b`."))
    Left out <code>a&lt;b</code>.
    """
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def cell_of(value: Any) -> str:
    """Print a cell of a user's table."""
    # gaps of pandas have types of their own
    if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:
        return "–"
    if not isinstance(value, float | np.floating):
        return excerpt(str(value))
    # integers beside gaps are read as floats
    figure = float(value)
    if figure.is_integer() and abs(figure) < 1e15:
        return str(int(figure))
    return format_number(figure)


@dataclass(frozen=True)
class Fact:
    """One figure of a result, ready to print.

    ``said`` where the sentences of the result hold it already; ``is_answer`` where it belongs to what was asked.
    """

    name: str
    value: str
    meaning: str = ""
    said: bool = False
    is_answer: bool = False


@dataclass(frozen=True)
class ReportTable:
    """A table: each line maps headings to cells, which are strings, `Number` or Markup.

    ``rows`` where its lines are rows of the sample, and ``command`` what writes all of these.
    """

    lines: list[dict[str, Any]]
    caption: str = ""
    rows: bool = False
    command: str = ""

    @property
    def headings(self) -> dict[str, bool]:
        """The headings, and whether their columns hold numbers; a line may miss some."""
        return {
            name: isinstance(cell, Number) for line in self.lines for name, cell in line.items()
        }


@dataclass(frozen=True)
class Figure:
    """A drawing with its kind, which has a caption in the templates, and a note after it."""

    svg: Markup
    kind: str | None
    note: str


@dataclass(kw_only=True)
class Entry:
    """What the page says about one result.

    ``detail`` is how many rows and pictures to show, 0 for none, and ``command`` what was typed for it. A value
    ``in_points`` is a difference of fractions, which the page shows in points of a hundred.
    """

    name: str
    section: str
    result: Any
    answer: Answer
    rows: Rows
    detail: int
    command: str
    facts: list[Fact]
    sentences: list[str]
    figures: list[Figure] = field(default_factory=list)
    folded: list[Figure] = field(default_factory=list)
    tables: list[ReportTable] = field(default_factory=list)
    extra: str = ""
    in_points: bool = False

    def interval_to_copy(self) -> Interval | None:
        """Return the interval of the value in the unit of the tiles."""
        interval: Interval | None = self.result.interval
        if interval is None or not self.in_points:
            return interval
        return replace(interval, low=100.0 * interval.low, high=100.0 * interval.high)

    def draw(
        self,
        kind: str | None = None,
        note: str = "",
        *,
        result: Any = None,
        height: float = 2.8,
        folded: bool = False,
        **options: Any,
    ) -> None:
        """Add a drawing of the result, or of another one that belongs to it, with a ``note`` after its caption.

        What is ``folded`` is for experts: it stands with all figures, which a reader has to open.
        """
        shown = self.result if result is None else result
        # drawn at once: the page holds the picture, not the figure
        svg = inline_figure(shown, kind, name=self.name, height=height, **options)
        drawings = self.folded if folded else self.figures
        drawings.append(Figure(svg, kind, note))

    def add_table(
        self, lines: list[dict[str, Any]], caption: str, *, rows: bool = False, option: str = ""
    ) -> None:
        """Add a table, unless it is empty; of ``rows``, an ``option`` of the command that was typed writes all."""
        if not lines:
            return
        command = ""
        if option and self.command and option.split()[0] not in self.command:
            command = f"{self.command} {option}"
        self.tables.append(ReportTable(lines, caption, rows, command))


@dataclass(frozen=True)
class ReportView:
    """How a class of results is reported: its section, the figures beside the value, and what fills in its entry."""

    section: str
    facts: Callable[[Any], list[Fact]]
    fill: Callable[[Entry], None]


_VIEWS: dict[type, ReportView] = {}


def no_facts(result: Any) -> list[Fact]:
    """Return no figures: the sentences of the result hold them."""
    return []


def reports(
    section: str, *classes: type, facts: Callable[[Any], list[Fact]] = no_facts
) -> Callable[[Callable[[Entry], None]], Callable[[Entry], None]]:
    """Register the decorated function, which fills in an entry, for results of these classes.

    The words of a section, its title among them, are in the templates. ``facts`` are the figures after the value.
    """

    def register(fill: Callable[[Entry], None]) -> Callable[[Entry], None]:
        _VIEWS.update(dict.fromkeys(classes, ReportView(section, facts, fill)))
        return fill

    return register


def view_of(result: Result) -> ReportView:
    """Return how a result is reported."""
    load_views(type(result), "report")
    # the nearest class that has registered; `Result` itself has
    return next(_VIEWS[base] for base in type(result).__mro__ if base in _VIEWS)


def facts_of(result: Result) -> list[Fact]:
    """Return the figures of ``result`` worth printing, the value first; the terminal and the report print them."""
    # a figure that the sentences hold is not repeated in the terminal
    value = format_number(result.value)
    in_headline = _holds(result.headline(), value)
    said = in_headline or _holds(" ".join(result.details()), value)
    facts = [Fact(_lowered(result.title), _value_of(result), direction_of(result), said)]
    interval = result.interval
    if interval is not None:
        ends = f"{format_number(interval.low)} to {format_number(interval.high)}"
        level = f"{100 * interval.confidence_level:g} %"
        # a decision has the interval in its sentence
        has_interval = f"{level}: " in result.headline()
        facts.append(
            Fact(
                f"{level} interval",
                ends,
                "sampling error",
                is_answer=in_headline and not has_interval,
            )
        )
    return facts + view_of(result).facts(result)


def _lowered(title: str) -> str:
    return title[:1].lower() + title[1:]


def _value_of(result: Result) -> Number:
    """Print the value: a probability that is nearly 0 has no digits that mean anything."""
    if result.title.startswith("p-value") and result.value < 0.001:
        return Number("< .001")
    return number(result.value, result.unit)


def _holds(text: str, value: str) -> bool:
    """Return True if a text has a number as a whole: no 0 is in 0.94."""
    return re.search(rf"(?<![\w.]){re.escape(value)}(?!\w|\.\d)", text) is not None


def direction_of(result: Result) -> str:
    """Say in which direction a value is better; novelty is neither good nor bad, and a decision says it itself."""
    if hasattr(result, "verdict"):
        return ""
    if hasattr(result, "ranked_as"):
        return f"higher is {result.ranked_as[2]}"
    return "higher is better" if result.higher_is_better else "lower is better"


@reports("other", Result)
def fill_plain(entry: Entry) -> None:
    """Print the summary of a result without a section of its measure."""
    entry.sentences += entry.result.summary().splitlines()


@functools.cache
def _environment() -> Any:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("shiftmetrics.views.report", "templates"),
        autoescape=True,  # everything but Markup is escaped
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["short"] = short
    environment.filters["with_code"] = with_code
    environment.filters["with_names"] = with_names
    return environment


def render(template: str, values: Mapping[str, Any]) -> Markup:
    """Fill a template."""
    return Markup(_environment().get_template(template).render(values))


def stylesheet() -> Markup:
    """Return the style sheet of the page."""
    folder = resources.files("shiftmetrics.views.report")
    return Markup(folder.joinpath("templates/style.css").read_text(encoding="utf-8"))
