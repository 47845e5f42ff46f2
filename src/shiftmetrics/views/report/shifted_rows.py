"""Tables of the stability section: which rows, labels and columns the worst case is about."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.result import format_number
from shiftmetrics.stability.weight_gain import compare_columns
from shiftmetrics.views.plot.stability import NEARLY_EVEN
from shiftmetrics.views.report.context import Rows
from shiftmetrics.views.report.facts import percent
from shiftmetrics.views.report.grid import Column, Grid
from shiftmetrics.views.report.thumbnails import range_of, thumbnail
from shiftmetrics.views.report.typical import excerpt

MOST_CATEGORIES = 20
MOST_COLUMNS = 6
MOST_LEVELS = 3
"""Lines for one column of categories."""
LEAST_DIFFERENCE = 0.01
"""In standard deviations: a smaller one is not worth a line."""


def who_changes(weights: FloatArray, moves: FloatArray, rows: Rows, detail: int) -> list[Grid]:
    """Compare the sample as it is with its worst case, by label and by column."""
    grids = []
    base = np.ones(len(weights))
    if rows.sample_weight is not None:
        base = np.asarray(rows.sample_weight, dtype=np.float64)
    if rows.labels is not None:
        labels = np.asarray([str(label) for label in rows.labels])
        if 1 < len(set(labels.tolist())) <= MOST_CATEGORIES:
            grids.append(_by_label(base, base * weights, moves, labels))
    if rows.table is not None and len(rows.table.columns):
        uneven = float(np.var(weights)) > 1.0 / NEARLY_EVEN - 1.0
        if uneven or not moves.any():
            after, head, caption = weights, "In the worst case", "Who gains weight, by column."
        else:
            after, head, caption = weights * (moves > 0.0), "Of the rows that move", "Who moves, by column."
        grid = _by_column(base, base * after, rows.table, detail, head, caption)
        if grid is not None:
            grids.append(grid)
    return grids


def single_rows(
    positions: IntArray, caption: str, weights: FloatArray, moves: FloatArray, rows: Rows
) -> Grid:
    """Return a table of some rows, with whatever is known about them."""
    shown = [] if rows.table is None else list(rows.table.columns[:MOST_COLUMNS])
    columns = [Column("Row")]
    columns += [Column("")] if rows.images is not None else []
    columns += [Column("Label")] if rows.labels is not None else []
    columns += [Column("Move", numeric=True)] if moves.any() else []
    columns += [Column("Weight", numeric=True)]
    columns += [Column(str(name), numeric=True) for name in shown]
    value_range = range_of(rows.images) if rows.images is not None else (0.0, 1.0)
    lines = []
    for i in positions:
        name = rows.names[i] if rows.names is not None else str(i)
        line: list[Any] = [name]
        if rows.images is not None:
            line.append(thumbnail(np.asarray(rows.images[i]), value_range=value_range, alt=f"row {name}"))
        if rows.labels is not None:
            line.append(str(rows.labels[i]))
        if moves.any():
            line.append(format_number(float(moves[i])))
        line.append(f"{weights[i]:.2f}")
        line += [_cell(rows.table[column].iloc[i]) for column in shown]
        lines.append(line)
    return Grid(columns=columns, rows=lines, caption=caption)


def _by_label(base: FloatArray, weights: FloatArray, moves: FloatArray, labels: npt.NDArray[Any]) -> Grid:
    lines = []
    for label in sorted(set(labels.tolist()), key=_natural):
        members = labels == label
        share = float(base[members].sum() / base.sum())
        weighted = float(weights[members].sum() / weights.sum())
        lines.append((label, share, weighted, float((moves[members] > 0.0).mean())))
    moving = bool(moves.any())
    lines.sort(key=lambda line: -line[3] if moving else -line[2] / max(line[1], 1e-300))
    columns = [
        Column("Label"),
        Column("Share as it is", numeric=True),
        Column("In the worst case", numeric=True),
    ]
    columns += [Column("Moved", numeric=True)] if moving else []
    return Grid(
        columns=columns,
        rows=[
            [label, percent(share), percent(weighted), *([percent(moved)] if moving else [])]
            for label, share, weighted, moved in lines
        ],
        caption="Who the worst case is about, by label.",
    )


def _by_column(
    base: FloatArray, weights: FloatArray, table: Any, detail: int, head: str, caption: str
) -> Grid | None:
    """Return the columns whose means or shares differ most from the plain ones, in standard deviations."""
    if not weights.sum() > 0.0:
        return None
    lines = compare_columns(table, base, weights, max_levels=MOST_LEVELS)
    # A level of one row, such as a name, says nothing of a group.
    group = (lines["level"] == "") | (lines["before"] * len(weights) >= 2.0)
    lines = lines[group & (lines["difference"].abs() >= LEAST_DIFFERENCE)]
    if lines.empty:
        return None
    rows = [
        [
            str(line.column) if line.level == "" else f"{line.column} = {excerpt(line.level)}",
            *(
                format_number(value) if line.level == "" else percent(value)
                for value in (float(line.before), float(line.after))
            ),
            f"{line.difference:+.2f}",
        ]
        for line in lines.head(detail).itertuples()
    ]
    return Grid(
        columns=[
            Column("Column"),
            Column("As it is", numeric=True),
            Column(head, numeric=True),
            Column("Difference (sd)", numeric=True),
        ],
        rows=rows,
        caption=caption + " Means of numbers and shares of categories, the largest differences first.",
    )


def _cell(value: Any) -> str:
    if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:
        return "–"
    return format_number(float(value)) if isinstance(value, float | np.floating) else str(value)


def _natural(text: str) -> tuple[int, float, str]:
    """Sort numbers as numbers and words as words."""
    try:
        return 0, float(text), text
    except ValueError:
        return 1, 0.0, text
