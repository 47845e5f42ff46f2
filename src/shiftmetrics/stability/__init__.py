"""OT stability: the least shift of a sample that breaks a model, from its losses or distances to an error."""

from shiftmetrics.stability.criterion import stability_criterion, worst_case_risk
from shiftmetrics.stability.curves import StabilityCurve, stability_curve
from shiftmetrics.stability.losses import (
    AlternativesLoss,
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
from shiftmetrics.stability.sample import column_moves, most_sensitive_sample
from shiftmetrics.stability.surface import StabilitySurface, stability_surface
from shiftmetrics.stability.weight_gain import who_gains_weight

__all__ = [
    "AlternativesLoss",
    "CandidateLoss",
    "ExcessRisk",
    "FixedLoss",
    "HingeLoss",
    "LogisticLoss",
    "Loss",
    "PiecewiseLinearLoss",
    "Splits",
    "SquaredLoss",
    "StabilityCurve",
    "StabilityResult",
    "StabilityStatus",
    "StabilitySurface",
    "WorstCaseRisk",
    "WorstCaseStatus",
    "ZeroOneLoss",
    "column_moves",
    "most_sensitive_sample",
    "stability_criterion",
    "stability_curve",
    "stability_surface",
    "who_gains_weight",
    "worst_case_risk",
]
