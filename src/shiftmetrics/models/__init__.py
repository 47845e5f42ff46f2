"""Stability of a model on a sample: which moves of the rows break it, for models that people really use."""

from shiftmetrics.models.result import ModelStabilityResult, SearchTrace
from shiftmetrics.models.stability import model_stability
from shiftmetrics.models.table import Table, TableColumn

__all__ = ["ModelStabilityResult", "SearchTrace", "Table", "TableColumn", "model_stability"]
