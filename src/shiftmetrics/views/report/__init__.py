"""Results to one self-contained HTML file: small, readable without JavaScript, and fit to print."""

from typing import TYPE_CHECKING

from shiftmetrics._core.lazy import lazy_names

if TYPE_CHECKING:
    from shiftmetrics.views.report.answer import Answer as Answer
    from shiftmetrics.views.report.answer import answer_of as answer_of
    from shiftmetrics.views.report.answer import properties_of as properties_of
    from shiftmetrics.views.report.context import Context as Context
    from shiftmetrics.views.report.context import Rows as Rows
    from shiftmetrics.views.report.document import render_report as render_report
    from shiftmetrics.views.report.document import write_report as write_report
    from shiftmetrics.views.report.markdown import render_markdown as render_markdown
    from shiftmetrics.views.report.parts import facts_of as facts_of
    from shiftmetrics.views.report.pictures import is_image_batch as is_image_batch

_HOME = {
    "Answer": "answer",
    "Context": "context",
    "Rows": "context",
    "answer_of": "answer",
    "facts_of": "parts",
    "is_image_batch": "pictures",
    "properties_of": "answer",
    "render_markdown": "markdown",
    "render_report": "document",
    "write_report": "document",
}

__getattr__, __dir__ = lazy_names(__name__, _HOME)
