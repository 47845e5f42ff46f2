"""Tables of the stability section: the rows, labels and columns of the worst case, and what changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.validation import first_few
from shiftmetrics.stability import column_changes
from shiftmetrics.stability.words import NEARLY_EVEN
from shiftmetrics.views.report.columns import compare_columns
from shiftmetrics.views.report.parts import Entry, Number, cell_of, excerpt, number, percent
from shiftmetrics.views.report.pictures import range_of, thumbnail

MOST_LABELS = 20
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
    moves = np.asarray(result.plan.distances, dtype=np.float64)
    moving = result.plan.changed_fraction > 0.0
    uneven = result.plan.effective_sample_fraction <= NEARLY_EVEN
    base = np.ones(len(weights))
    if entry.rows.sample_weight is not None:
        base = np.asarray(entry.rows.sample_weight, dtype=np.float64)
    _add_labels(entry, base, weights, moves)
    if moving:
        # upweighted groups have their own table, of the change that can be named
        _add_columns(
            entry,
            base,
            weights * (moves > 0.0),
            "Of the rows that change",
            "Who changes, by column.",
        )
        # the rows nearest to an error break first
        nearest = np.flatnonzero((moves > 0.0) & (weights > 0.0))
        nearest = nearest[np.argsort(moves[nearest], kind="stable")]
        if result.places()[0] is None:
            _add_rows(entry, nearest, "The rows that break first.", weights, moves)
        else:
            _add_moves(entry)
            _add_rows(
                entry, nearest, "The rows that break first, and how.", weights, moves, changed=True
            )
    if uneven:
        heaviest = np.argsort(-weights, kind="stable")
        _add_rows(entry, heaviest, "The rows that gain the most weight.", weights, moves)


def _add_labels(entry: Entry, base: FloatArray, weights: FloatArray, moves: FloatArray) -> None:
    """Add the fraction of each label before and after."""
    import pandas as pd

    if entry.rows.labels is None:
        return
    labels = np.asarray([str(label) for label in entry.rows.labels])
    if not 1 < len(np.unique(labels)) <= MOST_LABELS:
        return
    columns = {
        "before": base,
        "after": base * weights,
        "moved": moves > 0.0,
        "rows": np.ones(len(labels)),
    }
    sums = pd.DataFrame(columns).groupby(labels).sum()
    fractions: Any = sums / sums.sum()
    fractions["moved"] = sums["moved"] / sums["rows"]
    moving = bool(moves.any())
    # the label with most changed rows first or, where none changes, the one that gains most weight
    fractions["order"] = fractions["moved"] if moving else fractions["after"] / fractions["before"]
    lines = []
    for part in fractions.sort_values("order", ascending=False, kind="stable").itertuples():
        line: dict[str, Any] = {"Label": part.Index}
        line["Current fraction"] = percent(part.before)
        line["In the worst case"] = percent(part.after)
        if moving:
            line["Changed"] = percent(part.moved)
        lines.append(line)
    entry.add_table(lines, "Who the worst case is about, by label.")


def _add_columns(
    entry: Entry, base: FloatArray, weights: FloatArray, heading: str, caption: str
) -> None:
    """Add the columns whose means or fractions differ most from those of the current sample."""
    table = entry.rows.table
    after = base * weights
    if table is None or not len(table.columns) or not after.sum() > 0.0:
        return
    lines = compare_columns(table, base, after).groupby("column", sort=False).head(MOST_LEVELS)
    # A level of one row, such as a name, says nothing of a group.
    group = (lines["level"] == "") | (lines["before"] * len(after) >= 2.0)
    lines = lines[group & (lines["difference"].abs() >= LEAST_DIFFERENCE)]
    shown = []
    for line in lines.head(entry.detail).itertuples():
        is_number = line.level == ""
        show = number if is_number else percent
        shown.append(
            {
                "Column": str(line.column)
                if is_number
                else f"{line.column} = {excerpt(line.level)}",
                "Current": show(float(line.before)),
                heading: show(float(line.after)),
                "Difference (sd)": Number(f"{line.difference:+.2f}"),
            }
        )
    caption += " Means of numbers and fractions of categories, the largest differences first."
    entry.add_table(shown, caption)


def _add_moves(entry: Entry) -> None:
    """Add the typical change of each column, the largest first."""
    moves = column_changes(entry.result)
    lines = []
    for line in moves[moves["changed_fraction"] > 0.0].head(entry.detail).itertuples():
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


def changes(start: Any, end: Any, units: Any) -> str:
    """Print which columns of a row change, the largest changes first: ``age 63 → 66.5``."""
    changed = []
    for place, name in enumerate(start.index):
        before, after = start.iloc[place], end.iloc[place]
        if isinstance(before, int | float | np.number) and not isinstance(before, bool | np.bool_):
            unit = 1.0 if units is None else float(units[place])
            size = abs(float(after) - float(before)) / unit
            text = _numbers_apart(float(before), float(after))
        else:
            size = float(str(before) != str(after))
            text = f"{excerpt(str(before))} → {excerpt(str(after))}"
        if size > 1e-9:
            changed.append((size, f"{name} {text}"))
    changed.sort(key=lambda pair: -pair[0])
    return first_few((text for _, text in changed), MOST_CHANGES, show=str)


def _numbers_apart(before: float, after: float) -> str:
    """Print two numbers with as many digits as tell them apart."""
    digits = next((d for d in range(3, 12) if f"{before:.{d}g}" != f"{after:.{d}g}"), 12)
    return f"{before:.{digits}g} → {after:.{digits}g}"


def _add_rows(
    entry: Entry,
    positions: IntArray,
    caption: str,
    weights: FloatArray,
    moves: FloatArray,
    *,
    changed: bool = False,
) -> None:
    """Add a table of some rows, with what is known about them, or with what changes in them."""
    rows = entry.rows
    lines = []
    table, moved = entry.result.places()
    names: Any = rows.names
    if names is None and table is not None:
        names = table.index
    value_range = None if rows.images is None else range_of(rows.images)
    for i in positions[: entry.detail]:
        line: dict[str, Any] = {"Row": str(i if names is None else names[i])}
        if value_range is not None:
            alt = f"row {line['Row']}"
            line["Picture"] = thumbnail(
                np.asarray(rows.images[i]), value_range=value_range, alt=alt
            )
        if rows.labels is not None:
            line["Label"] = str(rows.labels[i])
        if moves.any():
            line["Distance"] = number(float(moves[i]))
        line["Weight"] = Number(f"{weights[i]:.2f}")
        if changed:
            line["What changes"] = changes(table.iloc[i], moved.iloc[i], entry.result.changed.units)
        elif rows.table is not None:
            for name in rows.table.columns[:MOST_COLUMNS]:
                line[str(name)] = Number(cell_of(rows.table[name].iloc[i]))
        lines.append(line)
    entry.add_table(lines, caption)
