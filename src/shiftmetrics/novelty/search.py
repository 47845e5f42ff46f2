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
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray
from shiftmetrics._core.confidence import binomial_interval
from shiftmetrics.novelty.kinds import TINY, Found, Kind, calibrated, merged
from shiftmetrics.novelty.pooled import Pooled
from shiftmetrics.novelty.relabelling import Units, extremes, whitening_of
from shiftmetrics.novelty.rotation import varimax

MOST_ROUNDS = 8
MOST_TOGETHER = 10
"""Kinds that one round finds at most."""

LEAST_ROWS = 10
"""Of each sample, to look on."""

LEAST_MEMBERS = 3

MORE_DRAWS = 5
"""Times as many relabellings where a p-value is near the level."""

_NEAR = (0.4, 2.0)
_ROTATION_ROWS = 20_000


@dataclass(eq=False)
class Search:
    """What was found.

    Attributes
    ----------
    found : list of Found
        Kinds, in the order in which they were found.
    p_values : list of float
        Of anything gained, and of anything lost.
    n_draws : int
        Relabellings behind the p-values of the first round.
    leading : Kind or None
        What leads in the test sample, whether it stands out or not.
    held_out : ndarray of shape (n_rows,)
        Whether each row is a member of any kind gained, as found on the half of the rows without it.
    """

    held_out: BoolArray
    found: list[Found] = field(default_factory=list)
    p_values: list[float] = field(default_factory=lambda: [1.0, 1.0])
    n_draws: int = 0
    leading: Kind | None = None

    def members(self, *, lost: bool) -> BoolArray:
        """Tell which rows are members of any kind of a side."""
        sides = [part.members for part in self.found if part.kind.lost == lost]
        return np.any(sides, axis=0) if sides else np.zeros(len(self.held_out), bool)


def find_kinds(
    pooled: Pooled,
    units: Units,
    weights: FloatArray,
    *,
    alpha: float,
    n_draws: int,
    rng: np.random.Generator,
    rounds: int = MOST_ROUNDS,
    executor: Executor | None = None,
    report: Callable[[], Any] | None = None,
) -> Search:
    """Look for kinds of rows that one sample has in excess.

    Parameters
    ----------
    pooled : Pooled
        Coordinates of the rows.
    units : Units
        Rows that are relabelled together.
    weights : ndarray of shape (n_rows,)
        Weights of the rows, 1 on average in each sample.
    alpha : float
        Level of the test of each side in each round.
    n_draws : int
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
    n_units, in_test = len(units.in_test), np.arange(len(weights)) < pooled.gram.n_test
    looked_on = units.of_row >= 0
    kept, taken = looked_on.copy(), np.zeros(len(weights), bool)
    sums = pooled.sums(units.of_row, weights, n_units, kept)
    search = Search(held_out=np.zeros(len(weights), bool))
    half = _half(units, rng)
    sides = [0, 1]
    for number in range(rounds):
        if min((kept & in_test).sum(), (kept & ~in_test).sum()) < LEAST_ROWS:
            break
        size: FloatArray = np.bincount(units.of_row[kept], weights[kept], n_units).astype(np.float64)
        whitening = [whitening_of(part, float(size.sum())) for part in sums]
        label = units.coefficients(size, 1, None)
        draws = np.vstack([label, units.coefficients(size, n_draws, rng)])
        tested = _Statistics.of(sums, whitening, draws, executor)
        if any(_NEAR[0] * alpha <= tested.p_values[side] <= _NEAR[1] * alpha for side in sides):
            more = units.coefficients(size, (MORE_DRAWS - 1) * (n_draws + 1), rng)
            tested = tested.joined(_Statistics.of(sums, whitening, more, executor))
        if not number:
            search.n_draws = tested.values.shape[2] - 1
        for side in sides:
            if not any(part.kind.lost == bool(side) for part in search.found):
                search.p_values[side] = tested.p_values[side]
        if report is not None:
            report()
        standing = [side for side in sides if tested.p_values[side] <= alpha]
        looks = [
            _Look(pooled, units, weights, kept, taken, sums, size, label[0], half, side, tested, alpha)
            for side in (standing or ([] if number else [0]))
        ]
        if not number and looks and not looks[0].side:
            search.leading = looks[0].kinds[0]
        # Kinds that one sample lacks go before those that it has diluted: held-out rows tell which is which.
        look = max(looks, key=lambda look: look.ratio, default=None) if standing else None
        if look is None or not look.found:
            break
        search.found += look.found
        if not look.side:
            search.held_out |= look.held_out
        removed = np.any([part.members for part in look.found], axis=0)
        taken |= removed
        if units.paired:  # a pair goes as a whole
            both = removed[in_test] | removed[~in_test]
            removed = np.concatenate([both, both])
        removed &= kept
        kept &= ~removed
        if (kept & look.own_rows).sum() >= LEAST_ROWS:
            if pooled.in_memory and units.weights is not None:
                units = units.among(kept, rng)
                kept &= units.of_row >= 0
                n_units, half = len(units.in_test), _half(units, rng)
                sums = pooled.sums(units.of_row, weights, n_units, kept)
                continue
            for part, left in zip(sums, pooled.sums(units.of_row, weights, n_units, removed), strict=True):
                part -= left
            continue
        # Nearly all of this sample is gone: what the other one has left is set against all of it.
        sides = [side for side in sides if side != look.side]
        kept |= looked_on & look.own_rows
        units = units.among(kept, rng)
        kept &= units.of_row >= 0
        n_units, half = len(units.in_test), _half(units, rng)
        sums = pooled.sums(units.of_row, weights, n_units, kept)
    return search


def near_level(p_value: float, n_draws: int, alpha: float) -> bool:
    """Tell whether other relabellings could turn the verdict: the exact interval of the p-value holds the level."""
    if not n_draws:  # so few rows that none were relabelled
        return False
    low, high = binomial_interval((p_value * (n_draws + 1) - 1) / n_draws, n_draws, 0.95)
    return low < alpha < high


@dataclass(eq=False)
class _Statistics:
    """Largest eigenvalues of both sides at each width for each labelling, the true one first: (2, widths, labels)."""

    values: FloatArray

    @classmethod
    def of(
        cls,
        sums: list[FloatArray],
        whitening: list[FloatArray],
        coefficients: FloatArray,
        executor: Executor | None,
    ) -> _Statistics:
        parts = [
            extremes(part, coefficients, white, executor) for part, white in zip(sums, whitening, strict=True)
        ]
        return cls(np.stack(parts, axis=1))

    def __post_init__(self) -> None:
        self.mean = self.values.mean(axis=2, keepdims=True)
        self.spread = self.values.std(axis=2, keepdims=True) + np.finfo(np.float64).tiny
        self.scores = (self.values - self.mean) / self.spread
        self.largest = self.scores.max(axis=1)
        reached = self.largest >= self.largest[:, :1] - 1e-9
        self.p_values = [float(share) for share in reached.mean(axis=1)]

    def joined(self, other: _Statistics) -> _Statistics:
        return _Statistics(np.concatenate([self.values, other.values], axis=2))

    def best_width(self, side: int) -> int:
        """Return the width at which a side stands out most."""
        return int(np.argmax(self.scores[side, :, 0]))

    def cut(self, side: int, alpha: float) -> float:
        """Return what an eigenvalue must exceed at that width."""
        width = self.best_width(side)
        quantile = float(np.quantile(self.largest[side, 1:], 1.0 - alpha))
        return float(self.mean[side, width, 0] + self.spread[side, width, 0] * quantile)


class _Look:
    """A look at one side at the width at which it stands out most: kinds, and what each half says of the other.

    Attributes
    ----------
    side : int
        0 for what the test sample has in excess, 1 for the reference.
    kinds : list of Kind
        Of the eigenvalues that stand out, parted by varimax.
    found : list of Found
        Those with members.
    held_out : ndarray of shape (n_rows,)
        Whether each row is a member, as found on the half of the rows without it.
    ratio : float
        How many times as frequent these members are as in the other sample.
    """

    def __init__(
        self,
        pooled: Pooled,
        units: Units,
        weights: FloatArray,
        kept: BoolArray,
        taken: BoolArray,
        sums: list[FloatArray],
        size: FloatArray,
        label: FloatArray,
        half: BoolArray,
        side: int,
        tested: _Statistics,
        alpha: float,
    ) -> None:
        in_test = np.arange(len(weights)) < pooled.gram.n_test
        self.side, self.own_rows = side, ~in_test if side else in_test
        self._pooled, self._weights, self._p_value = pooled, weights, tested.p_values[side]
        self._width = tested.best_width(side)
        signed, here = -label if side else label, sums[self._width]
        self.kinds = self._kinds(here, signed, size, kept, tested.cut(side, alpha), None)
        self.found = []
        for kind in merged([self._at(kind, taken) for kind in self.kinds], pooled.gram, self.own_rows):
            part = self._at(kind, taken)
            if (part.members & kept & self.own_rows).sum() >= LEAST_MEMBERS:
                self.found.append(part)
        self.found.sort(key=lambda part: -int((part.members & self.own_rows).sum()))
        self.held_out = np.zeros(len(weights), bool)
        for chosen in (half, ~half):
            there = chosen[units.of_row] & kept
            kinds = self._kinds(here[chosen], signed[chosen], size[chosen], there, None, len(self.kinds))
            for kind in kinds:
                self.held_out |= self._at(kind, taken).members & kept & ~there
        (having, n), (others, m) = (
            (float(weights[rows] @ self.held_out[rows]), float(weights[rows].sum()))
            for rows in self._sides(kept)
        )
        self.ratio = (having + 0.5) / (others + 0.5) * m / n

    def _sides(self, rows: BoolArray) -> tuple[BoolArray, BoolArray]:
        return rows & self.own_rows, rows & ~self.own_rows

    def _at(self, kind: Kind, taken: BoolArray) -> Found:
        """Return a kind with the strengths and memberships of all rows that are not taken."""
        strengths, memberships = kind.at(self._pooled.values(kind.width, kind.directions))
        return Found(kind, np.where(taken, 0.0, strengths), np.where(taken, 0.0, memberships))

    def _kinds(
        self,
        sums: FloatArray,
        label: FloatArray,
        size: FloatArray,
        rows: BoolArray,
        cut: float | None,
        count: int | None,
    ) -> list[Kind]:
        """Return the kinds of the eigenvalues above ``cut``, or of the first ``count``, parted by varimax."""
        whitening = whitening_of(sums, float(size.sum()))
        matrix = np.tensordot(_balanced(label, size), sums, axes=1)
        eigenvalues, vectors = np.linalg.eigh(whitening @ matrix @ whitening)
        if cut is not None:
            count = int((eigenvalues > cut).sum())
        count = min(max(1, count or 1), MOST_TOGETHER, len(eigenvalues))
        directions = whitening @ vectors[:, ::-1][:, :count]
        values = self._pooled.values(self._width, directions)
        own, other = self._sides(rows)
        step = int(own.sum()) // _ROTATION_ROWS + 1
        share = self._weights[own][::step]
        rotation = varimax(values[own][::step], share / share.sum())
        values, directions = values @ rotation, directions @ rotation
        signs = np.where((self._weights[own] @ values[own] ** 3) < 0.0, -1.0, 1.0)
        return [
            Kind(bool(self.side), self._p_value, self._width, (part,))
            for part in (
                calibrated(column, direction, self._weights, own, other)
                for column, direction in zip((values * signs).T, (directions * signs).T, strict=True)
            )
        ]


def _half(units: Units, rng: np.random.Generator) -> BoolArray:
    """Return a random half of the units; pairs stay together."""
    n_units = len(units.in_test)
    half: BoolArray = rng.permuted(np.arange(n_units // 2 if units.paired else n_units) % 2 == 0)
    return np.hstack([half, half]) if units.paired else half


def _balanced(label: FloatArray, size: FloatArray) -> FloatArray:
    """Return labels as coefficients of units that sum to 1 and -1 over the weights of the sides."""
    sides = [np.where(label > 0, size, 0.0).sum(), np.where(label < 0, size, 0.0).sum()]
    own, other = (1.0 / max(float(side), TINY) for side in sides)
    return np.where(label > 0, own, -other)
