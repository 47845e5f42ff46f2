"""Results in, drawings and reports out: `plot` draws any result, `write_report` writes one self-contained page."""

from typing import TYPE_CHECKING

from shiftmetrics._core.lazy import lazy_names

if TYPE_CHECKING:
    from shiftmetrics.views.drawings.kinds import plot
    from shiftmetrics.views.report.context import Context, Rows
    from shiftmetrics.views.report.document import write_report

__all__ = ["Context", "Rows", "plot", "write_report"]

_HOME = {
    "Context": "report.context",
    "Rows": "report.context",
    "plot": "drawings.kinds",
    "write_report": "report.document",
}

__getattr__, __dir__ = lazy_names(__name__, _HOME)
