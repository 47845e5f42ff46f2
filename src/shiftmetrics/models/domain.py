"""Where rows may move and at what distance: units, bounds, frozen columns, integer steps, categories that flip.

Rows are coded as a float64 matrix. A column of categories holds their numbers (0, 1, ...); a one-hot group is
several columns that hold one of a few patterns. Everything else is a number. NaN is a missing cell, and stays one: a
change from or to it is infinitely far.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.validation import describe

FAR = 1e150
"""Stands for an infinite distance, so that its square is a number."""


@dataclass(frozen=True, eq=False)
class Flip:
    """Columns that change together, from one of a few states to another, at one distance.

    Attributes
    ----------
    name : str
        Its name.
    columns : array of shape (n_columns,)
        One column of category numbers, or the columns of a one-hot group.
    states : array of shape (n_states, n_columns)
        What these columns may hold.
    distance : float
        Distance (unsquared) of a flip, whatever the two states.
    stuck : array of shape (n_stuck, n_columns) or None
        What rows hold where cells are missing. Such rows stay as they are; these are numbered after the states.
    """

    name: str
    columns: IntArray
    states: FloatArray
    distance: float
    stuck: FloatArray | None = None

    @property
    def patterns(self) -> FloatArray:
        """The states, then what rows with missing cells hold."""
        if self.stuck is None:
            return self.states
        return np.concatenate([self.states, self.stuck])

    def state_of(self, points: FloatArray) -> IntArray:
        """Return the number of the state of each point, -1 where it is in none."""
        held = points[:, self.columns]
        state = np.full(len(points), -1, dtype=np.int64)
        for number, pattern in enumerate(self.patterns):
            same = held == pattern
            if np.isnan(pattern).any():
                same |= np.isnan(held) & np.isnan(pattern)
            state[same.all(axis=1)] = number
        return state

    def is_stuck(self, points: FloatArray) -> BoolArray:
        """Return which points miss a cell of these columns."""
        return np.asarray(np.isnan(points[:, self.columns]).any(axis=1))

    def nearest_state(self, points: FloatArray) -> IntArray:
        """Return the number of the state that is nearest to each point."""
        held = points[:, self.columns]
        apart = np.stack([((held - pattern) ** 2).sum(axis=1) for pattern in self.states], axis=1)
        return np.asarray(apart.argmin(axis=1), dtype=np.int64)

    def put(self, points: FloatArray, states: IntArray) -> None:
        """Set the state of each point, in place."""
        points[:, self.columns] = self.patterns[states]


@dataclass(frozen=True, eq=False, kw_only=True)
class Domain:
    """The moves that rows of ``n_features`` columns may make, and their distance.

    The squared distance of a move adds ``((x'_j - x_j) / unit_j)^2`` over numbers and the squared distance of each
    flip. `Perturbation.domain` builds one.

    Attributes
    ----------
    names : tuple of str
        Names of the columns.
    unit : array of shape (n_features,)
        A move by that much is a distance of 1.
    mutable : bool array of shape (n_features,)
        Which columns may change at all.
    lower, upper : array of shape (n_features,)
        Bounds of numbers, infinite where there are none. A row that stands outside may stay there.
    integer : bool array of shape (n_features,)
        Numbers that change by integer steps.
    flips : tuple of Flip
        Columns of categories. They are disjoint.
    warnings : tuple of str
        What the caller should know.
    """

    names: tuple[str, ...]
    unit: FloatArray
    mutable: BoolArray
    lower: FloatArray
    upper: FloatArray
    integer: BoolArray
    flips: tuple[Flip, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.names)

    @property
    def categorical(self) -> BoolArray:
        """Columns that hold categories, frozen or not."""
        mask = np.zeros(self.n_features, dtype=np.bool_)
        for flip in self.flips:
            mask[flip.columns] = True
        return mask

    @property
    def numeric(self) -> BoolArray:
        """Columns of numbers that may move."""
        mask: BoolArray = self.mutable & ~self.categorical
        return mask

    @property
    def mutable_flips(self) -> tuple[Flip, ...]:
        """Categories that may change."""
        return tuple(
            flip for flip in self.flips if self.mutable[flip.columns].all() and len(flip.states) > 1
        )

    @property
    def is_fixed(self) -> bool:
        """Whether no column may change."""
        return not self.numeric.any() and not self.mutable_flips

    def distances(self, points: FloatArray, start: FloatArray) -> FloatArray:
        """Return the distance (unsquared) of each point from where its row starts; both of shape (n, n_features)."""
        numbers = ~self.categorical
        step = (points[:, numbers] - start[:, numbers]) / self.unit[numbers]
        squared = np.einsum("ij,ij->i", step, step)
        if np.isnan(
            squared
        ).any():  # missing cells: they stay, at no cost, or the point is out of reach
            unchanged = ~differs(points[:, numbers], start[:, numbers])
            step = np.where(unchanged, 0.0, np.where(np.isnan(step), np.inf, step))
            squared = np.einsum("ij,ij->i", step, step)
        for flip in self.flips:
            changed = differs(points[:, flip.columns], start[:, flip.columns]).any(axis=1)
            if changed.any():
                squared[changed] += flip.distance**2
                squared[changed & (flip.is_stuck(points) | flip.is_stuck(start))] = np.inf
        distance: FloatArray = np.sqrt(squared)
        return distance

    def limits(self, start: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the lowest and highest place of each row in each column; for categories, where they stand.

        Both are NaN where a cell is missing.
        """
        free = self.numeric
        low = np.where(free, np.minimum(self.lower, start), start)
        high = np.where(free, np.maximum(self.upper, start), start)
        whole = free & self.integer
        if whole.any():
            with np.errstate(invalid="ignore"):
                low = np.where(whole & np.isfinite(low), start - np.floor(start - low), low)
                high = np.where(whole & np.isfinite(high), start + np.floor(high - start), high)
        return low, high

    def clip(self, points: FloatArray, start: FloatArray) -> FloatArray:
        """Return the valid points nearest to ``points``, column by column.

        What is missing in a row stays missing; what is missing in a point alone stays as it is in its row.
        """
        low, high = self.limits(start)
        flipping = self.categorical
        points = np.where(np.isnan(points), start, points)
        inside = np.where(flipping, start, np.clip(points, low, high))
        whole = self.numeric & self.integer
        if whole.any():
            steps = start + np.rint(inside - start)
            inside = np.where(whole, np.clip(steps, low, high), inside)
        for flip in self.mutable_flips:
            flip.put(inside, flip.nearest_state(points))
            stuck = flip.is_stuck(start)
            if stuck.any():
                inside[np.ix_(stuck, flip.columns)] = start[np.ix_(stuck, flip.columns)]
        return inside

    def squared_gaps(self, rows: FloatArray, others: FloatArray) -> FloatArray:
        """Return how far apart rows are in the columns that may move, squared, of shape (n_rows, n_others).

        A cell that is missing on either side is in no way: it stays as it is. A flip without a price adds 1e300.
        """
        from scipy.spatial.distance import cdist

        columns = np.flatnonzero(self.numeric)
        first, second = (part[:, columns] / self.unit[columns] for part in (rows, others))
        here = ~np.isnan(first)
        there = ~np.isnan(second)
        squared: FloatArray = np.zeros((len(rows), len(others)))
        if here.all() and there.all():
            if columns.size:
                squared = cdist(first, second, "sqeuclidean")
        else:
            first = np.where(here, first, 0.0)
            second = np.where(there, second, 0.0)
            squared = (
                np.square(first) @ there.T + here @ np.square(second).T - 2.0 * first @ second.T
            )
            squared = np.maximum(squared, 0.0)
        for flip in self.mutable_flips:
            apart = flip.state_of(rows)[:, None] != flip.state_of(others)[None, :]
            apart &= ~flip.is_stuck(rows)[:, None] & ~flip.is_stuck(others)[None, :]
            squared += apart * min(flip.distance, FAR) ** 2
        return squared

    def positions(self, features: Any, argument: str = "features") -> IntArray:
        """Return the positions of columns given by name or position.

        Raises
        ------
        ValueError
            If one is not there.
        """
        return positions_of(features, self.names, argument)

    def mask(self, features: Any, argument: str = "features") -> BoolArray:
        """Return a mask of columns given by name or position; a one-hot group counts as a whole.

        Raises
        ------
        ValueError
            If one of them is not there.
        """
        mask: BoolArray = np.zeros(self.n_features, dtype=np.bool_)
        mask[self.positions(features, argument)] = True
        for flip in self.flips:
            mask[flip.columns] = mask[flip.columns].any()
        return mask

    def restricted(self, features: Any) -> Self:
        """Return the domain in which these columns alone may change; see `mask`."""
        return replace(self, mutable=self.mutable & self.mask(features))


def differs(points: FloatArray, start: FloatArray) -> BoolArray:
    """Return which cells are not the same; two missing ones are."""
    changed: BoolArray = points != start
    if changed.any():
        changed &= ~(np.isnan(points) & np.isnan(start))
    return changed


def positions_of(features: Any, names: Sequence[str], argument: str) -> IntArray:
    """Return the positions among ``names`` of columns given by name or position; one alone may stand by itself."""
    listed = [features] if isinstance(features, str | int | np.integer) else list(features)
    places = {name: place for place, name in enumerate(names)}
    found: list[int] = []
    unknown: list[Any] = []
    for feature in listed:
        if isinstance(feature, int | np.integer) and not isinstance(feature, bool):
            place = int(feature)
            if not -len(names) <= place < len(names):
                unknown.append(feature)
            found.append(place % len(names))
        elif feature in places:
            found.append(places[feature])
        else:
            unknown.append(feature)
    if unknown:
        shown = ", ".join(repr(feature) for feature in unknown[:3])
        known = ", ".join(repr(name) for name in names[:3])
        raise ValueError(
            describe(
                argument, f"names or positions of columns of X ({known}, ...)", f"unknown {shown}"
            )
        )
    return np.array(found, dtype=np.int64)


FEWEST_STEPS = 4.0
"""A column of integers whose unit is at least so many steps slides like any number; others jump."""


class PerturbationSpace:
    """Some rows and the moves they may make.

    A *move* is the part in the numeric columns that slide, of shape (n_smooth,), in units of cost. Categories and
    coarse integers *jump*: a point carries them along while it slides. A cell that is missing moves by 0.

    Parameters
    ----------
    domain : Domain
        Where rows may move.
    origin : array of shape (n_rows, n_columns)
        The rows, coded.

    Attributes
    ----------
    numeric : array of shape (n_smooth,)
        The columns that slide; the squared length of a move is its cost.
    low, high : array of shape (n_rows, n_smooth)
        The box of moves.
    jumping : list of arrays
        Columns that jump: those of each flip, and each coarse column of integers by itself.
    """

    def __init__(self, domain: Domain, origin: FloatArray) -> None:
        self.domain = domain
        self.origin = origin
        coarse = domain.numeric & domain.integer & (domain.unit < FEWEST_STEPS)
        self.smooth: IntArray = np.flatnonzero(domain.numeric & ~coarse)
        self.unit: FloatArray = domain.unit[self.smooth]
        low, high = domain.limits(origin)
        start = origin[:, self.smooth]
        self.low: FloatArray = _moves_by_zero((low[:, self.smooth] - start) / self.unit)
        self.high: FloatArray = _moves_by_zero((high[:, self.smooth] - start) / self.unit)
        self.flips = domain.mutable_flips
        self.coarse: IntArray = np.flatnonzero(coarse)
        self.jumping: list[IntArray] = [flip.columns for flip in self.flips]
        self.jumping += [np.array([column]) for column in self.coarse]

    @property
    def n_smooth(self) -> int:
        """Number of columns that slide."""
        return len(self.smooth)

    @property
    def n_jumps(self) -> int:
        """Number of single jumps from a point."""
        return sum(len(flip.states) - 1 for flip in self.flips) + 2 * len(self.coarse)

    def allowed(self, points: FloatArray, owner: IntArray) -> FloatArray:
        """Return the valid points nearest to ``points``; ``owner`` names the row of each."""
        return self.domain.clip(points, self.origin[owner])

    def distance(self, points: FloatArray, owner: IntArray) -> FloatArray:
        """Return the distances (unsquared) of points from their rows."""
        return self.domain.distances(points, self.origin[owner])

    def moves(self, points: FloatArray, owner: IntArray) -> FloatArray:
        """Return the moves that lead to points, of shape (n_points, n_smooth)."""
        return _moves_by_zero((points - self.origin[owner])[:, self.smooth] / self.unit)

    def points(self, base: FloatArray, owner: IntArray, moves: FloatArray) -> FloatArray:
        """Return the points of several moves of each row, with the jumps of ``base``.

        Parameters
        ----------
        base : array of shape (n_rows, n_columns) or (n_rows, n_points, n_columns)
        owner : array of shape (n_rows,)
        moves : array of shape (n_rows, n_points, n_smooth)

        Returns
        -------
        array of shape (n_rows, n_points, n_columns)
        """
        points = (
            base.copy() if base.ndim == 3 else np.repeat(base[:, None, :], moves.shape[1], axis=1)
        )
        points[:, :, self.smooth] = self.origin[owner][:, None, self.smooth] + moves * self.unit
        return points

    def clip(self, moves: FloatArray, owner: IntArray) -> FloatArray:
        """Return moves of shape (n_rows, n_points, n_smooth) inside the box."""
        inside: FloatArray = np.clip(moves, self.low[owner][:, None], self.high[owner][:, None])
        return inside

    def squared_costs(self, points: FloatArray, owner: IntArray) -> FloatArray:
        """Return what each part of a point adds to its squared distance: numeric columns, then jumps."""
        start = self.origin[owner]
        costs = [np.square(self.moves(points, owner))]
        for flip in self.flips:
            changed = differs(points[:, flip.columns], start[:, flip.columns]).any(axis=1)
            costs.append(np.where(changed, min(flip.distance, FAR) ** 2, 0.0)[:, None])
        steps = _moves_by_zero((points - start)[:, self.coarse])
        costs.append(np.square(steps / self.domain.unit[self.coarse]))
        return np.concatenate(costs, axis=1)

    def some_jumps(self, points: FloatArray, rng: np.random.Generator, most: int) -> FloatArray:
        """Return points with one more jump, of shape (n_points, n_jumps, n_columns): all, or some at random."""
        options = list(self._jumps(points))
        if len(options) > most:
            options = [
                options[place] for place in np.sort(rng.permutation(len(options))[: max(1, most)])
            ]
        if options:
            return np.stack(options, axis=1)
        return np.empty((len(points), 0, points.shape[1]))

    def _jumps(self, points: FloatArray) -> Iterator[FloatArray]:
        """Yield points with one more jump each: another state of a flip, or a step up or down."""
        for flip in self.flips:
            held = flip.state_of(points)
            for shift in range(1, len(flip.states)):
                jumped = points.copy()
                flip.put(jumped, (held + shift) % len(flip.states))
                yield jumped
        for column in self.coarse:
            for step in (1.0, -1.0):
                jumped = points.copy()
                jumped[:, column] += step
                yield jumped


def _moves_by_zero(moves: FloatArray) -> FloatArray:
    """Return moves with 0 where a cell is missing."""
    return np.where(np.isnan(moves), 0.0, moves)
