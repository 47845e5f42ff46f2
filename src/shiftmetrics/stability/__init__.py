"""OT stability: the least shift of a sample that breaks a model, from its losses or distances to an error."""

from shiftmetrics.stability.criterion import stability_criterion, worst_case_risk
from shiftmetrics.stability.losses import (
    CandidateLoss,
    FixedLoss,
    HingeLoss,
    LogisticLoss,
    Loss,
    PiecewiseLinearLoss,
    SquaredLoss,
    ZeroOneLoss,
)
from shiftmetrics.stability.result import (
    ExcessRisk,
    Splits,
    StabilityResult,
    StabilityStatus,
    WorstCaseRisk,
    WorstCaseStatus,
)

__all__ = [
    "CandidateLoss",
    "ExcessRisk",
    "FixedLoss",
    "HingeLoss",
    "LogisticLoss",
    "Loss",
    "PiecewiseLinearLoss",
    "Splits",
    "SquaredLoss",
    "StabilityResult",
    "StabilityStatus",
    "WorstCaseRisk",
    "WorstCaseStatus",
    "ZeroOneLoss",
    "stability_criterion",
    "worst_case_risk",
]
