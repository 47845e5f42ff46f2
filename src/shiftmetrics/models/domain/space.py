"""Some samples and their allowed changes, as a search sees them: moves in units of cost, and jumps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics.models.domain.domain import FAR, Domain

FEWEST_STEPS = 4.0
"""A column of integers whose unit is at least so many steps changes smoothly like any number; others jump."""


class PerturbationSpace:
    """Some samples and their allowed changes, as a search sees them.

    A *move* is the part in the numeric columns that change smoothly, of shape (n_smooth,), in units of cost.
    Categories and coarse integers *jump*: a point carries them along while it moves. A cell that is missing moves
    by 0.

    Parameters
    ----------
    domain : Domain
        What may change in the samples.
    origin : array of shape (n_rows, n_columns)
        The samples, coded.

    Attributes
    ----------
    smooth : array of shape (n_smooth,)
        The columns that change smoothly; the squared length of a move is its cost.
    low, high : array of shape (n_rows, n_smooth)
        The box of moves.
    jumping : list of arrays
        Columns that jump: those of each flip, and each coarse column of integers by itself.
    """

    def __init__(self, domain: Domain, origin: FloatArray) -> None:
        self.domain = domain
        self.origin = origin
        # Where a unit is few integer steps, a smooth move would be rounded to another loss: these columns jump.
        coarse = domain.numeric & domain.integer & (domain.unit < FEWEST_STEPS)
        self.smooth: IntArray = np.flatnonzero(domain.numeric & ~coarse)
        self.unit: FloatArray = domain.unit[self.smooth]
        everyone = np.arange(len(origin))
        low, high = domain.limits(origin)
        self.low = self.moves(low, everyone)
        self.high = self.moves(high, everyone)
        self.flips = domain.mutable_flips
        self.coarse: IntArray = np.flatnonzero(coarse)
        self.jumping: list[IntArray] = [flip.columns for flip in self.flips]
        self.jumping.extend(np.array([column]) for column in self.coarse)

    @property
    def n_smooth(self) -> int:
        """Number of columns that change smoothly."""
        return len(self.smooth)

    @property
    def n_jumps(self) -> int:
        """Number of single jumps from a point."""
        n_states = sum(len(flip.states) for flip in self.flips)
        return n_states - len(self.flips) + 2 * len(self.coarse)

    def allowed(self, points: FloatArray, owner: IntArray) -> FloatArray:
        """Return the valid points nearest to ``points``; ``owner`` names the sample of each."""
        return self.domain.clip(points, self.origin[owner])

    def distance(self, points: FloatArray, owner: IntArray) -> FloatArray:
        """Return the distances (unsquared) of points from their samples."""
        return self.domain.distances(points, self.origin[owner])

    def moves(self, points: FloatArray, owner: IntArray) -> FloatArray:
        """Return the moves that lead to points, of shape (n_points, n_smooth)."""
        change = points - self.origin[owner]
        steps = change[:, self.smooth] / self.unit
        return _zero_where_missing(steps)

    def points(self, base: FloatArray, owner: IntArray, moves: FloatArray) -> FloatArray:
        """Return the points of several moves of each sample, with the jumps of ``base``.

        Parameters
        ----------
        base : array of shape (n_rows, n_columns) or (n_rows, n_points, n_columns)
        owner : array of shape (n_rows,)
        moves : array of shape (n_rows, n_points, n_smooth)

        Returns
        -------
        array of shape (n_rows, n_points, n_columns)
        """
        points = base.copy()
        if base.ndim == 2:
            points = np.repeat(base[:, None], moves.shape[1], axis=1)
        start = self.origin[owner][:, None, self.smooth]
        points[:, :, self.smooth] = start + moves * self.unit
        return points

    def clip(self, moves: FloatArray, owner: IntArray) -> FloatArray:
        """Return moves of shape (n_rows, n_points, n_smooth) inside the box."""
        low = self.low[owner][:, None]
        high = self.high[owner][:, None]
        return np.clip(moves, low, high)

    def squared_costs(self, points: FloatArray, owner: IntArray) -> FloatArray:
        """Return what each part of a point adds to its squared distance: numeric columns, then jumps."""
        start = self.origin[owner]
        moves = self.moves(points, owner)
        costs = [np.square(moves)]
        for flip in self.flips:
            price = min(flip.distance, FAR) ** 2
            changed = flip.changed(points, start)
            costs.append(price * changed[:, None])
        change = (points - start)[:, self.coarse]
        steps = _zero_where_missing(change)
        steps = steps / self.domain.unit[self.coarse]
        costs.append(np.square(steps))
        return np.concatenate(costs, axis=1)

    def some_jumps(self, points: FloatArray, rng: np.random.Generator, most: int) -> FloatArray:
        """Return points with one more jump, of shape (n_points, n_jumps, n_columns): all, or some at random."""
        options = list(self._jumps(points))
        if len(options) > most:
            n_kept = max(1, most)
            kept = rng.permutation(len(options))[:n_kept]
            kept.sort()
            options = [options[place] for place in kept]
        if options:
            return np.stack(options, axis=1)
        return np.empty((len(points), 0, points.shape[1]))

    def _jumps(self, points: FloatArray) -> Iterator[FloatArray]:
        """Yield points with one more jump each: another state of a flip, or a step up or down."""
        for flip in self.flips:
            held = flip.state_of(points)
            # Every other state once, whichever a point is in.
            for shift in range(1, len(flip.states)):
                jumped = points.copy()
                state = (held + shift) % len(flip.states)
                flip.put(jumped, state)
                yield jumped
        for column in self.coarse:
            for step in (1.0, -1.0):
                jumped = points.copy()
                jumped[:, column] += step
                yield jumped


def _zero_where_missing(steps: FloatArray) -> FloatArray:
    # Infinite steps stay infinite, unlike with `numpy.nan_to_num`.
    return np.where(np.isnan(steps), 0.0, steps)
