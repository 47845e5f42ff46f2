"""Drawings of a comparison of two models' predictions: the difference, and the most frequent changes."""

from __future__ import annotations

from typing import Any

from shiftmetrics.decisions.diff.result import DiffResult
from shiftmetrics.views.drawings.kinds import drawing
from shiftmetrics.views.drawings.style import (
    BAD,
    GOOD,
    INK,
    MUTED,
    RULE,
    integer_ticks,
    legend_beside_bars,
    line_at,
    mark,
    name_rows,
    new_axes,
)


@drawing(DiffResult, kind="difference", default=True)
def draw_difference(result: DiffResult, ax: Any = None) -> Any:
    """Draw between what the difference lies, against no difference and what is allowed."""
    ax = new_axes(ax, height=1.9)
    # percentage points, or units of the metric
    unit = 100.0 if result.metric == "accuracy" else 1.0
    # the thin line is certain, the thick one sampled
    certain, interval = result.certain, result.interval
    ends = [unit * certain.low, unit * certain.high, 0.0]
    if interval is not None:
        # the certain bound is drawn where it does not dwarf the interval
        ends = [unit * interval.low, unit * interval.high, 0.0]
    if result.allow is not None:
        ends.append(-unit * result.allow)
    room = 0.12 * (max(ends) - min(ends) or 1.0)
    low, high = min(ends) - room, max(ends) + room
    # red is worse than allowed, green is not
    limit = 0.0 if result.allow is None else -unit * result.allow
    ax.axvspan(low, limit, color=BAD, alpha=0.08, linewidth=0)
    ax.axvspan(limit, high, color=GOOD, alpha=0.08, linewidth=0)
    ax.hlines(0.0, unit * certain.low, unit * certain.high, color=MUTED, linewidth=2)
    if interval is not None:
        ax.hlines(0.0, unit * interval.low, unit * interval.high, color=INK, linewidth=7)
        ax.plot(unit * result.value, 0.0, "o", color="white", markeredgecolor=INK, markersize=9)
    # the words stand on the side that has room for them
    line_at(ax, "x", 0.0, "no difference", left=high < -low)
    if result.allow:
        line_at(ax, "x", limit, "", color=BAD)
        at_the_foot = {"xycoords": ("data", "axes fraction"), "color": BAD}
        mark(ax, "allowed", (limit, 0.0), shift=(5, 4), **at_the_foot)
    ax.set_xlim(low, high)
    ax.set_ylim(-1.0, 1.4)
    ax.set_yticks([])
    ax.grid(visible=False)
    where = "points of accuracy" if result.metric == "accuracy" else f"decrease of {result.metric}"
    ax.set_xlabel(f"new minus old, {where}" if result.metric == "accuracy" else where)
    ax.set_title("How much better the new model is", loc="left")
    return ax


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
