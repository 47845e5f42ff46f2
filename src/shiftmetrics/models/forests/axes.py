"""The axes of a grid: a number between thresholds, or a group of columns in one of a few states.

An axis knows what a move to one of its cells costs, and where the row then stands: at the nearest place in the cell
that its bounds and whole steps allow, on the side of the threshold that the model sees. A missing value has a cell of
its own, which nothing enters or leaves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.models.domain import Domain, Flip


class Axis(Protocol):
    """One way in which rows move."""

    columns: IntArray
    movable: bool

    @property
    def n_cells(self) -> int:
        """Number of cells, with that of missing values."""

    @property
    def missing(self) -> int:
        """The cell of missing values; -1 where there is none, or where they are states like others."""

    def cells(self, points: FloatArray) -> IntArray:
        """Return the cell of each point."""

    def costs(self, start: FloatArray) -> FloatArray:
        """Return the squared distance of each row to each cell, of shape (n_rows, n_cells); inf: it cannot go."""

    def put(self, points: FloatArray, start: FloatArray, cells: IntArray) -> None:
        """Move each row to its nearest place in a cell, in place; rows in their own cell go back to the start."""


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
    def n_cells(self) -> int:
        """Number of cells, with that of missing values."""
        return len(self.edges) + 1 + self.some_missing

    @property
    def missing(self) -> int:
        """The cell of missing values; -1 where there is none."""
        return len(self.edges) + 1 if self.some_missing else -1

    def is_missing(self, start: FloatArray) -> BoolArray:
        """Tell which rows miss the number."""
        return np.asarray(np.isnan(start[:, self.column]))

    def cells(self, points: FloatArray) -> IntArray:
        """Return the cell of each point."""
        cells = np.searchsorted(self.edges, points[:, self.column], side="left")
        if self.some_missing:
            cells[self.is_missing(points)] = self.missing
        return cells

    def costs(self, start: FloatArray) -> FloatArray:
        """Return the squared distance of each row to each cell."""
        every = np.arange(len(self.edges) + 1)[None, :]
        costs = self.range_costs(start, every, every)
        if self.some_missing:
            stays = np.where(self.is_missing(start), 0.0, np.inf)
            costs = np.concatenate([costs, stays[:, None]], axis=1)
        return costs

    def range_costs(self, start: FloatArray, low: IntArray, high: IntArray) -> FloatArray:
        """Return the squared distance of each row to ranges of cells, of shape (n_rows, n_ranges); inf if missing."""
        x = start[:, self.column, None]
        place, fits = self._places(start, low, high)
        step = (place - x) / self.domain.unit[self.column]
        return np.where(fits, step * step, np.inf)

    def put(self, points: FloatArray, start: FloatArray, cells: IntArray) -> None:
        """Move each row to its nearest place in a cell."""
        self.put_in_range(points, start, cells, cells)

    def put_in_range(self, points: FloatArray, start: FloatArray, low: IntArray, high: IntArray) -> None:
        """Move each row to its nearest place in a range of cells."""
        place, _ = self._places(start, low[:, None], high[:, None])
        points[:, self.column] = place[:, 0]

    def _places(self, start: FloatArray, low: IntArray, high: IntArray) -> tuple[FloatArray, BoolArray]:
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
                place = np.where(below, x + np.ceil(first - x), np.where(above, x + np.floor(last - x), x))
            # A threshold beside a whole number, as 1e-35 beside 0, is lost in the difference: one step more.
            place += np.where(below & (place < first), 1.0, np.where(above & (place > last), -1.0, 0.0))
        lowest, highest = (limit[:, self.column, None] for limit in self.domain.limits(start))
        fits: BoolArray = (place >= np.maximum(first, lowest)) & (place <= np.minimum(last, highest))
        return place, fits


@dataclass(frozen=True, eq=False)
class StateAxis:
    """Columns that flip together: each cell is a state. States beyond ``n_allowed`` were met, but are no target."""

    flip: Flip
    n_allowed: int
    movable: bool

    @property
    def columns(self) -> IntArray:
        """The columns."""
        return self.flip.columns

    @property
    def n_cells(self) -> int:
        """Number of states."""
        return len(self.flip.states)

    @property
    def missing(self) -> int:
        """No cell: what rows with missing cells hold are states like others."""
        return -1

    def cells(self, points: FloatArray) -> IntArray:
        """Return the state of each point."""
        return self.flip.state_of(points)

    def costs(self, start: FloatArray) -> FloatArray:
        """Return the squared distance of each row to each state."""
        own = self.cells(start)[:, None] == np.arange(self.n_cells)
        open_to = (
            self.movable & (np.arange(self.n_cells) < self.n_allowed) & ~self.flip.is_stuck(start)[:, None]
        )
        return np.where(own, 0.0, np.where(open_to, self.flip.distance**2, np.inf))

    def set_costs(self, start: FloatArray, states: BoolArray) -> FloatArray:
        """Return the squared distance of each row to sets of states, of shape (n_rows, n_sets)."""
        costs = np.where(states[None, :, : self.n_cells], self.costs(start)[:, None, :], np.inf)
        return np.asarray(costs.min(axis=2))

    def put(self, points: FloatArray, start: FloatArray, cells: IntArray) -> None:
        """Set the state of each row."""
        self.flip.put(points, cells)


def axes_without_edges(domain: Domain, X: FloatArray) -> list[NumberAxis | StateAxis]:
    """Return the axes of a domain, those of numbers not cut yet."""
    axes: list[NumberAxis | StateAxis] = []
    able = {id(flip) for flip in domain.movable_flips}
    for flip in domain.flips:
        met = np.unique(X[flip.state_of(X) < 0][:, flip.columns], axis=0)
        wider = replace(flip, states=np.concatenate([flip.patterns, met]), stuck=None)
        axes.append(StateAxis(wider, len(flip.states), id(flip) in able))
    numbers = np.flatnonzero(~domain.flipping)
    axes += [
        NumberAxis(
            int(column), np.empty(0), domain, bool(domain.movable[column]), bool(np.isnan(X[:, column]).any())
        )
        for column in numbers
    ]
    return sorted(axes, key=lambda axis: int(axis.columns[0]))
