"""Linear models, and linear models of pairs of classes."""

from shiftmetrics.models.linear.duels import DuelRoute
from shiftmetrics.models.linear.route import LinearRoute

__all__ = ["DuelRoute", "LinearRoute"]
