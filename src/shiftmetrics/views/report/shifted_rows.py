"""Tables of the stability section: the rows and columns of the worst case, and what changes."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.validation import first_few
from shiftmetrics.stability import column_changes
from shiftmetrics.stability.words import NEARLY_EVEN
from shiftmetrics.views.report.columns import compare_columns
from shiftmetrics.views.report.parts import Entry, Number, cell_of, excerpt, number, percent
from shiftmetrics.views.report.sides import Side

MOST_COLUMNS = 6
MOST_LEVELS = 3
"""Lines for one column of categories."""
MOST_CHANGES = 4
"""Columns of one row to show."""
LEAST_DIFFERENCE = 0.01
"""In standard deviations: a smaller one is not worth a line."""


def add_row_tables(entry: Entry) -> None:
    """Add the tables of the rows that change or gain weight."""
    result = entry.result
    weights = np.asarray(result.plan.weights, dtype=np.float64)
    distances = np.asarray(result.plan.distances, dtype=np.float64)
    changes = distances > 0.0
    table = result.places()[0]
    # rows of the model's table go by its index
    if entry.rows.names is None and table is not None:
        entry.rows = dataclasses.replace(entry.rows, names=table.index)
    if changes.any():
        _add_columns(entry, weights * changes, "Of the rows that change")
        # the rows nearest to an error break first
        nearest = np.flatnonzero(changes & (weights > 0.0))
        nearest = nearest[np.argsort(distances[nearest], kind="stable")]
        if table is not None:
            _add_changes(entry)
        _add_rows(entry, nearest, "The rows that break first.", what_changes=table is not None)
    if result.plan.effective_sample_fraction <= NEARLY_EVEN:
        if not changes.any():
            _add_columns(entry, weights, "In the worst case")
        heaviest = np.argsort(-weights, kind="stable")
        _add_rows(entry, heaviest, "The rows that gain the most weight.")


def _add_columns(entry: Entry, weights: FloatArray, heading: str) -> None:
    """Add the columns whose means or fractions differ most from those of the current sample; labels are one more."""
    import pandas as pd

    rows = entry.rows
    table = pd.DataFrame(index=range(len(weights)))
    if rows.table is not None:
        table = rows.table
    if rows.labels is not None:
        table = table.assign(label=[str(label) for label in rows.labels])
    before = np.ones(len(weights))
    if rows.sample_weight is not None:
        before = np.asarray(rows.sample_weight, dtype=np.float64)
    lines = compare_columns(table, before, before * weights)
    # a level of one row, such as a name, says nothing of a group
    is_group = (lines["level"] == "") | (lines["before"] * len(weights) >= 2.0)
    lines = lines[is_group & (lines["difference"].abs() >= LEAST_DIFFERENCE)]
    shown = []
    for line in lines.groupby("column", sort=False).head(MOST_LEVELS).itertuples():
        show = percent if line.level else number
        name = f"{line.column} = {excerpt(line.level)}" if line.level else line.column
        shown.append(
            {
                "Column": name,
                "Current": show(line.before),
                heading: show(line.after),
                "Difference (sd)": Number(f"{line.difference:+.2f}"),
            }
        )
    caption = "Who the worst case is about: means of numbers and fractions of categories."
    entry.add_table(shown[: entry.detail], caption)


def _add_changes(entry: Entry) -> None:
    """Add the typical change of each column, the largest first."""
    changes = column_changes(entry.result)
    lines = []
    for line in changes[changes["changed_fraction"] > 0.0].head(entry.detail).itertuples():
        # a category has no size of a change
        size = None if np.isnan(line.rms_change) else line.rms_change
        mean = "–" if np.isnan(line.mean_change) else f"{line.mean_change:+.2g}"
        lines.append(
            {
                "Column": line.column,
                "Typical change (its unit)": number(size),
                "Mean change": Number(mean),
                "Rows": percent(line.changed_fraction),
            }
        )
    caption = "What changes, by column: root mean square in units of the distance, mean in the column's own."
    entry.add_table(lines, caption)


def _add_rows(
    entry: Entry, positions: IntArray, caption: str, *, what_changes: bool = False
) -> None:
    """Add a table of some rows, with what is known about them, or with what changes in them."""
    plan = entry.result.plan
    table = entry.rows.table
    side = Side(entry.rows)
    before, after = entry.result.places()
    lines = []
    for row in positions[: entry.detail]:
        line = side.line(row)
        line["Distance"] = number(float(plan.distances[row]))
        line["Weight"] = Number(f"{plan.weights[row]:.2f}")
        if what_changes:
            line["What changes"] = changed_cells(before.iloc[row], after.iloc[row])
        elif table is not None:
            for name in table.columns[:MOST_COLUMNS]:
                line[str(name)] = Number(cell_of(table[name].iloc[row]))
        lines.append(line)
    entry.add_table(lines, caption, rows=True)


def changed_cells(start: Any, end: Any) -> str:
    """Print which columns of a row change: ``age 63 → 66.5``."""
    changed = []
    for name in start.index:
        # with as few digits as tell both numbers apart
        for digits in (3, 4, 6):
            before = _printed(start[name], digits)
            after = _printed(end[name], digits)
            if before != after:
                changed.append(f"{name} {before} → {after}")
                break
    return first_few(changed, MOST_CHANGES, show=str)


def _printed(value: Any, digits: int) -> str:
    return f"{value:.{digits}g}" if isinstance(value, float) else excerpt(str(value))
