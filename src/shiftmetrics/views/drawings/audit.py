"""Drawings of an audit: new modes over time, and the columns that changed."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftmetrics.decisions.audit.result import AuditResult
from shiftmetrics.views.drawings.kinds import drawing
from shiftmetrics.views.drawings.style import (
    MUTED,
    REFERENCE,
    TEST,
    THIRD,
    legend_beside_bars,
    name_rows,
    new_axes,
    percent_axes,
)

_COLOURS = (TEST, REFERENCE, THIRD)
_MOST_MODES = 3
_MOST_COLUMNS = 10
_MOST_TICKS = 6
_SHORTEST_AXIS = 0.2


@drawing(AuditResult, kind="modes", default=True)
def draw_modes(result: AuditResult, ax: Any = None) -> Any:
    """Draw the fraction of each new mode in every period, and its change; without times, beside the reference."""
    if result.changes.timeline is None or not result.changes.new:
        return _draw_fractions(result, ax)
    ax = new_axes(ax, height=2.4)
    timeline = result.changes.timeline
    # A period without samples has no fraction: there the curve has a gap.
    sizes = np.maximum(timeline.n_samples, 1)
    places = np.arange(len(timeline.periods))
    for place, mode in enumerate(result.changes.new[:_MOST_MODES]):
        color = _COLOURS[place % len(_COLOURS)]
        fraction = np.where(timeline.n_samples > 0, timeline.n_members[place] / sizes, np.nan)
        ax.plot(places, fraction, "o-", color=color, markersize=3, label=f"mode {place + 1}")
        if mode.change is not None and mode.change.is_shown:
            # A change lies between its period and the one before, hence the half step.
            at = timeline.periods.index(mode.change.period)
            ax.axvline(at - 0.5, color=color, linestyle=(0, (4, 3)), linewidth=1)
    step = -(-len(places) // _MOST_TICKS)
    ax.set_xticks(places[::step], list(timeline.periods)[::step], rotation=20, ha="right")
    ax.set_ylim(bottom=0.0)
    percent_axes(ax, "y")
    ax.set_ylabel(f"a {timeline.unit}")
    ax.legend(loc="upper left")
    ax.set_title("New samples over time", loc="left")
    return ax


def _draw_fractions(result: AuditResult, ax: Any) -> Any:
    """Draw how frequent each new mode is on both sides; where there is none, the columns that changed."""
    modes = result.changes.new
    if not modes:
        return draw_columns(result, ax)
    ax = new_axes(ax, height=1.2 + 0.3 * len(modes))
    places = name_rows(ax, [f"mode {place + 1}" for place in range(len(modes))])
    ax.barh(places, [mode.fraction for mode in modes], color=TEST, height=0.4, label="current")
    ax.barh(
        np.asarray(places) + 0.4,
        [mode.other_fraction for mode in modes],
        color=REFERENCE,
        height=0.4,
        label="reference",
    )
    percent_axes(ax, "x")
    ax.set_xlabel("of the samples")
    legend_beside_bars(ax)
    ax.set_title("New modes", loc="left")
    return ax


@drawing(AuditResult, kind="columns")
def draw_columns(result: AuditResult, ax: Any = None) -> Any:
    """Draw how much each column changed by itself, the columns that are shown to have changed in colour."""
    changes = result.changes.columns[:_MOST_COLUMNS]
    ax = new_axes(ax, height=1.2 + 0.3 * max(len(changes), 1))
    places = name_rows(ax, [change.column for change in changes])
    shown = result.changes.changed_columns()
    colors = [TEST if change in shown else MUTED for change in changes]
    ax.barh(places, [change.effect for change in changes], color=colors, height=0.7)
    highest = max([change.effect for change in changes], default=0.0)
    ax.set_xlim(0.0, min(1.0, max(_SHORTEST_AXIS, 1.1 * highest)))
    ax.set_xlabel("difference of the distributions, from 0 to 1")
    ax.set_title("Columns, the largest change first", loc="left")
    return ax
