"""The search for modes that one sample has in excess of the other, one round after the other.

The difference of the kernel covariances is taken relative to the pooled one (whitened), so that its eigenvalues say
how much more of a direction one sample has, however many samples the direction has. They are set against permuted
labels, at several widths under the same permutations. Where one stands out, its members are removed from both samples
and the search goes on: what remains of an old mode that new samples have diluted is then no longer missing.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.novelty.modes.membership import (
    TINY,
    FoundMode,
    ModeFunction,
    calibrated,
)
from shiftmetrics.novelty.modes.merge_and_split import merged, parted
from shiftmetrics.novelty.modes.permutations import (
    PermutationUnits,
    differences,
    extremes,
    make_units,
    symmetric,
    whitening_of,
)
from shiftmetrics.novelty.modes.space import SearchSpace
from shiftmetrics.novelty.modes.varimax import varimax
from shiftmetrics.novelty.score.gram import Gram

MOST_ROUNDS = 8
MOST_TOGETHER = 10
"""Modes that one round finds at most."""

LEAST_ROWS = 10
"""Of each sample, to search on."""

LEAST_MEMBERS = 3

_SIDES = 2
"""P-values of later rounds count for both sides together: a first mode that is found brings no false second one."""

_WAITS = 0.25
"""Times as frequent in its sample as the first direction of a round is: those below wait for another round."""

_PURE = 20.0
"""Times as frequent, beyond which all directions are alike."""

_ROTATION_ROWS = 20_000

_ERRORS = 1.64
"""Standard errors below the estimate that a ratio is taken at."""


def found_in(rounds: list[list[ModeFunction]], space: SearchSpace, gram: Gram) -> list[FoundMode]:
    """Return the modes of all rounds with all rows of a kernel matrix: a round leaves members to those before it."""
    # One pass over the rows for all modes of all rounds.
    values = iter(space.values_in(gram, [mode.function for found in rounds for mode in found]))
    taken = np.zeros(gram.n_rows, bool)
    everything = []
    for modes in rounds:
        found = [mode.found_at(next(values), taken) for mode in modes]
        taken = np.any([taken, *(mode.members for mode in found)], axis=0)
        everything += found
    return everything


def find_modes(
    space: SearchSpace,
    units: PermutationUnits,
    weights: FloatArray,
    together: IntArray | None,
    *,
    alpha: float,
    n_resamples: int,
    rng: np.random.Generator,
    executor: Executor | None = None,
    report: Callable[[], Any] = lambda: None,
) -> list[list[ModeFunction]]:
    """Look for modes that one sample has in excess, and return those of each round.

    Parameters
    ----------
    space : SearchSpace
        Coordinates of the rows.
    units : PermutationUnits
        Rows whose labels are permuted together: each row is in one.
    weights : ndarray of shape (n_rows,)
        Weights of the rows, 1 on average in each sample.
    together : ndarray of shape (n_rows,), optional
        Number of the group, or the pair, of each row.
    alpha : float
        Level of the test of each side in the first round, and of both together in each later one.
    n_resamples : int
        Permutations.
    rng : Generator
        Draws them.
    executor : concurrent.futures.Executor, optional
        Threads.
    report : callable, optional
        Called after each round.
    """
    in_test = space.gram.in_test
    kept = np.ones(len(weights), bool)
    taken = np.zeros(len(weights), bool)
    rounds: list[list[ModeFunction]] = []
    sides = [0, 1]
    for number in range(MOST_ROUNDS):
        n_left = int((kept & in_test).sum())
        if min(n_left, int(kept.sum()) - n_left) < LEAST_ROWS:
            break
        # 1. Do the largest eigenvalues stand out from those of permuted labels?
        rows = _SearchRows(space, units, weights, kept, taken, rng)
        tested = rows.tested(n_resamples, rng, executor, times=_SIDES if number else 1)
        report()
        standing = [side for side in sides if tested.p_values[side] <= alpha]
        # 2. Which modes are they?
        looks = [_Look(rows, side, tested, alpha) for side in standing]
        if not looks:
            break
        # 3. Modes that one sample lacks go before those that it has diluted: held-out rows tell which is which.
        look = max(looks, key=lambda look: look.ratio)
        if not look.found:
            break
        rounds.append([mode.function for mode in look.found])
        # 4. Their members go from both samples, pairs as a whole.
        removed = np.any([mode.members for mode in look.found], axis=0)
        taken |= removed
        if units.paired:
            both = removed[in_test] | removed[~in_test]
            removed = np.concatenate([both, both])
        kept &= ~removed
        if (kept & look.own_rows).sum() < LEAST_ROWS:
            # Nearly all of this sample is gone: what the other one has left is set against all of it.
            sides = [side for side in sides if side != look.side]
            kept |= look.own_rows
        # Where one sample has lost more rows, its units would be smaller: they are made again.
        units = make_units(kept, in_test, together, rng, paired=units.paired)
        del rows, looks, look  # their sums take as much memory as those of the next round
    return rounds


class _SearchRows:
    """The rows that are still searched: sums over their units at each width, and what whitens them.

    Attributes
    ----------
    kept, taken : ndarray of shape (n_rows,)
        Whether each row is searched, and whether a round before has taken it as a member.
    size : ndarray of shape (n_units,)
        Weight of each unit.
    half : ndarray of shape (n_units,)
        A random half of the units.
    """

    def __init__(
        self,
        space: SearchSpace,
        units: PermutationUnits,
        weights: FloatArray,
        kept: BoolArray,
        taken: BoolArray,
        rng: np.random.Generator,
    ) -> None:
        n_units = len(units.in_test)
        self.space = space
        self.units = units
        self.weights = weights
        self.taken = taken
        self.kept = kept.copy()
        self.sums = space.sums(units.of_row, weights, n_units)
        size = np.bincount(units.of_row[kept], weights[kept], n_units)
        self.size = size.astype(np.float64)
        # Whole units go to either half: rows that belong together do not test each other.
        self.half = units.half(rng)

    @cached_property
    def _whitening(self) -> list[FloatArray]:
        return [whitening_of(part, float(self.size.sum())) for part in self.sums]

    def tested(
        self,
        n_resamples: int,
        rng: np.random.Generator,
        executor: Executor | None,
        *,
        times: int,
    ) -> _Eigenvalues:
        """Return the largest eigenvalues of the true labels and of permuted ones."""
        # The same permutations at all widths, so that the largest over widths has a null of its own.
        permuted = self.units.permuted(self.size, n_resamples, rng)
        labels = differences(np.vstack([self.units.in_test, permuted]), self.size)
        parts = [
            extremes(part, labels, whitening, executor)
            for part, whitening in zip(self.sums, self._whitening, strict=True)
        ]
        return _Eigenvalues(np.stack(parts, axis=1), times)


@dataclass(eq=False)
class _Eigenvalues:
    """Largest eigenvalues of both sides at each width, of the true labels first: (2, widths, permutations)."""

    values: FloatArray
    times: int
    """How many tests each p-value counts for."""

    def __post_init__(self) -> None:
        # Each width is standardised by its permutations, and the largest counts.
        self.mean = self.values.mean(axis=2, keepdims=True)
        self.spread = self.values.std(axis=2, keepdims=True)
        self.spread = np.maximum(self.spread, TINY)
        self.scores = (self.values - self.mean) / self.spread
        self.largest = self.scores.max(axis=1)
        reached = (self.largest >= self.largest[:, :1] - 1e-9).mean(axis=1)
        self.p_values = [min(1.0, self.times * float(fraction)) for fraction in reached]

    def best_width(self, side: int) -> int:
        """Return the width at which a side stands out most."""
        return int(np.argmax(self.scores[side, :, 0]))

    def cut(self, side: int, alpha: float) -> float:
        """Return what an eigenvalue must exceed at that width."""
        width = self.best_width(side)
        permuted = self.largest[side, 1:]
        quantile = float(np.quantile(permuted, 1.0 - alpha / self.times))
        mean, spread = self.mean[side, width, 0], self.spread[side, width, 0]
        return float(mean + spread * quantile)


class _Look:
    """A look at one side at the width at which it stands out most: modes, and what each half says of the other.

    Attributes
    ----------
    side : int
        0 for what the test sample has in excess, 1 for the reference.
    found : list of FoundMode
        The modes of the eigenvalues that stand out, those with members.
    ratio : float
        How many times as frequent members are at least, when found on the half of the rows without them.
    """

    def __init__(self, rows: _SearchRows, side: int, tested: _Eigenvalues, alpha: float) -> None:
        gram = rows.space.gram
        self.side = side
        self.own_rows = ~gram.in_test if side else gram.in_test
        self._rows = rows
        width = tested.best_width(side)
        cut = tested.cut(side, alpha)
        p_value = tested.p_values[side]
        everything = np.ones(len(rows.half), bool)
        modes = _modes_among(rows, side, width, everything, cut, MOST_TOGETHER, p_value)
        # Parts that show the same samples are one mode; a mode of one or two samples is none.
        found = []
        left = merged([self._at(mode) for mode in modes], rows.space, self.own_rows)
        while left:
            part = self._at(left.pop(0))
            halves = parted(part, rows.space, self.own_rows)
            if len(halves) > 1:
                left += halves
            elif (part.members & rows.kept & self.own_rows).sum() >= LEAST_MEMBERS:
                found.append(part)
        self.found = self._distinct(found)
        # Fitted on each half, and applied to the other: what was fitted to noise finds nothing there.
        held_out = np.zeros(len(rows.kept), bool)
        for half in (rows.half, ~rows.half):
            there = half[rows.units.of_row] & rows.kept
            for mode in _modes_among(rows, side, width, half, -np.inf, len(modes), p_value):
                held_out |= self._at(mode).members & rows.kept & ~there
        self.ratio = self._ratio(held_out)

    def _distinct(self, found: list[FoundMode]) -> list[FoundMode]:
        """Return modes by size, without those most of whose members are in larger ones: fragments of these."""
        found.sort(key=lambda part: -int((part.members & self.own_rows).sum()))
        # Varimax does not part modes perfectly: a piece of one may come with another direction.
        claimed = np.zeros(len(self.own_rows), bool)
        distinct = []
        for part in found:
            own = part.members & self.own_rows
            if (own & claimed).sum() <= 0.5 * own.sum():
                distinct.append(part)
                claimed |= own
        return distinct

    def _ratio(self, members: BoolArray) -> float:
        rows = self._rows
        having = []
        size = []
        for side in (rows.kept & self.own_rows, rows.kept & ~self.own_rows):
            having.append(float(rows.weights[side] @ members[side]))
            size.append(float(rows.weights[side].sum()))
        # A lower bound: few members may be many times as frequent by chance.
        own = having[0] + 0.5
        other = having[1] + 0.5
        # About the standard error of the logarithm of a ratio of two counts.
        error = np.sqrt(1.0 / own + 1.0 / other)
        ratio = own / other * size[1] / size[0]
        return float(ratio * np.exp(-_ERRORS * error))

    def _at(self, mode: ModeFunction) -> FoundMode:
        """Return a mode with the strengths and memberships of all rows that are not taken."""
        return mode.found_at(self._rows.space.values(*mode.function), self._rows.taken)


def _modes_among(
    rows: _SearchRows,
    side: int,
    width: int,
    chosen: BoolArray,
    cut: float,
    most: int,
    p_value: float,
) -> list[ModeFunction]:
    """Return the modes of the eigenvalues above ``cut`` among the chosen units, separated by varimax."""
    weights = rows.weights
    sums = rows.sums[width][chosen]
    size = rows.size[chosen]
    labels = rows.units.in_test[chosen] != bool(side)
    # 1. Directions of which this side has more, relative to the pooled covariance.
    whitening = whitening_of(sums, float(size.sum()))
    difference = symmetric(differences(labels, size) @ sums)
    eigenvalues, vectors = np.linalg.eigh(whitening @ difference @ whitening)
    directions = whitening @ vectors
    # 2. How many times as frequent each is: those much less so than the first wait for a later round, since of
    # many rows the tails of one mode stand out too.
    # A direction has the mean square s in the other sample, and s plus its eigenvalue in this one.
    others = sums[~labels].sum(axis=0) / size[~labels].sum()
    theirs = symmetric(others) @ directions
    squares = np.einsum("ij,ij->j", directions, theirs)
    times = np.minimum(1.0 + eigenvalues / np.maximum(squares, TINY), _PURE)
    # Eigenvalues ascend: the last direction is that of the largest one.
    taken = (eigenvalues > cut) & (times >= _WAITS * times[-1])
    taken[-1] = True
    directions = directions[:, taken][:, ::-1][:, :most]
    # 3. Varimax separates modes that are mixed in the same eigenvectors; each function is positive where it is large.
    values = rows.space.values(width, directions)
    there = chosen[rows.units.of_row] & rows.kept
    of_side = rows.space.gram.in_test != bool(side)
    own = there & of_side
    step = int(own.sum()) // _ROTATION_ROWS + 1
    few = weights[own][::step]
    rotation = varimax(values[own][::step], few / few.sum())
    values = values @ rotation
    # A mode is a few samples of large values among many that are near 0: the sign in which these are positive.
    skewness = weights[own] @ values[own] ** 3
    signs = np.where(skewness < 0.0, -1.0, 1.0)
    directions = directions @ rotation * signs
    parts = [
        calibrated(column, direction, weights, own, there & ~of_side)
        for column, direction in zip((values * signs).T, directions.T, strict=True)
    ]
    return [ModeFunction(bool(side), p_value, width, (part,)) for part in parts]
