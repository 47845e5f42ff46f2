"""Results to one self-contained HTML file: small, readable without JavaScript, and fit to print."""

from shiftmetrics.views.report.context import Context, Rows
from shiftmetrics.views.report.document import render_report, write_report
from shiftmetrics.views.report.parts import facts_of
from shiftmetrics.views.report.pictures import is_image_batch

__all__ = ["Context", "Rows", "facts_of", "is_image_batch", "render_report", "write_report"]
