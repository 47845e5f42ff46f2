"""The encoding of a category, and the levels of a column: their codes, names and counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics.tables.encoder.parts import Part, often_in_words

if TYPE_CHECKING:
    import pandas as pd

_RARE = 10
"""Samples that a level needs for a column of its own; of many samples, `_RARE_FRACTION` of them."""
_RARE_FRACTION = 0.002
_MOST_LEVELS = 50


@dataclass(frozen=True, eq=False)
class CategoryPart(Part):
    """A category: one feature for each frequent level, and one for all rare ones."""

    name: Any
    levels: tuple[str, ...]
    rare: tuple[str, ...]

    @classmethod
    def fit(cls, name: Any, reference: pd.Series, current: pd.Series) -> CategoryPart | None:
        """Count the levels in both samples together, whichever of them a level stands in.

        A feature for "never seen in the reference" would be 0 in all of the reference by its definition: with some
        columns of rare levels, two samples of one source would differ by it.
        """
        counts = level_counts(reference)
        if current is not reference:
            counts = counts.add(level_counts(current), fill_value=0)
        # In one order whatever the order of the rows: ties are broken by name.
        counts = counts.sort_index().sort_values(ascending=False, kind="stable")
        n = int(counts.sum())
        # A level needs enough samples for a feature of its own; of few samples, a quarter of them.
        enough = max(min(_RARE, n // 4), math.ceil(_RARE_FRACTION * n))
        frequent = set(map(str, counts.index[counts >= enough][:_MOST_LEVELS]))
        rare = set(map(str, counts.index)) - frequent
        if len(counts) < 2 or (current is reference and not frequent):
            return None
        return cls(name, tuple(sorted(frequent)), tuple(sorted(rare)))

    @property
    def names(self) -> tuple[str, ...]:
        """The levels in order, then the rare ones."""
        names = [f"{self.name} = {level}" for level in self.levels]
        if self.rare:
            names.append(f"{self.name} is rare")
        return tuple(names)

    def transform(self, values: pd.Series) -> FloatArray:
        """Return the one-hot code; levels of a later sample that were never counted are rare, if any are."""
        places = {level: place for place, level in enumerate(self.levels)}
        rare = len(self.levels) if self.rare else -1
        codes, names = level_codes(values)
        place_of = np.array([places.get(name, rare) for name in names], dtype=np.int64)
        # One 1 in each row, none for levels without a feature.
        code = place_of[codes]
        features = np.zeros((len(codes), self.width))
        rows = np.flatnonzero(code >= 0)
        features[rows, code[rows]] = 1.0
        return features

    def in_words(self, place: int, inside: float, outside: float) -> str:
        """Return how frequent a level is."""
        what = self.names[place]
        if what == f"{self.name} = missing":
            what = f"{self.name} missing"
        return often_in_words(what, inside, outside)


def level_codes(values: pd.Series) -> tuple[IntArray, list[str]]:
    """Return the place of each cell's level, and the names of the levels; missing cells are the last level."""
    import pandas as pd

    if pd.api.types.is_float_dtype(values.dtype):
        # A column of integers with gaps is read as floats: 1.0 is the level 1.
        whole = values.dropna()
        if len(whole) and (whole == whole.round()).all():
            values = values.astype("Int64")
    codes, distinct = pd.factorize(values)
    names = [*(str(value) for value in distinct), "missing"]
    return np.where(codes < 0, len(distinct), codes), names


def level_names(values: pd.Series) -> npt.NDArray[Any]:
    """Return the levels of a column as strings; missing cells are a level of their own."""
    codes, names = level_codes(values)
    return np.array(names)[codes]


def level_counts(values: pd.Series) -> pd.Series:
    """Return how often each level stands in a column, the most frequent first."""
    import pandas as pd

    codes, names = level_codes(values)
    # Two values may have one name, such as 1 and "1".
    counts = pd.Series(np.bincount(codes, minlength=len(names)), index=names)
    counts = counts[counts > 0].groupby(level=0, sort=False).sum()
    return counts.sort_values(ascending=False, kind="stable")
