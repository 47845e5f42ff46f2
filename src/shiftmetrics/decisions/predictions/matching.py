"""Which rows of two files belong together: by their ids, or by their place where there are none."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import IntArray
from shiftmetrics._core.class_names import class_key
from shiftmetrics._core.exceptions import ArgumentValueError, Setting, Wording
from shiftmetrics._core.validation import first_few
from shiftmetrics.decisions.predictions.columns import FileColumns

Ids = npt.NDArray[Any]

RowSelection: TypeAlias = IntArray | slice
"""Positions of rows, or all of them as a slice."""


def match_rows(
    old: FileColumns, new: FileColumns, ids: Any, *, inner: bool
) -> tuple[RowSelection, RowSelection, Ids]:
    """Return the rows of both files that belong together, in the order of the old one, and their ids.

    All rows in their own order are a slice, so that nothing has to be copied.

    Parameters
    ----------
    old, new : FileColumns
        Both files.
    ids : array of shape (n_rows,) or None
        Ids of arrays, which have none of their own.
    inner : bool
        Whether rows that one file has alone are left out.

    Raises
    ------
    ValueError
        If ids repeat, or rows are in one file alone and that is not allowed, or no row is in both.
    """
    everything = slice(None)
    places_of_old = np.arange(old.n_rows)
    if ids is not None and not isinstance(ids, str):
        given = np.asarray(ids)
        if given.shape != (old.n_rows,):
            expected = f"one for each of {old.n_rows} rows"
            raise ArgumentValueError("ids", expected, f"shape {given.shape}")
        old.ids = given
        new.ids = given
    if old.ids is None or new.ids is None:
        if old.n_rows != new.n_rows:
            got = f"{old.n_rows} and {new.n_rows} rows"
            remedy = "Without ids rows belong together by their place: add a column of ids to both."
            raise ArgumentValueError("old and new", "of the same rows", got, remedy)
        old.found.append("rows by their place")
        new.found.append("rows by their place")
        return everything, everything, places_of_old
    first, second = same_type(old.ids, new.ids)
    _refuse_repeated(first, "old")
    # Most files have the same rows in the same order.
    if np.array_equal(first, second):
        return everything, everything, first
    _refuse_repeated(second, "new")
    places = positions(first, second)
    in_both = places >= 0
    n_common = int(in_both.sum())
    if n_common == 0:
        got = f"{first_few(first.tolist(), 2)} in old and {first_few(second.tolist(), 2)} in new"
        raise ArgumentValueError(
            "old and new", "files with rows in common", got, "Compare the ids."
        )
    if not inner and n_common < max(len(first), len(second)):
        parts = []
        for name, own, other in (("old", first, second), ("new", second, first)):
            alone = own[positions(own, other) < 0]
            if len(alone):
                parts.append(f"{first_few(alone.tolist())} only in {name}")
        # Never a remedy that pairs rows which do not belong together.
        remedy = Wording("Pass ", Setting("inner", True), " to compare the rows that both have.")
        raise ArgumentValueError("old and new", "of the same rows", "; ".join(parts), remedy)
    return places_of_old[in_both], places[in_both], first[in_both]


def same_type(first: Ids, second: Ids) -> tuple[Ids, Ids]:
    """Return ids, or labels, that can be compared: as strings where one side's are not integers."""
    if first.dtype.kind in "iu" and second.dtype.kind in "iu":
        return first.astype(np.int64, copy=False), second.astype(np.int64, copy=False)
    return as_strings(first), as_strings(second)


def as_strings(values: Ids) -> Ids:
    """Return labels or ids as strings; 1 and 1.0 give the same."""
    if values.dtype.kind in "USiu":
        return values.astype(str)
    # Floats that are whole, as pandas reads integers with gaps, are written as integers.
    return np.array([class_key(value) for value in values.tolist()], dtype=str)


def positions(wanted: Ids, known: Ids) -> IntArray:
    """Return the place of each id in ``known``, whose entries are distinct; -1 where it is not there."""
    # A search in the sorted ids: a dictionary of a million of them would be slower, and larger.
    order = np.argsort(known, kind="stable")
    found = np.searchsorted(known, wanted, sorter=order)
    places = order[np.minimum(found, len(known) - 1)]
    return np.where(known[places] == wanted, places, -1)


def _refuse_repeated(ids: Ids, argument: str) -> None:
    """Raise a ValueError that names the first repeated id and where it stands again."""
    distinct, counts = np.unique(ids, return_counts=True)
    if len(distinct) < len(ids):
        repeated = distinct[counts > 1]
        row = int(np.flatnonzero(ids == repeated[0])[1])
        got = f"{first_few(repeated.tolist())} more than once, the first again at row {row}"
        raise ArgumentValueError(argument, "of rows with distinct ids", got)
