"""What is new, how much of it, and in which samples: the answer of a call, beside the paper's score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray, take_rows, to_float64
from shiftmetrics._core.result import Interval
from shiftmetrics.novelty.amounts import (
    ModeSides,
    effective_size,
    excess_fraction,
    member_fractions,
    more_than_p_value,
    sorted_modes,
)
from shiftmetrics.novelty.bandwidth import MAX_ROWS, bandwidth_by_rule
from shiftmetrics.novelty.crossfit import fraction_interval
from shiftmetrics.novelty.gram import Gram
from shiftmetrics.novelty.kernels import DirectionKernel, Kernel
from shiftmetrics.novelty.membership import FoundMode, ModeFunction, members_of
from shiftmetrics.novelty.modes import Mode, describe_mode
from shiftmetrics.novelty.options import NoveltyResampling
from shiftmetrics.novelty.permutations import make_units, searched_rows
from shiftmetrics.novelty.result_parts import NoveltyChanges, NoveltyTest
from shiftmetrics.novelty.row_scores import RowScorer
from shiftmetrics.novelty.search import find_modes, found_in
from shiftmetrics.novelty.searched import SearchedSamples
from shiftmetrics.novelty.solution import NoveltyProblem
from shiftmetrics.novelty.space import most_rows

_ALL_MISSING = 0.9
"""Fraction of the reference that is missing, beyond which the rest is too little to compare with."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Detection:
    """What was found: parts of `NoveltyResult` of the same names, and beside them two more.

    Attributes
    ----------
    searched : tuple of int or None
        Numbers of rows of both samples that were searched, chosen at random; None for all.
    scorer : RowScorer
        Scores of samples.
    """

    fraction: float
    fraction_interval: Interval
    missing_fraction: float
    modes: tuple[Mode, ...]
    missing: tuple[Mode, ...]
    changes: NoveltyChanges
    test: NoveltyTest
    searched: tuple[int, int] | None
    scorer: RowScorer


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
    gram = problem.gram
    n_test = gram.n_test
    alpha = 1.0 - options.confidence_level
    # Weights are 1 on average in each sample from here on.
    sides = problem.test_weights * n_test, problem.reference_weights * gram.n_reference
    weights = np.concatenate(sides)
    kernel = _search_kernel(gram, sides, rng)
    if kernel is not gram.kernel:
        gram = gram.with_kernel(kernel)
    # 1. The rows to search on: all that memory allows, and at eta > 1 one half, so that the other half can test.
    most = most_rows(int(gram.features.shape[1]), problem.memory_limit)
    sizes = (n_test, gram.n_reference)
    having = weights > 0.0
    if options.paired:
        having &= np.concatenate([having[n_test:], having[:n_test]])
    rows = searched_rows(
        having,
        gram.in_test,
        together,
        most,
        rng,
        paired=options.paired,
        halved=problem.eta > 1.0,
    )
    is_searched = np.zeros(gram.n_rows, bool)
    is_searched[rows] = True
    if together is not None:
        together = np.unique(together[rows], return_inverse=True)[1]
    # Units of the first round of the search.
    everything = np.ones(len(rows), bool)
    units = make_units(everything, gram.in_test[rows], together, rng, paired=options.paired)
    search = SearchedSamples(
        gram if is_searched.all() else gram.subset(rows),
        weights=weights[rows],
        together=together,
        problem=problem,
        options=options,
        rng=rng,
    )
    # 2. Is anything new or missing? Only then is it asked what.
    tested, n_resamples = search.gated()
    p_values = list(tested.p_values)
    stands_out = min(p_values) <= alpha
    gradual = NoveltyChanges()
    rounds: list[list[ModeFunction]] = []
    if stands_out and problem.eta == 1.0:
        changes, pairs = search.gradual_changes(tested, columns)
        gradual = NoveltyChanges(columns=changes, correlations=pairs)
    if stands_out and not gradual.are_gradual:
        rounds = find_modes(
            search.space,
            units,
            weights[rows],
            together,
            alpha=alpha,
            n_resamples=options.n_resamples,
            rng=rng,
            executor=problem.executor,
            report=report,
        )
    found = found_in(rounds, search.space, gram)
    # 3. Which modes are new, which are missing, and which only more or less frequent?
    counted = weights * is_searched
    held_out = np.zeros(gram.n_rows, bool)
    if problem.eta > 1.0:
        counted = weights * ~is_searched
        found, p_values = _confirmed(found, weights, ~is_searched, n_test, problem.eta, alpha)
        held_out = ~is_searched & members_of(found, gram.n_rows, missing=False)
        modes = ModeSides(
            [part for part in found if not part.function.missing],
            [part for part in found if part.function.missing],
            [],
        )
    else:
        if p_values[0] <= alpha and not gradual.are_gradual:
            held_out[rows] = search.crossfitted()
        modes = sorted_modes(found, held_out, weights, n_test, alpha)
    # 4. How much is new, by samples that had no part in saying so; what is missing is no part of the comparison.
    new = members_of(modes.new, gram.n_rows, missing=False)
    missing = members_of(modes.missing, gram.n_rows, missing=True)
    if excess_fraction(missing, weights, n_test, missing=True) < _ALL_MISSING:
        counted = np.where(missing & ~gram.in_test, 0.0, counted)
    interval = _interval(held_out, counted, n_test, search, options.confidence_level)
    fraction = 0.0
    if modes.new:
        fraction = excess_fraction(new, weights, n_test)
    elif p_values[0] <= alpha and held_out.any() and not modes.changed:
        fraction = excess_fraction(held_out, counted, n_test)
    # 5. A side that has no mode of its own may stand out because of the other one's: it is asked again without them.
    if rounds and problem.eta == 1.0:
        named = members_of(found, gram.n_rows, missing=False)
        named |= members_of(found, gram.n_rows, missing=True)
        left = search.gated_without(named[rows])
        said = [*modes.new, *modes.missing, *modes.changed]
        own = {part.function.missing for part in said}
        for side in (0, 1):
            if bool(side) not in own:
                p_values[side] = max(p_values[side], left[side])
    described = []
    for listed in (modes.new, modes.missing, modes.changed):
        parts = [
            describe_mode(number, part, search.space, gram, weights, columns)
            for number, part in enumerate(listed)
        ]
        described.append(tuple(parts))
    functions = [part.function for part in modes.new]
    scorer = RowScorer(search.space, rows, gram, weights, functions)
    searched = None
    if gram.n_rows > most:
        searched = (search.space.gram.n_test, search.space.gram.n_reference)
    return Detection(
        fraction=max(fraction, interval.low),
        fraction_interval=interval,
        missing_fraction=excess_fraction(missing, weights, n_test, missing=True),
        modes=described[0],
        missing=described[1],
        changes=replace(gradual, modes=described[2]),
        test=NoveltyTest(
            p_value=p_values[0],
            missing_p_value=p_values[1],
            n_resamples=n_resamples,
            confidence_level=options.confidence_level,
            sizes=sizes,
            dependence=search.dependence(new[rows]),
            first_rows=rows[search.first_rows()],
        ),
        searched=searched,
        scorer=scorer,
    )


def _interval(
    members: BoolArray,
    weights: FloatArray,
    n_test: int,
    search: SearchedSamples,
    confidence_level: float,
) -> Interval:
    """Return a lower bound of the fraction that is new."""
    if not (weights[:n_test].any() and weights[n_test:].any()):
        return fraction_interval(0.0, 0.0, 1.0, 1.0, confidence_level)
    a, b = member_fractions(members, weights, n_test)
    n = effective_size(weights[:n_test]) * search.independent(0)
    m = effective_size(weights[n_test:]) * search.independent(1)
    return fraction_interval(a, b, n, m, confidence_level)


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
