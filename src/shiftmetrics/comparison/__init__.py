"""Models side by side: a measure with intervals, paired differences, and ranks with their uncertainty.

All models are measured on the same rows, and each bootstrap draw takes the same rows for all of them. What the rows
have in common then cancels in the differences, which are far more certain than the two values alone.
"""

from shiftmetrics.comparison.agreement import compare_agreement
from shiftmetrics.comparison.ranking import compare_results, has_collapsed
from shiftmetrics.comparison.result import ComparisonResult, ComparisonStatus, ModelDifference, RankedModel

__all__ = [
    "ComparisonResult",
    "ComparisonStatus",
    "ModelDifference",
    "RankedModel",
    "compare_agreement",
    "compare_results",
    "has_collapsed",
]
