"""Drawings of the columns that changed: bars or histograms of what was and what is, side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.result import format_percent
from shiftmetrics.decisions.audit.column_pictures import ColumnPicture
from shiftmetrics.decisions.audit.result import AuditResult
from shiftmetrics.views.drawings.kinds import drawing
from shiftmetrics.views.drawings.style import (
    REFERENCE,
    TEST,
    THIRD,
    name_rows,
    new_axes,
    percent_axes,
)

COLOURS = {2: (REFERENCE, TEST), 3: (REFERENCE, THIRD, TEST)}
"""Of the sides: the latest part of the current sample has its colour."""
_N_DATES = 4
_ROOM = 1.7
_LEGEND_ROWS = 1.2


@drawing(AuditResult, kind="column")
def draw_column(result: AuditResult, ax: Any = None, *, column: str | None = None) -> Any:
    """Draw what a column looked like before and after; by default the one that changed most."""
    pictures = {picture.column: picture for picture in result.changes.pictures}
    if not pictures:
        raise ArgumentValueError("kind", "a drawing that there is", "'column': no column changed")
    name = next(iter(pictures)) if column is None else column
    if name not in pictures:
        expected = f"a column that is shown to have changed: {', '.join(pictures)}"
        raise ArgumentValueError("column", expected, repr(name))
    picture = pictures[name]
    if picture.cells:
        ax = _draw_bars(picture, ax)
    else:
        ax = _draw_histogram(picture, ax)
    ax.set_title(name, loc="left")
    return ax


def _draw_bars(picture: ColumnPicture, ax: Any) -> Any:
    """Draw a bar for each side beside each value or level, and gaps where there are some."""
    names = list(picture.cells)
    fractions = picture.fractions
    if picture.missing.any():
        names.append("missing")
        fractions = np.column_stack([fractions, picture.missing_fractions])
    ax = new_axes(ax, height=1.6 + 0.3 * len(names))
    places = name_rows(ax, names)
    n_sides = len(picture.sides)
    height = 0.8 / n_sides
    for side, (name, color) in enumerate(zip(picture.sides, COLOURS[n_sides], strict=True)):
        offset = (side - 0.5 * (n_sides - 1)) * height
        ax.barh(places + offset, fractions[side], color=color, height=height, label=name)
    percent_axes(ax, "x")
    ax.set_xlabel("of the samples of each")
    # below the last name is room for the legend
    ax.set_ylim(len(names) + _LEGEND_ROWS, -0.7)
    ax.legend(loc="lower right")
    return ax


def _draw_histogram(picture: ColumnPicture, ax: Any) -> Any:
    """Draw the reference as an area, and the current sample as lines over it."""
    ax = new_axes(ax, height=2.6)
    fractions = picture.fractions
    gaps = picture.missing_fractions
    n_sides = len(picture.sides)
    for side, (name, color) in enumerate(zip(picture.sides, COLOURS[n_sides], strict=True)):
        label = name
        if picture.missing.any():
            label = f"{name}, missing {format_percent(float(gaps[side]))}"
        options: dict[str, Any] = {"color": color, "linewidth": 1.8, "label": label}
        if side == 0:
            options |= {"fill": True, "alpha": 0.35, "linewidth": 0.0}
        ax.stairs(fractions[side], picture.edges, **options)
    percent_axes(ax, "y")
    # above the highest interval is room for the legend
    ax.set_ylim(0.0, _ROOM * max(float(fractions.max()), 1e-9))
    if picture.is_date:
        ticks = np.linspace(picture.edges[0], picture.edges[-1], _N_DATES)
        days = ticks.astype("datetime64[s]").astype("datetime64[D]")
        ax.set_xticks(ticks, [str(day) for day in days], rotation=20, ha="right")
    ax.legend(loc="upper right")
    return ax
