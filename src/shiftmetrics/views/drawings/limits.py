"""The drawing that decisions share: between what a difference lies, against no difference and what is allowed."""

from __future__ import annotations

from typing import Any

from shiftmetrics._core.result import Interval
from shiftmetrics.views.drawings.style import BAD, GOOD, INK, MUTED, line_at, mark, new_axes


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
    room = 0.12 * (max(ends) - min(ends) or 1.0)
    low = min(ends) - room
    high = max(ends) + room
    # red is worse than allowed, green is not
    limit = 0.0 if allow is None else -unit * allow
    ax.axvspan(low, limit, color=BAD, alpha=0.08, linewidth=0)
    ax.axvspan(limit, high, color=GOOD, alpha=0.08, linewidth=0)
    if certain is not None:
        ax.hlines(0.0, unit * certain.low, unit * certain.high, color=MUTED, linewidth=2)
    if interval is not None:
        ax.hlines(0.0, unit * interval.low, unit * interval.high, color=INK, linewidth=7)
        ax.plot(unit * value, 0.0, "o", color="white", markeredgecolor=INK, markersize=9)
    # the words stand on the side that has room for them
    line_at(ax, "x", 0.0, "no difference", left=high < -low)
    if allow:
        line_at(ax, "x", limit, "", color=BAD)
        at_the_foot: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "color": BAD}
        # towards the side that has room
        is_right = high - limit > limit - low
        at_the_foot["ha"] = "left" if is_right else "right"
        mark(ax, "allowed", (limit, 0.0), shift=(5 if is_right else -5, 4), **at_the_foot)
    ax.set_xlim(low, high)
    ax.set_ylim(-1.0, 1.4)
    ax.set_yticks([])
    ax.grid(visible=False)
    ax.set_xlabel(label)
    ax.set_title("How much better the new model is", loc="left")
    return ax
