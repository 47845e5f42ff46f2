"""Drawings of a comparison of two models' predictions: the difference, and the most frequent changes."""

from __future__ import annotations

from typing import Any

from shiftmetrics.decisions.diff.result import DiffResult
from shiftmetrics.views.drawings.kinds import drawing
from shiftmetrics.views.drawings.limits import draw_limits
from shiftmetrics.views.drawings.style import (
    BAD,
    GOOD,
    RULE,
    integer_ticks,
    legend_beside_bars,
    name_rows,
    new_axes,
)


@drawing(DiffResult, kind="difference", default=True)
def draw_difference(result: DiffResult, ax: Any = None) -> Any:
    """Draw between what the difference lies, against no difference and what is allowed."""
    # percentage points, or units of the metric
    is_accuracy = result.metric == "accuracy"
    where = "new minus old, points of accuracy" if is_accuracy else f"decrease of {result.metric}"
    return draw_limits(
        ax,
        value=result.value,
        interval=result.interval,
        certain=result.certain,
        allow=result.allow,
        unit=100.0 if is_accuracy else 1.0,
        label=where,
    )


@drawing(DiffResult, kind="changes")
def draw_changes(result: DiffResult, ax: Any = None) -> Any:
    """Draw the most frequent changes, with the errors that they fix and make."""
    counts = result.changes.frequent
    ax = new_axes(ax, height=1.2 + 0.3 * len(counts))
    # one bar for each change, in three parts
    places = name_rows(ax, [f"{part.old} → {part.new}" for part in counts])
    start = [0] * len(counts)
    bars = {
        "fixed": ([part.fixed for part in counts], GOOD),
        "broken": ([part.broken for part in counts], BAD),
        "neither, or no label": ([p.n - p.fixed - p.broken for p in counts], RULE),
    }
    for name, (sizes, color) in bars.items():
        # where all is labelled nothing is left over, and needs no line of the legend
        if not any(sizes):
            continue
        ax.barh(places, sizes, left=start, color=color, height=0.7, label=name)
        start = [before + size for before, size in zip(start, sizes, strict=True)]
    integer_ticks(ax.xaxis)
    ax.set_xlabel("rows")
    ax.set_title("Predictions that changed", loc="left")
    if counts:
        legend_beside_bars(ax)
    return ax
