"""New and missing modes of a table, described by the values of its own columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import format_percent
from shiftmetrics.decisions.audit.column_changes import (
    in_words,
    infinite_cells,
    ks_effect,
    median_of,
    ordered_values,
)
from shiftmetrics.decisions.audit.timeline import ChangePoint
from shiftmetrics.tables.encoder.categories import level_counts, level_names
from shiftmetrics.tables.encoder.roles import Column

if TYPE_CHECKING:
    import pandas as pd

MOST_CONTRASTS = 4
_LEAST_EFFECT = 0.3
"""Effect from which a column is named: 30 of 100 members have values that others lack."""
_NEARLY_ALL = 0.9
"""What fewer of the members have is said with their fraction."""
_NEIGHBOURS = 3
_MOST_WORDS = 5_000
_MOST_TEXTS = 20_000
_MOST_MEMBERS = 2_000
"""Members whose nearest samples are looked for."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Contrast(Record):
    """How the members of a mode differ in one column from the samples of the other side that are most like them.

    Attributes
    ----------
    column : str
        Its name.
    effect : float
        From 0 to 1: largest difference of the distribution functions (numbers), difference of the fractions of the
        level that is named (categories), or of the fraction missing.
    inside, outside : str
        The members' value, and that of all samples of the other side: a median, or per cent of the level.
    text : str
        In words, such as "workclass = Gig-platform", "hours 64", "gain missing".
    is_beyond : bool
        Whether the members are those beyond (nearly) all values of the other side.
    """

    column: str
    effect: float
    inside: str
    outside: str
    text: str
    is_beyond: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class TableMode(Record):
    """Samples of a kind that one side has and the other lacks.

    Attributes
    ----------
    missing : bool
        False for a new mode (the reference lacks it), True for one that the current sample lacks.
    fraction, other_fraction : float
        Fraction of its own side that are members, and of the other side.
    rows : array of int
        Positions of the members in their own side, the most typical first.
    order : array of int
        The same in random order: the first n of them are a random sample of the mode, to label.
    names : array of str
        Ids of the samples of ``order``, or their positions where there is no id.
    p_value : float
        Of "the mode is not new", from permuted labels.
    contrasts : tuple of Contrast
        The columns that tell it from the nearest samples of the other side.
    change : ChangePoint or None
        Since when, where times are given.
    is_part : bool
        Whether values beyond those of the other side alone say which samples are members: others of their kind may
        lie within its range, so that the mode is at least so large.
    early_rows : array of int
        Samples of its own side that are like members but lie before the date from which on the mode was looked for.
    looked_at : float
        Fraction of its own side that lies after that date; 1 where no date was asked for.
    defined_by : tuple of str
        The columns whose conditions say which samples are members; none where kernels alone do.
    cause : str
        Where it lies, such as "100 % of it where origin = LGA: 221 samples, ..."; empty where nothing short says so.
    """

    missing: bool
    fraction: float
    other_fraction: float
    rows: IntArray
    order: IntArray
    names: npt.NDArray[np.str_]
    p_value: float
    contrasts: tuple[Contrast, ...]
    change: ChangePoint | None = None
    is_part: bool = False
    early_rows: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    looked_at: float = 1.0
    defined_by: tuple[str, ...] = ()
    cause: str = ""

    @property
    def n_members(self) -> int:
        """Members in its own side."""
        return len(self.rows)

    @property
    def n_ordinary(self) -> int:
        """About how many members would be there without the mode: as many as the other side has in proportion."""
        if self.other_fraction >= 1.0:
            return self.n_members
        rate = self.fraction / self.looked_at
        new = max(0.0, (rate - self.other_fraction) / (1.0 - self.other_fraction))
        return round(self.n_members * (1.0 - new / rate)) if rate else 0

    def is_member(self, n_samples: int) -> BoolArray:
        """Return which of all samples of its own side are members, at any date."""
        members: BoolArray = np.zeros(n_samples, dtype=bool)
        members[self.rows] = True
        members[self.early_rows] = True
        return members

    @property
    def description(self) -> str:
        """The columns in words."""
        if not self.contrasts:
            return "an unusual combination of columns, none of which stands out alone"
        return ", ".join(contrast.text for contrast in self.contrasts)


def contrasts_of(
    columns: Sequence[Column],
    own: pd.DataFrame,
    other: pd.DataFrame,
    members: IntArray,
    nearest: IntArray,
) -> tuple[Contrast, ...]:
    """Return the two to four columns that tell the members from the nearest samples of the other side.

    Against all other samples a rare occupation would stand out with the age, the schooling and the pay that go with
    it; the nearest ones have those too, so what is left is what is new.

    Parameters
    ----------
    columns : sequence of Column
        The columns and their roles.
    own, other : DataFrame
        The tables of the two sides.
    members : array of int
        Rows of ``own``.
    nearest : array of int
        Rows of ``other`` that are most like them.
    """
    compared = {
        "category": _of_levels,
        "text": _of_words,
        "number": _of_numbers,
        "date": _of_numbers,
    }
    found = []
    for column in columns:
        # Ids tell nothing.
        if column.role not in compared:
            continue
        inside = own[column.name].iloc[members]
        near = other[column.name].iloc[nearest]
        found.append(compared[column.role](column, inside, near, other[column.name]))
    # Weak differences are left out: among many columns some differ by chance.
    strong = [contrast for contrast in found if contrast.effect >= _LEAST_EFFECT]
    strong.sort(key=lambda contrast: -contrast.effect)
    return tuple(strong[:MOST_CONTRASTS])


def nearest_rows(features: FloatArray, others: FloatArray, rng: np.random.Generator) -> IntArray:
    """Return the rows of ``others`` that are nearest to the members' features, a few for each; each row once."""
    from sklearn.neighbors import NearestNeighbors

    # Some thousand members say where the mode lies; all of them would make the search quadratic.
    if len(features) > _MOST_MEMBERS:
        features = features[rng.choice(len(features), _MOST_MEMBERS, replace=False)]
    neighbours = NearestNeighbors(n_neighbors=min(_NEIGHBOURS, len(others))).fit(others)
    return np.unique(neighbours.kneighbors(features, return_distance=False))


def _of_levels(column: Column, inside: pd.Series, near: pd.Series, other: pd.Series) -> Contrast:
    """Name the level whose fraction rises most."""
    own = level_names(inside)
    theirs = level_names(near)
    levels = np.unique(own)
    # Against the nearest samples, not all: what goes with the job anyway is no news.
    apart = [float((own == each).mean() - (theirs == each).mean()) for each in levels]
    highest = int(np.argmax(apart))
    level = str(levels[highest])
    effect = apart[highest]
    text = _of_some(level_in_words(column, level), float((own == level).mean()))
    # What a reader compares it with is the whole other side. Levels that it lacks may stand out together only: more
    # of them than any other sample has, which are as many as levels that stand once (Good and Turing).
    counts = level_counts(other)
    unknown = ~np.isin(own, counts.index.to_numpy(str))
    more = float(unknown.mean() - (counts == 1).sum() / len(other))
    if more > effect:
        effect = more
        such = level_counts(inside[unknown]).index[0]
        text = f"{column.name} with levels of their own, such as {such}"
        text = _of_some(text, float(unknown.mean()))
    return Contrast(
        column=str(column.name),
        effect=effect,
        inside=format_percent(float((own == level).mean())),
        outside=format_percent(counts.get(level, 0) / len(other)),
        text=text,
    )


def _of_words(column: Column, inside: pd.Series, near: pd.Series, other: pd.Series) -> Contrast:
    """Name the word of a text that the members have most more often."""
    from sklearn.feature_extraction.text import CountVectorizer

    texts = [part.fillna("").astype(str) for part in (inside, near)]
    words = CountVectorizer(binary=True, max_features=_MOST_WORDS)
    try:
        has_word = words.fit_transform(texts[0])
    except ValueError:  # the members' texts have no word
        return Contrast(column=str(column.name), effect=0.0, inside="", outside="", text="")
    apart = np.asarray(has_word.mean(axis=0) - words.transform(texts[1]).mean(axis=0)).ravel()
    highest = int(np.argmax(apart))
    word = str(words.get_feature_names_out()[highest])
    # What a reader compares it with is the whole other side, or a part of it where it is large.
    everywhere = words.transform(other.iloc[:_MOST_TEXTS].fillna("").astype(str))
    rate = float(has_word.mean(axis=0)[0, highest])
    return Contrast(
        column=str(column.name),
        effect=float(apart[highest]),
        inside=f"{format_percent(rate)} with {word!r}",
        outside=format_percent(float(everywhere.mean(axis=0)[0, highest])),
        text=_of_some(f"{column.name} with the word {word!r}", rate),
    )


def _of_numbers(column: Column, inside: pd.Series, near: pd.Series, other: pd.Series) -> Contrast:
    """Compare how many cells are missing, and the distribution functions; the median of the members is named."""
    effect = 0.0
    sides = [ordered_values(column.role, part.dropna()) for part in (inside, near, other)]
    if all(len(side) for side in sides):
        effect = ks_effect(np.sort(sides[0]), np.sort(sides[1]))
    # A column whose cells are missing, or infinite, or no longer, differs by that, or not at all.
    parts = (inside, near, other)
    counted = [
        ("missing", [float(part.isna().mean()) for part in parts]),
        ("infinite", [float(infinite_cells(column.role, part).mean()) for part in parts]),
    ]
    word, rates = max(counted, key=lambda each: abs(each[1][0] - each[1][1]))
    apart = rates[0] - rates[1]
    if abs(apart) > effect or not all(len(side) for side in sides):
        said = word if apart > 0.0 else f"not {word}"
        return Contrast(
            column=str(column.name),
            effect=abs(apart),
            inside=f"{word} in {format_percent(rates[0])}",
            outside=f"{word} in {format_percent(rates[2])}",
            text=_of_some(f"{column.name} {said}", rates[0] if apart > 0.0 else 1.0 - rates[0]),
        )
    median, elsewhere = (in_words(column.role, median_of(sides[side])) for side in (0, 2))
    return Contrast(
        column=str(column.name),
        effect=effect,
        inside=median,
        outside=elsewhere,
        text=f"{column.name} {median}",
    )


def _of_some(text: str, rate: float) -> str:
    """Say what members have, with their fraction where not nearly all have it."""
    return text if rate >= _NEARLY_ALL else f"{text} in {format_percent(rate)} of them"


def level_in_words(column: Column, level: str) -> str:
    """Return "job = rider", or "job missing"."""
    if level == "missing":
        return f"{column.name} missing"
    return f"{column.name} = {level}"
