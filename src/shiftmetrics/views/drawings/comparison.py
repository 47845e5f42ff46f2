"""Drawing of a comparison: models with their intervals and the ranks they may have."""

from __future__ import annotations

from typing import Any

from shiftmetrics.comparison.result import ComparisonResult
from shiftmetrics.views.drawings.kinds import drawing
from shiftmetrics.views.drawings.style import MUTED, REFERENCE, TEST, mark, name_rows, new_axes


@drawing(ComparisonResult, kind="models")
def draw_models(result: Any, ax: Any = None) -> Any:
    """Draw each model with its interval, the best on top: orange where it may be the best, hollow if collapsed."""
    models = result.models
    ax = new_axes(ax, height=1.4 + 0.3 * len(models))
    for place, model in zip(name_rows(ax, [model.name for model in models]), models, strict=True):
        colour = TEST if model.rank_low == 1 and not model.collapsed else REFERENCE
        ends = [model.interval.low, model.interval.high]
        ax.plot(ends, [place, place], color=colour, solid_capstyle="butt")
        inside = "white" if model.collapsed else colour
        ax.plot([model.value], [place], "o", markersize=6, color=colour, markerfacecolor=inside)
        mark(ax, model.ranks, (1.03, place), xycoords=("axes fraction", "data"), shift=(0, 0), va="center")
    mark(ax, "rank", (1.03, 1.0), xycoords="axes fraction", shift=(0, 4), color=MUTED)
    ax.locator_params(axis="x", nbins=6)
    unit = f" ({result.compared_unit})" if result.compared_unit else ""
    ax.set_xlabel(f"{result.criterion}{unit}")
    ax.set_title(f"Models with {100 * models[0].interval.level:g} % intervals")
    return ax
