"""A worked example on real handwriting: one classifier, two shifts, all three measures, one report."""

from shiftmetrics.lab.demo.evaluate import Demonstration, WithheldDigit, evaluate_digits
from shiftmetrics.lab.demo.files import write_inputs

__all__ = ["Demonstration", "WithheldDigit", "evaluate_digits", "write_inputs"]
