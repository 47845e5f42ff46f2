"""Stability of a fitted model on a sample: which perturbations break it."""

from shiftmetrics.models.feature_stability import feature_stability
from shiftmetrics.models.least_changes import least_changes
from shiftmetrics.models.perturbation import Perturbation, Search
from shiftmetrics.models.result import ModelStabilityResult as ModelStabilityResult
from shiftmetrics.models.rules import Decision
from shiftmetrics.models.stability import model_stability

__all__ = [
    "Decision",
    "Perturbation",
    "Search",
    "feature_stability",
    "least_changes",
    "model_stability",
]
