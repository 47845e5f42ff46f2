"""OT stability: the least shift of a sample that breaks a model, from its losses or distances to an error."""

from shiftmetrics.stability.criterion import stability_criterion, worst_case_risk
from shiftmetrics.stability.curve import stability_curve, trade_off
from shiftmetrics.stability.losses import (
    CandidateLoss,
    FixedLoss,
    HingeLoss,
    LogisticLoss,
    PiecewiseLinearLoss,
    SquaredLoss,
    ZeroOneLoss,
)
from shiftmetrics.stability.named_change import least_named_change
from shiftmetrics.stability.result import StabilityResult
from shiftmetrics.stability.sample import column_changes, most_sensitive_sample

__all__ = [
    "CandidateLoss",
    "FixedLoss",
    "HingeLoss",
    "LogisticLoss",
    "PiecewiseLinearLoss",
    "SquaredLoss",
    "StabilityResult",
    "ZeroOneLoss",
    "column_changes",
    "least_named_change",
    "most_sensitive_sample",
    "stability_criterion",
    "stability_curve",
    "trade_off",
    "worst_case_risk",
]
