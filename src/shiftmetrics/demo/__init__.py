"""A worked example on real handwriting: one classifier, two shifts, all three measures, one report."""

from shiftmetrics.demo.evaluate import Demonstration, evaluate_digits

__all__ = ["Demonstration", "evaluate_digits"]
