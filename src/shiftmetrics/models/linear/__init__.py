"""Linear models: how far each row must move, in the raw columns, in closed form."""

from shiftmetrics.models.linear.route import LinearRoute

__all__ = ["LinearRoute"]
