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
"""Samples of the reference that a level needs for a column of its own; of many samples, `_RARE_FRACTION` of them."""
_RARE_FRACTION = 0.002
_MOST_LEVELS = 50
_MOST_EXAMPLES = 2
_LIKELY_UNSEEN = 0.01
"""Expected fraction of unseen levels in another sample of the same source, from which unseen says nothing."""


@dataclass(frozen=True, eq=False)
class CategoryPart(Part):
    """A category: one feature for each frequent level, one for rare ones, one for those never seen."""

    name: Any
    levels: tuple[str, ...]
    rare: tuple[str, ...]
    has_rare: bool
    tells_unseen: bool
    new: tuple[str, ...] | None = None
    """The only levels that count as unseen; None for all that the reference lacks."""
    examples: tuple[str, ...] = ()
    """Unseen levels of the current sample, the most frequent first."""

    @classmethod
    def fit(cls, name: Any, reference: pd.Series, current: pd.Series) -> CategoryPart | None:
        """Fit the levels on the reference; the current sample tells only whether something is unseen."""
        counts = level_counts(reference)
        n = int(counts.sum())
        # A level needs enough samples for a feature of its own; of few samples, a quarter of them.
        enough = max(min(_RARE, n // 4), math.ceil(_RARE_FRACTION * n))
        frequent = tuple(map(str, counts.index[counts >= enough][:_MOST_LEVELS]))
        rare = tuple(sorted(set(map(str, counts.index)) - set(frequent)))
        others = level_counts(current).drop([*frequent, *rare], errors="ignore")
        # Good and Turing: another sample of the same source has unseen levels about as often as the
        # reference has levels that stand in it once. Where that is often, unseen levels are rare ones,
        # but for those that are frequent in the sample: as many by chance are unlikely.
        likely = int((counts == 1).sum()) / n
        new = None
        if likely >= _LIKELY_UNSEEN:
            new = tuple(sorted(map(str, others.index[others >= enough])))
        n_new = len(others) if new is None else len(new)
        has_rare = bool(rare) or len(others) > n_new
        if len(frequent) + has_rare < 2 and not len(others):
            return None
        counted = others if new is None else others[list(new)].sort_values(ascending=False)
        return cls(
            name=name,
            levels=tuple(sorted(frequent)),
            rare=rare,
            has_rare=has_rare,
            tells_unseen=n_new > 0,
            new=new,
            examples=tuple(map(str, counted.index[:_MOST_EXAMPLES])),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The levels in order, then the rare and the unseen ones."""
        names = [f"{self.name} = {level}" for level in self.levels]
        if self.has_rare:
            names.append(f"{self.name} is rare")
        if self.tells_unseen:
            names.append(f"{self.name} is unseen")
        return tuple(names)

    def transform(self, values: pd.Series) -> FloatArray:
        """Return the one-hot code."""
        places = {level: place for place, level in enumerate(self.levels)}
        # Levels without a code of their own are unseen, or rare, or without any feature.
        unseen = self.width - 1 if self.tells_unseen else -1
        rare = len(self.levels) if self.has_rare else -1
        places.update(dict.fromkeys(self.rare, rare))
        if self.new is not None:
            places.update(dict.fromkeys(self.new, unseen))
            unseen = rare
        elif not self.tells_unseen:
            unseen = rare
        codes, names = level_codes(values)
        place_of = np.array([places.get(name, unseen) for name in names], dtype=np.int64)
        # One 1 in each row, none for levels without a feature.
        code = place_of[codes]
        features = np.zeros((len(codes), self.width))
        rows = np.flatnonzero(code >= 0)
        features[rows, code[rows]] = 1.0
        return features

    def in_words(self, place: int, inside: float, outside: float) -> str:
        """Return how frequent a level is, unseen ones by the names that the current sample has."""
        what = self.names[place]
        if what == f"{self.name} = missing":
            what = f"{self.name} missing"
        elif self.tells_unseen and place == self.width - 1 and self.examples:
            what = f"{self.name} = {' or '.join(self.examples)}"
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
