"""The search for kinds of rows that one sample has and the other lacks, one after the other.

The difference of the kernel covariances is taken relative to the pooled one (whitened), so that its eigenvalues say
how much more of a direction one sample has, however many rows the direction has. They are set against relabelled
rows, at several widths under the same labels. Where one stands out, its rows are removed from both samples and the
search goes on: what remains of an old kind that new rows have diluted is then no longer missing.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray
from shiftmetrics._core.confidence import binomial_interval
from shiftmetrics.novelty.gram import Gram
from shiftmetrics.novelty.kinds import TINY, FoundMode, Kind, calibrated, found_at, merged, varimax
from shiftmetrics.novelty.pooled import Pooled
from shiftmetrics.novelty.relabelling import (
    PermutationUnits,
    differences,
    extremes,
    symmetric,
    whitening_of,
)

MOST_ROUNDS = 8
MOST_TOGETHER = 10
"""Kinds that one round finds at most."""

LEAST_ROWS = 10
"""Of each sample, to look on."""

LEAST_MEMBERS = 3

_SIDES = 2
"""P-values of later rounds count for both sides together: a first kind that is found brings no false second one."""

MORE_DRAWS = 5
"""Times as many relabellings where a p-value is near the level."""

_WAITS = 0.25
"""Times as frequent in its sample as the first direction of a round is: those below are looked at again."""

_PURE = 20.0
"""Times as frequent, beyond which all directions are alike."""

_ROTATION_ROWS = 20_000


@dataclass(eq=False)
class ModeSearch:
    """What was found among the rows that were looked on.

    Attributes
    ----------
    held_out : ndarray of shape (n_rows,)
        Whether each row is a member of any kind gained, as found on the half of the rows without it.
    rounds : list of list of Kind
        The kinds of each round.
    p_values : list of float
        Of anything gained, and of anything lost.
    n_resamples : int
        Relabellings behind the p-values of the first round.
    leading : Kind or None
        What leads in the test sample, whether it stands out or not.
    """

    held_out: BoolArray
    rounds: list[list[Kind]] = field(default_factory=list)
    p_values: list[float] = field(default_factory=lambda: [1.0, 1.0])
    n_resamples: int = 0
    leading: Kind | None = None

    def found_in(self, pooled: Pooled, gram: Gram) -> list[FoundMode]:
        """Return the kinds in order, with all rows of a kernel matrix: a round leaves members to those before it."""
        kinds = [kind for found in self.rounds for kind in found]
        values = iter(pooled.values_in(gram, [(kind.width, kind.directions) for kind in kinds]))
        taken, everything = np.zeros(gram.n_rows, bool), []
        for number in self.rounds:
            found = [found_at(kind, next(values), taken) for kind in number]
            taken = np.any([taken, *(part.members for part in found)], axis=0)
            everything += found
        return everything


def find_kinds(
    pooled: Pooled,
    units: PermutationUnits,
    weights: FloatArray,
    *,
    alpha: float,
    n_resamples: int,
    rng: np.random.Generator,
    rounds: int = MOST_ROUNDS,
    executor: Executor | None = None,
    report: Callable[[], Any] | None = None,
) -> ModeSearch:
    """Look for kinds of rows that one sample has in excess.

    Parameters
    ----------
    pooled : Pooled
        Coordinates of the rows.
    units : PermutationUnits
        Rows that are relabelled together: each row is in one.
    weights : ndarray of shape (n_rows,)
        Weights of the rows, 1 on average in each sample.
    alpha : float
        Level of the test of each side in the first round, and of both together in each later one.
    n_resamples : int
        Relabellings.
    rng : Generator
        Draws them.
    rounds : int, default 8
        Most rounds.
    executor : concurrent.futures.Executor, optional
        Threads.
    report : callable, optional
        Called after each round.
    """
    in_test = pooled.gram.in_test
    kept, taken = np.ones(len(weights), bool), np.zeros(len(weights), bool)
    search = ModeSearch(held_out=np.zeros(len(weights), bool))
    sides = [0, 1]
    for number in range(rounds):
        if min((kept & in_test).sum(), (kept & ~in_test).sum()) < LEAST_ROWS:
            break
        rows = _SearchRows(pooled, units, weights, kept, taken, rng)
        tested = rows.tested(n_resamples, rng, executor, times=_SIDES if number else 1)
        if any(
            near_level(tested.p_values[side] / tested.times, n_resamples, alpha / tested.times)
            for side in sides
        ):
            more = rows.tested((MORE_DRAWS - 1) * (n_resamples + 1), rng, executor)
            tested = _Statistics(
                np.concatenate([tested.values, more.values[..., 1:]], axis=2), tested.times
            )
        if not number:
            search.n_resamples = tested.values.shape[2] - 1
        for side in sides:
            if not any(kind.lost == bool(side) for found in search.rounds for kind in found):
                search.p_values[side] = tested.p_values[side]
        if report is not None:
            report()
        standing = [side for side in sides if tested.p_values[side] <= alpha]
        looks = [_Look(rows, side, tested, alpha) for side in (standing or ([] if number else [0]))]
        if not number and looks and not looks[0].side:
            search.leading = looks[0].kinds[0]
        # Kinds that one sample lacks go before those that it has diluted: held-out rows tell which is which.
        look = max(looks, key=lambda look: look.ratio, default=None) if standing else None
        if look is None or not look.found:
            break
        search.rounds.append([part.kind for part in look.found])
        if not look.side:
            search.held_out |= look.held_out
        removed = np.any([part.members for part in look.found], axis=0)
        taken |= removed
        if units.paired:  # a pair goes as a whole
            both = removed[in_test] | removed[~in_test]
            removed = np.concatenate([both, both])
        kept &= ~removed
        if (kept & look.own_rows).sum() < LEAST_ROWS:
            # Nearly all of this sample is gone: what the other one has left is set against all of it.
            sides = [side for side in sides if side != look.side]
            kept |= look.own_rows
        units = units.among(kept, rng)
        del rows, looks, look  # their sums take as much memory as those of the next round
    return search


def near_level(p_value: float, n_resamples: int, alpha: float) -> bool:
    """Tell whether other relabellings could turn the verdict: the exact interval of the p-value holds the level."""
    if not n_resamples:  # so few rows that none were relabelled
        return False
    low, high = binomial_interval(
        (p_value * (n_resamples + 1) - 1) / n_resamples, n_resamples, 0.95
    )
    return low < alpha < high


class _SearchRows:
    """The rows that are still looked at: sums over their units at each width, and what whitens them.

    Attributes
    ----------
    kept, taken : ndarray of shape (n_rows,)
        Whether each row is looked at, and whether a round before has taken it as a member.
    size : ndarray of shape (n_units,)
        Weight of each unit.
    half : ndarray of shape (n_units,)
        A random half of the units.
    """

    def __init__(
        self,
        pooled: Pooled,
        units: PermutationUnits,
        weights: FloatArray,
        kept: BoolArray,
        taken: BoolArray,
        rng: np.random.Generator,
    ) -> None:
        kept &= units.of_row >= 0
        self.pooled, self.units, self.weights, self.taken = pooled, units, weights, taken
        self.kept, n_units = kept.copy(), len(units.in_test)
        self.sums = pooled.sums(units.of_row, weights, n_units, kept)
        self.size: FloatArray = np.bincount(units.of_row[kept], weights[kept], n_units).astype(
            np.float64
        )
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
        times: int = 1,
    ) -> _Statistics:
        """Return the statistics of the true labels and of relabelled rows."""
        drawn = self.units.relabelled(self.size, n_resamples, rng)
        labels = differences(np.vstack([self.units.in_test, drawn]), self.size)
        parts = [
            extremes(part, labels, whitening, executor)
            for part, whitening in zip(self.sums, self._whitening, strict=True)
        ]
        return _Statistics(np.stack(parts, axis=1), times)


@dataclass(eq=False)
class _Statistics:
    """Largest eigenvalues of both sides at each width for each labelling, the true one first: (2, widths, labels)."""

    values: FloatArray
    times: int
    """How many tests each p-value counts for."""

    def __post_init__(self) -> None:
        self.mean = self.values.mean(axis=2, keepdims=True)
        self.spread = self.values.std(axis=2, keepdims=True) + np.finfo(np.float64).tiny
        self.scores = (self.values - self.mean) / self.spread
        self.largest = self.scores.max(axis=1)
        reached = self.largest >= self.largest[:, :1] - 1e-9
        self.p_values = [min(1.0, self.times * float(share)) for share in reached.mean(axis=1)]

    def best_width(self, side: int) -> int:
        """Return the width at which a side stands out most."""
        return int(np.argmax(self.scores[side, :, 0]))

    def cut(self, side: int, alpha: float) -> float:
        """Return what an eigenvalue must exceed at that width."""
        width = self.best_width(side)
        quantile = float(np.quantile(self.largest[side, 1:], 1.0 - alpha / self.times))
        return float(self.mean[side, width, 0] + self.spread[side, width, 0] * quantile)


class _Look:
    """A look at one side at the width at which it stands out most: kinds, and what each half says of the other.

    Attributes
    ----------
    side : int
        0 for what the test sample has in excess, 1 for the reference.
    kinds : list of Kind
        Of the eigenvalues that stand out, parted by varimax.
    found : list of FoundMode
        Those with members.
    held_out : ndarray of shape (n_rows,)
        Whether each row is a member, as found on the half of the rows without it.
    ratio : float
        How many times as frequent these members are as in the other sample.
    """

    def __init__(self, rows: _SearchRows, side: int, tested: _Statistics, alpha: float) -> None:
        gram, weights, kept = rows.pooled.gram, rows.weights, rows.kept
        self.side, self.own_rows = side, ~gram.in_test if side else gram.in_test
        self._rows, self._p_value, self._width = (
            rows,
            tested.p_values[side],
            tested.best_width(side),
        )
        self.kinds = self._kinds(
            np.ones(len(rows.half), bool), tested.cut(side, alpha), MOST_TOGETHER
        )
        self.found = []
        for kind in merged([self._at(kind) for kind in self.kinds], gram, self.own_rows):
            part = self._at(kind)
            if (part.members & kept & self.own_rows).sum() >= LEAST_MEMBERS:
                self.found.append(part)
        self.found.sort(key=lambda part: -int((part.members & self.own_rows).sum()))
        self.held_out = np.zeros(len(weights), bool)
        for chosen in (rows.half, ~rows.half):
            there = chosen[rows.units.of_row] & kept
            for kind in self._kinds(chosen, -np.inf, len(self.kinds)):
                self.held_out |= self._at(kind).members & kept & ~there
        (having, n), (others, m) = (
            (float(weights[part] @ self.held_out[part]), float(weights[part].sum()))
            for part in (kept & self.own_rows, kept & ~self.own_rows)
        )
        self.ratio = (having + 0.5) / (others + 0.5) * m / n

    def _at(self, kind: Kind) -> FoundMode:
        """Return a kind with the strengths and memberships of all rows that are not taken."""
        return found_at(
            kind, self._rows.pooled.values(kind.width, kind.directions), self._rows.taken
        )

    def _kinds(self, chosen: BoolArray, cut: float, most: int) -> list[Kind]:
        """Return the kinds of the eigenvalues above ``cut`` among the chosen units, parted by varimax."""
        rows, weights = self._rows, self._rows.weights
        sums, size, labels = (
            rows.sums[self._width][chosen],
            rows.size[chosen],
            rows.units.in_test[chosen],
        )
        whitening = whitening_of(sums, float(size.sum()))
        difference = symmetric(differences(~labels if self.side else labels, size) @ sums)
        eigenvalues, vectors = np.linalg.eigh(whitening @ difference @ whitening)
        # How many times as frequent each direction is: those much less so than the first wait for a later round,
        # since of many rows the tails of one kind stand out too.
        weighted, others = whitening @ vectors, labels == bool(self.side)
        theirs = symmetric(sums[others].sum(axis=0) / size[others].sum()) @ weighted
        times = 1.0 + eigenvalues / np.maximum(np.einsum("ij,ij->j", weighted, theirs), TINY)
        times = np.minimum(times, _PURE)
        taken = (eigenvalues > cut) & (times >= _WAITS * times[-1])
        taken[-1] = True
        directions = weighted[:, taken][:, ::-1][:, :most]
        values = rows.pooled.values(self._width, directions)
        there = chosen[rows.units.of_row] & rows.kept
        own, other = there & self.own_rows, there & ~self.own_rows
        step = int(own.sum()) // _ROTATION_ROWS + 1
        share = weights[own][::step]
        rotation = varimax(values[own][::step], share / share.sum())
        values, directions = values @ rotation, directions @ rotation
        signs = np.where((weights[own] @ values[own] ** 3) < 0.0, -1.0, 1.0)
        return [
            Kind(bool(self.side), self._p_value, self._width, (part,))
            for part in (
                calibrated(column, direction, weights, own, other)
                for column, direction in zip(
                    (values * signs).T, (directions * signs).T, strict=True
                )
            )
        ]
