"""Drawings of published results: the steps of a solver, or where the weight goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shiftmetrics.lab.published.result import PublishedResult
from shiftmetrics.views.drawings.kinds import drawing
from shiftmetrics.views.drawings.stability import draw_search, draw_weights

drawing(PublishedResult, kind="weights")(draw_weights)
drawing(PublishedResult, kind="search")(draw_search)


@drawing(PublishedResult, kind="auto", default=True)
def draw_published(result: Any, ax: Any = None, **options: Any) -> Any:
    """Draw the weights where there are any, else the steps."""
    weights = not isinstance(result, Mapping) and result.weights is not None
    return (draw_weights if weights else draw_search)(result, ax, **options)
