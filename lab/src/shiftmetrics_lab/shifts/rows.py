"""Rows of whatever a sample is: an array of any library, a pandas table or series, a list of strings."""

from __future__ import annotations

import copy
from typing import Any

import array_api_compat
import numpy as np

from shiftmetrics._core.arrays import BoolArray, is_labelled, namespace, to_numpy
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError


def n_rows(sample: Any) -> int:
    """Return the number of rows."""
    shape = getattr(sample, "shape", None)
    return int(shape[0]) if shape is not None else len(sample)


def copy_sample(sample: Any) -> Any:
    """Return a copy that shares no memory that matters."""
    if hasattr(sample, "detach"):
        return sample.detach().clone()
    return sample.copy() if hasattr(sample, "copy") else copy.copy(sample)


def rows_differ(first: Any, second: Any) -> BoolArray:
    """Tell for each row whether the two samples differ there; missing values equal missing values."""
    if is_labelled(first) and is_labelled(second):
        differ = _labelled_differ(first, second)
    elif array_api_compat.is_array_api_obj(first):
        a, b = to_numpy(first), to_numpy(second)
        if a.shape != b.shape:
            return np.ones(n_rows(first), dtype=bool)
        differ = np.asarray((a != b) & ~((a != a) & (b != b)))  # NaN alone differs from itself
    else:
        differ = np.asarray([a != b for a, b in zip(first, second, strict=True)], dtype=bool)
    rows = np.asarray(differ, dtype=bool).reshape(len(differ), -1)
    return np.asarray(rows.any(axis=1), dtype=np.bool_)


def _labelled_differ(first: Any, second: Any) -> BoolArray:
    """Compare by position, column by column: corrupted columns may have another dtype."""
    if getattr(first, "ndim", 1) == 2:
        columns = [
            _labelled_differ(first.iloc[:, place], second.iloc[:, place])
            for place in range(first.shape[1])
        ]
        return np.stack(columns, axis=1) if columns else np.zeros((len(first), 0), dtype=bool)
    a_missing, b_missing = first.isna().to_numpy(dtype=bool), second.isna().to_numpy(dtype=bool)
    differ: BoolArray = a_missing != b_missing
    both = ~(a_missing | b_missing)
    differ[both] = first.to_numpy(dtype=object)[both] != second.to_numpy(dtype=object)[both]
    return differ


def choose_rows(mask: BoolArray, shifted: Any, reference: Any) -> Any:
    """Return ``shifted`` where ``mask`` holds and ``reference`` elsewhere, row by row.

    Raises
    ------
    TypeError, ValueError
        If the two samples are not of one kind and shape.
    """
    if is_labelled(shifted) != is_labelled(reference):
        raise TypeError(
            f"shifted and reference must be of one kind, got {type(shifted).__name__} and "
            f"{type(reference).__name__}."
        )
    if is_labelled(shifted):
        return _choose_labelled(mask, shifted, reference)
    if array_api_compat.is_array_api_obj(shifted) and array_api_compat.is_array_api_obj(reference):
        if tuple(shifted.shape) != tuple(reference.shape):
            raise ValueError(
                "shifted and reference must have the same shape, "
                f"got {tuple(shifted.shape)} and {tuple(reference.shape)}."
            )
        xp = namespace(shifted, reference)
        choice = mask.reshape(-1, *[1] * (shifted.ndim - 1))
        if xp.__name__.endswith("numpy"):
            return np.where(choice, shifted, reference)
        return xp.where(xp.asarray(choice, device=shifted.device), shifted, reference)
    if isinstance(shifted, str) or isinstance(reference, str):
        raise ArgumentTypeError("shifted", "a list of strings", "one string", "Wrap it in a list.")
    return [a if use else b for use, a, b in zip(mask, shifted, reference, strict=True)]


def _choose_labelled(mask: BoolArray, shifted: Any, reference: Any) -> Any:
    import pandas as pd

    if list(shifted.index) != list(reference.index):
        expected = "a table with the index of reference"
        raise ArgumentValueError("shifted", expected, "another index", "Align them first.")
    if getattr(shifted, "ndim", 1) == 2 and list(shifted.columns) != list(reference.columns):
        raise ArgumentValueError(
            "shifted", "a table with the columns of reference", list(shifted.columns)
        )
    parts = [shifted.iloc[np.flatnonzero(mask)], reference.iloc[np.flatnonzero(~mask)]]
    order = np.argsort(np.concatenate([np.flatnonzero(mask), np.flatnonzero(~mask)]), kind="stable")
    return (
        pd.concat([part for part in parts if len(part)]).iloc[order]
        if len(mask)
        else reference.copy()
    )
