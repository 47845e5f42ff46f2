"""The search for new and missing modes of a table, on a part of its rows, with members among all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.result import Interval
from shiftmetrics.decisions.new_modes import TableMode, contrasts_of, nearest_rows, unlike_members
from shiftmetrics.encoding import TableEncoder
from shiftmetrics.novelty import NoveltyResampling, kernel_entropic_novelty

if TYPE_CHECKING:
    import pandas as pd

SEARCHED = 5_000
"""Samples of each side in which modes are looked for; members are then found among all of them."""
_BLOCK = 20_000
_MEMBER = 2.0 / 3.0
"""Membership from which a sample is a member: at most half of the members would be there anyway."""
_LEAST = 2


@dataclass(frozen=True, eq=False, kw_only=True)
class FoundModes:
    """What a search found.

    Attributes
    ----------
    p_value : float
        Of "nothing is new".
    fraction : float
        About how much of the current sample is new.
    interval : Interval
        A lower limit of it.
    new, missing : tuple of TableMode
        The modes, the largest first; their names are not set yet.
    newest : array of int
        Current samples, those that look newest first.
    searched : tuple of two ints
        Samples of the current side and of the reference in which modes were looked for.
    warnings : tuple of str
        Of the search.
    """

    p_value: float
    fraction: float
    interval: Interval
    new: tuple[TableMode, ...]
    missing: tuple[TableMode, ...]
    newest: IntArray
    searched: tuple[int, int]
    warnings: tuple[str, ...] = ()


def find_modes(
    encoder: TableEncoder,
    reference: pd.DataFrame,
    current: pd.DataFrame,
    rng: np.random.Generator,
) -> FoundModes:
    """Look for modes in a part of both samples, describe them, and find their members among all samples.

    Parameters
    ----------
    encoder : TableEncoder
        Turns tables into features.
    reference, current : DataFrame
        The two samples.
    rng : Generator
        Draws the part that is searched, and the order in which members are labelled.
    """
    parts = []
    for frame in (current, reference):
        rows = np.arange(len(frame))
        if len(rows) > SEARCHED:
            rows = np.sort(rng.choice(rows, SEARCHED, replace=False))
        parts.append(Part(frame, rows, encoder.transform(frame.iloc[rows])))
    test, base = parts
    if min(len(test.rows), len(base.rows)) < _LEAST:
        return _nothing(parts)
    options = NoveltyResampling(rng=int(rng.integers(2**31)))
    result = kernel_entropic_novelty(test.features, base.features, resampling=options)
    new = [_described(mode, test, base, encoder, rng, missing=False) for mode in result.modes]
    missing = [_described(mode, base, test, encoder, rng, missing=True) for mode in result.missing]
    newest = test.rows[np.argsort(-result.row_scores, kind="stable")]
    fraction = result.fraction
    if new and len(test.rows) < len(current):
        fraction = max(fraction, max(mode.fraction for mode in new))
    return FoundModes(
        p_value=result.p_value,
        fraction=fraction,
        interval=result.fraction_interval,
        new=tuple(sorted(new, key=lambda mode: -mode.fraction)),
        missing=tuple(sorted(missing, key=lambda mode: -mode.fraction)),
        newest=newest,
        searched=(len(test.rows), len(base.rows)),
    )


@dataclass(frozen=True, eq=False)
class Part:
    """The part of a side that is searched: its table, the rows, and their features."""

    frame: pd.DataFrame
    rows: IntArray
    features: FloatArray

    @property
    def is_whole(self) -> bool:
        """Whether it is all of the side."""
        return len(self.rows) == len(self.frame)


def _nothing(parts: list[Part]) -> FoundModes:
    """Return that nothing can be looked for in a single sample."""
    test, base = parts
    return FoundModes(
        p_value=1.0,
        fraction=0.0,
        interval=Interval(low=0.0, high=1.0, method="too few samples"),
        new=(),
        missing=(),
        newest=test.rows,
        searched=(len(test.rows), len(base.rows)),
        warnings=("Modes need at least two samples on both sides.",),
    )


def _described(
    mode: Any,
    own: Part,
    other: Part,
    encoder: TableEncoder,
    rng: np.random.Generator,
    *,
    missing: bool,
) -> TableMode:
    """Return a mode with all its members, and with the columns that tell them from the nearest other samples."""
    own_side, other_side = ("reference", "test") if missing else ("test", "reference")
    inside = mode.members(of=own_side)
    outside = mode.members(of=other_side)
    others = np.flatnonzero(unlike_members(len(other.rows), outside))
    nearest = others
    if len(others):
        nearest = others[nearest_rows(own.features[inside], other.features[others], rng)]
    contrasts = contrasts_of(
        encoder.columns, own.frame, other.frame, own.rows[inside], other.rows[nearest]
    )
    rows = own.rows[inside]
    n_other = len(outside)
    if not own.is_whole:
        rows = members_among(mode, own.frame, encoder)
    if not other.is_whole:
        n_other = len(members_among(mode, other.frame, encoder))
    order = rng.permutation(rows)
    return TableMode(
        missing=missing,
        fraction=len(rows) / len(own.frame),
        other_fraction=n_other / len(other.frame),
        rows=rows,
        order=order,
        names=order.astype(str),
        p_value=mode.p_value,
        contrasts=contrasts,
    )


def members_among(mode: Any, frame: pd.DataFrame, encoder: TableEncoder) -> IntArray:
    """Return the members of a mode among all rows of a table, block by block, the most typical first."""
    found = []
    strengths = []
    for start in range(0, len(frame), _BLOCK):
        membership = mode.score(encoder.transform(frame.iloc[start : start + _BLOCK]))
        rows = np.flatnonzero(membership >= _MEMBER)
        found.append(rows + start)
        strengths.append(membership[rows])
    order = np.argsort(-np.concatenate(strengths), kind="stable")
    return np.concatenate(found)[order]
