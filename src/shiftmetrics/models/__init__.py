"""Stability of a fitted model on a sample: which moves of the rows break it."""

from shiftmetrics.models.feature_stability import feature_stability
from shiftmetrics.models.moves import Moves, Search
from shiftmetrics.models.result import ModelStabilityResult as ModelStabilityResult
from shiftmetrics.models.stability import model_stability

__all__ = ["Moves", "Search", "feature_stability", "model_stability"]
