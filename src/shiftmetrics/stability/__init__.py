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
from shiftmetrics.stability.sample import column_moves, most_sensitive_sample, who_gains_weight

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
    "column_moves",
    "most_sensitive_sample",
    "stability_criterion",
    "who_gains_weight",
    "worst_case_risk",
]
