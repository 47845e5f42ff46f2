"""Modes: kinds of rows that one sample has and the other lacks, their members and what sets them apart."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray, to_float64
from shiftmetrics._core.record import Record
from shiftmetrics._core.validation import check_choice, check_integer, describe
from shiftmetrics.novelty.gram import Gram
from shiftmetrics.novelty.kinds import FoundMode, Kind
from shiftmetrics.novelty.pooled import Pooled

N_EXEMPLARS = 25
"""How many exemplars of each sample a mode keeps when it is written to a file."""

MOST_COLUMNS = 10
_DIFFERENT = 0.5
"""Standardised difference from which a column is named."""

_NAMED = 3
_COMPARED_ROWS = 20_000

Sample = Literal["test", "reference"]

_READ_BACK = (
    "The mode must come from a computation, got one read from a file. "
    "Compute the novelty again to rank rows."
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Mode(Record):
    """A kind of rows that the test sample has and the reference lacks, or has much less of; or the other way round.

    The membership of a row is the share of such rows that are of the mode's sample, were both samples equally large:
    members have at least 2/3, so at most half of them would be there anyway.

    Attributes
    ----------
    index : int
        Rank of the mode, from 0, in the order in which they were found.
    lost : bool
        Whether the reference has it and the test sample lacks it.
    p_value : float
        Share of relabellings that show as much; at eta > 1 of "at most eta times as frequent", on held-out rows.
    share, reference_share : float
        Share of the rows of the test sample, and of the reference, that are members.
    n_members, n_reference_members : int
        How many rows these are.
    exemplars, reference_exemplars : ndarray of int
        The rows of each sample that are most typical of it, most typical first (at most 25).
    nearest_reference : ndarray of int
        For each exemplar, the row of the reference most similar to it (for a lost mode, of the test sample to each
        of the ``reference_exemplars``).
    width : float or None
        Bandwidth at which it was found; None for kernels without one.
    columns : dict of str to float
        For tables, the columns in which the members differ most from all other rows, with the difference of the
        means in standard deviations.
    names : tuple of str
        Of the exemplars (for a lost mode, of the ``reference_exemplars``), where the rows of a table have them.
    membership, reference_membership : ndarray of shape (n_rows,) or None
        Membership of each row. Not written to files: None after reading back.
    """

    index: int
    lost: bool = False
    p_value: float
    share: float
    reference_share: float
    n_members: int
    n_reference_members: int
    exemplars: IntArray
    reference_exemplars: IntArray
    nearest_reference: IntArray
    width: float | None
    columns: dict[str, float] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    membership: FloatArray | None = field(default=None, repr=False)
    reference_membership: FloatArray | None = field(default=None, repr=False)
    order: tuple[IntArray, IntArray] | None = field(default=None, repr=False)
    function: tuple[Pooled, Kind] | None = field(default=None, repr=False)

    def top(self, k: int = 10, *, of: Sample = "test") -> IntArray:
        """Return the ``k`` rows that are most typical of the mode, most typical first.

        Parameters
        ----------
        k : int, default 10
            How many; fewer come back when the sample is smaller.
        of : {"test", "reference"}, default "test"
            Rows of which sample.

        Returns
        -------
        ndarray of int
            Positions of rows.

        Raises
        ------
        ValueError
            If the mode was read back from a file and more rows are asked for than it keeps.
        """
        k = check_integer(k, "k", low=0)
        side = self._side(of)
        if self.order is not None:
            return self.order[side][:k]
        exemplars = (self.exemplars, self.reference_exemplars)[side]
        if k > len(exemplars) == N_EXEMPLARS:
            expected = f"at most {N_EXEMPLARS} for a mode that was read from a file"
            raise ValueError(
                describe("k", expected, k, "Compute the novelty again to rank all rows.")
            )
        return exemplars[:k]

    def members(self, *, of: Sample = "test") -> IntArray:
        """Return the members among the rows of a sample, most typical first.

        Raises
        ------
        ValueError
            If the mode was read back from a file, which keeps exemplars only.
        """
        side = self._side(of)
        if self.order is None:
            raise ValueError(_READ_BACK)
        return self.order[side][: (self.n_members, self.n_reference_members)[side]]

    def score(self, points: Any) -> FloatArray:
        """Return the membership of new points in the mode, from 0 to 1; members have at least 2/3.

        Parameters
        ----------
        points : array of shape (n_points, n_columns)
            Features like those of the samples.

        Returns
        -------
        ndarray of shape (n_points,)

        Raises
        ------
        ValueError
            If the columns do not match, or the mode was read back from a file, which holds no kernel.
        """
        if self.function is None:
            raise ValueError(_READ_BACK)
        pooled, kind = self.function
        return kind.at(pooled.values_at(points, kind.width, kind.directions))[1]

    def __str__(self) -> str:
        text = (
            f"{'Lost mode' if self.lost else 'Mode'} {self.index + 1}: {percent(self.share)} of the test sample "
            f"against {percent(self.reference_share)} of the reference (p = {self.p_value:.2g})"
        )
        words = self.in_words()
        return f"{text}: {words}" if words.endswith("...") else f"{text}: {words}."

    def in_words(self) -> str:
        """Return its most typical rows, and for tables the columns that set the members apart."""
        shown = min(_NAMED, max(1, self.n_reference_members if self.lost else self.n_members))
        rows = (self.names or [str(row) for row in self._typical])[:shown]
        more = (
            ", ..." if (self.n_reference_members if self.lost else self.n_members) > shown else ""
        )
        text = f"rows {', '.join(rows)}{more}" + (" of the reference" if self.lost else "")
        named = {name: gap for name, gap in self.columns.items() if abs(gap) >= _DIFFERENT}
        for word, sign in (("high", 1.0), ("low", -1.0)):
            names = [f"`{name}`" for name, gap in list(named.items())[:_NAMED] if gap * sign > 0.0]
            text += f"; {word} in {', '.join(names)}" if names else ""
        return text

    @property
    def _typical(self) -> IntArray:
        return self.reference_exemplars if self.lost else self.exemplars

    def named(self, names: Any) -> Mode:
        """Return the mode with the names of its exemplars, from those of all rows of its sample; None for none."""
        return replace(
            self, names=() if names is None else tuple(str(names[row]) for row in self._typical)
        )

    def _side(self, of: Any) -> int:
        return int(check_choice(of, "of", ("test", "reference")) == "reference")


def describe_mode(
    index: int,
    found: FoundMode,
    pooled: Pooled,
    gram: Gram,
    weights: FloatArray,
    *,
    bandwidth: float | None,
    columns: tuple[str, ...],
) -> Mode:
    """Describe one kind that was found.

    Parameters
    ----------
    index : int
        Its rank.
    found : FoundMode
        What was found.
    pooled : Pooled
        What it was found in.
    gram : Gram
        The kernel matrix of all rows.
    weights : ndarray of shape (n_rows,)
        Of the rows of both samples.
    bandwidth : float or None
        The first of the widths.
    columns : tuple of str
        Names of the columns; none for arrays.
    """
    n_test = gram.n_test
    kind, members, memberships = found.kind, found.members, found.memberships
    sides = slice(0, n_test), slice(n_test, None)
    order = tuple(np.lexsort((-found.strengths[side], ~members[side])) for side in sides)
    shares = [float(weights[side] @ members[side] / weights[side].sum()) for side in sides]
    own, other = (1, 0) if kind.lost else (0, 1)
    typical = order[own][:N_EXEMPLARS]
    return Mode(
        index=index,
        lost=kind.lost,
        p_value=kind.p_value,
        share=shares[0],
        reference_share=shares[1],
        n_members=int(members[sides[0]].sum()),
        n_reference_members=int(members[sides[1]].sum()),
        exemplars=order[0][:N_EXEMPLARS],
        reference_exemplars=order[1][:N_EXEMPLARS],
        nearest_reference=_nearest(gram, typical + (n_test if kind.lost else 0), sides[other]),
        width=None if bandwidth is None else bandwidth * pooled.widths[kind.width],
        columns=_column_gaps(gram, members, own, columns) if columns else {},
        membership=memberships[sides[0]],
        reference_membership=memberships[sides[1]],
        order=(order[0], order[1]),
        function=(pooled, kind),
    )


def _nearest(gram: Gram, rows: IntArray, side: slice) -> IntArray:
    """Return for each of some rows the most similar row of a sample."""
    landmarks = gram.take(rows)
    best, place = np.full(len(rows), -np.inf), np.zeros(len(rows), dtype=np.int64)
    for block in gram.blocks(8 * len(rows)):
        if (block.start >= gram.n_test) == (side.start > 0):
            similarities = gram.block(block, landmarks)
            top = similarities.argmax(axis=0)
            highest = similarities[top, np.arange(len(rows))]
            closer = highest > best
            best = np.where(closer, highest, best)
            place = np.where(closer, block.start - side.start + top, place)
    return place


def _column_gaps(
    gram: Gram, members: BoolArray, own: int, names: tuple[str, ...]
) -> dict[str, float]:
    """Return the columns in which the members of a sample differ most from the rows that are no members."""
    own_rows = (np.arange(len(members)) >= gram.n_test) == bool(own)
    parts = []
    for chosen in (members & own_rows, ~members):
        rows = np.flatnonzero(chosen)
        rows = rows[:: len(rows) // _COMPARED_ROWS + 1]
        parts.append(to_float64(gram.take(rows)))
    if min(map(len, parts)) == 0:
        return {}
    spread = np.concatenate(parts).std(axis=0)
    gaps = (parts[0].mean(axis=0) - parts[1].mean(axis=0)) / np.where(spread > 0.0, spread, np.inf)
    order = np.argsort(-np.abs(gaps), kind="stable")[:MOST_COLUMNS]
    return {names[column]: float(gaps[column]) for column in order}


def percent(share: float) -> str:
    """Return a share in percent, as precise as it is known."""
    return f"{100.0 * share:.0f} %" if share >= 0.0095 else f"{100.0 * share:.1g} %"
