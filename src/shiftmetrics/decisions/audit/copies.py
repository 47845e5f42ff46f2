"""Rows that stand more than once, in one sample or in both, counted among all samples of an audit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shiftmetrics._core.arrays import IntArray
from shiftmetrics.novelty.dependence import FEW_COMBINATIONS, warnings_of_codes

if TYPE_CHECKING:
    import pandas as pd


def copies_of_rows(
    current: pd.DataFrame, reference: pd.DataFrame, names: Sequence[str]
) -> tuple[str, ...]:
    """Return what to know of copies among the samples of two tables, in the words of a search for novelty.

    Parameters
    ----------
    current, reference : DataFrame
        Both tables, with their columns as what they are.
    names : sequence of str
        The columns that count: no ids, no dates that only say when a sample was taken.
    """
    if not names:
        return ()
    import pandas as pd

    tables = current, reference
    # Of so few combinations of values rows must repeat.
    if not _has_combinations(tables, names, FEW_COMBINATIONS * sum(map(len, tables))):
        return ()
    codes = np.concatenate([_digests(table, names) for table in tables])
    places, distinct = pd.factorize(codes)
    if len(distinct) == len(codes):
        return ()
    return warnings_of_codes(places[: len(current)], places[len(current) :])


def _has_combinations(tables: Sequence[pd.DataFrame], names: Sequence[str], least: int) -> bool:
    """Return whether the values of the columns have at least so many combinations."""
    found = 1
    for name in names:
        found *= max(table[name].nunique(dropna=False) for table in tables)
        if (
            found >= least
        ):  # further columns need not be counted, which takes long in a million rows
            return True
    return False


def _digests(table: pd.DataFrame, names: Sequence[str]) -> IntArray:
    """Return a number for each row, equal for equal rows."""
    import pandas as pd

    found = np.zeros(len(table), dtype=np.uint64)
    for name in names:
        column = table[name]
        if pd.api.types.is_bool_dtype(column) or not pd.api.types.is_numeric_dtype(column):
            column = column.astype(str)
        else:
            column = column.astype(float) + 0.0  # whole numbers with gaps are floats; -0 equals 0
        one = pd.util.hash_array(column.to_numpy())
        found = found * np.uint64(1_000_003) + one
    return found.view(np.int64)
