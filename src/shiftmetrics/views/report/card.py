"""A result as a card: in notebooks, and the chart that a decision shows on the first screen of its page."""

from __future__ import annotations

from markupsafe import Markup

from shiftmetrics._core.result import Result
from shiftmetrics.views.drawings.kinds import kinds_of
from shiftmetrics.views.report.answer import Answer, answer_of
from shiftmetrics.views.report.parts import render
from shiftmetrics.views.report.pictures import THEME, inline_figure, png_figure

COLOURS = THEME | {"open": "#8a5a00", "plain": THEME["reference"], "sans": "system-ui, sans-serif"}
"""Variables of drawings, which a notebook does not have; cards are on white in dark notebooks too."""


def chart_of(result: Result, answer: Answer, name: str) -> Markup | None:
    """Return the picture of an answer; None where it has none."""
    if not kinds_of(type(result)) or answer.chart == "":
        return None
    return inline_figure(result, answer.chart, name=name, height=1.7)


def picture_of(result: Result, answer: Answer) -> str:
    """Return the picture of an answer as PNG data, for pages that leave out drawings and styles; "" for none."""
    if not kinds_of(type(result)) or answer.chart == "":
        return ""
    return png_figure(result, answer.chart, height=1.7)


def html_card(result: Result) -> str:
    """Return a result as HTML for a notebook: the answer, its chart, and what else its summary says.

    Examples
    --------
    >>> from shiftmetrics import posterior_agreement
    >>> scores = [[4.0, 0.0], [0.0, 3.0], [2.0, 0.0], [0.0, 5.0]]
    >>> page = html_card(posterior_agreement(scores, scores))
    >>> "<svg" in page, "Posterior agreement" in page
    (True, True)
    """
    answer = answer_of(result)
    values = {
        "colours": COLOURS,
        "answer": answer,
        "sentences": [*answer.findings, *answer.evidence, *answer.warnings],
        "chart": chart_of(result, answer, result.title),
        "picture": picture_of(result, answer),
    }
    return str(render("card.html.j2", values))
