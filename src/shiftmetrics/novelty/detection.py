"""What is new, how much of it, and in which samples: the answer of a call, beside the paper's score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray, take_rows, to_float64
from shiftmetrics._core.result import Interval
from shiftmetrics.novelty.amounts import (
    effective_size,
    excess_fraction,
    largest_fraction,
    member_fractions,
    more_than_p_value,
    rarity,
)
from shiftmetrics.novelty.bandwidth import MAX_ROWS, bandwidth_by_rule
from shiftmetrics.novelty.changes import GradualChange, column_changes, is_gradual, matched
from shiftmetrics.novelty.crossfit import N_FOLDS, RARE, crossfitted_members, fraction_interval
from shiftmetrics.novelty.dependence import duplicate_warnings, order_warnings
from shiftmetrics.novelty.gate import Gate, GateStatistics
from shiftmetrics.novelty.gram import Gram
from shiftmetrics.novelty.kernels import DirectionKernel, Kernel
from shiftmetrics.novelty.membership import FoundMode, ModeFunction, members_of
from shiftmetrics.novelty.modes import Mode, describe_mode
from shiftmetrics.novelty.options import NoveltyResampling
from shiftmetrics.novelty.permutations import PermutationUnits, make_units, permuted_rows
from shiftmetrics.novelty.row_scores import RowScorer
from shiftmetrics.novelty.search import (
    LEAST_ROWS,
    MORE_RESAMPLES,
    find_modes,
    found_in,
    leading_mode,
    near_level,
)
from shiftmetrics.novelty.solution import NoveltyProblem
from shiftmetrics.novelty.space import SearchSpace, most_rows

GRADUAL = 0.5
"""A change is gradual where undoing it leaves at most so much of the gate's statistic."""

_ALL_MISSING = 0.9
"""Fraction of the reference that is missing, beyond which the rest is too little to compare with."""

_FIRST_ROWS = 10
"""Samples to look at first where something is new and no mode is clear."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Detection:
    """What was found: parts of `NoveltyResult`.

    Attributes
    ----------
    modes, missing, changed : tuple of Mode
        What is new, what is missing, and what is more or less frequent.
    columns : tuple of GradualChange
        Of a gradual change.
    p_value, missing_p_value : float
        Of anything new, and of anything missing.
    fraction, missing_fraction : float
        Of the sample that is new, and of the reference that is missing.
    fraction_interval : Interval
        A lower bound of the first.
    first_rows : ndarray of int
        The samples that look most new, where no mode is clear.
    dependence : tuple of str
        Why samples may not be independent.
    n_resamples : int
        Permutations behind the p-values.
    searched : tuple of int or None
        Rows of both samples that were drawn to search on; None for all.
    scorer : RowScorer
        Scores of samples.
    """

    modes: tuple[Mode, ...]
    missing: tuple[Mode, ...]
    changed: tuple[Mode, ...]
    columns: tuple[GradualChange, ...]
    p_value: float
    missing_p_value: float
    fraction: float
    missing_fraction: float
    fraction_interval: Interval
    first_rows: IntArray
    dependence: tuple[str, ...]
    n_resamples: int
    searched: tuple[int, int] | None
    scorer: RowScorer


def detect(
    problem: NoveltyProblem,
    options: NoveltyResampling,
    *,
    groups: tuple[IntArray, IntArray] | None,
    columns: tuple[str, ...],
    rng: np.random.Generator,
    report: Callable[[], Any],
) -> Detection:
    """Look for what the test sample has and the reference lacks, and the other way round.

    Parameters
    ----------
    problem : NoveltyProblem
        The samples.
    options : NoveltyResampling
        Permutations, and their confidence level.
    groups : tuple of ndarray of int, optional
        Number of the group of each row of both samples.
    columns : tuple of str
        Names of the columns.
    rng : Generator
        Draws landmarks and permutations.
    report : callable
        Called after each round of the search.
    """
    gram = problem.gram
    n_test = gram.n_test
    alpha = 1.0 - options.confidence_level
    # Weights are 1 on average in each sample from here on.
    sides = problem.test_weights * n_test, problem.reference_weights * gram.n_reference
    weights = np.concatenate(sides)
    kernel = _search_kernel(gram, sides, rng)
    if kernel is not gram.kernel:
        gram = Gram(gram.features, gram.reference, kernel, gram.units)
    # 1. The rows to search on: all that memory allows, and at eta > 1 one half, so that the other half can test.
    most = most_rows(int(gram.features.shape[1]), problem.memory_limit)
    units = make_units(sides, groups, paired=options.paired, rng=rng, most_rows=most)
    if problem.eta > 1.0:
        units = _half(units, rng)
    is_searched = units.of_row >= 0
    rows = np.flatnonzero(is_searched)
    search = _Search(
        gram if is_searched.all() else gram.subset(rows),
        units=units.at(rows),
        weights=weights[rows],
        together=_together(groups, (n_test, gram.n_reference), paired=options.paired, rows=rows),
        problem=problem,
        options=options,
        rng=rng,
    )
    # 2. Is anything new or missing? Only then is it asked what.
    tested, n_resamples = search.gated()
    p_values = list(tested.p_values)
    stands_out = min(p_values) <= alpha
    changes: tuple[GradualChange, ...] = ()
    rounds: list[list[ModeFunction]] = []
    if stands_out and problem.eta == 1.0:
        changes = search.gradual_changes(tested, columns)
    if stands_out and not changes:
        rounds = search.rounds(report)
    found = found_in(rounds, search.space, gram)
    # 3. Which modes are new, which are missing, and which only more or less frequent?
    counted = weights * is_searched
    held_out = np.zeros(gram.n_rows, bool)
    if problem.eta > 1.0:
        counted = weights * ~is_searched
        found, p_values = _confirmed(found, weights, ~is_searched, n_test, problem.eta, alpha)
        held_out = ~is_searched & members_of(found, gram.n_rows, missing=False)
        modes = _Sides(
            [part for part in found if not part.function.missing],
            [part for part in found if part.function.missing],
            [],
        )
    else:
        if p_values[0] <= alpha and not changes:
            held_out[rows] = search.crossfitted()
        modes = _sorted_modes(found, held_out, weights, n_test, alpha)
    # 4. How much is new, by samples that had no part in saying so; what is missing is no part of the comparison.
    new = members_of(modes.new, gram.n_rows, missing=False)
    missing = members_of(modes.missing, gram.n_rows, missing=True)
    if excess_fraction(missing, weights, n_test, missing=True) < _ALL_MISSING:
        counted = np.where(missing & ~gram.in_test, 0.0, counted)
    interval = _interval(held_out, counted, n_test, search, options.confidence_level)
    fraction = 0.0
    if modes.new:
        fraction = max(excess_fraction(new, weights, n_test), interval.low)
    elif p_values[0] <= alpha and held_out.any() and not modes.changed:
        fraction = excess_fraction(held_out, counted, n_test)
    # 5. A side that has no mode of its own may stand out because of the other one's: it is asked again without them.
    if rounds and problem.eta == 1.0:
        named = members_of(found, gram.n_rows, missing=False)
        named |= members_of(found, gram.n_rows, missing=True)
        left = search.gated_without(named[rows])
        for side in (0, 1):
            if not (modes.missing if side else modes.new):
                p_values[side] = max(p_values[side], left[side])
    described = [
        tuple(
            describe_mode(number, part, search.space, gram, weights, columns)
            for number, part in enumerate(side)
        )
        for side in (modes.new, modes.missing, modes.changed)
    ]
    scoring = [part.function for part in modes.new] or [search.leading()]
    searched = None
    if gram.n_rows > most:
        searched = (search.space.gram.n_test, search.space.gram.n_reference)
    return Detection(
        modes=described[0],
        missing=described[1],
        changed=described[2],
        columns=changes,
        p_value=p_values[0],
        missing_p_value=p_values[1],
        fraction=fraction,
        missing_fraction=excess_fraction(missing, weights, n_test, missing=True),
        fraction_interval=interval,
        first_rows=rows[search.first_rows()],
        dependence=search.dependence(new[rows]),
        n_resamples=n_resamples,
        searched=searched,
        scorer=RowScorer(search.space, rows, gram, weights, scoring),
    )


class _Search:
    """The rows that are searched, with what all steps of the search share."""

    def __init__(
        self,
        gram: Gram,
        *,
        units: PermutationUnits,
        weights: FloatArray,
        together: IntArray | None,
        problem: NoveltyProblem,
        options: NoveltyResampling,
        rng: np.random.Generator,
    ) -> None:
        self._units = units
        self._weights = weights
        self._together = together
        self._options = options
        self._problem = problem
        self._rng = rng
        self._alpha = 1.0 - options.confidence_level
        self.space = self._space_of(gram)
        self._gate = Gate(self.space, weights, rng)

    def _space_of(self, gram: Gram) -> SearchSpace:
        return SearchSpace(
            gram,
            rng=self._rng,
            memory_limit=self._problem.memory_limit,
            executor=self._problem.executor,
        )

    def gated(self) -> tuple[GateStatistics, int]:
        """Return the statistics of the gate, and the number of permutations: more where it is close."""
        in_test = self.space.gram.in_test
        n_resamples = self._options.n_resamples
        self._labels = np.vstack([in_test, self._permuted(n_resamples)])
        tested = self._gate.statistics(self._labels)
        if any(near_level(p, n_resamples, self._alpha) for p in tested.p_values):
            more = self._permuted((MORE_RESAMPLES - 1) * (n_resamples + 1))
            self._labels = np.vstack([self._labels, more])
            tested = self._gate.statistics(self._labels)
        return tested, len(self._labels) - 1

    def gated_without(self, members: BoolArray) -> tuple[float, float]:
        """Return the p-values of both sides among the rows that are no members."""
        gram = self.space.gram
        kept = np.flatnonzero(~members)
        in_test = gram.in_test[kept]
        if min(in_test.sum(), (~in_test).sum()) < LEAST_ROWS:
            return 1.0, 1.0
        left = Gate(self._space_of(gram.subset(kept)), self._weights[kept], self._rng)
        together = None
        if self._together is not None:
            together = np.unique(self._together[kept], return_inverse=True)[1]
        permuted = permuted_rows(
            in_test, together, self._options.n_resamples, self._rng, paired=self._options.paired
        )
        return left.statistics(np.vstack([in_test, permuted])).p_values

    def _permuted(self, n_resamples: int) -> BoolArray:
        in_test = self.space.gram.in_test
        return permuted_rows(
            in_test, self._together, n_resamples, self._rng, paired=self._options.paired
        )

    def gradual_changes(
        self, tested: GateStatistics, columns: tuple[str, ...]
    ) -> tuple[GradualChange, ...]:
        """Return the columns that moved, where the gate sees nothing else; otherwise none."""
        gram = self.space.gram
        in_test = gram.in_test
        # What weighs differently has other medians; and a user's kernel knows no columns.
        if gram.kernel.bandwidth is None or np.ptp(self._weights) > 0.0:
            return ()
        features = to_float64(gram.take(np.arange(gram.n_rows)))
        changes = column_changes(features[in_test], features[~in_test], columns, self._alpha)
        if not is_gradual(changes):
            return ()
        moved = matched(features, in_test, columns, changes, self._rng)
        again = self._space_of(Gram(moved[in_test], moved[~in_test], gram.kernel))
        left = Gate(again, self._weights, self._rng).statistics(self._labels)
        if left.values[:, 0].max() > GRADUAL * tested.values[:, 0].max():
            return ()
        return changes

    def rounds(self, report: Callable[[], Any]) -> list[list[ModeFunction]]:
        """Return the modes of each round of the search."""
        return find_modes(
            self.space,
            self._units,
            self._weights,
            alpha=self._alpha,
            n_resamples=self._options.n_resamples,
            rng=self._rng,
            executor=self._problem.executor,
            report=report,
        )

    def crossfitted(self) -> BoolArray:
        """Return which samples are members by scores that they had no part in."""
        in_test = self.space.gram.in_test
        folds = np.empty(len(in_test), dtype=np.int64)
        if self._together is None:
            for side in (in_test, ~in_test):
                folds[side] = self._rng.permutation(np.arange(side.sum()) % N_FOLDS)
        else:
            n_groups = int(self._together.max()) + 1
            folds[:] = self._rng.permutation(np.arange(n_groups) % N_FOLDS)[self._together]
        return crossfitted_members(
            self._gate.families, in_test, folds, self._weights, self._options.confidence_level
        )

    def independent(self, side: int) -> float:
        """Return how many samples of a side count as independent, as a fraction: groups count once."""
        if self._together is None or self._options.paired:
            return 1.0
        groups = self._together[self.space.gram.in_test != bool(side)]
        return len(np.unique(groups)) / len(groups)

    def first_rows(self) -> IntArray:
        """Return the positions of the test samples that look most new by the gate's classifiers."""
        scores = self._gate.row_scores()[self.space.gram.in_test]
        return np.argsort(-scores, kind="stable")[:_FIRST_ROWS]

    def dependence(self, members: BoolArray) -> tuple[str, ...]:
        """Return why samples may not be independent, unless groups or pairs say how they belong together."""
        if self._together is not None:
            return ()
        gram = self.space.gram
        in_test = gram.in_test
        features = to_float64(gram.take(np.arange(gram.n_rows)))
        copied = duplicate_warnings(features[in_test], features[~in_test])
        if copied:
            return copied
        # New members may stand together without any order.
        scores = self._gate.row_scores()
        return order_warnings((scores[in_test & ~members], scores[~in_test]))

    def leading(self) -> ModeFunction:
        """Return what leads in the test sample."""
        return leading_mode(self.space, self._units, self._weights, self._rng)


def _interval(
    members: BoolArray, weights: FloatArray, n_test: int, search: _Search, confidence_level: float
) -> Interval:
    """Return a lower bound of the fraction that is new."""
    if not (weights[:n_test].any() and weights[n_test:].any()):
        return fraction_interval(0.0, 0.0, 1.0, 1.0, confidence_level)
    a, b = member_fractions(members, weights, n_test)
    n = effective_size(weights[:n_test]) * search.independent(0)
    m = effective_size(weights[n_test:]) * search.independent(1)
    return fraction_interval(a, b, n, m, confidence_level)


@dataclass(frozen=True, eq=False)
class _Sides:
    """The modes that are new, those that are missing, and those that are only more or less frequent."""

    new: list[FoundMode]
    missing: list[FoundMode]
    changed: list[FoundMode]


def _sorted_modes(
    found: list[FoundMode], held_out: BoolArray, weights: FloatArray, n_test: int, alpha: float
) -> _Sides:
    """Sort the modes that were found by what may be said of them.

    A mode is new where its core is rare in the reference in absolute terms, and missing the other way round. But
    where
    a fraction s of the sample is new, all that is known is only 1 - s times as frequent as in the reference: a mode
    is
    less frequent, or missing, beyond the largest plausible s. So with what is more frequent where the reference has
    modes in excess.
    """
    sides = _Sides([], [], [])
    everything = np.ones(len(weights), bool)
    for missing in (False, True):
        # What the other side has in excess dilutes this one.
        others = members_of(found, len(weights), missing=not missing)
        if missing:
            others |= held_out
        size = effective_size(weights[:n_test] if missing else weights[n_test:])
        excess = excess_fraction(others, weights, n_test, missing=not missing)
        times = 1.0 / (1.0 - largest_fraction(excess, size))
        for part in found:
            if part.function.missing != missing:
                continue
            beyond = more_than_p_value(
                part.members, weights, everything, n_test, times, missing=missing
            )
            rare = rarity(part.strengths, part.members, weights, n_test, missing=missing)
            if missing:
                rare *= times
            if rare <= RARE and (beyond <= alpha or not missing):
                (sides.missing if missing else sides.new).append(part)
            elif beyond <= alpha:
                sides.changed.append(part)
    return sides


def _together(
    groups: tuple[IntArray, IntArray] | None,
    sizes: tuple[int, int],
    *,
    paired: bool,
    rows: IntArray,
) -> IntArray | None:
    """Return the number of the group of each searched row, or of its pair; None where rows are independent."""
    if groups is None and not paired:
        return None
    if groups is None:
        groups = np.arange(sizes[0]), np.arange(sizes[1])
    numbers = groups[0], groups[1] + (0 if paired else int(groups[0].max()) + 1)
    found = np.concatenate(numbers)[rows]
    return np.unique(found, return_inverse=True)[1]


def _search_kernel(
    gram: Gram, sides: tuple[FloatArray, FloatArray], rng: np.random.Generator
) -> Kernel:
    """Return the kernel to search with: of directions the Gaussian kernel, which has a bandwidth."""
    if not gram.kernel.linear:
        return gram.kernel
    parts = []
    for sample, weights in zip((gram.features, gram.reference), sides, strict=True):
        rows = np.flatnonzero(weights)
        rows = np.sort(rng.choice(rows, min(len(rows), MAX_ROWS), replace=False))
        parts.append(np.asarray(gram.kernel.points(to_float64(take_rows(sample, rows)))))
    return DirectionKernel(bandwidth_by_rule(parts, [None, None], rng).value)


def _half(units: PermutationUnits, rng: np.random.Generator) -> PermutationUnits:
    """Return a random half of the units; the rows of the others are left out."""
    half = units.half(rng)
    place = np.append(np.where(half, np.cumsum(half) - 1, -1), -1)
    return replace(units, of_row=place[units.of_row], in_test=units.in_test[half])


def _confirmed(
    found: list[FoundMode],
    weights: FloatArray,
    rows: BoolArray,
    n_test: int,
    eta: float,
    alpha: float,
) -> tuple[list[FoundMode], list[float]]:
    """Return the modes that are more than eta times as frequent among rows that they were not found on.

    The p-values of the modes of a side hold together (Bonferroni); that of each side is its least.
    """
    confirmed = []
    p_values = [1.0, 1.0]
    for part in found:
        missing = part.function.missing
        n_tested = sum(other.function.missing == missing for other in found)
        p_value = more_than_p_value(part.members, weights, rows, n_test, eta, missing=missing)
        p_value = min(1.0, n_tested * p_value)
        p_values[missing] = min(p_values[missing], p_value)
        if p_value <= alpha:
            confirmed.append(replace(part, function=replace(part.function, p_value=p_value)))
    return confirmed, p_values
