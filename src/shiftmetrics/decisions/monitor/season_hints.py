"""Seasons by which a reference differs from itself: batches of single ones would be held against a mixture of all.

A reference of a whole year in random order raises no alarm when it is replayed, but a batch of July differs from it
as July differs from the year. Whether the seasons of a reference differ is asked when the passport is made; whether a
batch is of few of them, when it is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shiftmetrics._core.arrays import IntArray
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import format_percent
from shiftmetrics.decisions.count_tables import holm, rare_together
from shiftmetrics.decisions.monitor.column_profiles import ColumnProfile
from shiftmetrics.decisions.monitor.seasons import (
    NAMES,
    SEASON_UNITS,
    Seasons,
    season_names,
    season_numbers,
)

if TYPE_CHECKING:
    import pandas as pd

_LEVEL = 0.001
"""Level at which seasons are said to differ, all columns and units together."""
_LEAST = 20
"""Samples of a season that is compared with the others."""
_FEW = 0.5
"""Part of the reference whose seasons a batch has, below which it is warned of."""
_PRESENT = 0.05
"""Part of a batch from which it has a season."""
_MOST_COLUMNS = 60
_MOST_DATES = 3


@dataclass(frozen=True, eq=False, kw_only=True)
class SeasonHint(Record):
    """A unit of seasons by which the reference differs.

    Attributes
    ----------
    unit : str
        "month", "weekday" or "hour".
    column : str
        The column of dates.
    counts : array of int of shape (n_seasons,)
        Samples of the reference in each season of the unit.
    differing : str
        The column that differs most clearly.
    p_value : float
        Of "it is distributed alike in all seasons", adjusted for all columns and units.
    """

    unit: str
    column: str
    counts: IntArray
    differing: str
    p_value: float

    @property
    def remedy(self) -> str:
        """The options of the passport that tell these seasons apart."""
        return f"--season {self.unit} --time {self.column}"

    def sentence(self) -> str:
        """Say that seasons differ, and what to do where batches are single ones."""
        return (
            f"The {self.unit}s of the reference differ (`{self.column}`; most clearly in {self.differing}). Where a "
            f"batch is of one {self.unit}, make the passport with {self.remedy}."
        )

    def warnings(self, frame: pd.DataFrame) -> tuple[str, ...]:
        """Warn of a batch that is of few of the seasons of the reference."""
        if self.column not in frame or frame[self.column].dtype.kind != "M":
            return ()
        numbers = season_numbers(frame, self.column, self.unit, "batch")
        own = np.bincount(numbers[numbers >= 0], minlength=len(self.counts))
        present = own >= max(1.0, _PRESENT * own.sum())
        part = self.counts[present].sum() / self.counts.sum()
        # Of seasons that the reference lacks, telling seasons apart would not help.
        if not 0.0 < part < _FEW:
            return ()
        names = season_names(self.unit, np.flatnonzero(present).tolist())
        return (
            f"This batch is of {names} (`{self.column}`), {format_percent(part)} of a reference whose {self.unit}s "
            f"differ: an alarm may be the season's. Make the passport with {self.remedy}.",
        )


def hints_of(
    frame: pd.DataFrame,
    dates: Sequence[str],
    profiles: Sequence[ColumnProfile],
    known: Seasons | None = None,
) -> tuple[SeasonHint, ...]:
    """Return the units of seasons by which a reference differs, the clearest column of each.

    Parameters
    ----------
    frame : DataFrame
        The reference.
    dates : sequence of str
        Its columns of dates.
    profiles : sequence of ColumnProfile
        The cells of its columns.
    known : Seasons, optional
        Those that are told apart already.
    """
    asked = [
        (column, unit)
        for column in dates[:_MOST_DATES]
        for unit in SEASON_UNITS
        if known is None or (unit, column) != (known.unit, known.column)
    ]
    found: list[tuple[float, str, str, str, IntArray]] = []
    for column, unit in asked:
        numbers = season_numbers(frame, column, unit, "reference")
        counts = np.bincount(numbers[numbers >= 0], minlength=len(NAMES[unit]))
        for profile in profiles[:_MOST_COLUMNS]:
            cells = profile.by_season(frame[profile.column], numbers, len(counts))
            # Of a few samples the chi-squared approximation does not hold.
            p_value = _alike(cells[counts >= _LEAST])
            found.append((p_value, column, unit, str(profile.column), counts))
    if not found:
        return ()
    # Of dozens of columns and units some differ by chance where levels are not adjusted.
    adjusted = holm(np.array([each[0] for each in found]))
    hints: dict[tuple[str, str], SeasonHint] = {}
    # In the order of the p-values the first of each unit is its clearest column.
    for place in np.argsort(adjusted, kind="stable").tolist():
        _, column, unit, differing, counts = found[place]
        if adjusted[place] <= _LEVEL and (column, unit) not in hints:
            hints[column, unit] = SeasonHint(
                unit=unit,
                column=column,
                counts=counts.astype(np.int64),
                differing=differing,
                p_value=float(adjusted[place]),
            )
    return tuple(hints.values())


def _alike(cells: IntArray) -> float:
    """Return the p-value of one distribution over the cells in all seasons, one of them a row."""
    from scipy.stats import chi2_contingency

    if len(cells) < 2:
        return 1.0
    table = rare_together(cells)
    return float(chi2_contingency(table).pvalue) if table.shape[1] > 1 else 1.0
