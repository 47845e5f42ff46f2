"""Typical rows of a mode, as a person reads them: columns that set it apart, rows of a table, beginnings of texts."""

from __future__ import annotations

from typing import Any

import numpy as np
from markupsafe import Markup

from shiftmetrics.views.report.columns import compare_columns
from shiftmetrics.views.report.context import Rows
from shiftmetrics.views.report.parts import Number, ReportTable, cell_of, excerpt, percent
from shiftmetrics.views.report.pictures import range_of, thumbnail

MOST_COLUMNS = 5


class TypicalSide:
    """The test sample or the reference, as a mode shows it: the rows behind the result, and those of the mode."""

    def __init__(self, mode: Any, rows: Rows, *, reference: bool = False) -> None:
        if reference:
            self.name = "reference"
            self.where = "in the reference"
            self.n_members: int = mode.n_reference_members
        else:
            self.name = "test sample"
            self.where = "in the test"
            self.n_members = mode.n_members
        prefix = "reference_" if reference else ""
        self.fraction = getattr(mode, f"{prefix}fraction")
        self.membership = getattr(mode, f"{prefix}membership")
        self.exemplars = getattr(mode, f"{prefix}exemplars")
        self.names = getattr(rows, f"{prefix}names")
        self.labels = getattr(rows, f"{prefix}labels")
        self.images = getattr(rows, f"{prefix}images")
        self.texts = getattr(rows, f"{prefix}texts")
        self.table = getattr(rows, f"{prefix}table")

    @property
    def has_members(self) -> bool:
        """Whether rows belong to the mode, and are known: a result that was read from a file has lost them."""
        return self.membership is not None and self.n_members > 0

    def members(self) -> Any:
        """Return the members, else the exemplars."""
        if not self.has_members:
            return self.exemplars
        return np.argsort(-self.membership, kind="stable")[: self.n_members]

    def typical(self, most: int) -> Any:
        """Return the most typical rows; none but members, where there are any."""
        return self.exemplars[: min(most, self.n_members or most)]

    def row_name(self, row: int) -> str:
        """Return the name of a row."""
        return str(row if self.names is None else self.names[row])

    def pictures(self, positions: Any) -> list[Markup]:
        """Return the pictures at these positions, where there are any."""
        if self.images is None:
            return []
        # one range for all pictures of a sample, so that they compare
        value_range = range_of(self.images)
        pictures = []
        for i in positions:
            alt = f"row {self.row_name(i)}"
            if self.labels is not None:
                alt += f", label {self.labels[i]}"
            pictures.append(thumbnail(np.asarray(self.images[i]), value_range=value_range, alt=alt))
        return pictures

    def excerpts(self, positions: Any) -> list[tuple[str, str]]:
        """Return the names of rows and the beginnings of their texts, where there are any."""
        if self.texts is None:
            return []
        return [(self.row_name(i), excerpt(str(self.texts[i]))) for i in positions]


def typical_columns(positions: Any, table: Any) -> dict[Any, str]:
    """Return the columns in which the rows at these positions differ most from all rows, the most different first.

    Each comes with the mean of these rows, or the value that they have more often than all do; that of all rows in
    brackets. Differences are in standard deviations.
    """
    # all rows against the members alone, as weights of the same table
    members = np.zeros(len(table))
    members[positions] = 1.0
    if not members.any():
        return {}
    lines = compare_columns(table, np.ones(len(table)), members)
    columns: dict[Any, str] = {}
    names = {str(name): name for name in table.columns}
    # the lines are in order of their differences, so the first line of a column is its largest
    for line in lines.itertuples():
        name = names[line.column]
        if name in columns or table[name].nunique() <= 1:
            continue
        if line.level == "":
            columns[name] = f"{name} {_beside(f'{line.after:.3g}', f'{line.before:.3g}')}"
        elif line.difference > 0.0:
            fractions = _beside(percent(line.after), percent(line.before))
            columns[name] = f"{name} {excerpt(line.level)} {fractions}"
        if len(columns) == MOST_COLUMNS:
            break
    return columns


def typical_rows(
    side: TypicalSide, opposite: TypicalSide, columns: list[Any], detail: int
) -> ReportTable:
    """Return the most typical rows of a mode, and those of the opposite sample that are nearest to it, as a table."""

    def line(sample: TypicalSide, i: int, suffix: str = "") -> dict[str, Any]:
        cells: dict[str, Any] = {"Row": f"{sample.row_name(i)}{suffix}"}
        if side.labels is not None:
            cells["Label"] = "–" if sample.labels is None else str(sample.labels[i])
        for column in columns:
            cell = "–"
            if column in sample.table.columns:
                cell = cell_of(sample.table[column].iloc[i])
            is_numeric = side.table[column].to_numpy().dtype.kind in "iuf"
            cells[str(column)] = Number(cell) if is_numeric else cell
        return cells

    # the mode first, then what comes nearest to it on the other side
    lines = [line(side, i) for i in side.typical(detail)]
    if opposite.table is None:
        return ReportTable(lines, "Most typical rows")
    lines += [
        line(opposite, i, f" ({opposite.name})") for i in opposite.exemplars[: max(detail // 2, 1)]
    ]
    return ReportTable(lines, f"Most typical rows, then the nearest to them in the {opposite.name}")


def _beside(text: str, overall: str) -> str:
    return f"{text} ({overall})".replace(" %", "\N{NO-BREAK SPACE}%")
