"""The axes along which rows move: a number between thresholds, or columns that flip from one state to another.

Each axis is cut into cells within which no tree changes its output. An axis gives the cost of a move to a cell and
the point where the row then stands: the nearest place in the cell that its bounds and whole steps allow, on the side
of the threshold that the model sees. Missing values have a separate cell, which nothing enters or leaves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.models.domain import Domain, Flip


@dataclass(frozen=True, eq=False)
class CellSets:
    """Sets of cells of one axis.

    Attributes
    ----------
    low, high : array of shape (n_sets,)
        First and last cell of ranges, on an axis of numbers.
    missing : array of shape (n_sets,)
        Whether the cell of missing values belongs to the set, on an axis of numbers.
    states : array of shape (n_sets, n_cells) or None
        The states of each set, on an axis of states.
    """

    low: IntArray
    high: IntArray
    missing: BoolArray
    states: BoolArray | None = None


@dataclass(frozen=True, eq=False)
class NumberAxis:
    """A column of numbers: cell k holds the numbers above ``edges[k - 1]`` and up to ``edges[k]``.

    Where some are missing, these are in one more cell, the last.
    """

    column: int
    edges: FloatArray
    domain: Domain
    movable: bool
    some_missing: bool = False

    @property
    def columns(self) -> IntArray:
        """The column."""
        return np.array([self.column])

    @property
    def n_open(self) -> int:
        """Number of cells that rows may enter."""
        return len(self.edges) + 1

    @property
    def n_cells(self) -> int:
        """Number of cells, with that of missing values."""
        return self.n_open + self.some_missing

    def cells(self, points: FloatArray) -> IntArray:
        """Return the cell of each point."""
        x = points[:, self.column]
        cells = np.searchsorted(self.edges, x, side="left")
        return np.where(np.isnan(x), self.n_open, cells) if self.some_missing else cells

    def costs(self, start: FloatArray) -> FloatArray:
        """Return the squared distance of each row to each cell, of shape (n_rows, n_cells); inf: out of reach."""
        number = np.arange(self.n_cells)
        last = np.minimum(number, self.n_open - 1)
        gone = number == self.n_open
        return self.set_costs(start, CellSets(np.where(gone, self.n_open, last), last, gone))

    def set_costs(self, start: FloatArray, sets: CellSets) -> FloatArray:
        """Return the squared distance of each row to sets of cells, of shape (n_rows, n_sets); inf: out of reach."""
        x = start[:, self.column, None]
        place, fits = self._places(start, np.minimum(sets.low, self.n_open - 1), sets.high)
        step = (place - x) / self.domain.unit[self.column]
        costs = np.where(fits & (sets.low <= sets.high), step * step, np.inf)
        return np.where(np.isnan(x), np.where(sets.missing, 0.0, np.inf), costs)

    def contains(self, sets: CellSets, cells: IntArray) -> BoolArray:
        """Return which sets contain cells, of shape (n_sets, n_rows)."""
        inside: BoolArray = (sets.low[:, None] <= cells) & (cells <= sets.high[:, None])
        return (
            inside | (sets.missing[:, None] & (cells == self.n_open))
            if self.some_missing
            else inside
        )

    def put(self, points: FloatArray, start: FloatArray, cells: IntArray) -> None:
        """Move each row, in place, to its nearest place in a cell; back to the start in the cell it came from."""
        place, _ = self._places(start, cells[:, None], cells[:, None])
        points[:, self.column] = place[:, 0]

    def _places(
        self, start: FloatArray, low: IntArray, high: IntArray
    ) -> tuple[FloatArray, BoolArray]:
        """Return the nearest places in ranges of cells, and whether the row may go there."""
        x = start[:, self.column, None]
        ends = np.concatenate([[-np.inf], np.nextafter(self.edges, np.inf), [np.inf]])
        first, last = ends[low], np.append(self.edges, np.inf)[np.minimum(high, len(self.edges))]
        below, above = x < first, x > last
        place = np.where(below, first, np.where(above, last, x))
        if not self.movable:
            return np.broadcast_to(x, place.shape), ~(below | above)
        if self.domain.integer[self.column]:
            with np.errstate(invalid="ignore"):
                place = np.where(
                    below, x + np.ceil(first - x), np.where(above, x + np.floor(last - x), x)
                )
            # A threshold beside a whole number, as 1e-35 beside 0, is lost in the difference: one step more.
            place += np.where(
                below & (place < first), 1.0, np.where(above & (place > last), -1.0, 0.0)
            )
        lowest, highest = (limit[:, self.column, None] for limit in self.domain.limits(start))
        fits: BoolArray = (place >= np.maximum(first, lowest)) & (
            place <= np.minimum(last, highest)
        )
        return place, fits


@dataclass(frozen=True, eq=False)
class StateAxis:
    """Columns that flip together: each cell is a state. States from ``n_open`` on occur, but nothing enters them."""

    flip: Flip
    n_open: int
    movable: bool
    some_missing = False

    @property
    def columns(self) -> IntArray:
        """The columns."""
        return self.flip.columns

    @property
    def n_cells(self) -> int:
        """Number of states."""
        return len(self.flip.states)

    def cells(self, points: FloatArray) -> IntArray:
        """Return the state of each point."""
        return self.flip.state_of(points)

    def costs(self, start: FloatArray) -> FloatArray:
        """Return the squared distance of each row to each state, of shape (n_rows, n_cells); inf: out of reach."""
        number = np.arange(self.n_cells)
        here = self.cells(start)[:, None] == number
        reachable = self.movable & (number < self.n_open) & ~self.flip.is_stuck(start)[:, None]
        return np.where(here, 0.0, np.where(reachable, self.flip.distance**2, np.inf))

    def set_costs(self, start: FloatArray, sets: CellSets) -> FloatArray:
        """Return the squared distance of each row to sets of states, of shape (n_rows, n_sets)."""
        assert sets.states is not None
        return np.asarray(np.where(sets.states, self.costs(start)[:, None, :], np.inf).min(axis=2))

    def contains(self, sets: CellSets, cells: IntArray) -> BoolArray:
        """Return which sets contain states, of shape (n_sets, n_rows)."""
        assert sets.states is not None
        return sets.states[:, cells]

    def put(self, points: FloatArray, start: FloatArray, cells: IntArray) -> None:
        """Set the state of each row, in place."""
        self.flip.put(points, cells)


Axis: TypeAlias = NumberAxis | StateAxis


def axes_without_edges(domain: Domain, X: FloatArray) -> list[Axis]:
    """Return the axes of a domain, those of numbers not cut yet."""
    axes: list[Axis] = []
    able = {id(flip) for flip in domain.mutable_flips}
    for flip in domain.flips:
        others = np.unique(X[flip.state_of(X) < 0][:, flip.columns], axis=0)
        wider = replace(flip, states=np.concatenate([flip.patterns, others]), stuck=None)
        axes.append(StateAxis(wider, len(flip.states), id(flip) in able))
    for column in np.flatnonzero(~domain.categorical).tolist():
        some_missing = bool(np.isnan(X[:, column]).any())
        axes.append(
            NumberAxis(column, np.empty(0), domain, bool(domain.mutable[column]), some_missing)
        )
    return sorted(axes, key=lambda axis: int(axis.columns[0]))
