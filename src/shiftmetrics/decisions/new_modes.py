"""New and missing modes of a table, described by the values of its own columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import format_percent
from shiftmetrics.decisions.column_changes import ordered_values
from shiftmetrics.decisions.timeline import ChangePoint
from shiftmetrics.encoding.parts import level_names
from shiftmetrics.encoding.roles import Column

if TYPE_CHECKING:
    import pandas as pd

MOST_CONTRASTS = 4
_LEAST_EFFECT = 0.3
"""Effect from which a column is named: 30 of 100 members have values that others lack."""
_NEIGHBOURS = 3
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
    """

    column: str
    effect: float
    inside: str
    outside: str
    text: str


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

    @property
    def n_members(self) -> int:
        """Members in its own side."""
        return len(self.rows)

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
    found = [
        _contrast(column, own[column.name].iloc[members], other[column.name], nearest)
        for column in columns
        if column.role in ("number", "category", "date")
    ]
    strong = [contrast for contrast in found if contrast.effect >= _LEAST_EFFECT]
    strong.sort(key=lambda contrast: -contrast.effect)
    return tuple(strong[:MOST_CONTRASTS])


def nearest_rows(features: FloatArray, others: FloatArray, rng: np.random.Generator) -> IntArray:
    """Return the rows of ``others`` that are nearest to the members' features, a few for each; each row once."""
    from sklearn.neighbors import NearestNeighbors

    if len(features) > _MOST_MEMBERS:
        features = features[rng.choice(len(features), _MOST_MEMBERS, replace=False)]
    neighbours = NearestNeighbors(n_neighbors=min(_NEIGHBOURS, len(others))).fit(others)
    return np.unique(neighbours.kneighbors(features, return_distance=False))


def _contrast(column: Column, inside: pd.Series, other: pd.Series, nearest: IntArray) -> Contrast:
    near = other.iloc[nearest]
    gaps = float(inside.isna().mean()) - float(near.isna().mean())
    if column.role == "category":
        return _of_levels(column, inside, near, other)
    contrast = _of_numbers(column, inside, near, other)
    if gaps > contrast.effect:
        return Contrast(
            column=str(column.name),
            effect=gaps,
            inside=f"missing in {format_percent(inside.isna().mean())}",
            outside=f"missing in {format_percent(other.isna().mean())}",
            text=f"{column.name} missing",
        )
    return contrast


def _of_levels(column: Column, inside: pd.Series, near: pd.Series, other: pd.Series) -> Contrast:
    """Name the level whose fraction rises most."""
    own = level_names(inside)
    theirs = level_names(near)
    levels = np.unique(own)
    apart = np.array([float((own == each).mean() - (theirs == each).mean()) for each in levels])
    level = str(levels[int(apart.argmax())])
    everywhere = float((level_names(other) == level).mean())
    name = "missing" if level == "missing" else f"= {level}"
    return Contrast(
        column=str(column.name),
        effect=float(apart.max()),
        inside=format_percent(float((own == level).mean())),
        outside=format_percent(everywhere),
        text=f"{column.name} {name}",
    )


def _of_numbers(column: Column, inside: pd.Series, near: pd.Series, other: pd.Series) -> Contrast:
    """Compare the distribution functions; the median of the members is named."""
    import pandas as pd
    from scipy.stats import ks_2samp

    numbers = [ordered_values(column.role, part.dropna()) for part in (inside, near, other)]
    if not all(len(side) for side in numbers):
        return Contrast(column=str(column.name), effect=0.0, inside="", outside="", text="")
    effect = float(ks_2samp(numbers[0], numbers[1], method="asymp").statistic)
    medians = [float(np.median(numbers[0])), float(np.median(numbers[2]))]
    if column.role == "date":
        words = [str(pd.Timestamp(median, unit="s").date()) for median in medians]
    else:
        words = [f"{median:.4g}" for median in medians]
    text = f"{column.name} {words[0]}"
    return Contrast(
        column=str(column.name), effect=effect, inside=words[0], outside=words[1], text=text
    )


def unlike_members(n_rows: int, members: IntArray) -> BoolArray:
    """Return True for the rows that are no members."""
    others: BoolArray = np.ones(n_rows, dtype=bool)
    others[members] = False
    return others
