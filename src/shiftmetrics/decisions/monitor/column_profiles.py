"""What single columns of a reference look like, in a few cells each, and which of them moved under an alarm.

An alarm counts samples that lie far from the reference; in which column, it does not say. So the passport
keeps how many samples fall into a few cells of each column, and a batch is counted in the same cells. Nothing of this
raises an alarm: it is asked once there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import format_number, format_percent
from shiftmetrics.decisions.count_tables import holm, one_distribution, rare_together
from shiftmetrics.decisions.monitor.seasons import matched_cells
from shiftmetrics.tables.encoder import TableEncoder
from shiftmetrics.tables.encoder.categories import level_codes, level_counts
from shiftmetrics.tables.encoder.parts import to_numbers
from shiftmetrics.tables.encoder.roles import Column

if TYPE_CHECKING:
    import pandas as pd

_EDGES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""Quantiles of a column of numbers between which samples are counted."""
_MOST_LEVELS = 12
"""Levels of a category that have a cell, the most frequent first."""
_MOST_COLUMNS = 200
"""Columns that are profiled: with them the passport stays below 100 kB."""
_MOST_OF_SEASONS = 600
"""Columns times seasons that are profiled, for the same reason."""
_WINDOWS = (1, 2, 4, 8)
"""Numbers of last batches that are compared with the reference: nobody knows since when a column has moved."""
MOST_RECENT = max(_WINDOWS)
_LEVEL = 0.01
"""Level at which columns are said to have moved, all columns and windows together."""
CONSTANT = ("all its values are the same", "all its cells are missing")
"""Why the encoder leaves out columns of one value."""
_LEAST_APART = 0.02
"""Least change of a fraction that is told: of a million samples, any."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ColumnProfile(Record):
    """How many samples of the reference fall into each cell of one column.

    Attributes
    ----------
    column : str or int
        Its name.
    edges : array of shape (n_edges,)
        Of numbers: a cell holds those above one edge and at most the next.
    levels : tuple of str
        Of a category: its most frequent levels.
    counts : array of int of shape (n_cells,)
        Samples of the reference in each cell: between edges or of each level; of a category, of all other levels; of
        numbers, those that are infinite; at last those that are missing.
    has_infinite : bool
        Whether infinite cells have a cell of their own; in older passports they are among the missing ones.
    """

    column: Any
    edges: FloatArray
    levels: tuple[str, ...]
    counts: IntArray
    has_infinite: bool = False

    @classmethod
    def constant(cls, column: Column, values: pd.Series) -> ColumnProfile:
        """Count a column that is the same in all of the reference: its value, and all others."""
        level = level_counts(values).index[0]
        counts = [len(values), 0, 0]
        if level == "missing":
            counts.reverse()
        return cls(
            column=column.name,
            edges=np.zeros(0),
            levels=(level,),
            counts=np.array(counts, dtype=np.int64),
        )

    @property
    def is_constant(self) -> bool:
        """Whether the reference has one value at most, and gaps."""
        return len(self.levels) == 1 and not self.counts[1:-1].any()

    @classmethod
    def fit(cls, column: Column, values: pd.Series) -> ColumnProfile:
        """Choose the cells of a column of the reference, and count it in them."""
        edges = np.zeros(0)
        levels: tuple[str, ...] = ()
        if column.role == "category":
            names = [name for name in level_counts(values).index if name != "missing"]
            levels = tuple(names[:_MOST_LEVELS])
        else:
            numbers = to_numbers(values)
            known = numbers[np.isfinite(numbers)]
            if len(known):
                # Rounded, for a small file: what is counted is counted by the rounded edges, there and here.
                found = np.quantile(known, _EDGES)
                edges = np.unique([float(f"{edge:.4g}") for edge in found.tolist()])
        empty = cls(
            column=column.name,
            edges=edges,
            levels=levels,
            counts=np.zeros(0, dtype=np.int64),
            has_infinite=not levels,
        )
        return replace(empty, counts=empty.count(values))

    def count(self, values: pd.Series) -> IntArray:
        """Count the cells of a column of a batch."""
        return np.bincount(self.places(values), minlength=self.n_cells).astype(np.int64)

    @property
    def n_cells(self) -> int:
        """The cells between edges or of levels, of a category that of all other levels, and those of gaps."""
        if self.levels:
            return len(self.levels) + 2
        return len(self.edges) + 2 + self.has_infinite

    def places(self, values: pd.Series) -> IntArray:
        """Return the cell of each sample."""
        missing = self.n_cells - 1
        if self.levels and values.dtype.kind in "iuf":
            # 5 and 5.0 are one number, whatever else stands in the column.
            return self._places_of_numbers(to_numbers(values))
        if self.levels:
            codes, names = level_codes(values)
            known = {name: place for place, name in enumerate(self.levels)} | {"missing": missing}
            cells = np.array([known.get(name, missing - 1) for name in names], dtype=np.int64)
            return np.asarray(cells[codes], dtype=np.int64)
        numbers = to_numbers(values)
        places = np.searchsorted(self.edges, numbers, side="left")
        if self.has_infinite:
            places = np.where(np.isfinite(numbers), places, missing - 1)
            return np.where(values.isna(), missing, places).astype(np.int64)
        return np.where(np.isfinite(numbers), places, missing).astype(np.int64)

    def _places_of_numbers(self, numbers: FloatArray) -> IntArray:
        """Return the cell of each number of a category: a level that is this number, or that of all others."""
        missing = self.n_cells - 1
        places = np.where(np.isnan(numbers), missing, missing - 1)
        for place, level in enumerate(self.levels):
            try:
                places[numbers == float(level)] = place
            except ValueError:
                continue  # a word is no number
        return places.astype(np.int64)

    def by_season(self, values: pd.Series, seasons: IntArray, n_seasons: int) -> IntArray:
        """Count the cells of a column for each season, of those samples whose season is not negative."""
        is_known = seasons >= 0
        both = seasons[is_known] * self.n_cells + self.places(values)[is_known]
        counts = np.bincount(both, minlength=n_seasons * self.n_cells)
        return counts.reshape(n_seasons, self.n_cells).astype(np.int64)

    def moved(self, counts: IntArray) -> tuple[str, int, int] | None:
        """Return the part of the column that has grown most, in words, with its count before and now."""
        n_before, n_now = int(self.counts.sum()), int(counts.sum())
        grown = [
            (now / n_now - before / n_before, words, before, now)
            for words, before, now in self._parts(counts)
        ]
        apart, words, before, now = max(grown)
        return (words, before, now) if apart >= _LEAST_APART else None

    def _parts(self, counts: IntArray) -> list[tuple[str, int, int]]:
        """Return parts of the column that have a short name: levels, or all below or above an edge."""
        rows = [self.counts.tolist(), counts.tolist()]
        if self.is_constant and self.counts[0] == 0:
            # All cells of the reference are gaps, so that only what is filled in can grow.
            n_before, n_now = map(sum, rows)
            return [(f"{self.column} not missing", n_before - rows[0][-1], n_now - rows[1][-1])]
        parts = [(f"{self.column} missing", rows[0][-1], rows[1][-1])]
        if self.is_constant:
            other = f"{self.column} other than {self.levels[0]}"
            return [*parts, (other, rows[0][1], rows[1][1])]
        if self.levels:
            names = [*(f"{self.column} = {level}" for level in self.levels)]
            names.append(f"other levels of {self.column}")
            return parts + list(zip(names, rows[0], rows[1], strict=False))
        # Behind these come infinite and missing cells, which lie on neither side of an edge.
        last = len(self.edges) + 1
        for place, edge in enumerate(self.edges.tolist(), start=1):
            below = [sum(row[:place]) for row in rows]
            above = [sum(row[place:last]) for row in rows]
            parts.append((f"{self.column} at most {format_number(edge)}", below[0], below[1]))
            parts.append((f"{self.column} above {format_number(edge)}", above[0], above[1]))
        if self.has_infinite:
            parts.append((f"{self.column} infinite", rows[0][-2], rows[1][-2]))
        return parts


@dataclass(frozen=True, eq=False, kw_only=True)
class ColumnMove(Record):
    """A part of one column that is more frequent in the last batches than in the reference.

    Attributes
    ----------
    rule : str
        Which samples, such as "temp at most 41".
    n_batches : int
        How many of the last batches show it most.
    now, before : tuple of two int
        Samples of the rule, and all, of these batches and of the reference.
    p_value : float
        Of "the column is distributed as in the reference", adjusted for all columns and for the choice of batches.
    """

    rule: str
    n_batches: int
    now: tuple[int, int]
    before: tuple[int, int]
    p_value: float

    @property
    def text(self) -> str:
        """The rule and its fractions, in words."""
        now, before = (format_percent(hits / n) for hits, n in (self.now, self.before))
        batches = "this batch" if self.n_batches == 1 else f"the last {self.n_batches} batches"
        return f"{self.rule} in {now} of {batches}, was {before}"


def profiles_of(
    encoder: TableEncoder, frame: pd.DataFrame, n_seasons: int = 0
) -> tuple[ColumnProfile, ...]:
    """Profile the columns of a reference that are watched and are numbers or categories, and those of one value.

    A column of one value tells no rows apart, so that the rows are watched without it: another value is named, and
    no alarm.
    """
    names = [part.name for part in encoder.parts]
    watched = [
        column
        for column in encoder.columns
        if column.role in ("number", "category") and column.name in names
    ]
    # Each season has counts of its own.
    most = min(_MOST_COLUMNS, _MOST_OF_SEASONS // n_seasons) if n_seasons else _MOST_COLUMNS
    found = [ColumnProfile.fit(column, frame[column.name]) for column in watched[:most]]
    for column in encoder.columns:
        if column.reason in CONSTANT and len(found) < most and frame[column.name].dtype.kind != "M":
            found.append(ColumnProfile.constant(column, frame[column.name]))
    return tuple(found)


def add_recent(recent: IntArray, counts: IntArray) -> IntArray:
    """Return the cells of the last batches after one more; a batch that was not counted in them is left out."""
    if not counts.size:
        return recent
    before = recent if recent.size else np.zeros((0, len(counts)), dtype=np.int64)
    return np.vstack([before, counts])[-MOST_RECENT:].astype(np.int64)


def moved_columns(
    profiles: Sequence[ColumnProfile],
    recent: IntArray,
    seasons: tuple[IntArray, IntArray] | None = None,
) -> tuple[ColumnMove, ...]:
    """Return the columns that moved in the last batches, the clearest first.

    Parameters
    ----------
    profiles : sequence of ColumnProfile
        Those of the passport.
    recent : array of int of shape (n_batches, n_cells)
        The cells of all profiles, one after the other, for each of the last batches; the last one last.
    seasons : pair of arrays of int, optional
        Of shape (n_seasons, n_cells), the cells of the reference by season; and of shape (n_batches, n_seasons), the
        samples of the last batches by season: they are held against the same seasons in the same proportions.
    """
    if not recent.size or (seasons is not None and len(seasons[1]) != len(recent)):
        return ()
    ends = np.cumsum([len(profile.counts) for profile in profiles])
    windows = [window for window in _WINDOWS if window <= len(recent)]
    asked = [(profile, window) for profile in range(len(profiles)) for window in windows]
    asked = [(place, window) for place, window in asked if recent[-window:].any()]
    counts = []
    compared = []
    cells_of = [
        slice(end - len(profile.counts), end) for end, profile in zip(ends, profiles, strict=True)
    ]
    # A batch may lack a column of one value.
    asked = [each for each in asked if recent[-each[1] :, cells_of[each[0]]].any()]
    for place, window in asked:
        cells = cells_of[place]
        counts.append(recent[-window:, cells].sum(axis=0))
        profile = profiles[place]
        if seasons is not None:
            same = matched_cells(seasons[0][:, cells], seasons[1][-window:].sum(axis=0))
            profile = replace(profile, counts=same)
        compared.append(profile)
    # One question for each column and each window. Windows overlap; Holm's correction allows for
    # that.
    p_values = holm(
        np.array(
            [
                one_distribution(rare_together(np.stack([profile.counts, own])))
                for profile, own in zip(compared, counts, strict=True)
            ]
        )
    )
    best: dict[int, ColumnMove] = {}
    for number in np.argsort(p_values, kind="stable").tolist():
        place, window = asked[number]
        profile, own = compared[number], counts[number]
        found = profile.moved(own)
        if p_values[number] > _LEVEL or place in best or found is None:
            continue
        rule, before, now = found
        best[place] = ColumnMove(
            rule=rule,
            n_batches=window,
            now=(now, int(own.sum())),
            before=(before, int(profile.counts.sum())),
            p_value=float(p_values[number]),
        )
    return tuple(best.values())
