"""Modes: groups of samples that one side has and the other lacks, their members and what sets them apart."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray, to_float64
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import format_percent, p_words
from shiftmetrics._core.validation import check_choice, check_integer
from shiftmetrics.novelty.modes.contrast import ColumnContrast, contrasts, nearest_known
from shiftmetrics.novelty.modes.frequencies import Frequencies
from shiftmetrics.novelty.modes.membership import FoundMode, ModeFunction
from shiftmetrics.novelty.modes.space import SearchSpace, thinned
from shiftmetrics.novelty.score.gram import Gram

N_EXEMPLARS = 25
"""How many exemplars of each sample a mode keeps when it is written to a file."""

_DIFFERENT = 0.5
"""Standardised difference from which a column is named."""

_FAR_APART = 1.5
"""From which it is named, whatever the columns before it tell."""

_NAMED = 3
_TELLS_MORE = 0.01
_COMPARED_MEMBERS = 500
_COMPARED_ROWS = 1500

Sample = Literal["test", "reference"]

_READ_BACK = (
    "The mode must come from a computation, got one read from a file. "
    "Compute the novelty again to rank rows."
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Mode(Record):
    """A mode that the test sample has and the reference lacks, or has much less of; or the other way round.

    Membership is the fraction of such samples on the mode's side, were both sides equally large: members have at
    least 2/3, so at most half of them would be there anyway.

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
    columns : tuple of ColumnContrast
        The columns that set the members apart from the nearest known mode, most telling first, with the means inside
        and outside: `nearest_known` says which samples of the other side that mode is.
    nearest_known : ndarray of int
        Positions in the reference (for a missing mode, in the test sample) of the known samples most like it (at
        most 25).
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
    columns: tuple[ColumnContrast, ...] = ()
    nearest_known: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
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
        # A mode of a file that has fewer exemplars than it may keep has all rows of the sample among them.
        if k > len(exemplars) == N_EXEMPLARS:
            expected = f"at most {N_EXEMPLARS} for a mode that was read from a file"
            raise ArgumentValueError(
                "k", expected, k, "Compute the novelty again to rank all rows."
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
        own = f"{format_percent(self.fraction)} of the test sample"
        other = f"{format_percent(self.reference_fraction)} of the reference"
        text = f"{name} {self.index + 1}: {own} against {other} ({p_words(self.p_value)})"
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
        known = 0.5
        values = []
        for column in self.columns:
            # A column is named where it tells more than those before it, or much by itself.
            tells = column.auc >= known + _TELLS_MORE or abs(column.gap) >= _FAR_APART
            if column.text and tells and abs(column.gap) >= _DIFFERENT:
                values.append(column.text)
            known = column.auc
        if values:
            text += f" ({'; '.join(values[:_NAMED])})"
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
        Names of the columns.
    """
    n_test = gram.n_test
    function = found.function
    members = found.members
    sides = slice(0, n_test), slice(n_test, None)
    # Members first, the strongest of them before all others.
    order = [np.lexsort((-found.strengths[side], ~members[side])) for side in sides]
    fractions = Frequencies(weights, n_test).of(members)
    columns_of_mode, nearest = _set_apart(gram, members, int(function.missing), columns)
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
        columns=columns_of_mode,
        nearest_known=nearest,
        membership=found.memberships[sides[0]],
        reference_membership=found.memberships[sides[1]],
        order=(order[0], order[1]),
        function=(space, function),
    )


def _set_apart(
    gram: Gram, members: BoolArray, own: int, names: tuple[str, ...]
) -> tuple[tuple[ColumnContrast, ...], IntArray]:
    """Return the columns that set members apart from the nearest known mode, and samples of that mode."""
    in_own = (np.arange(len(members)) >= gram.n_test) == bool(own)
    inside = thinned(np.flatnonzero(members & in_own), _COMPARED_MEMBERS)
    outside = thinned(np.flatnonzero(~members & ~in_own), _COMPARED_ROWS)
    nothing = np.zeros(0, np.int64)
    if not (len(inside) and len(outside)):
        return (), nothing
    # The nearest known mode: a cluster of the other side, by the distances that the kernel goes by.
    parts = [gram.take(rows) for rows in (inside, outside)]
    points = [gram.kernel.points(part) for part in parts]
    if points[0] is None:
        return (), nothing
    near = nearest_known(*(to_float64(part) for part in points))
    values = [gram.in_words(part) for part in parts]
    found = contrasts(values[0], values[1][near], names, gram.encoder)
    # Positions within the other sample: the reference stands behind the test sample.
    return found, outside[near][:N_EXEMPLARS] - (0 if own else gram.n_test)
