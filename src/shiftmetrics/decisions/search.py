"""The search for new and missing modes of a table, on a part of its rows, with members among all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.options import Computing
from shiftmetrics._core.result import Interval
from shiftmetrics.decisions.conditions import ConditionMode, condition_modes
from shiftmetrics.decisions.labelled import clopper_pearson
from shiftmetrics.decisions.new_modes import (
    MOST_CONTRASTS,
    Contrast,
    TableMode,
    contrasts_of,
    nearest_rows,
    unlike_members,
)
from shiftmetrics.encoding import TableEncoder
from shiftmetrics.novelty import NoveltyResampling, kernel_entropic_novelty

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 0.05
SEARCH, CONDITIONS, COLUMNS = 0.6, 0.1, 0.2
"""Parts of the level of an audit: of the search for both sides, of the conditions of each side, of the columns.

Conditions and columns that changed have p-values far below any level; the search has some hundred permutations.
"""
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
        Of "nothing is new or missing", where conditions and the search take their parts of the level.
    novelty_p_value : float
        Of "nothing is new", from the search alone.
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
    novelty_p_value: float
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
    """Look for modes, describe them, and find their members among all samples.

    First come conditions on single columns, on all samples. Their samples are set aside, and kernels search among the
    rest, in a part of it where it is large.

    Parameters
    ----------
    encoder : TableEncoder
        Turns tables into features.
    reference, current : DataFrame
        The two samples.
    rng : Generator
        Draws the part that is searched, and the order in which members are labelled.
    """
    alpha = LEVEL * CONDITIONS
    shown = condition_modes(encoder.columns, current, reference, alpha=alpha)
    # What single columns show is set aside on both sides; the search goes on among the rest.
    kept = [_rest(frame, shown, side) for side, frame in enumerate((current, reference))]
    gone: list[ConditionMode] = []
    if all(len(rows) for rows in kept):
        rest = reference.iloc[kept[1]], current.iloc[kept[0]]
        gone = condition_modes(encoder.columns, *rest, alpha=alpha)
    gone = [_moved_back(mode, kept[1], kept[0]) for mode in gone]
    parts = []
    for side, frame in enumerate((current, reference)):
        rows = kept[side]
        taken = [mode.other if side == 0 else mode.own for mode in gone]
        rows = np.setdiff1d(rows, np.concatenate([np.empty(0, dtype=np.int64), *taken]))
        if len(rows) > SEARCHED:
            rows = np.sort(rng.choice(rows, SEARCHED, replace=False))
        features = np.empty((0, 0))
        if len(rows):
            features = encoder.transform(frame.iloc[rows])
        parts.append(SearchedSide(frame, rows, features))
    test, base = parts
    new = [_of_conditions(mode, current, reference, encoder, rng, missing=False) for mode in shown]
    missing = [
        _of_conditions(mode, reference, current, encoder, rng, missing=True) for mode in gone
    ]
    p_value = min([1.0, *(mode.p_value for mode in (*shown, *gone))]) / CONDITIONS
    novelty_p_value = 1.0
    low = [_excess(len(mode.own), len(current), len(mode.other), len(reference)) for mode in shown]
    fraction = sum(max(0.0, mode.fraction - mode.other_fraction) for mode in new)
    newest = np.concatenate([np.empty(0, dtype=np.int64), *(mode.rows for mode in new)])
    warnings: tuple[str, ...] = ()
    confidence_level = 0.95
    if min(len(test.rows), len(base.rows)) < _LEAST:
        warnings = ("A search for modes needs at least two samples on both sides.",)
    else:
        level = 1.0 - LEVEL * SEARCH
        options = NoveltyResampling(confidence_level=level, rng=int(rng.integers(2**31)))
        result = kernel_entropic_novelty(
            test.features, base.features, resampling=options, computing=Computing(progress=False)
        )
        warnings = result.warnings
        left = len(kept[0]) / len(current)  # fraction of the samples that the search is about
        new += [_described(mode, test, base, encoder, rng, missing=False) for mode in result.modes]
        missing += [
            _described(mode, base, test, encoder, rng, missing=True) for mode in result.missing
        ]
        # Both sides of the search are tested against one null.
        novelty_p_value = result.p_value
        missing_p_value = result.test.missing_p_value
        p_value = min(p_value, min(novelty_p_value, missing_p_value) / SEARCH)
        low.append(left * result.fraction_interval.low)
        confidence_level = result.fraction_interval.confidence_level
        fraction += left * result.fraction
        found = test.rows[np.argsort(-result.row_scores, kind="stable")]
        newest = np.concatenate([newest, found[~np.isin(found, newest)]])
    return FoundModes(
        p_value=min(1.0, p_value),
        novelty_p_value=novelty_p_value,
        fraction=min(fraction, 1.0),
        interval=Interval(
            low=max([0.0, *low]),
            high=1.0,
            confidence_level=confidence_level,
            method="largest lower limit",
        ),
        new=tuple(sorted(new, key=lambda mode: -mode.fraction)),
        missing=tuple(sorted(missing, key=lambda mode: -mode.fraction)),
        newest=newest,
        searched=(len(test.rows), len(base.rows)),
        warnings=warnings,
    )


@dataclass(frozen=True, eq=False)
class SearchedSide:
    """The part of a side that is searched: its table, the rows, and their features."""

    frame: pd.DataFrame
    rows: IntArray
    features: FloatArray

    @property
    def is_whole(self) -> bool:
        """Whether it is all of the side."""
        return len(self.rows) == len(self.frame)


def _rest(frame: pd.DataFrame, shown: list[ConditionMode], side: int) -> IntArray:
    """Return the rows of a side that belong to no mode of conditions."""
    taken = [mode.own if side == 0 else mode.other for mode in shown]
    return np.setdiff1d(
        np.arange(len(frame)), np.concatenate([np.empty(0, dtype=np.int64), *taken])
    )


def _moved_back(mode: ConditionMode, own: IntArray, other: IntArray) -> ConditionMode:
    """Return a mode of parts of the tables with the rows of the whole tables."""
    return ConditionMode(mode.conditions, own[mode.own], other[mode.other])


def _excess(hits: int, n: int, other_hits: int, other_n: int) -> float:
    """Return a lower limit of the fraction of a side that is new: both rates at 97.5 %."""
    low = clopper_pearson(hits, n)[0]
    high = clopper_pearson(other_hits, other_n)[1]
    return max(0.0, (low - high) / (1.0 - high)) if high < 1.0 else 0.0


def _of_conditions(
    mode: ConditionMode,
    own: pd.DataFrame,
    other: pd.DataFrame,
    encoder: TableEncoder,
    rng: np.random.Generator,
    *,
    missing: bool,
) -> TableMode:
    """Return a mode that single columns show, with the other columns that tell it from the nearest other samples."""
    others = np.flatnonzero(unlike_members(len(other), mode.other))
    if len(others) > SEARCHED:
        others = np.sort(rng.choice(others, SEARCHED, replace=False))
    inside = mode.own
    if len(inside) > SEARCHED:
        inside = np.sort(rng.choice(inside, SEARCHED, replace=False))
    contrasts = [
        Contrast(
            column=each.column, effect=1.0, inside=each.inside, outside=each.outside, text=each.text
        )
        for each in mode.conditions
    ]
    if len(others):
        features = encoder.transform(own.iloc[inside]), encoder.transform(other.iloc[others])
        nearest = others[nearest_rows(*features, rng)]
        said = {contrast.column for contrast in contrasts}
        contrasts += [
            contrast
            for contrast in contrasts_of(encoder.columns, own, other, inside, nearest)
            if contrast.column not in said
        ]
    order = rng.permutation(mode.own)
    return TableMode(
        missing=missing,
        fraction=len(mode.own) / len(own),
        other_fraction=len(mode.other) / len(other),
        rows=mode.own,
        order=order,
        names=order.astype(str),
        p_value=mode.p_value,
        contrasts=tuple(contrasts[:MOST_CONTRASTS]),
    )


def _described(
    mode: Any,
    own: SearchedSide,
    other: SearchedSide,
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
