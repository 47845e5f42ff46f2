"""What is new, how much of it, and in which samples: the answer of a call, beside the paper's score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import Array, BoolArray, FloatArray, IntArray, take_rows, to_float64
from shiftmetrics._core.result import Interval
from shiftmetrics.novelty.amounts import excess_fraction, fraction_bound, more_than_p_value
from shiftmetrics.novelty.bandwidth import MAX_ROWS, bandwidth_by_rule
from shiftmetrics.novelty.gram import Gram
from shiftmetrics.novelty.kernels import DirectionKernel, Kernel
from shiftmetrics.novelty.membership import FoundMode, members_of
from shiftmetrics.novelty.modes import Mode, describe_mode
from shiftmetrics.novelty.options import NoveltyResampling
from shiftmetrics.novelty.permutations import PermutationUnits, make_units
from shiftmetrics.novelty.row_scores import RowScorer
from shiftmetrics.novelty.search import ModeSearch, find_modes
from shiftmetrics.novelty.solution import NoveltyProblem
from shiftmetrics.novelty.space import SearchSpace, most_rows


@dataclass(frozen=True, eq=False, kw_only=True)
class Detection:
    """What was found: parts of `NoveltyResult`.

    Attributes
    ----------
    modes, missing : tuple of Mode
        What is new, and what is missing.
    p_value, missing_p_value : float
        Of anything new, and of anything missing.
    fraction, missing_fraction : float
        Of the sample that is new, and of the reference that is missing.
    fraction_interval : Interval
        A lower bound of the first.
    n_resamples : int
        Permutations behind the p-values.
    searched : tuple of int or None
        Rows of both samples that were drawn to search on; None for all.
    scorer : RowScorer
        Scores of samples.
    """

    modes: tuple[Mode, ...]
    missing: tuple[Mode, ...]
    p_value: float
    missing_p_value: float
    fraction: float
    missing_fraction: float
    fraction_interval: Interval
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
        Names of the columns; none for arrays.
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
    space = SearchSpace(
        gram if is_searched.all() else gram.subset(rows),
        rng=rng,
        memory_limit=problem.memory_limit,
        executor=problem.executor,
    )
    # 2. The search, and all rows in the modes that it found.
    search = find_modes(
        space,
        units.at(rows),
        weights[rows],
        alpha=alpha,
        n_resamples=options.n_resamples,
        rng=rng,
        executor=problem.executor,
        report=report,
    )
    found = search.found_in(space, gram)
    p_values = search.p_values
    held_out = np.zeros(gram.n_rows, bool)
    if problem.eta > 1.0:
        counted = ~is_searched
        found, p_values = _confirmed(found, weights, counted, n_test, problem.eta, alpha)
        held_out = counted & members_of(found, gram.n_rows, missing=False)
    else:
        counted = is_searched
        held_out[rows] = search.held_out
    # 3. Modes in words, and how much they are.
    described: dict[bool, list[Mode]] = {False: [], True: []}
    for part in found:
        side = described[part.function.missing]
        side.append(describe_mode(len(side), part, space, gram, weights, columns))
    new = members_of(found, gram.n_rows, missing=False)
    missing = members_of(found, gram.n_rows, missing=True)
    counted_weights = np.where(counted, weights, 0.0)
    searched = None
    if gram.n_rows > most:
        searched = (space.gram.n_test, space.gram.n_reference)
    return Detection(
        modes=tuple(described[False]),
        missing=tuple(described[True]),
        p_value=p_values[0],
        missing_p_value=p_values[1],
        fraction=excess_fraction(new, weights, n_test),
        missing_fraction=excess_fraction(missing, weights, n_test, missing=True),
        fraction_interval=fraction_bound(
            held_out, counted_weights, n_test, options.confidence_level
        ),
        n_resamples=search.n_resamples,
        searched=searched,
        scorer=RowScorer(space, rows, gram, weights, _scoring_modes(search, found)),
    )


def _scoring_modes(search: ModeSearch, found: list[FoundMode]) -> Any:
    """Return the modes that rank samples: those that are new, or else what leads in the test sample."""
    new = [part.function for part in found if not part.function.missing]
    if not new and search.leading is not None:
        return [search.leading]
    return new


def _search_kernel(
    gram: Gram, sides: tuple[FloatArray, FloatArray], rng: np.random.Generator
) -> Kernel:
    """Return the kernel to search with: of directions the Gaussian kernel, which has a bandwidth."""
    if not gram.kernel.linear:
        return gram.kernel
    parts: list[Array] = []
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
