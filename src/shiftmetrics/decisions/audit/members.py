"""The members of the modes that a search found: which of all rows of both sides belong to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.result import format_percent
from shiftmetrics.decisions.audit.conditions import ModeRows
from shiftmetrics.decisions.audit.mode_rules import ModeSide, RuleCondition, rows_of_rule, rule_of
from shiftmetrics.decisions.audit.new_modes import Contrast
from shiftmetrics.tables.encoder import TableEncoder

if TYPE_CHECKING:
    import pandas as pd

_BLOCK = 20_000
_MEMBER = 2.0 / 3.0
"""Membership from which a sample is a member: at most half of the members would be there anyway."""
_AROUND = 0.52
"""Membership from which a sample takes part in the choice of a rule: a little more than an even chance."""
_LEAST_FOR_RULE = 30
"""Members from which a rule is looked for."""
_EVERY = 4
_TIMES = 3.0
"""How many times as frequent as in the other side a rule must be to stand without the kernels."""
_KEPT = 0.75
"""Part of what is new that a rule must keep; of few samples the kernels show up to a fifth too much."""
_OWN_PART = 0.5
"""Part of what is new in a mode that a larger one must not have."""


@dataclass(frozen=True, eq=False)
class SearchedSide:
    """One side of a search.

    Attributes
    ----------
    frame : DataFrame
        All its samples.
    rows : array of int
        Those that were searched.
    name : str
        What the search calls it, "test" or "reference".
    """

    frame: pd.DataFrame
    rows: IntArray
    name: str

    @property
    def is_whole(self) -> bool:
        """Whether all samples were searched."""
        return len(self.rows) == len(self.frame)

    @property
    def chooses(self) -> BoolArray:
        """Which samples choose the rules of modes: those that were searched, and every fourth of the others."""
        chooses: BoolArray = np.arange(len(self.frame)) % _EVERY == 0
        chooses[self.rows] = True
        return chooses

    def that_choose(self, rows: IntArray) -> ModeSide:
        """Return those of some samples that choose rules."""
        chooses = self.chooses
        return ModeSide(self.frame.iloc[rows[chooses[rows]]], int(chooses.sum()))


def members_of_mode(
    mode: Any, own: SearchedSide, other: SearchedSide, encoder: TableEncoder
) -> ModeRows:
    """Return the members of a mode of the search among all rows of both sides, the most typical first.

    The kernels of the mode say where it lies, and their edge is soft: of the rows there, some have always been there.
    Where some conditions on columns hold for what is new and for few others, they say which rows are members. Where
    a part was searched, three of four of the other rows have no part in the choice: they tell how many there are.

    Parameters
    ----------
    mode : Mode
        A mode of `detected`.
    own, other : SearchedSide
        The side that has it, and the other one.
    encoder : TableEncoder
        Turns tables into features.
    """
    sides = (own, other)
    is_whole = own.is_whole and other.is_whole
    membership = [memberships(mode, side.frame, encoder) for side in sides]
    if is_whole:
        by_kernels = [side.rows[mode.members(of=side.name)] for side in sides]
    else:
        by_kernels = [_strongest(each, np.flatnonzero(each >= _MEMBER)) for each in membership]
    found = ModeRows(by_kernels[0], by_kernels[1], mode.p_value)
    if len(found.own) < _LEAST_FOR_RULE:
        return found
    # 1. The conditions, from what lies around the members; then better ones among all samples, which need more.
    around = [np.flatnonzero(each >= _AROUND) for each in membership]
    near = [side.that_choose(rows) for side, rows in zip(sides, around, strict=True)]
    rule = rule_of(encoder.columns, near[0], near[1])
    if rule:
        all_rows = [side.that_choose(np.arange(len(side.frame))) for side in sides]
        rule = rule_of(encoder.columns, all_rows[0], all_rows[1], rule)
    if not rule:
        return found
    # 2. The rule alone, which everybody can recount, unless the kernels are needed to keep others out.
    met = [rows_of_rule(rule, side.frame, np.arange(len(side.frame))) for side in sides]
    sizes = len(own.frame), len(other.frame)
    if len(met[0]) * sizes[1] < _TIMES * len(met[1]) * sizes[0]:
        met = [np.intersect1d(rows, part) for rows, part in zip(met, around, strict=True)]
    # 3. A rule that loses much of what is new is worse than none.
    if _excess(met, sizes) < _KEPT * _excess(by_kernels, sizes):
        return found
    return ModeRows(
        own=_strongest(membership[0], met[0]),
        other=_strongest(membership[1], met[1]),
        p_value=mode.p_value,
        contrasts=tuple(_contrast(condition, other.frame) for condition in rule),
        has_rule=True,
    )


def distinct_modes(modes: Sequence[ModeRows], n_own: int, n_other: int) -> list[ModeRows]:
    """Return modes without those of which a larger one with a rule holds the most: the search finds some in parts.

    Parameters
    ----------
    modes : sequence of ModeRows
        The modes of one side.
    n_own, n_other : int
        Samples of that side, and of the other one.
    """
    kept: list[ModeRows] = []
    for mode in sorted(modes, key=lambda mode: -len(mode.own)):
        new = _excess((mode.own, mode.other), (n_own, n_other))
        for place, larger in enumerate(kept):
            beyond = np.setdiff1d(mode.own, larger.own), np.setdiff1d(mode.other, larger.other)
            # Modes without a rule are joined where they have the same rows.
            if larger.has_rule and _excess(beyond, (n_own, n_other)) < _OWN_PART * new:
                kept[place] = replace(larger, p_value=min(larger.p_value, mode.p_value))
                break
        else:
            kept.append(mode)
    return kept


def memberships(mode: Any, frame: pd.DataFrame, encoder: TableEncoder) -> FloatArray:
    """Return the membership of all rows of a table in a mode, block by block."""
    blocks = [
        mode.score(encoder.encoded(frame.iloc[start : start + _BLOCK]))
        for start in range(0, len(frame), _BLOCK)
    ]
    return np.concatenate(blocks)


def excess_of_unsearched(
    modes: Sequence[ModeRows],
    own: SearchedSide,
    other: SearchedSide,
    left: tuple[IntArray, IntArray],
) -> float:
    """Return by how much modes are more frequent on their side, from rows that had no part in finding them.

    They were not searched, and chose no rule. A side that was searched as a whole has no such rows.

    Parameters
    ----------
    modes : sequence of ModeRows
        The modes.
    own, other : SearchedSide
        The side that has them, and the other one.
    left : pair of arrays of int
        The rows of both sides of which the fraction is asked.
    """
    rates = []
    for side, rows, members in (
        (own, left[0], [mode.own for mode in modes]),
        (other, left[1], [mode.other for mode in modes]),
    ):
        is_counted = np.zeros(len(side.frame), dtype=bool)
        is_counted[rows] = True
        if len(side.rows) < len(rows):
            is_counted &= ~side.chooses
        is_member = np.zeros(len(side.frame), dtype=bool)
        is_member[np.concatenate(members)] = True
        rates.append(float(is_member[is_counted].mean()) if is_counted.any() else 0.0)
    if rates[1] >= 1.0:
        return 0.0
    return max(0.0, (rates[0] - rates[1]) / (1.0 - rates[1]))


def _strongest(membership: FloatArray, rows: IntArray) -> IntArray:
    """Return rows by their membership, the most typical first."""
    return rows[np.argsort(-membership[rows], kind="stable")]


def _excess(rows: Sequence[IntArray], sizes: tuple[int, int]) -> float:
    """Return how many rows of the first side are more than the other side has in proportion."""
    return len(rows[0]) - len(rows[1]) * sizes[0] / sizes[1]


def _contrast(condition: RuleCondition, other: pd.DataFrame) -> Contrast:
    """Return a condition as a column that tells the mode, with how many of the other side meet it."""
    outside = float(condition.is_met(other[condition.column.name]).mean())
    return Contrast(
        column=str(condition.column.name),
        effect=1.0,
        inside="100 %",
        outside=format_percent(outside),
        text=condition.text,
    )
