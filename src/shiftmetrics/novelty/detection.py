"""What is new, how much of it, and in which samples: the answer of a call, beside the paper's score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray, take_rows, to_float64
from shiftmetrics._core.result import Interval
from shiftmetrics.novelty.bandwidth import MAX_ROWS, bandwidth_by_rule
from shiftmetrics.novelty.modes.fraction_bound import RARE, fraction_interval
from shiftmetrics.novelty.modes.fraction_estimate import FractionEstimate, best_bin
from shiftmetrics.novelty.modes.frequencies import Frequencies, ModeSides, sorted_modes
from shiftmetrics.novelty.modes.gate import side_p_values
from shiftmetrics.novelty.modes.membership import FoundMode, ModeFunction, members_of
from shiftmetrics.novelty.modes.mode import Mode, describe_mode
from shiftmetrics.novelty.modes.permutations import searched_rows
from shiftmetrics.novelty.modes.row_scores import RowScorer
from shiftmetrics.novelty.modes.search import found_in
from shiftmetrics.novelty.modes.space import most_rows
from shiftmetrics.novelty.options import NoveltyResampling
from shiftmetrics.novelty.result_parts import NoveltyChanges, NoveltyTest
from shiftmetrics.novelty.score.gram import Gram
from shiftmetrics.novelty.score.kernels import DirectionKernel, Kernel
from shiftmetrics.novelty.score.solution import NoveltyProblem
from shiftmetrics.novelty.searched import SearchedSamples

_ALL_MISSING = 0.9
"""Fraction of the reference that is missing, beyond which the rest is too little to compare with."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Detection:
    """What was found: parts of `NoveltyResult` of the same names, and beside them three more.

    Attributes
    ----------
    searched : tuple of int or None
        Numbers of rows of both samples that were searched, chosen at random; None for all.
    scorer : RowScorer
        Scores of samples.
    estimate : FractionEstimate
        The rows that say how much is new.
    """

    fraction: float
    fraction_interval: Interval
    missing_fraction: float
    new: tuple[Mode, ...]
    missing: tuple[Mode, ...]
    changes: NoveltyChanges
    test: NoveltyTest
    searched: tuple[int, int] | None
    scorer: RowScorer
    estimate: FractionEstimate


def detect(
    problem: NoveltyProblem,
    options: NoveltyResampling,
    *,
    together: IntArray | None,
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
    together : ndarray of shape (n_rows,), optional
        Number of the group, or of the pair, of each row of both samples.
    columns : tuple of str
        Names of the columns.
    rng : Generator
        Draws landmarks and permutations.
    report : callable
        Called after each round of the search.
    """
    gram, weights = _to_search(problem, rng)
    frequencies = Frequencies(weights, gram.n_test)
    alpha = 1.0 - options.confidence_level
    # 1. The rows to search on: all that memory allows, and at eta > 1 one half, so that the other half can test.
    most = most_rows(int(gram.features.shape[1]), problem.memory_limit)
    rows = searched_rows(
        _having(weights, gram.n_test, paired=options.paired),
        gram.in_test,
        together,
        most,
        rng,
        paired=options.paired,
        halved=problem.eta > 1.0,
    )
    is_searched = np.zeros(gram.n_rows, bool)
    is_searched[rows] = True
    search = SearchedSamples(
        gram if is_searched.all() else gram.subset(rows),
        weights=weights[rows],
        together=None if together is None else np.unique(together[rows], return_inverse=True)[1],
        problem=problem,
        options=options,
        rng=rng,
    )
    # 2. Is anything new or missing? Only then is it asked what: a gradual change of columns, or modes.
    tested, n_resamples = search.gated()
    p_values = side_p_values(tested)
    gradual = NoveltyChanges()
    rounds: list[list[ModeFunction]] = []
    if min(p_values) <= alpha:
        if problem.eta == 1.0:
            gradual = search.gradual_changes(tested, columns)
        if not gradual.are_gradual:
            rounds = search.modes(report)
    found = found_in(rounds, search.space, gram)
    # 3. Which modes are new, which are missing, and which only more or less frequent?
    if problem.eta > 1.0:
        # The half of the rows that was not searched tests what the other half has found.
        judged = _confirmed(found, frequencies, ~is_searched, problem.eta, alpha)
    else:
        held_out = [np.zeros(gram.n_rows, bool) for _ in p_values]
        scores = np.zeros(gram.n_rows)
        for side, members in enumerate(held_out):
            if p_values[side] <= alpha and not gradual.are_gradual:
                of_side = search.crossfitted(missing=bool(side))
                members[rows] = of_side.members
                if side == 0:
                    scores[rows] = of_side.scores
        modes = sorted_modes(found, held_out, frequencies, alpha)
        left = p_values
        if rounds:
            left = _of_what_is_left(p_values, found, modes, search, rows)
        judged = _Judged(modes, left, held_out[0], is_searched, scores)
    modes = judged.modes
    # 4. How much is new, by samples that had no part in saying so.
    missing = members_of(modes.missing, gram.n_rows, missing=True)
    missing_fraction = frequencies.excess(missing, missing=True)
    counted = Frequencies(weights * judged.counted, gram.n_test)
    if missing_fraction < _ALL_MISSING:
        # What is missing is no part of the comparison.
        kept = judged.counted & ~(missing & ~gram.in_test)
        counted = Frequencies(weights * kept, gram.n_test)
    interval = _interval(judged.held_out, counted, search, options.confidence_level)
    new = members_of(modes.new, gram.n_rows, missing=False)
    estimate = FractionEstimate.nothing(weights, gram.n_test)
    if problem.eta > 1.0:
        estimate = FractionEstimate(new, weights, gram.n_test)
    elif judged.tells_how_much(frequencies, alpha) and not gradual.are_gradual:
        sizes = _sizes(counted, search)
        estimate = best_bin(judged.scores, counted.weights, gram.n_test, sizes)
    # 5. The modes in the words of the columns.
    described = []
    for listed in (modes.new, modes.missing, modes.changed):
        parts = [
            describe_mode(number, part, search.space, gram, weights, columns)
            for number, part in enumerate(listed)
        ]
        described.append(tuple(parts))
    searched = None
    if gram.n_rows > most:
        searched = (search.space.gram.n_test, search.space.gram.n_reference)
    return Detection(
        # Two counts of the same rows: the estimate never undercuts what the bound has shown.
        fraction=max(estimate.fraction, interval.low),
        fraction_interval=interval,
        missing_fraction=missing_fraction,
        new=described[0],
        missing=described[1],
        changes=replace(gradual, modes=described[2]),
        test=NoveltyTest(
            p_value=judged.p_values[0],
            missing_p_value=judged.p_values[1],
            n_resamples=n_resamples,
            confidence_level=options.confidence_level,
            sizes=(gram.n_test, gram.n_reference),
            dependence=search.dependence(new[rows]),
            first_rows=rows[search.first_rows()],
            borne_out=judged.borne_out(modes.new, gram.in_test) if problem.eta == 1.0 else (),
        ),
        searched=searched,
        scorer=RowScorer(search.space, rows, gram, weights, [part.function for part in modes.new]),
        estimate=estimate,
    )


@dataclass(frozen=True, eq=False)
class _Judged:
    """What may be said of the modes, and the samples that may say how much is new.

    Attributes
    ----------
    modes : ModeSides
        The modes by what they are.
    p_values : tuple of two floats
        Of what is new, and of what is missing.
    held_out : ndarray of shape (n_rows,)
        Members, each by what it had no part in.
    counted : ndarray of shape (n_rows,)
        Rows among which they are counted.
    scores : ndarray of shape (n_rows,)
        How new each of these looks, by what it had no part in; zeros at eta > 1.
    """

    modes: ModeSides
    p_values: tuple[float, float]
    held_out: BoolArray
    counted: BoolArray
    scores: FloatArray

    def tells_how_much(self, frequencies: Frequencies, alpha: float) -> bool:
        """Return whether something is new: a mode is, or what stands out is no group that the reference has too."""
        if self.modes.new:
            return True
        if self.p_values[0] > alpha or not self.scores.any():
            return False
        for mode in self.modes.changed:
            a, b = frequencies.of(mode.members)
            if not mode.function.missing and b > RARE * a:
                return False
        return True

    def borne_out(self, modes: list[FoundMode], in_test: BoolArray) -> tuple[float, ...]:
        """Return which fraction of the members of each mode is above the threshold of a fold without it.

        On nine withheld digits it was .12 to .97 where .24 to 1.0 of the members were new, at most .03 above.
        """
        fractions = []
        for mode in modes:
            own = mode.members & self.counted & in_test
            fractions.append(float(self.held_out[own].mean()) if own.any() else 1.0)
        return tuple(fractions)


def _to_search(problem: NoveltyProblem, rng: np.random.Generator) -> tuple[Gram, FloatArray]:
    """Return the kernel matrix to search with, and weights that are 1 on average in each sample."""
    gram = problem.gram
    sides = problem.test_weights * gram.n_test, problem.reference_weights * gram.n_reference
    kernel = _search_kernel(gram, sides, rng)
    if kernel is not gram.kernel:
        gram = gram.with_kernel(kernel)
    return gram, np.concatenate(sides)


def _having(weights: FloatArray, n_test: int, *, paired: bool) -> BoolArray:
    """Return whether each row has weight, and so has its partner."""
    having: BoolArray = weights > 0.0
    if paired:
        having &= np.concatenate([having[n_test:], having[:n_test]])
    return having


def _of_what_is_left(
    p_values: tuple[float, float],
    found: list[FoundMode],
    modes: ModeSides,
    search: SearchedSamples,
    rows: IntArray,
) -> tuple[float, float]:
    """Return the p-values; that of a side without a mode of its own comes from the rows that are in no mode.

    Such a side may stand out only because of what the other one has in excess.
    """
    named = np.zeros(len(rows), bool)
    for part in found:
        named |= part.members[rows]
    left = search.gated_without(named)
    own = {part.function.missing for part in (*modes.new, *modes.missing, *modes.changed)}
    new, missing = (
        p_values[side] if bool(side) in own else max(p_values[side], left[side]) for side in (0, 1)
    )
    return new, missing


def _interval(
    members: BoolArray, counted: Frequencies, search: SearchedSamples, confidence_level: float
) -> Interval:
    """Return a lower bound of the fraction that is new."""
    if not all(counted.weights[side].any() for side in counted.sides):
        return fraction_interval(0.0, 0.0, 1.0, 1.0, confidence_level)
    return fraction_interval(*counted.of(members), *_sizes(counted, search), confidence_level)


def _sizes(counted: Frequencies, search: SearchedSamples) -> tuple[float, float]:
    """Return how many independent rows of equal weight would be as uncertain, of both samples."""
    n, m = counted.sizes()
    return n * search.independent(0), m * search.independent(1)


def _search_kernel(
    gram: Gram, sides: tuple[FloatArray, FloatArray], rng: np.random.Generator
) -> Kernel:
    """Return the kernel to search with: of directions the Gaussian kernel, which has a bandwidth."""
    if not gram.kernel.linear:
        return gram.kernel
    parts = []
    for sample, weights in zip((gram.features, gram.reference), sides, strict=True):
        rows = np.flatnonzero(weights)
        count = min(len(rows), MAX_ROWS)
        rows = np.sort(rng.choice(rows, count, replace=False))
        parts.append(np.asarray(gram.kernel.points(to_float64(take_rows(sample, rows)))))
    return DirectionKernel(bandwidth_by_rule(parts, [None, None], rng).value)


def _confirmed(
    found: list[FoundMode], frequencies: Frequencies, rows: BoolArray, eta: float, alpha: float
) -> _Judged:
    """Keep the modes that are more than eta times as frequent among rows that they were not found on.

    The p-values of the modes of a side hold together (Bonferroni); that of each side is its least.
    """
    modes = ModeSides([], [], [])
    p_values = [1.0, 1.0]
    tested = Frequencies(frequencies.weights * rows, frequencies.n_test)
    for part in found:
        missing = part.function.missing
        n_tested = sum(other.function.missing == missing for other in found)
        p_value = min(1.0, n_tested * tested.more_than_p_value(part, eta))
        p_values[missing] = min(p_values[missing], p_value)
        if p_value <= alpha:
            confirmed = replace(part, function=replace(part.function, p_value=p_value))
            (modes.missing if missing else modes.new).append(confirmed)
    held_out = rows & members_of(modes.new, len(rows), missing=False)
    return _Judged(modes, (p_values[0], p_values[1]), held_out, rows, np.zeros(len(rows)))
