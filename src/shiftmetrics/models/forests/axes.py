"""The axes along which rows may change: a number between thresholds, or columns that flip from one state to another.

Each axis is cut into cells within which no tree changes its output. An axis gives the cost of a move to a cell and
the point where the row then stands: the nearest place in the cell that its bounds allow, on the side of the threshold
that the model sees. Missing values have a separate cell, which nothing enters or leaves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.models.domain.domain import Domain, Flip, next_of


@dataclass(frozen=True, eq=False)
class NumberAxis:
    """A column of numbers: cell k holds the numbers above ``edges[k - 1]`` and up to ``edges[k]``.

    Where some are missing, these are in one more cell, the last. The edges of a column of integer steps are integers.
    """

    column: int
    edges: FloatArray
    domain: Domain
    may_change: bool
    some_missing: bool = False
    by_state: ClassVar[bool] = False

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

    @property
    def narrow(self) -> np.dtype[Any] | None:
        """The dtype of the column where it has numbers in fewer than 64 bits."""
        return self.domain.narrow.get(self.column)

    def grounded(self, edge: FloatArray) -> FloatArray:
        """Return edges as the last numbers before them that the column may hold."""
        if self.is_whole:  # between integers nothing stands
            return np.floor(edge)
        if self.narrow is not None:
            return next_of(edge, self.narrow, -np.inf)
        return edge

    @property
    def is_whole(self) -> bool:
        """Whether rows change by integer steps."""
        return self.may_change and bool(self.domain.integer[self.column])

    def cells(self, points: FloatArray) -> IntArray:
        """Return the cell of each point."""
        x = points[:, self.column]
        cells = np.searchsorted(self.edges, x, side="left")
        return np.where(np.isnan(x), self.n_cells - 1, cells)

    def costs(self, start: FloatArray) -> FloatArray:
        """Return the squared distance of each row to each cell, of shape (n_rows, n_cells); inf: out of reach."""
        x = start[:, self.column, None]
        place, fits = self._places(start, np.arange(self.n_open))
        step = (place - x) / self.domain.unit[self.column]
        costs = np.where(fits, step * step, np.inf)
        if self.some_missing:
            stays = np.where(np.isnan(x), 0.0, np.inf)
            costs = np.concatenate([costs, stays], axis=1)
        return costs

    def put(
        self,
        points: FloatArray,
        start: FloatArray,
        cells: IntArray,
    ) -> None:
        """Move each row, in place, to its nearest place in a cell; back to the start in the cell it came from."""
        # The cell of missing values has no place: they stay as they are.
        open_cells = np.minimum(cells, self.n_open - 1)
        place, _ = self._places(start, open_cells[:, None])
        points[:, self.column] = place[:, 0]

    def after(self, edge: FloatArray) -> FloatArray:
        """Return the first numbers behind edges that the column may hold."""
        if self.is_whole:
            return edge + 1.0
        following = np.nextafter(edge, np.inf)
        if self.narrow is not None:
            return next_of(following, self.narrow, np.inf)
        return following

    def _places(self, start: FloatArray, cells: IntArray) -> tuple[FloatArray, BoolArray]:
        """Return the nearest place in each cell, and whether the row may go there; a missing value stays missing."""
        x = start[:, self.column, None]
        # A cell begins right behind the edge before it.
        first = np.concatenate([[-np.inf], self.after(self.edges)])[cells]
        last = np.append(self.edges, np.inf)[cells]
        if not self.may_change:
            inside = (first <= x) & (x <= last)
            return np.broadcast_to(x, inside.shape), inside
        place = np.clip(x, first, last)
        low, high = self.domain.limits(start)
        lowest = low[:, self.column, None]
        highest = high[:, self.column, None]
        # A missing value compares as False: it may go nowhere.
        fits: BoolArray = (lowest <= place) & (place <= highest)
        return place, fits


class PieceAxis(NumberAxis):
    """A column of numbers that a step before the trees takes apart: its cells are in no order for them, as states."""

    by_state: ClassVar[bool] = True

    def samples(self, row: FloatArray) -> FloatArray:
        """Return a point of each cell, with all else as in a row of shape (1, n_features)."""
        points = np.repeat(row, self.n_cells, axis=0)
        points[:, self.column] = np.nan  # the last, where some are missing
        # The last number of each cell; of the last one, which has no end, the first.
        points[: self.n_open, self.column] = np.append(self.edges, self.after(self.edges[-1:]))
        return points


@dataclass(frozen=True, eq=False)
class StateAxis:
    """Columns that flip together: each cell is a state. States from ``n_open`` on occur, but nothing enters them."""

    flip: Flip
    n_open: int
    may_change: bool
    some_missing = False
    by_state: ClassVar[bool] = True

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
        able = self.may_change & ~self.flip.is_stuck(start)
        reachable = able[:, None] & (number < self.n_open)
        elsewhere = np.where(reachable, self.flip.distance**2, np.inf)
        return np.where(here, 0.0, elsewhere)

    def put(
        self,
        points: FloatArray,
        start: FloatArray,
        cells: IntArray,
    ) -> None:
        """Set the state of each row, in place."""
        self.flip.put(points, cells)

    def samples(self, row: FloatArray) -> FloatArray:
        """Return a point of each state, with all else as in a row of shape (1, n_features)."""
        points = np.repeat(row, self.n_cells, axis=0)
        self.flip.put(points, np.arange(self.n_cells))
        return points


Axis: TypeAlias = NumberAxis | StateAxis


def axes_without_edges(domain: Domain, X: FloatArray) -> list[Axis]:
    """Return the axes of a domain, those of numbers not cut yet."""
    axes: list[Axis] = []
    able = {id(flip) for flip in domain.mutable_flips}
    for flip in domain.flips:
        # Rows may hold what is no state, such as two ones in a one-hot group: cells that nothing enters.
        unknown = X[flip.state_of(X) < 0]
        others = np.unique(unknown[:, flip.columns], axis=0)
        states = np.concatenate([flip.patterns, others])
        wider = replace(flip, states=states, stuck=None)
        axes.append(StateAxis(wider, len(flip.states), id(flip) in able))
    for column in np.flatnonzero(~domain.categorical).tolist():
        some_missing = bool(np.isnan(X[:, column]).any())
        may_change = bool(domain.mutable[column])
        uncut = np.empty(0)
        axes.append(NumberAxis(column, uncut, domain, may_change, some_missing))
    return sorted(axes, key=lambda axis: int(axis.columns[0]))
