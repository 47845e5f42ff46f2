"""Any model, by candidates: for each row a growing list of points that it can reach, with loss and distance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from shiftmetrics._core.arrays import (
    Array,
    FloatArray,
    IntArray,
    as_array,
    float64_rows,
    namespace,
    take_rows,
    to_float64,
)
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics._core.validation import (
    check_choice,
    check_matrix,
    check_same_library,
    check_same_shape,
    describe,
)
from shiftmetrics.stability.losses.base import KINDS, Kind, Loss, Reach, Transform, as_positions, pick


@dataclass(frozen=True, eq=False, init=False)
class CandidateLoss(Loss):
    """The loss of any model at the points that each row can move to, as far as they are known.

    Parameters
    ----------
    losses : array_like of shape (n_samples, n_candidates)
        Loss of each candidate, at least 0. Column 0 is the row where it stands.
    distances : array_like of shape (n_samples, n_candidates)
        Distance (unsquared) of each candidate from its row: 0 in column 0, inf where a row has fewer candidates
        (its loss there is ignored). Other candidates at distance 0 are free moves: they count as the row itself.
    kind : {"upper_bound", "exact", "lower_bound"}, default "upper_bound"
        "exact" where the candidates are known to hold every worst case. Stability falls as candidates are added.

    Raises
    ------
    ValueError
        If the shapes differ, a loss is negative or not finite, a distance is negative or NaN, or column 0 is not
        at distance 0.
    TypeError
        If the two arrays come from different array libraries.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.stability import CandidateLoss, stability_criterion
    >>> loss = CandidateLoss([[0.0, 1.0], [0.0, 1.0]], [[0.0, 0.5], [0.0, np.inf]])
    >>> round(stability_criterion(loss, 0.5, theta1=1.0, theta2=np.inf).value, 6)
    0.125
    >>> nearer = loss.appended([1.0, 1.0], [0.3, 0.4])
    >>> round(stability_criterion(nearer, 0.5, theta1=1.0, theta2=np.inf).value, 6)
    0.045
    """

    may_count_errors: ClassVar[bool] = True

    columns: tuple[_Columns, ...]
    kind: Kind

    def __init__(
        self,
        losses: Array | Sequence[Sequence[float]],
        distances: Array | Sequence[Sequence[float]],
        *,
        kind: Kind = "upper_bound",
    ) -> None:
        columns = _Columns(
            check_matrix_or_vector(losses, "losses"), check_matrix_or_vector(distances, "distances")
        )
        first = to_float64(columns.distances[:, 0])
        if first.any():
            where = int(np.flatnonzero(first)[0])
            raise ValueError(
                describe(
                    "distances",
                    "0 in column 0, the row itself",
                    f"{first[where]:g} at row {where}",
                    "Put the loss of each row where it stands first, at distance 0.",
                )
            )
        columns.free = columns.zeros > columns.losses.shape[0]  # more than the rows themselves
        self._set((columns,), check_choice(kind, "kind", KINDS))

    def _set(self, columns: tuple[_Columns, ...], kind: Kind) -> None:
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "row_bytes", 32 * max(part.n_columns for part in columns))

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.columns[0].losses.shape[0])

    @property
    def n_candidates(self) -> int:
        """Number of candidates of each row, itself and padding included."""
        return sum(part.n_columns for part in self.columns)

    @property
    def losses(self) -> FloatArray:
        """All losses as one NumPy array of shape (n_samples, n_candidates)."""
        return np.concatenate([to_float64(part.losses) for part in self.columns], axis=1)

    @property
    def distances(self) -> FloatArray:
        """All distances as one NumPy array of shape (n_samples, n_candidates)."""
        return np.concatenate([to_float64(part.distances) for part in self.columns], axis=1)

    def appended(self, losses: Any, distances: Any) -> Self:
        """Return a loss with more candidates; what is known already is neither copied nor checked again.

        Parameters
        ----------
        losses, distances : array_like of shape (n_samples,) or (n_samples, n_new)
            Losses and distances of the new candidates; inf distances where a row has none.

        Raises
        ------
        ValueError
            If the shapes do not match, or a value is not allowed.
        """
        new = _Columns(
            check_matrix_or_vector(losses, "losses"), check_matrix_or_vector(distances, "distances")
        )
        if new.losses.shape[0] != self.n_samples:
            raise ValueError(describe("losses", f"of {self.n_samples} rows", f"{new.losses.shape[0]} rows"))
        new = _Columns(to_float64(new.losses), to_float64(new.distances), checked=new)
        new.free = new.zeros > 0
        parts = [*self.columns, new]
        # Join small additions as a binary counter does: n additions leave about log(n) parts to walk through.
        while len(parts) > 2 and parts[-1].n_columns >= parts[-2].n_columns:
            parts[-2:] = [parts[-2].joined(parts[-1])]
        grown = object.__new__(type(self))
        grown._set(tuple(parts), self.kind)
        return grown

    def base(self, rows: slice) -> FloatArray:
        """Return the losses of ``rows`` where they stand (or where a free move brings them)."""
        return self._rest(rows).loss

    def _rest(self, rows: slice) -> Reach:
        if any(part.free for part in self.columns):
            return Reach(*self._best(0.0, math.inf, rows)[1:])
        loss = to_float64(float64_rows(self.columns[0].losses, rows)[:, 0])
        return Reach(loss, np.zeros_like(loss), np.zeros(len(loss), dtype=np.int64))

    def _moved(self, dual: float, theta1: float, rows: slice) -> Transform:
        return self._best(dual, theta1, rows)

    def _reach(self, rows: slice) -> Reach:
        return Reach(*self._best(math.inf, 0.0, rows)[1:])

    def _best(self, dual: float, theta1: float, rows: slice) -> Transform:
        best = self.columns[0].best(dual, theta1, rows)
        offset = self.columns[0].n_columns
        for part in self.columns[1:]:
            other = part.best(dual, theta1, rows, first=offset)
            offset += part.n_columns
            nearer = other.squared_distance < best.squared_distance
            better = (other.value > best.value) | ((other.value == best.value) & nearer)
            best = Transform(
                np.where(better, other.value, best.value),
                np.where(better, other.loss, best.loss),
                np.where(better, other.squared_distance, best.squared_distance),
                np.where(better, as_positions(other.choice), as_positions(best.choice)),
            )
        return best

    def take(self, rows: IntArray) -> Self:
        """Return the loss of some of the rows."""
        taken = object.__new__(type(self))
        taken._set(tuple(part.take(rows) for part in self.columns), self.kind)
        return taken

    def describe(self) -> dict[str, Any]:
        """Return what `settings` should record of this loss."""
        return {"loss": type(self).__name__, "n_candidates": self.n_candidates, "kind": self.kind}


class _Columns:
    """Some columns of candidates, checked once, in their own array library."""

    def __init__(self, losses: Array, distances: Array, *, checked: _Columns | None = None) -> None:
        self.losses, self.distances = losses, distances
        self.n_columns = int(losses.shape[1]) if losses.ndim == 2 else 0
        self.padded = False  # whether a distance is inf
        self.zeros = 0  # how many distances are 0
        self.free = False  # whether one of those is another point than the row itself
        if checked is None:
            self._check()
        else:
            self.padded, self.zeros, self.free = checked.padded, checked.zeros, checked.free

    def _check(self) -> None:
        check_same_shape(self.losses, self.distances, "losses", "distances")
        check_same_library(self.losses, self.distances, "losses", "distances")
        for rows in row_blocks(int(self.losses.shape[0]), 16 * self.n_columns):
            losses = to_float64(float64_rows(self.losses, rows))
            distances = to_float64(float64_rows(self.distances, rows))
            _refuse(
                np.isnan(distances) | (distances < 0),
                distances,
                "distances",
                "at least 0 (inf is padding)",
                rows,
            )
            unreachable = np.isinf(distances)
            bad = ~(np.isfinite(losses) & (losses >= 0.0) | unreachable)
            _refuse(bad, losses, "losses", "finite and at least 0 wherever the distance is finite", rows)
            self.padded |= bool(unreachable.any())
            self.zeros += int(np.count_nonzero(distances == 0.0))

    def best(self, dual: float, theta1: float, rows: slice, *, first: int = 0) -> Transform:
        """Return the best candidate of each row: a free one at dual 0 or theta1 inf, the highest at dual inf.

        Choices count from ``first``.
        """
        losses, squared = self._block(rows)
        xp = namespace(losses)
        if dual == 0.0 or math.isinf(theta1):
            scores = xp.where(squared == 0.0, losses, -math.inf)
        elif math.isinf(dual):
            scores = xp.where(xp.isinf(squared), -math.inf, losses)
        else:
            scores = dual * losses - theta1 * squared
        column = xp.argmax(scores, axis=1)
        if math.isinf(dual):  # the nearest of those
            top = xp.max(scores, axis=1)[:, None]
            column = xp.argmin(xp.where(scores == top, squared, math.inf), axis=1)
        score, loss, distance = pick([scores, losses, squared], column)
        return Transform(score, loss, distance, as_positions(column) + first)

    def take(self, rows: IntArray) -> _Columns:
        return _Columns(take_rows(self.losses, rows), take_rows(self.distances, rows), checked=self)

    def joined(self, other: _Columns) -> _Columns:
        both = _Columns(
            np.concatenate([self.losses, other.losses], axis=1),
            np.concatenate([self.distances, other.distances], axis=1),
            checked=self,
        )
        both.padded |= other.padded
        both.free |= other.free
        return both

    def _block(self, rows: slice) -> tuple[Array, Array]:
        """Return losses and squared distances as float64; padding has loss 0 at distance inf."""
        losses = float64_rows(self.losses, rows)
        distances = float64_rows(self.distances, rows)
        if self.padded:
            xp = namespace(losses)
            losses = xp.where(xp.isinf(distances), 0.0, losses)
        with np.errstate(over="ignore"):
            return losses, distances * distances


def check_matrix_or_vector(value: Any, argument: str) -> Array:
    """Return an array with rows and columns; a vector becomes one column."""
    array = as_array(value, argument)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim == 2 and 0 not in array.shape:
        return array
    return check_matrix(array, argument)


def _refuse(bad: Any, values: FloatArray, argument: str, expected: str, rows: slice) -> None:
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise ValueError(
            describe(
                argument, expected, f"{values[row, column]:g} at row {rows.start + row}, column {column}"
            )
        )
