"""The drawing that decisions share: between what a difference lies, against no difference and what is allowed."""

from __future__ import annotations

from typing import Any

from shiftmetrics._core.result import Interval
from shiftmetrics.views.drawings.style import BAD, GOOD, INK, MUTED, line_at, mark, new_axes

_ROOM = 0.45
"""Of what is shown, beyond a line: what its words take of the smallest drawing, on a phone."""


def draw_limits(
    ax: Any,
    *,
    value: float,
    interval: Interval | None,
    certain: Interval | None,
    allow: float | None,
    unit: float,
    label: str,
) -> Any:
    """Draw a difference, its interval and what is certain; green is where the new model may be.

    Parameters
    ----------
    ax : Axes or None
        Where to draw.
    value : float
        The difference, drawn where there is an interval.
    interval, certain : Interval or None
        The thick line, and the thin one.
    allow : float or None
        By how much the new model may be worse.
    unit : float
        What all are multiplied by: 100 for percentage points.
    label : str
        Of the axis.
    """
    ax = new_axes(ax, height=1.9)
    ends = [0.0]
    # the certain bound is drawn where it does not dwarf the interval
    shown = certain if interval is None else interval
    if shown is not None:
        ends += [unit * shown.low, unit * shown.high]
    if allow is not None:
        ends.append(-unit * allow)
    span = max(ends) - min(ends) or 1.0
    # both lines have room for their words on their outer side, where neither crosses the other line
    low = min(ends) - 0.12 * span
    if allow:
        low = min(low, -unit * allow - 0.7 * _ROOM * span)
    high = max(max(ends) + 0.12 * span, _ROOM * span)
    # red is worse than allowed, green is not
    limit = 0.0 if allow is None else -unit * allow
    ax.axvspan(low, limit, color=BAD, alpha=0.08, linewidth=0)
    ax.axvspan(limit, high, color=GOOD, alpha=0.08, linewidth=0)
    if certain is not None:
        ax.hlines(0.0, unit * certain.low, unit * certain.high, color=MUTED, linewidth=2)
    if interval is not None:
        ax.hlines(0.0, unit * interval.low, unit * interval.high, color=INK, linewidth=7)
        ax.plot(unit * value, 0.0, "o", color="white", markeredgecolor=INK, markersize=9)
    line_at(ax, "x", 0.0, "no difference")
    if allow:
        line_at(ax, "x", limit, "", color=BAD)
        at_the_foot: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "color": BAD}
        mark(ax, "allowed", (limit, 0.0), shift=(-5, 4), ha="right", **at_the_foot)
    ax.set_xlim(low, high)
    ax.set_ylim(-1.0, 1.4)
    ax.set_yticks([])
    ax.grid(visible=False)
    ax.set_xlabel(label)
    ax.set_title("How much better the new model is", loc="left")
    return ax
