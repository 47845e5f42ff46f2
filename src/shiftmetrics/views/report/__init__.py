"""Results to one self-contained HTML file: small, readable without JavaScript, and fit to print."""

from typing import TYPE_CHECKING

from shiftmetrics._core.lazy import lazy_names

if TYPE_CHECKING:
    from shiftmetrics.views.report.context import Context as Context
    from shiftmetrics.views.report.context import Rows as Rows
    from shiftmetrics.views.report.document import render_report as render_report
    from shiftmetrics.views.report.document import write_report as write_report
    from shiftmetrics.views.report.markdown import render_markdown as render_markdown
    from shiftmetrics.views.report.parts import facts_of as facts_of
    from shiftmetrics.views.report.pictures import is_image_batch as is_image_batch
    from shiftmetrics.views.report.verdict import Verdict as Verdict
    from shiftmetrics.views.report.verdict import verdict_of as verdict_of

_HOME = {
    "Context": "context",
    "Rows": "context",
    "Verdict": "verdict",
    "facts_of": "parts",
    "is_image_batch": "pictures",
    "render_markdown": "markdown",
    "render_report": "document",
    "verdict_of": "verdict",
    "write_report": "document",
}

__getattr__, __dir__ = lazy_names(__name__, _HOME)
