"""Drawings of a comparison of scores: the difference, that of each task or group, and how much questions change."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftmetrics.decisions.scores.result import ScoreDiffResult
from shiftmetrics.decisions.scores.words import is_fraction
from shiftmetrics.views.drawings.kinds import drawing
from shiftmetrics.views.drawings.limits import draw_limits
from shiftmetrics.views.drawings.style import (
    BAD,
    GOOD,
    INK,
    integer_ticks,
    line_at,
    name_rows,
    new_axes,
)

MOST_BARS = 20
"""Bars of the histogram of changes."""


def _unit(result: ScoreDiffResult) -> tuple[float, str]:
    """Return what differences are multiplied by, and the label of their axis."""
    if is_fraction(result):
        return 100.0, f"new minus old, points of {result.metric}"
    if result.settings.get("higher_is_better") is False:
        return 1.0, f"decrease of {result.metric}"
    return 1.0, f"new minus old, {result.metric}"


@drawing(ScoreDiffResult, kind="difference", default=True)
def draw_score_difference(result: ScoreDiffResult, ax: Any = None) -> Any:
    """Draw between what the difference lies, against no difference and what is allowed."""
    unit, label = _unit(result)
    return draw_limits(
        ax,
        value=result.value,
        interval=result.interval,
        certain=None,
        allow=result.allow,
        unit=unit,
        label=label,
    )


@drawing(ScoreDiffResult, kind="parts")
def draw_score_parts(result: ScoreDiffResult, ax: Any = None) -> Any:
    """Draw the interval of each task and group, the one of all questions on top."""
    unit, label = _unit(result)
    lines = [("all", result.value, result.interval)]
    for part in result.parts:
        gain = part.new - part.old
        # Right is better also of a loss, as in the intervals of the parts.
        if result.settings.get("higher_is_better") is False:
            gain = -gain
        lines.append((part.name or part.kind, gain, part.interval))
    ax = new_axes(ax, height=1.2 + 0.3 * len(lines))
    places = name_rows(ax, [name for name, _, _ in lines])
    for place, (_, value, interval) in zip(places, lines, strict=True):
        # Colours are for what is certain: an interval across 0 may be no difference.
        color = INK
        if interval is not None and interval.high < 0.0:
            color = BAD
        elif interval is not None and interval.low > 0.0:
            color = GOOD
        if interval is not None:
            ax.hlines(place, unit * interval.low, unit * interval.high, color=color, linewidth=4)
        ax.plot(unit * value, place, "o", color="white", markeredgecolor=color, markersize=7)
    line_at(ax, "x", 0.0, "")
    if result.allow:
        line_at(ax, "x", -unit * result.allow, "", color=BAD)
    ax.set_xlabel(label)
    ax.set_title("How much better the new model is", loc="left")
    return ax


@drawing(ScoreDiffResult, kind="sizes")
def draw_score_changes(result: ScoreDiffResult, ax: Any = None) -> Any:
    """Draw how many questions change by how much: those that fell in red, those that rose in green."""
    unit, label = _unit(result)
    changes = unit * result.questions.change
    ax = new_axes(ax, height=2.6)
    reach = float(np.abs(changes).max()) if len(changes) else unit
    # zero is an edge, so that no bar holds questions that fell and others that rose
    edges = np.linspace(-reach, reach, MOST_BARS + 1)
    counts, _ = np.histogram(changes, edges)
    colors = [BAD if right <= 0.5 * (edges[1] - edges[0]) else GOOD for right in edges[1:]]
    width = 0.92 * (edges[1] - edges[0])
    ax.bar(0.5 * (edges[:-1] + edges[1:]), counts, width=width, color=colors)
    line_at(ax, "x", 0.0, "")
    integer_ticks(ax.yaxis)
    ax.set_ylabel("questions")
    ax.set_xlabel(label)
    n_changed = len(changes)
    ax.set_title(f"{n_changed:,} of {result.n_samples:,} questions changed", loc="left")
    return ax
