"""A worked example on real handwriting: one classifier, two shifts, all three measures, one report."""

from shiftmetrics.demo.evaluate import Demonstration, WithheldDigit, evaluate_digits

__all__ = ["Demonstration", "WithheldDigit", "evaluate_digits"]
