"""Labels and ids as they are compared: 1, 1.0 and "1" alike, and where they are missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import BoolArray, IntArray
from shiftmetrics._core.class_names import class_key

LabelArray = npt.NDArray[Any]

LARGEST_EXACT = 2.0**53
"""Below it, floats are the integers that they look like."""


def is_missing(values: LabelArray) -> BoolArray:
    """Return True where a label is missing: None, NaN, or an empty string."""
    import pandas as pd

    missing = np.asarray(pd.isna(values))
    if values.dtype.kind in "US":
        missing |= np.char.strip(values) == ""
    elif values.dtype.kind == "O":
        # Each distinct object is looked at once.
        codes, distinct = pd.factorize(values)
        blank = [isinstance(value, str) and not value.strip() for value in distinct]
        missing |= np.array([*blank, False])[codes]
    return missing


def same_type(first: LabelArray, second: LabelArray) -> tuple[LabelArray, LabelArray]:
    """Return ids, or labels, that can be compared: as strings where one side's are not integers."""
    if first.dtype.kind in "iu" and second.dtype.kind in "iu":
        return first.astype(np.int64, copy=False), second.astype(np.int64, copy=False)
    return as_strings(first), as_strings(second)


def as_strings(values: LabelArray) -> LabelArray:
    """Return labels or ids as strings; 1 and 1.0 give the same."""
    if values.dtype.kind in "USiu":
        return values.astype(str)
    # Floats that are whole, as pandas reads integers with gaps, are written as integers.
    if values.dtype.kind == "f" and len(values):
        whole = np.round(values)
        if np.array_equal(whole, values) and np.abs(values).max() < LARGEST_EXACT:
            return whole.astype(np.int64).astype(str)
    if values.dtype.kind == "O" and all(type(value) is str for value in values):
        return np.asarray(np.char.strip(values.astype(str)))
    return np.array([class_key(value) for value in values.tolist()], dtype=str)


def positions(wanted: LabelArray, known: LabelArray) -> IntArray:
    """Return the place of each id in ``known``, whose entries are distinct; -1 where it is not there."""
    # A search in the sorted ids: a dictionary of a million of them would be slower, and larger.
    order = np.argsort(known, kind="stable")
    found = np.searchsorted(known, wanted, sorter=order)
    places = order[np.minimum(found, len(known) - 1)]
    return np.where(known[places] == wanted, places, -1)
