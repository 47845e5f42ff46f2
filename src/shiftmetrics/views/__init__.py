"""Results in, drawings and reports out: `plot` draws any result, `write_report` writes one self-contained page."""

from shiftmetrics.views.drawings.kinds import plot
from shiftmetrics.views.report.context import Context, Rows
from shiftmetrics.views.report.document import write_report

__all__ = ["Context", "Rows", "plot", "write_report"]
