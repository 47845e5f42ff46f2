"""Decisions: whether a new model is safe to ship, with exact intervals from few labels."""

from shiftmetrics.decisions.diff import diff_models
from shiftmetrics.decisions.diff_result import DiffResult

__all__ = ["DiffResult", "diff_models"]
