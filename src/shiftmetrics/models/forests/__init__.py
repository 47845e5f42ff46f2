"""Decision trees and sums of them: one format, and what moves of their inputs do to them."""

from shiftmetrics.models.forests.forest import Forest
from shiftmetrics.models.forests.reading import forest_of

__all__ = ["Forest", "forest_of"]
