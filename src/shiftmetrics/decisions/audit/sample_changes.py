"""What changed between two samples of a table: new and missing modes, columns, and how many samples since when."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import IntArray
from shiftmetrics._core.record import Record
from shiftmetrics.decisions.audit.column_changes import ColumnChange
from shiftmetrics.decisions.audit.column_pictures import ColumnPicture
from shiftmetrics.decisions.audit.new_modes import TableMode


@dataclass(frozen=True, eq=False, kw_only=True)
class Timeline(Record):
    """How many samples each period has, and how many of them belong to each new mode.

    Attributes
    ----------
    column, unit : str
        The column of the times, and the length of a period.
    periods : tuple of str
        Names of the periods, in order.
    n_samples : array of int of shape (n_periods,)
        Current samples in each.
    n_members : array of int of shape (n_modes, n_periods)
        Those of each new mode.
    """

    column: str
    unit: str
    periods: tuple[str, ...]
    n_samples: IntArray
    n_members: IntArray


@dataclass(frozen=True, eq=False, kw_only=True)
class SampleChanges(Record):
    """What changed between two samples of a table.

    Attributes
    ----------
    novelty_p_value, missing_p_value : float
        Of "nothing is new", and of "nothing is missing": from conditions on columns and permuted labels, each with
        its part of the level.
    new, missing : tuple of TableMode
        Modes that the reference lacks, and modes that the current sample lacks; the largest first.
    columns : tuple of ColumnChange
        Each column by itself, the largest effect first.
    auc : float
        How well trees tell the samples apart, cross-validated.
    unmatched_fraction : float
        Fraction of current samples without counterpart in the reference.
    first_rows : tuple of str
        Ids, or positions, of some new samples: members of the modes, or those that look newest where there are none.
    gradual : str
        How numbers, or correlations of two columns, changed gradually, where the search shows nothing else.
    timeline : Timeline or None
        Where a column of times is given.
    column_notes : tuple of str
        Which columns are the id, are left out, or are read as text.
    order_of_dates : tuple of str
        That the reference is later than the current sample, by which column.
    since : str
        The period from which on something is new, where late parts of the sample show it and the whole does not.
    likely_rows : array of int
        Positions of current samples from that period on that are new more likely than not, where no mode stands out;
        the likeliest first.
    likely_names : array of str
        Their ids, or positions.
    pictures : tuple of ColumnPicture
        What the columns that are shown to have changed looked like before and after, at most six.
    """

    novelty_p_value: float
    new: tuple[TableMode, ...]
    missing: tuple[TableMode, ...]
    columns: tuple[ColumnChange, ...]
    auc: float
    unmatched_fraction: float
    first_rows: tuple[str, ...]
    gradual: str = ""
    timeline: Timeline | None = None
    column_notes: tuple[str, ...] = ()
    order_of_dates: tuple[str, ...] = ()
    missing_p_value: float = 1.0
    since: str = ""
    likely_rows: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    likely_names: npt.NDArray[np.str_] = field(default_factory=lambda: np.empty(0, dtype=np.str_))
    pictures: tuple[ColumnPicture, ...] = ()

    @property
    def fraction_in_modes(self) -> float:
        """Fraction of the current samples that are in one of the new modes, which may overlap."""
        if not self.new:
            return 0.0
        first = self.new[0]
        members = np.unique(np.concatenate([mode.rows for mode in self.new]))
        return len(members) * first.fraction / first.n_members

    @property
    def has_rows(self) -> bool:
        """Whether there are rows to look at, of new modes or from a date on."""
        return bool(self.new or len(self.likely_rows))

    @property
    def has_name(self) -> bool:
        """Whether a mode, a column, a gradual change, or rows from a date on are there to look at."""
        return bool(self.has_rows or self.missing or self.gradual or self.n_changed)

    @property
    def n_changed(self) -> int:
        """How many columns changed by themselves."""
        return len(self.changed_columns())

    @property
    def replaced(self) -> tuple[ColumnChange, ...]:
        """The columns of which nearly every sample has a value that the reference lacks."""
        return tuple(change for change in self.columns if change.is_replaced)

    @property
    def others_tell(self) -> bool:
        """Whether the modes are those of the columns that are not replaced: there are some of both."""
        return 0 < len(self.replaced) < len(self.columns)

    def changed_columns(self) -> tuple[ColumnChange, ...]:
        """Return the columns that changed by themselves: at a level of 1 % for all of them together."""
        return tuple(change for change in self.columns if change.is_shown)
