"""Tables to features: words, gaps, dates and text of two samples become one matrix of numbers."""

from shiftmetrics.tables.encoder.encoder import TableEncoder

__all__ = ["TableEncoder"]
