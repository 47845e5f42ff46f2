"""A result as a card: in notebooks, and the chart that a decision shows on the first screen of its page."""

from __future__ import annotations

from markupsafe import Markup

from shiftmetrics._core.result import Result
from shiftmetrics.views.drawings.kinds import kinds_of
from shiftmetrics.views.report.parts import render
from shiftmetrics.views.report.pictures import THEME, inline_figure
from shiftmetrics.views.report.verdict import Verdict, answer_of, verdict_of

COLOURS = THEME | {"open": "#8a5a00", "plain": THEME["reference"], "sans": "system-ui, sans-serif"}
"""Variables of drawings, which a notebook does not have; cards are on white in dark notebooks too."""


def chart_of(result: Result, verdict: Verdict | None, name: str) -> Markup | None:
    """Return the drawing of the first screen; None where the class has no drawing."""
    if not kinds_of(type(result)) or (verdict is not None and verdict.chart == ""):
        return None
    if verdict is None:
        return inline_figure(result, None, name=name, height=2.6)
    return inline_figure(result, verdict.chart, name=name, height=1.7)


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
    # what a decision says is in its verdict; a measure has a headline beside its first screen
    verdict = answer_of(result)
    sentences = [result.headline(), *result.notes(), *result.details()]
    if verdict is None:
        sentences = sentences[1:]
    elif verdict_of(result) is not None:
        sentences = [*verdict.findings, *verdict.evidence, *result.warnings]
    values = {
        "colours": COLOURS,
        "result": result,
        "verdict": verdict,
        "sentences": sentences,
        "chart": chart_of(result, verdict, result.title),
    }
    return str(render("card.html.j2", values))
