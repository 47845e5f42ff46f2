"""Measures of robustness, stability and novelty under distribution shift.

Will this model hold when the data shifts, how little does it take to break it, and what is new in the data?

Three measures, each from arrays, a file or the command line:

- `posterior_agreement`: do predictions survive *this* shift? Paired scores, no labels.
- `stability_criterion`: what is the *least* shift that breaks the model? Losses or distances to an error.
  `model_stability` takes a fitted model and its table, `feature_stability` does so for each feature alone.
- `kernel_entropic_novelty`: what is *new* in a sample, against a reference? Features, no labels.
"""

from typing import TYPE_CHECKING, Any

from shiftmetrics._core.result import Interval, Result
from shiftmetrics._version import __version__
from shiftmetrics.agreement import PosteriorAgreementResult, posterior_agreement
from shiftmetrics.comparison import ComparisonResult, compare_agreement
from shiftmetrics.models import ModelStabilityResult, feature_stability, model_stability
from shiftmetrics.novelty import NoveltyResult, kernel_entropic_novelty
from shiftmetrics.stability import (
    CandidateLoss,
    FixedLoss,
    HingeLoss,
    LogisticLoss,
    PiecewiseLinearLoss,
    SquaredLoss,
    StabilityResult,
    WorstCaseRisk,
    ZeroOneLoss,
    stability_criterion,
    worst_case_risk,
)

if TYPE_CHECKING:
    from shiftmetrics.report import write_report

__all__ = [
    "CandidateLoss",
    "ComparisonResult",
    "FixedLoss",
    "HingeLoss",
    "Interval",
    "LogisticLoss",
    "ModelStabilityResult",
    "NoveltyResult",
    "PiecewiseLinearLoss",
    "PosteriorAgreementResult",
    "Result",
    "SquaredLoss",
    "StabilityResult",
    "WorstCaseRisk",
    "ZeroOneLoss",
    "__version__",
    "compare_agreement",
    "feature_stability",
    "kernel_entropic_novelty",
    "model_stability",
    "posterior_agreement",
    "stability_criterion",
    "worst_case_risk",
    "write_report",
]


def __getattr__(name: str) -> Any:
    """Load what stands above the measures when it is first asked for."""
    if name == "write_report":
        from shiftmetrics.report import write_report

        return write_report
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
