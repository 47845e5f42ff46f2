"""Modes: groups of samples that one side has and the other lacks, their members and what sets them apart."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray, to_float64
from shiftmetrics._core.record import Record
from shiftmetrics._core.validation import check_choice, check_integer, describe
from shiftmetrics.novelty.amounts import member_fractions
from shiftmetrics.novelty.gram import Gram
from shiftmetrics.novelty.membership import FoundMode, ModeFunction
from shiftmetrics.novelty.space import SearchSpace

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
    """A mode that the test sample has and the reference lacks, or has much less of; or the other way round.

    Membership is the fraction of such samples on the mode's side, were both sides equally large: members have at
    least
    2/3, so at most half of them would be there anyway.

    Attributes
    ----------
    index : int
        Rank of the mode, from 0, in the order in which they were found.
    missing : bool
        Whether the reference has it and the test sample lacks it.
    p_value : float
        Fraction of the permutations that show as much; at eta > 1 of "at most eta times as frequent", on held-out
        samples.
    fraction, reference_fraction : float
        Of the test sample, and of the reference, that are members.
    n_members, n_reference_members : int
        How many samples these are.
    exemplars, reference_exemplars : ndarray of int
        The positions of the samples that are most typical of it, most typical first (at most 25).
    nearest_reference : ndarray of int
        For each exemplar, the sample of the reference most similar to it (for a missing mode, of the test sample to
        each
        of the ``reference_exemplars``).
    width : float or None
        Bandwidth at which it was found; None for kernels without one.
    columns : dict of str to float
        For tables, the columns in which the members differ most from all other rows, with the difference of the
        means in standard deviations.
    names : tuple of str
        Of the exemplars (for a missing mode, of the ``reference_exemplars``), where the rows of a table have them.
    membership, reference_membership : ndarray of shape (n_rows,) or None
        Membership of each row. Not written to files: None after reading back.
    """

    index: int
    missing: bool = False
    p_value: float
    fraction: float
    reference_fraction: float
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
    function: tuple[SearchSpace, ModeFunction] | None = field(default=None, repr=False)

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
        space, mode = self.function
        return mode.at(space.values_at(points, [mode.function])[0])[1]

    def __str__(self) -> str:
        name = "Missing mode" if self.missing else "Mode"
        own = f"{percent(self.fraction)} of the test sample"
        other = f"{percent(self.reference_fraction)} of the reference"
        text = f"{name} {self.index + 1}: {own} against {other} (p = {self.p_value:.2g})"
        words = self.in_words()
        return f"{text}: {words}" if words.endswith("...") else f"{text}: {words}."

    def in_words(self) -> str:
        """Return its most typical rows, and for tables the columns that set the members apart."""
        n_members = self.n_reference_members if self.missing else self.n_members
        shown = min(_NAMED, max(1, n_members))
        rows = (self.names or [str(row) for row in self._typical])[:shown]
        text = f"rows {', '.join(rows)}"
        if n_members > shown:
            text += ", ..."
        if self.missing:
            text += " of the reference"
        named = {name: gap for name, gap in self.columns.items() if abs(gap) >= _DIFFERENT}
        for word, sign in (("high", 1.0), ("low", -1.0)):
            names = [f"`{name}`" for name, gap in list(named.items())[:_NAMED] if gap * sign > 0.0]
            text += f"; {word} in {', '.join(names)}" if names else ""
        return text

    @property
    def _typical(self) -> IntArray:
        return self.reference_exemplars if self.missing else self.exemplars

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
    space: SearchSpace,
    gram: Gram,
    weights: FloatArray,
    columns: tuple[str, ...],
) -> Mode:
    """Describe one mode that was found.

    Parameters
    ----------
    index : int
        Its rank.
    found : FoundMode
        What was found.
    space : SearchSpace
        What it was found in.
    gram : Gram
        The kernel matrix of all rows.
    weights : ndarray of shape (n_rows,)
        Of the rows of both samples.
    columns : tuple of str
        Names of the columns; none for arrays.
    """
    n_test = gram.n_test
    function = found.function
    members = found.members
    sides = slice(0, n_test), slice(n_test, None)
    own, other = (1, 0) if function.missing else (0, 1)
    # Members first, the strongest of them before all others.
    order = tuple(np.lexsort((-found.strengths[side], ~members[side])) for side in sides)
    fractions = member_fractions(members, weights, n_test)
    typical = order[own][:N_EXEMPLARS] + sides[own].start
    width = gram.kernel.bandwidth
    if width is not None:
        width *= space.basis.widths[function.width]
    return Mode(
        index=index,
        missing=function.missing,
        p_value=function.p_value,
        fraction=fractions[0],
        reference_fraction=fractions[1],
        n_members=int(members[sides[0]].sum()),
        n_reference_members=int(members[sides[1]].sum()),
        exemplars=order[0][:N_EXEMPLARS],
        reference_exemplars=order[1][:N_EXEMPLARS],
        nearest_reference=_nearest(gram, typical, sides[other]),
        width=width,
        columns=_column_gaps(gram, members, own, columns) if columns else {},
        membership=found.memberships[sides[0]],
        reference_membership=found.memberships[sides[1]],
        order=(order[0], order[1]),
        function=(space, function),
    )


def _nearest(gram: Gram, rows: IntArray, side: slice) -> IntArray:
    """Return for each of some rows the most similar row of a sample."""
    landmarks = gram.take(rows)
    best = np.full(len(rows), -np.inf)
    place = np.zeros(len(rows), dtype=np.int64)
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


def percent(fraction: float) -> str:
    """Return a fraction in per cent, as precise as it is known."""
    digits = ".0f" if fraction >= 0.0095 else ".1g"
    return f"{100.0 * fraction:{digits}} %"
