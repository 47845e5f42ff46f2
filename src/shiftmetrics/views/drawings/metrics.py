"""The drawing of a comparison by a metric: the difference against what is allowed."""

from __future__ import annotations

from typing import Any

from shiftmetrics.decisions.metrics.result import MetricDiffResult
from shiftmetrics.views.drawings.kinds import drawing
from shiftmetrics.views.drawings.limits import draw_limits


@drawing(MetricDiffResult, kind="difference", default=True)
def draw_metric_difference(result: MetricDiffResult, ax: Any = None) -> Any:
    """Draw between what the difference of a metric lies, against no difference and what is allowed."""
    is_fraction = bool(result.settings.get("is_fraction"))
    points = "points of " if is_fraction else ""
    return draw_limits(
        ax,
        value=result.value,
        interval=result.interval,
        certain=None,
        allow=result.allow,
        unit=100.0 if is_fraction else 1.0,
        label=f"new minus old, {points}{result.metric}",
    )
