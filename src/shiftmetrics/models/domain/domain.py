"""Where samples may go and at what distance: units, bounds, fixed columns, integer steps, categories that flip.

Samples are coded as a float64 matrix. A column of categories holds their numbers (0, 1, ...); a one-hot group is
several columns that hold one of a few patterns. Everything else is a number. NaN is a missing cell, and stays one: a
change from or to it is infinitely far.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.models.domain.perturbation import positions_of

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
        What samples hold where cells are missing. Such samples stay as they are; these are numbered after the states.
    """

    name: str
    columns: IntArray
    states: FloatArray
    distance: float
    stuck: FloatArray | None = None

    @property
    def patterns(self) -> FloatArray:
        """The states, then what samples with missing cells hold."""
        if self.stuck is None:
            return self.states
        return np.concatenate([self.states, self.stuck])

    def state_of(self, points: FloatArray) -> IntArray:
        """Return the number of the state of each point, -1 where it is in none."""
        held = points[:, self.columns]
        state = np.full(len(points), -1, dtype=np.int64)
        # There are few patterns, and many points.
        for number, pattern in enumerate(self.patterns):
            is_other = differs(held, pattern).any(axis=1)
            state[~is_other] = number
        return state

    def is_stuck(self, points: FloatArray) -> BoolArray:
        """Return which points miss a cell of these columns."""
        missing = np.isnan(points[:, self.columns])
        return np.asarray(missing.any(axis=1))

    def changed(self, points: FloatArray, start: FloatArray) -> BoolArray:
        """Return which points are in another state than where they start."""
        changed = differs(points[:, self.columns], start[:, self.columns])
        return np.asarray(changed.any(axis=1))

    def nearest_state(self, points: FloatArray) -> IntArray:
        """Return the number of the state that is nearest to each point."""
        gaps = points[:, None, self.columns] - self.states
        squared = np.square(gaps).sum(axis=2)
        return np.asarray(squared.argmin(axis=1), dtype=np.int64)

    def put(self, points: FloatArray, states: IntArray) -> None:
        """Set the state of each point, in place."""
        points[:, self.columns] = self.patterns[states]


@dataclass(frozen=True, eq=False, kw_only=True)
class Domain:
    """The changes that samples of ``n_features`` columns may make, and their distance.

    The squared distance of a change adds ``((x'_j - x_j) / unit_j)^2`` over numbers and the squared distance of each
    flip. `domain_of` builds one from a `Perturbation`.

    Attributes
    ----------
    names : tuple of str
        Names of the columns.
    unit : array of shape (n_features,)
        A change by that much is a distance of 1.
    mutable : bool array of shape (n_features,)
        Which columns may change at all.
    lower, upper : array of shape (n_features,)
        Bounds of numbers, infinite where there are none. A sample that stands outside may stay there.
    integer : bool array of shape (n_features,)
        Numbers that change by integer steps.
    flips : tuple of Flip
        Columns of categories. They are disjoint.
    warnings : tuple of str
        What the caller should know.
    narrow : dict of int to dtype
        Columns of float32 and float16, by position: their numbers stay numbers of that dtype.
    """

    names: tuple[str, ...]
    unit: FloatArray
    mutable: BoolArray
    lower: FloatArray
    upper: FloatArray
    integer: BoolArray
    flips: tuple[Flip, ...] = ()
    warnings: tuple[str, ...] = ()
    narrow: Mapping[int, np.dtype[Any]] = field(default_factory=dict)

    def outward(self, points: FloatArray, start: FloatArray) -> FloatArray:
        """Return points whose changed cells are numbers of the dtype of their column, no nearer to the start."""
        if not self.narrow:
            return points
        points = points.copy()
        for column, dtype in self.narrow.items():
            up = points[:, column] > start[:, column]
            down = points[:, column] < start[:, column]
            points[up, column] = next_of(points[up, column], dtype, np.inf)
            points[down, column] = next_of(points[down, column], dtype, -np.inf)
        return self.clip(points, start)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.names)

    @property
    def categorical(self) -> BoolArray:
        """Columns that hold categories, fixed or not."""
        mask = np.zeros(self.n_features, dtype=np.bool_)
        for flip in self.flips:
            mask[flip.columns] = True
        return mask

    @property
    def numeric(self) -> BoolArray:
        """Columns of numbers that may change."""
        return np.asarray(self.mutable & ~self.categorical)

    @property
    def mutable_flips(self) -> tuple[Flip, ...]:
        """Categories that may change."""
        # A group changes as a whole, so one fixed column fixes it.
        free = [flip for flip in self.flips if self.mutable[flip.columns].all()]
        return tuple(flip for flip in free if len(flip.states) > 1)

    @property
    def is_fixed(self) -> bool:
        """Whether no column may change."""
        return not self.numeric.any() and not self.mutable_flips

    def distances(self, points: FloatArray, start: FloatArray) -> FloatArray:
        """Return the distance (unsquared) of each point from where it starts; both of shape (n, n_features)."""
        numbers = ~self.categorical
        # In place: samples may take most of the memory.
        step = points[:, numbers]
        step -= start[:, numbers]
        step /= self.unit[numbers]
        if np.isnan(step).any():
            # Missing cells stay, at no cost; where a cell gets or loses its number, the point is out of reach.
            step[np.isnan(step)] = np.inf
            step[~differs(points[:, numbers], start[:, numbers])] = 0.0
        # The sum of squares by row, without an array of squares.
        squared = np.einsum("ij,ij->i", step, step)
        for flip in self.flips:
            changed = flip.changed(points, start)
            if changed.any():
                squared[changed] += flip.distance**2
                stuck = flip.is_stuck(points) | flip.is_stuck(start)
                squared[changed & stuck] = np.inf
        return np.asarray(np.sqrt(squared))

    def limits(
        self, start: FloatArray, columns: IntArray | slice = slice(None)
    ) -> tuple[FloatArray, FloatArray]:
        """Return the lowest and highest place of each sample in some columns; for categories, where they stand.

        Both are NaN where a cell is missing.
        """
        start = start[:, columns]
        free = self.numeric[columns]
        # A sample outside the bounds may stay there, or come nearer.
        low = np.where(free, np.minimum(self.lower[columns], start), start)
        high = np.where(free, np.maximum(self.upper[columns], start), start)
        # Integers take the last step within the bounds; infinite bounds have none.
        stepping = free & self.integer[columns]
        if stepping.any():
            with np.errstate(invalid="ignore"):
                lowest = start - np.floor(start - low)
                highest = start + np.floor(high - start)
            low = np.where(stepping & np.isfinite(low), lowest, low)
            high = np.where(stepping & np.isfinite(high), highest, high)
        return low, high

    def clip(self, points: FloatArray, start: FloatArray) -> FloatArray:
        """Return the valid points nearest to ``points``, column by column.

        What is missing in a sample stays missing; what is missing in a point alone stays as it is in its sample.
        """
        low, high = self.limits(start)
        points = np.where(np.isnan(points), start, points)
        inside = np.clip(points, low, high)
        inside = np.where(self.categorical, start, inside)
        # Steps are counted from the sample, which itself may hold a fraction.
        stepping = self.numeric & self.integer
        if stepping.any():
            steps = start + np.rint(inside - start)
            steps = np.clip(steps, low, high)
            inside = np.where(stepping, steps, inside)
        # A group takes its nearest state, so that points in between are never predicted.
        for flip in self.mutable_flips:
            free = ~flip.is_stuck(start)
            changed = inside[free]
            states = flip.nearest_state(points[free])
            flip.put(changed, states)
            inside[free] = changed
        return inside

    def squared_gaps(self, rows: FloatArray, others: FloatArray) -> FloatArray:
        """Return how far apart samples are in the columns that may change, squared, of shape (n_rows, n_others).

        A cell that is missing on either side is in no way: it stays as it is. A flip without a price adds 1e300.
        """
        from scipy.spatial.distance import cdist

        columns = np.flatnonzero(self.numeric)
        first = rows[:, columns] / self.unit[columns]
        second = others[:, columns] / self.unit[columns]
        here = ~np.isnan(first)
        there = ~np.isnan(second)
        if here.all() and there.all():
            squared: FloatArray = cdist(first, second, "sqeuclidean")
        else:
            # |a - b|^2 = a^2 + b^2 - 2 a b, over the cells that both have
            first = np.where(here, first, 0.0)
            second = np.where(there, second, 0.0)
            squares = np.square(first) @ there.T
            squares += here @ np.square(second).T
            # Rounding may leave a little less than 0 between equal samples.
            squared = np.maximum(squares - 2.0 * first @ second.T, 0.0)
        for flip in self.mutable_flips:
            apart = flip.state_of(rows)[:, None] != flip.state_of(others)
            # What is missing on either side stays as it is.
            stuck = flip.is_stuck(rows)[:, None] | flip.is_stuck(others)
            apart &= ~stuck
            price = min(flip.distance, FAR) ** 2
            squared += apart * price
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
        able = self.mutable & self.mask(features)
        return replace(self, mutable=able)


def differs(points: FloatArray, start: FloatArray) -> BoolArray:
    """Return which cells are not the same; two missing ones are."""
    changed: BoolArray = points != start
    if changed.any():
        changed &= ~(np.isnan(points) & np.isnan(start))
    return changed


def next_of(numbers: FloatArray, dtype: np.dtype[Any], towards: float) -> FloatArray:
    """Return the nearest numbers of a dtype from these on, upwards or downwards: themselves where they are some."""
    with np.errstate(over="ignore"):
        rounded = numbers.astype(dtype)
    short = rounded < numbers
    if towards < 0.0:
        short = rounded > numbers
    beyond = np.nextafter(rounded, dtype.type(towards))
    return np.where(short, beyond, rounded).astype(np.float64)
