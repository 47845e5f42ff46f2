"""Strings of a column as pandas stores them: none is made a Python object before somebody asks for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np

from shiftmetrics._core.arrays import IntArray

SEEN = 1_000
"""Strings that are looked at before all of them are, and that are made at a time."""


class StoredWords(Sequence[str]):
    """Distinct strings without gaps, as a sequence of which mostly the beginning is read.

    Parameters
    ----------
    strings : ExtensionArray
        Strings of pandas.
    """

    def __init__(self, strings: Any) -> None:
        self.strings = strings

    def __len__(self) -> int:
        return len(self.strings)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return list(np.asarray(self.strings[place], dtype=object).tolist())
        return str(self.strings[place])

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self.strings), SEEN):
            yield from self[start : start + SEEN]


class StoredIds:
    """Ids of rows as pandas stores them, of which mostly a few are shown.

    What is taken of them is an array of strings, as long as the longest of all.

    Parameters
    ----------
    strings : ExtensionArray
        Strings of pandas, without gaps.
    """

    def __init__(self, strings: Any) -> None:
        self.strings = strings

    def __len__(self) -> int:
        return len(self.strings)

    @cached_property
    def dtype(self) -> Any:
        """That of the strings which are taken."""
        import pandas as pd

        longest = int(pd.Series(self.strings).str.len().max()) if len(self) else 0
        return np.dtype(f"U{max(longest, 1)}")

    def __getitem__(self, rows: Any) -> Any:
        taken = self.strings[rows]
        if isinstance(taken, str):
            return taken
        return np.asarray(taken, dtype=object).astype(self.dtype)

    def __iter__(self) -> Iterator[str]:
        return iter(StoredWords(self.strings))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        found = self[:]
        return found if dtype is None else found.astype(dtype)


def factorized_strings(column: Any) -> tuple[IntArray, Any]:
    """Return the place of each cell among the distinct strings, -1 in gaps, and these as an array of pandas.

    That is ``pandas.factorize``, which looks each string up. Ids mostly stand in increasing order: then all of them
    are distinct.

    Parameters
    ----------
    column : Series
        Of strings as pandas stores them.
    """
    import pandas as pd

    strings = column.array
    if not strings.isna().any() and are_increasing(strings):
        return np.arange(len(strings)), strings
    codes, distinct = pd.factorize(column)
    return np.asarray(codes, dtype=np.int64), distinct.array


def places_among(strings: Any, known: Any) -> IntArray:
    """Return where each string stands among known ones, of which none stands twice; -1 where it does not."""
    if getattr(strings.dtype, "storage", "") == getattr(known.dtype, "storage", "") == "pyarrow":
        import pyarrow as pa
        import pyarrow.compute as pc

        found = pc.index_in(pa.array(strings), value_set=pa.array(known))
        return np.asarray(pc.fill_null(found, -1).to_numpy(), dtype=np.int64)
    import pandas as pd

    return np.asarray(pd.Index(known).get_indexer(pd.Index(strings)), dtype=np.int64)


def are_increasing(values: Any) -> bool:
    """Return True if each of several values is above the one before it; NaN is above nothing.

    The first ones mostly tell.
    """
    if len(values) < 2:
        return False
    return all(
        bool(np.asarray(part[1:] > part[:-1], dtype=bool).all()) for part in (values[:SEEN], values)
    )
