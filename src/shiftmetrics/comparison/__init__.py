"""Models side by side: a measure with intervals, paired differences, and ranks with their uncertainty.

All models are measured on the same rows, and differences are read row by row: each resample takes the same rows
for all models, or the influences of a row on two values are subtracted. What the rows have in common then cancels in
the differences, which are far more certain than the two values alone.
"""

from shiftmetrics.comparison.agreement import compare_agreement
from shiftmetrics.comparison.novelty import compare_novelty
from shiftmetrics.comparison.regression import compare_regressions
from shiftmetrics.comparison.results import compare_results
from shiftmetrics.comparison.stability import compare_stability

__all__ = [
    "compare_agreement",
    "compare_novelty",
    "compare_regressions",
    "compare_results",
    "compare_stability",
]
