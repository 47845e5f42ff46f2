"""Drawings of a monitor: its alarms against their level, and batch after batch against what is allowed."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftmetrics.decisions.monitor.monitor import MonitorResult
from shiftmetrics.views.drawings.kinds import drawing
from shiftmetrics.views.drawings.style import (
    BAD,
    MUTED,
    TEST,
    integer_ticks,
    line_at,
    mark,
    name_rows,
    new_axes,
    percent_axes,
)

_MOST_EVIDENCE = 2.0
_KINDS = {"errors": "errors", "farther": "distance", "predicted": "confidence"}
"""What the alarms whose names begin so are called beside a bar."""
_MOST_MARKED = 60
"""Batches up to which each has a mark of its own."""


@drawing(MonitorResult, kind="alarms", default=True)
def draw_alarms(result: MonitorResult, ax: Any = None) -> Any:
    """Draw the highest evidence of each kind of alarm against the level at which it is raised."""
    # The tests of one kind see one change: the one that shows it most stands for them.
    highest: dict[str, float] = {}
    for alarm in result.state.alarms:
        kind = _KINDS[alarm.name.split()[0]]
        # An alarm is raised at evidence of 2 / alpha, which is a bar of 1.
        highest[kind] = max(highest.get(kind, 0.0), 0.5 * alarm.alpha * alarm.highest)
    ax = new_axes(ax, height=1.2 + 0.3 * max(len(highest), 1))
    places = name_rows(ax, list(highest))
    evidence = np.array(list(highest.values()))
    colors = [BAD if each >= 1.0 else MUTED for each in evidence]
    ax.barh(places, np.minimum(evidence, _MOST_EVIDENCE), color=colors, height=0.7)
    line_at(ax, "x", 1.0, "alarm")
    ax.set_xlim(0.0, _MOST_EVIDENCE)
    ax.set_xlabel("highest evidence so far")
    ax.set_title("Alarms", loc="left")
    return ax


@drawing(MonitorResult, kind="batches")
def draw_batches(result: MonitorResult, ax: Any = None) -> Any:
    """Draw the rate of each batch that the clearest alarm counts, against what is allowed since it was started."""
    place, alarm = result.clearest_alarm()
    if alarm is None or not result.batches:
        return draw_alarms(result, ax)
    ax = new_axes(ax, height=2.4)
    counts = [batch.errors if place is None else batch.rows[place] for batch in result.batches]
    numbers = np.array([batch.number for batch in result.batches])
    rates = np.array([count.hits / count.n if count.n else np.nan for count in counts])
    is_marked = len(numbers) <= _MOST_MARKED
    ax.plot(numbers, rates, "o-" if is_marked else "-", color=TEST, markersize=3)
    # What is allowed holds for this start of the alarm; that of an earlier one was lower.
    first = max(alarm.started_at + 1, numbers[0]) - 0.5
    allowed = np.array([batch.allowed(alarm, place) for batch in result.batches])
    dashed = {"color": MUTED, "linestyle": (0, (4, 3))}
    if alarm.limits.size:
        # Each batch has the limit of its seasons.
        since = numbers > alarm.started_at
        ax.step(numbers[since], allowed[since], where="mid", **dashed)
    else:
        ax.hlines(alarm.allowed, first, numbers[-1] + 0.5, **dashed)
    at_its_end = {"color": MUTED, "ha": "right"}
    mark(
        ax,
        "expected" if alarm.urns.size else "allowed",
        (numbers[-1] + 0.5, float(allowed[-1])),
        shift=(0, 3),
        **at_its_end,
    )
    if alarm.raised_at >= numbers[0]:
        line_at(ax, "x", alarm.raised_at, "alarm", color=BAD, left=alarm.raised_at > numbers.mean())
    for batch in result.batches:
        if batch.acknowledged:
            line_at(ax, "x", batch.number - 0.5, "acknowledged", left=True)
    ax.set_ylim(0.0, 1.25 * float(np.nanmax([*rates, *allowed, 0.0])))
    percent_axes(ax, "y")
    integer_ticks(ax.xaxis)
    ax.set_xlabel("batch")
    ax.set_title("Errors" if place is None else _short(alarm.name), loc="left")
    return ax


def _short(name: str) -> str:
    """Return the name of an alarm as a title that fits."""
    words = name.replace("farther from the reference than", "Farther than")
    words = words.replace("predicted with less confidence", "Less confident")
    return words.replace("of its own samples", "of the reference")
