"""The search of an audit with times: late parts are held against the reference and the early part together.

Where a late part stands out most, its modes are looked for in it, and everything that is said of it, rows, fractions
and conditions, is about the samples from its date on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shiftmetrics._core.arrays import BoolArray, IntArray
from shiftmetrics.decisions.audit.conditions import ModeRows
from shiftmetrics.decisions.audit.dated_scan import (
    DatedScan,
    gate_of,
    largest_p_value,
    least_new,
    likely_rows,
    row_scores,
    scanned,
)
from shiftmetrics.decisions.audit.late_parts import (
    LEAST_LATE,
    LatePart,
    decided_by_time,
    late_parts,
)
from shiftmetrics.decisions.audit.members import SearchedSide
from shiftmetrics.decisions.audit.search import (
    LEVEL,
    SEARCH,
    SEARCHED,
    Shown,
    at_most_rows,
    by_search,
)
from shiftmetrics.decisions.audit.timeline import Periods
from shiftmetrics.tables.encoder import TableEncoder

if TYPE_CHECKING:
    from shiftmetrics.novelty.modes.gate import Gate

_ALPHA = SEARCH * LEVEL
_OWN_LEVEL = 0.05
"""Level at which the reference counts as one that changes with time itself."""


@dataclass(frozen=True, eq=False)
class DatedSearch:
    """A search that is called as `by_search` is.

    Attributes
    ----------
    current : Periods
        When the current samples were taken.
    reference : Periods or None
        When those of the reference were, where that is known.
    """

    current: Periods
    reference: Periods | None = None

    def __call__(
        self,
        encoder: TableEncoder,
        reference: SearchedSide,
        current: SearchedSide,
        rng: np.random.Generator,
        *,
        left: tuple[IntArray, IntArray],
        has_modes: bool,
    ) -> Shown:
        """Search the sample as a whole, or the late part of it that stands out most."""

        def as_a_whole() -> Shown:
            return by_search(encoder, reference, current, rng, left=left, has_modes=has_modes)

        parts = [part for part in late_parts(self.current) if _is_enough(part, current.rows)]
        names = decided_by_time(encoder.columns, current.frame, self.current)
        compared = {part.name for part in encoder.parts}
        names = [name for name in names if name in compared]
        if not parts or len(names) == len(encoder.parts):
            return as_a_whole()
        of_parts = encoder.without(names, "time decides it") if names else encoder
        # 1. The scan.
        gates = self._gates(encoder, of_parts, current, reference, rng)
        n_rows = len(current.rows) + len(reference.rows)
        in_current: BoolArray = np.arange(n_rows) < len(current.rows)
        labels = [_of_rows(part.is_late[current.rows], n_rows) for part in parts]
        scan = scanned(gates, in_current, labels, alpha=_ALPHA, rng=rng)
        new_p, missing_p = scan.undated
        is_dated = scan.best >= 0 and scan.p_value <= _ALPHA
        if is_dated and self._changes_by_itself(of_parts, reference, rng):
            # Seasons and trends of the reference: a late part differs from its year whatever happens.
            is_dated = False
        # 2. What is there.
        if is_dated:
            return self._of_part(
                of_parts, reference, current, rng, left, parts[scan.best], labels[scan.best],
                scan, gates[1],
            )  # fmt: skip
        if min(new_p, missing_p) > _ALPHA:
            return Shown(
                p_value=min(new_p, missing_p), novelty_p_value=new_p, missing_p_value=missing_p
            )
        return _at_least(as_a_whole(), new_p, missing_p)

    def _gates(
        self,
        encoder: TableEncoder,
        of_parts: TableEncoder,
        current: SearchedSide,
        reference: SearchedSide,
        rng: np.random.Generator,
    ) -> tuple[Gate, Gate]:
        """Return the gate for the sample as a whole and that for its parts, which is the same where it may be."""
        gates = []
        for each in (encoder, of_parts)[: 1 if of_parts is encoder else 2]:
            features, others = (
                each.encoded(side.frame.iloc[side.rows]) for side in (current, reference)
            )
            gates.append(gate_of(features, others, rng))
        return gates[0], gates[-1]

    def _changes_by_itself(
        self, encoder: TableEncoder, reference: SearchedSide, rng: np.random.Generator
    ) -> bool:
        """Return True if the reference differs by its own times as the current sample does."""
        if self.reference is None:
            return False
        rows = reference.rows
        parts = [part for part in late_parts(self.reference) if _is_enough(part, rows)]
        if not parts:
            return False
        # Rows of the first part come first.
        is_late = parts[0].is_late[rows]
        ordered = np.concatenate([rows[is_late], rows[~is_late]])
        late = encoder.encoded(reference.frame.iloc[rows[is_late]])
        early = encoder.encoded(reference.frame.iloc[rows[~is_late]])
        gate = gate_of(late, early, rng)
        p_value = largest_p_value(gate, [part.is_late[ordered] for part in parts], rng)
        return p_value <= _OWN_LEVEL

    def _of_part(
        self,
        encoder: TableEncoder,
        reference: SearchedSide,
        current: SearchedSide,
        rng: np.random.Generator,
        left: tuple[IntArray, IntArray],
        part: LatePart,
        labels: BoolArray,
        scan: DatedScan,
        gate: Gate,
    ) -> Shown:
        """Look for modes among the samples from a date on; rows are those of the whole tables."""
        import pandas as pd

        is_late = part.is_late[left[0]]
        late = left[0][is_late]
        early = left[0][~is_late]
        names = [each.name for each in encoder.parts]
        own = current.frame[names].iloc[late]
        other = pd.concat(
            [reference.frame[names].iloc[left[1]], current.frame[names].iloc[early]],
            ignore_index=True,
        )
        both = tuple(np.arange(len(side)) for side in (own, other))
        found = by_search(
            encoder,
            SearchedSide(other, at_most_rows(both[1], SEARCHED, rng), "reference"),
            SearchedSide(own, at_most_rows(both[0], SEARCHED, rng), "test"),
            rng,
            left=(both[0], both[1]),
            has_modes=True,
        )
        of_left = len(late) / len(left[0])
        looked_at = len(late) / len(current.frame)
        new = [_back(mode, late, early, left[1], looked_at, scan.p_value) for mode in found.new]
        newest = likely = current.rows[:0]
        if not new:
            scores = row_scores(gate, labels)
            order = np.flatnonzero(labels)
            newest = current.rows[order[np.argsort(-scores[order], kind="stable")]]
            likely = current.rows[likely_rows(scores, labels)]
        # The date was chosen among several, each with its part of the level.
        n_tried = 1 + len(late_parts(self.current))
        least = of_left * least_new(gate, labels, 1.0 - _ALPHA / n_tried, rng)
        return Shown(
            new=new,
            p_value=scan.p_value,
            fraction=max(of_left * found.fraction, least),
            lower_limit=least,
            novelty_p_value=scan.p_value,
            missing_p_value=1.0,
            newest=newest,
            likely=likely,
            since=part.since,
            gradual=found.gradual,
            warnings=found.warnings,
        )


def _is_enough(part: LatePart, rows: IntArray) -> bool:
    """Return True if both the part and the rest have some of the searched rows."""
    n_late = int(part.is_late[rows].sum())
    return LEAST_LATE <= n_late <= len(rows) - LEAST_LATE


def _of_rows(is_late: BoolArray, n_rows: int) -> BoolArray:
    """Return labels of all rows of both samples, those of the current one first."""
    labels: BoolArray = np.zeros(n_rows, dtype=bool)
    labels[: len(is_late)] = is_late
    return labels


def _at_least(found: Shown, new_p: float, missing_p: float) -> Shown:
    """Return what the sample as a whole shows, with p-values that have paid for the scan."""
    new_p = max(new_p, found.novelty_p_value)
    missing_p = max(missing_p, found.missing_p_value)

    def paid(modes: Sequence[ModeRows], p_value: float) -> list[ModeRows]:
        return [replace(mode, p_value=max(mode.p_value, p_value)) for mode in modes]

    return replace(
        found,
        new=paid(found.new, new_p),
        missing=paid(found.missing, missing_p),
        p_value=min(new_p, missing_p),
        novelty_p_value=new_p,
        missing_p_value=missing_p,
    )


def _back(
    mode: ModeRows,
    late: IntArray,
    early: IntArray,
    base: IntArray,
    looked_at: float,
    p_value: float,
) -> ModeRows:
    """Return a mode of the late part with rows of the whole tables."""
    is_base = mode.other < len(base)
    return replace(
        mode,
        own=late[mode.own],
        other=base[mode.other[is_base]],
        early=early[mode.other[~is_base] - len(base)],
        looked_at=looked_at,
        p_value=p_value,
    )
