"""What stands beside the scores and is none: equal columns of both files, weights, totals, largest probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.tables.evidence import ColumnEvidence, TableEvidence
from shiftmetrics.tables.roles.names import RoleName, has_name_of

SEEN = 1_000
"""Rows that are compared before all of them are."""

UNLIKE_SPREAD = 6.0
"""Times as wide, or as narrow, as the median column, from which a column has another unit."""


def equal_columns(tables: Sequence[TableEvidence], rows: Sequence[Any]) -> set[str]:
    """Return the columns that are equal, row by row, in all files: they belong to the rows and to no model.

    Parameters
    ----------
    tables : sequence of TableEvidence
    rows : sequence of ndarray or slice
        The matched rows of each file.
    """
    first = tables[0]
    return {
        name
        for name, column in first.columns.items()
        if all(name in table.columns for table in tables)
        and all(
            _are_equal(column, rows[0], table.columns[name], part)
            for table, part in zip(tables[1:], rows[1:], strict=True)
        )
    }


def _are_equal(one: ColumnEvidence, rows: Any, other: ColumnEvidence, others: Any) -> bool:
    """Return True if two columns are equal in the matched rows; two gaps are equal."""
    if one.numbers is not None and other.numbers is not None:
        own = one.numbers[rows]
        theirs = other.numbers[others]
        # Scores of two models mostly differ in the first rows.
        return all(
            np.array_equal(own[:end], theirs[:end], equal_nan=True) for end in (SEEN, len(own))
        )
    if one.is_number != other.is_number:
        return False
    if one.plain_text and other.plain_text and one.raw.dtype == other.raw.dtype:
        # Strings as they are stored: none becomes an object.
        return bool(one.stored(rows).equals(other.stored(others)))
    return bool((one.taken(rows) == other.taken(others)).all())


def column_named(names: Sequence[str], role: RoleName) -> str | None:
    """Return the only column with the name of a role."""
    found = [name for name in names if has_name_of(name, role)]
    return found[0] if len(found) == 1 else None


def derived_columns(tables: Sequence[TableEvidence], names: Sequence[str]) -> set[str]:
    """Return columns that follow from the others in every row of every file: their largest number, or their sum."""
    found: set[str] = set()
    if len(names) < 3:
        return found
    for name in names:
        # What follows no longer explains anything: of two equal columns of the largest number one
        # stays.
        others = [other for other in names if other != name and other not in found]
        if len(others) >= 2 and all(_follows(table, name, others) for table in tables):
            found.add(name)
    return found


def _follows(table: TableEvidence, name: str, others: Sequence[str]) -> bool:
    """Return True if a column is the largest of others, or their sum, in every row of one file."""
    block = table.numeric(others)
    own = table.columns[name].numbers
    assert own is not None
    # Relative to the largest number of the table, since files are written with few digits.
    scale = np.abs(block).max(initial=0.0)
    for function in (np.max, np.sum):
        derived: FloatArray = function(block, axis=1)
        if np.abs(derived - own).max(initial=0.0) <= 1e-6 * scale:
            return True
    return False


def unlike_columns(tables: Sequence[TableEvidence], names: Sequence[str]) -> set[str]:
    """Return columns whose numbers spread otherwise than those of the others, or are whole among fractions.

    A rule of thumb, for scores whose rows add up to nothing: the spread of a column is set against the
    median of all columns. It fails for two columns, which have no majority.
    """
    unlike: set[str] = set()
    if len(names) < 2:
        return unlike
    for table in tables:
        block = table.numeric(names)
        # In units of the largest number, whose square may be infinite; what is infinite itself does not count.
        known = np.isfinite(block)
        largest = np.abs(block).max(initial=0.0, where=known)
        block[~known] = np.nan
        block[:, ~known.any(axis=0)] = 0.0
        block /= max(float(largest), float(np.finfo(np.float64).tiny))
        spreads = np.nanstd(block, axis=0)
        centres = np.nanmean(block, axis=0)
        # Scores of classes lie about one place: the spread of the centres counts as well.
        typical = float(np.median(spreads))
        middle = float(np.median(centres))
        for name, spread, centre in zip(names, spreads, centres, strict=True):
            is_wide = spread > UNLIKE_SPREAD * typical or spread < typical / UNLIKE_SPREAD
            is_far = abs(centre - middle) > UNLIKE_SPREAD * max(typical, spread)
            if is_wide or is_far:
                unlike.add(name)
    whole = {name for name in names if all(table.columns[name].is_whole for table in tables)}
    if len(whole) < len(names):
        unlike |= whole
    return unlike
