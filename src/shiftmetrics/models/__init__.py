"""Stability of a fitted model on a sample: which perturbations break it."""

from shiftmetrics.models.domain.perturbation import Perturbation, Search
from shiftmetrics.models.measures.feature_stability import feature_stability
from shiftmetrics.models.measures.least_changes import least_changes
from shiftmetrics.models.measures.result import ModelStabilityResult as ModelStabilityResult
from shiftmetrics.models.measures.stability import model_stability
from shiftmetrics.models.reading.rules import Decision

__all__ = [
    "Decision",
    "Perturbation",
    "Search",
    "feature_stability",
    "least_changes",
    "model_stability",
]
