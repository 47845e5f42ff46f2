"""The most sensitive sample of a model, for people: where the rows go, column by column, and a picture of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from markupsafe import Markup

from shiftmetrics._core.result import format_number
from shiftmetrics._core.validation import first_few
from shiftmetrics.stability import column_moves, most_sensitive_sample
from shiftmetrics.stability.frames import is_numeric
from shiftmetrics.views.plot import plot_sensitive_sample
from shiftmetrics.views.report.context import Rows
from shiftmetrics.views.report.facts import percent
from shiftmetrics.views.report.figures import figure_svg
from shiftmetrics.views.report.grid import Column, Grid
from shiftmetrics.views.report.typical import excerpt

MOST_DRAWN = 250
"""Rows in the picture: each takes a few hundred bytes of the page."""
MOST_CHANGES = 4
"""Columns of one row to show."""


def picture(result: Any, rows: Rows, name: str) -> list[Markup]:
    """Return the picture of the sample, where the result knows its rows and they have two columns of numbers."""
    table, moved = result.places()
    if table is None or sum(is_numeric(table[column]) for column in table.columns) < 2:
        return []
    labels = None if rows.labels is None else [str(label) for label in rows.labels]
    few = labels is not None and len(set(labels)) <= 8

    def draw(ax: Any) -> None:
        plot_sensitive_sample(
            result, ax, table=table, moved=moved, labels=labels if few else None, max_rows=MOST_DRAWN
        )
        ax.set_title("The most sensitive sample")

    some = f" {MOST_DRAWN} of {len(table):,} rows are drawn." if len(table) > MOST_DRAWN else ""
    return [
        figure_svg(
            draw,
            alt=f"The most sensitive sample: {name}",
            caption="Pale points are rows as they stand, full ones where the worst case puts them, as large as "
            f"their weight.{some}",
        )
    ]


def moves_by_column(result: Any, detail: int) -> list[Grid]:
    """Return how far each column moves, the farthest first."""
    if result.places()[0] is None or not result.share_moved > 0.0:
        return []
    moves = column_moves(result)
    moves = moves[moves["share_moved"] > 0.0].head(detail)
    lines = [
        [
            line.column,
            "–" if np.isnan(line.rms_move) else format_number(line.rms_move),
            "–" if np.isnan(line.mean_move) else f"{line.mean_move:+.2g}",
            percent(line.share_moved),
        ]
        for line in moves.itertuples()
    ]
    columns = [
        Column("Column"),
        Column("Typical move (its unit)", numeric=True),
        Column("Mean move", numeric=True),
        Column("Rows", numeric=True),
    ]
    return [
        Grid(
            columns=columns,
            rows=lines,
            caption="What moves, by column: root mean square in units of the distance, mean in the column's own.",
        )
    ]


def moved_rows(result: Any, rows: Rows, detail: int) -> list[Grid]:
    """Return the rows that move the least: what changes in each, from where to where."""
    table, moved = result.places()
    if table is None or not result.share_moved > 0.0:
        return []
    names = [str(name) for name in (rows.names if rows.names is not None else table.index)]
    numbered, places = table.reset_index(drop=True), moved.reset_index(drop=True)
    sample = most_sensitive_sample(result, numbered, moved=places)
    sample = sample[sample["moved"] & (sample["weight"] > 0.0)].sort_values("distance", kind="stable")
    sample = sample[~sample.index.duplicated()].head(detail)
    lines = []
    for position, line in sample.iterrows():
        end = line.iloc[6 : 6 + table.shape[1]]
        label = [] if rows.labels is None else [str(rows.labels[position])]
        lines.append(
            [
                names[position],
                *label,
                format_number(float(line["distance"])),
                f"{line['weight']:.2f}",
                _changes(numbered.iloc[position], end.set_axis(table.columns), result.units),
            ]
        )
    columns = [Column("Row"), *([] if rows.labels is None else [Column("Label")])]
    columns += [Column("Move", numeric=True), Column("Weight", numeric=True), Column("What changes")]
    return [Grid(columns=columns, rows=lines, caption="The rows that break first, and how.")]


def _changes(start: Any, end: Any, units: Any) -> str:
    """Say which columns of a row change, the largest changes first: ``age 63 → 66.5``."""
    found = []
    for place, name in enumerate(start.index):
        before, after = start.iloc[place], end.iloc[place]
        if isinstance(before, int | float | np.number) and not isinstance(before, bool | np.bool_):
            size = abs(float(after) - float(before)) / (1.0 if units is None else float(units[place]))
            said = f"{name} {_apart(float(before), float(after))}"
        else:
            size = 0.0 if str(before) == str(after) else 1.0
            said = f"{name} {excerpt(str(before))} → {excerpt(str(after))}"
        if size > 1e-9:
            found.append((size, said))
    found.sort(key=lambda pair: -pair[0])
    return first_few((said for _, said in found), MOST_CHANGES, show=str)


def _apart(before: float, after: float) -> str:
    """Print two numbers with as many digits as tell them apart."""
    digits = next((d for d in range(3, 12) if f"{before:.{d}g}" != f"{after:.{d}g}"), 12)
    return f"{before:.{digits}g} → {after:.{digits}g}"
