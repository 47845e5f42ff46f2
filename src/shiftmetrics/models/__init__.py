"""Stability of a model on a sample: which moves of the rows break it, for models that people really use."""

from shiftmetrics.models.coding import TableColumn
from shiftmetrics.models.feature_result import (
    FeatureStability,
    FeatureStabilityResult,
    FeatureStabilityStatus,
)
from shiftmetrics.models.feature_stability import feature_stability
from shiftmetrics.models.published import ModelAdamStabilityResult
from shiftmetrics.models.result import ModelStabilityResult, SearchTrace
from shiftmetrics.models.stability import model_stability
from shiftmetrics.models.table import Table

__all__ = [
    "FeatureStability",
    "FeatureStabilityResult",
    "FeatureStabilityStatus",
    "ModelAdamStabilityResult",
    "ModelStabilityResult",
    "SearchTrace",
    "Table",
    "TableColumn",
    "feature_stability",
    "model_stability",
]
