"""Typical rows of a mode, as a person reads them: columns that set it apart, rows of a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftmetrics.stability.frames import is_numeric
from shiftmetrics.views.report.columns import compare_columns
from shiftmetrics.views.report.context import Rows
from shiftmetrics.views.report.parts import Number, ReportTable, cell_of, excerpt, percent
from shiftmetrics.views.report.sides import Side

MOST_COLUMNS = 5
_TYPICAL = 0.1
"""Fraction of the members from which a level is said."""


class TypicalSide(Side):
    """The test sample or the reference, as a mode shows it: the rows behind the result, and those of the mode."""

    def __init__(self, mode: Any, rows: Rows, *, reference: bool = False) -> None:
        super().__init__(rows, reference=reference)
        self.sample = "reference" if reference else "test sample"
        self.n_members: int = mode.n_reference_members if reference else mode.n_members
        prefix = "reference_" if reference else ""
        self.fraction = getattr(mode, f"{prefix}fraction")
        self.membership = getattr(mode, f"{prefix}membership")
        self.exemplars = getattr(mode, f"{prefix}exemplars")

    @property
    def has_members(self) -> bool:
        """Whether rows belong to the mode, and are known: a result that was read from a file has lost them."""
        return self.membership is not None and self.n_members > 0

    def members(self) -> Any:
        """Return the members, else the exemplars."""
        # exemplars are kept in files, members are not
        if not self.has_members:
            return self.exemplars
        return np.argsort(-self.membership, kind="stable")[: self.n_members]

    def typical(self, most: int) -> Any:
        """Return the most typical rows; none but members, where there are any."""
        return self.exemplars[: min(most, self.n_members or most)]


def typical_columns(positions: Any, table: Any) -> dict[Any, str]:
    """Return the columns in which the rows at these positions differ most from all rows, the most different first.

    Each comes with the mean of these rows, or the value that they have more often than all do; that of all rows in
    brackets. Differences are in standard deviations.
    """
    # all rows against the members alone, as weights of the same table
    members = np.zeros(len(table))
    members[positions] = 1.0
    columns: dict[Any, str] = {}
    names = {str(name): name for name in table.columns}
    # the lines are in order of their differences, so the first line of a column is its largest
    for line in compare_columns(table, np.ones(len(table)), members).itertuples():
        name = names[line.column]
        if name in columns or table[name].nunique() <= 1:
            continue
        if line.level == "":
            columns[name] = f"{name} {line.after:.3g} ({line.before:.3g})"
        elif line.difference > 0.0 and line.after >= _TYPICAL:
            now = percent(line.after)
            overall = percent(line.before)
            columns[name] = f"{name} {excerpt(line.level)} {now} ({overall})"
        if len(columns) == MOST_COLUMNS:
            break
    return columns


def typical_rows(
    side: TypicalSide, opposite: TypicalSide, columns: list[Any], detail: int
) -> ReportTable:
    """Return the most typical rows of a mode, and those of the opposite sample that are nearest to it, as a table."""
    shown = [(side, row) for row in side.typical(detail)]
    caption = "Most typical rows"
    # the mode first, then what comes nearest to it on the other side
    if opposite.table is not None:
        nearest = opposite.exemplars[: max(detail // 2, 1)]
        shown += [(opposite, row) for row in nearest]
        caption += f", then the nearest to them in the {opposite.sample}"
    lines = []
    for sample, row in shown:
        line = sample.line(row)
        # which side a row is of is said where it is not the side of the mode
        if sample is opposite:
            line["Row"] += f" ({sample.sample})"
        for column in columns:
            cell = "–"
            if column in sample.table.columns:
                cell = cell_of(sample.table[column].iloc[row])
            line[str(column)] = Number(cell) if is_numeric(side.table[column]) else cell
        lines.append(line)
    return ReportTable(lines, caption)
