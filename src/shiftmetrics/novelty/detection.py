"""What is new, how much of it, and in which rows: the answer of a call, beside the paper's score."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import (
    Array,
    BoolArray,
    FloatArray,
    IntArray,
    directions,
    take_rows,
    to_float64,
)
from shiftmetrics._core.confidence import rate_ratio_p_value
from shiftmetrics._core.result import Interval
from shiftmetrics._core.validation import describe
from shiftmetrics.novelty.bandwidth import MAX_ROWS, bandwidth_by_rule
from shiftmetrics.novelty.inputs import NoveltyResampling
from shiftmetrics.novelty.kernels import CosineKernel, GaussianKernel
from shiftmetrics.novelty.kinds import FoundMode, members_of
from shiftmetrics.novelty.modes import Mode, describe_mode
from shiftmetrics.novelty.pooled import WIDTHS, Pooled, most_rows
from shiftmetrics.novelty.relabelling import PermutationUnits, make_units
from shiftmetrics.novelty.row_scores import RowScorer
from shiftmetrics.novelty.search import find_kinds
from shiftmetrics.novelty.solution import NoveltyProblem


def detect(
    problem: NoveltyProblem,
    options: NoveltyResampling,
    *,
    bandwidth: float | None,
    groups: tuple[IntArray, IntArray] | None,
    columns: tuple[str, ...],
    rng: np.random.Generator,
    report: Callable[[], Any],
) -> tuple[dict[str, Any], tuple[int, int] | None]:
    """Look for what the test sample has and the reference lacks, and the other way round.

    Returns fields of `NoveltyResult`, and how many rows of both samples were drawn to look in, None for all.

    Parameters
    ----------
    problem : NoveltyProblem
        The samples.
    options : NoveltyResampling
        Relabellings, and the level.
    bandwidth : float or None
        Of the Gaussian kernel.
    groups : tuple of ndarray of int, optional
        Number of the group of each row of both samples.
    columns : tuple of str
        Names of the columns; none for arrays.
    rng : Generator
        Draws landmarks and relabellings.
    report : callable
        Called after each round of the search.
    """
    gram, n_test = problem.gram, problem.gram.n_test
    sides = problem.test_weights * n_test, problem.reference_weights * gram.n_reference
    weights, alpha = np.concatenate(sides), 1.0 - options.confidence_level
    cosine_width = None
    if isinstance(gram.kernel, CosineKernel):
        cosine_width = _bandwidth_of_directions((gram.features, gram.reference), sides, rng)
    scaled = isinstance(gram.kernel, GaussianKernel | CosineKernel)
    most = most_rows(int(gram.features.shape[1]), problem.memory_limit)
    units = make_units(sides, groups, paired=options.paired, rng=rng, most_rows=most)
    if problem.eta > 1.0:
        units = _half(units, rng)
    looked_on = units.of_row >= 0
    rows = np.flatnonzero(looked_on)
    pooled = Pooled(
        gram if looked_on.all() else gram.subset(rows),
        WIDTHS if scaled else (1.0,),
        cosine_width=cosine_width,
        rng=rng,
        memory_limit=problem.memory_limit,
        executor=problem.executor,
    )
    search = find_kinds(
        pooled,
        units.at(rows),
        weights[rows],
        alpha=alpha,
        n_resamples=options.n_resamples,
        rng=rng,
        executor=problem.executor,
        report=report,
    )
    kinds, p_values = search.found_in(pooled, gram), search.p_values
    held_out, counted = np.zeros(gram.n_rows, bool), looked_on
    held_out[rows] = search.held_out
    if problem.eta > 1.0:
        counted = ~looked_on
        kinds, p_values = _confirmed(kinds, weights, counted, n_test, problem.eta, alpha)
        held_out = counted & members_of(kinds, gram.n_rows, lost=False)
    modes: dict[bool, list[Mode]] = {False: [], True: []}
    for found in kinds:
        side = modes[found.kind.lost]
        side.append(
            describe_mode(
                len(side), found, pooled, gram, weights,
                bandwidth=bandwidth if cosine_width is None else cosine_width, columns=columns,
            )
        )  # fmt: skip
    members = [members_of(kinds, gram.n_rows, lost=lost) for lost in (False, True)]
    gained = [found.kind for found in kinds if not found.kind.lost]
    leading = [] if search.leading is None else [search.leading]
    fields = {
        "share": new_share(members[0], weights, n_test),
        "share_interval": share_bound(
            held_out, np.where(counted, weights, 0.0), n_test, options.confidence_level
        ),
        "lost_share": new_share(members[1], weights, n_test, lost=True),
        "p_value": p_values[0],
        "lost_p_value": p_values[1],
        "n_resamples": search.n_resamples,
        "modes": tuple(modes[False]),
        "lost_modes": tuple(modes[True]),
        "scorer": RowScorer(pooled, rows, gram, weights, gained or leading),
    }
    return fields, None if gram.n_rows <= most else (pooled.gram.n_test, pooled.gram.n_reference)


def check_groups(
    groups: Any, sizes: tuple[int, int], *, paired: bool
) -> tuple[IntArray, IntArray] | None:
    """Return the numbers of the groups of both samples.

    Raises
    ------
    ValueError
        If there is not one label for each row, or samples that are not paired have a group in common.
    """
    if groups is None:
        return None
    if not isinstance(groups, tuple | list) or len(groups) != 2:
        expected = "a tuple of two arrays, the groups of the rows of features and of reference"
        raise ValueError(describe("groups", expected, type(groups).__name__))
    labels = [np.asarray(side) for side in groups]
    for side, size, name in zip(labels, sizes, ("features", "reference"), strict=True):
        if side.shape != (size,):
            raise ValueError(
                describe(
                    "groups", f"of one label for each of the {size} rows of {name}", side.shape
                )
            )
    named = [np.unique(side, return_inverse=True) for side in labels]
    if paired:
        if not np.array_equal(labels[0], labels[1]):
            raise ValueError(
                describe("groups", "the same in row i of both samples with paired=True", "others")
            )
    elif (common := np.intersect1d(named[0][0], named[1][0])).size:
        remedy = "Rows that belong together in pairs are swapped with paired=True."
        raise ValueError(describe("groups", "of one sample each", f"{common[0]} in both", remedy))
    return named[0][1], named[1][1]


def _bandwidth_of_directions(
    samples: tuple[Array, Array], sides: tuple[FloatArray, FloatArray], rng: np.random.Generator
) -> float:
    """Choose the bandwidth of a Gaussian kernel between rows of length 1."""
    parts = []
    for sample, weights in zip(samples, sides, strict=True):
        rows = np.flatnonzero(weights)
        rows = np.sort(rng.choice(rows, min(len(rows), MAX_ROWS), replace=False))
        parts.append(np.asarray(directions(to_float64(take_rows(sample, rows)))))
    return bandwidth_by_rule(parts, [None, None], rng).value


def _half(units: PermutationUnits, rng: np.random.Generator) -> PermutationUnits:
    """Return a random half of the units; the rows of the others are left out."""
    half = units.half(rng)
    place = np.append(np.where(half, np.cumsum(half) - 1, -1), -1)
    return replace(units, of_row=place[units.of_row], in_test=units.in_test[half])


def _confirmed(
    kinds: list[FoundMode],
    weights: FloatArray,
    rows: BoolArray,
    n_test: int,
    eta: float,
    alpha: float,
) -> tuple[list[FoundMode], list[float]]:
    """Return the kinds that are more than eta times as frequent among rows that they were not found on.

    The p-values of the kinds of a side hold together (Bonferroni); that of each side is its least.
    """
    confirmed, p_values = [], [1.0, 1.0]
    for found in kinds:
        lost = found.kind.lost
        tested = sum(other.kind.lost == lost for other in kinds)
        p_value = min(
            1.0, tested * more_than_eta(found.members, weights, rows, n_test, eta, lost=lost)
        )
        p_values[lost] = min(p_values[lost], p_value)
        if p_value <= alpha:
            confirmed.append(replace(found, kind=replace(found.kind, p_value=p_value)))
    return confirmed, p_values


def new_share(members: BoolArray, weights: FloatArray, n_test: int, *, lost: bool = False) -> float:
    """Return (a - b) / (1 - b) of the shares a of a sample and b of the other that are members.

    Were a share s of the sample new and all of it members, and were the other rows like those of the other sample,
    then a = s + (1 - s) b.
    """
    a, b = _shares(members, weights, n_test, lost)
    return max(0.0, (a - b) / (1.0 - b)) if b < 1.0 else 0.0


def share_bound(
    held_out: BoolArray, weights: FloatArray, n_test: int, confidence_level: float
) -> Interval:
    """Return a lower bound of the share that is new, from members by modes of the half of the rows without them.

    Whatever rows are called members before they are seen, a is at most s + (1 - s) b. So ``1 - (1 - a) / (1 - b)`` is
    at most s, up to chance, and the ratio has a log-normal interval (D. Katz et al., Biometrics 34, 1978).
    """
    from scipy.special import ndtri

    method = "held-out halves, lower bound"
    if not (weights[:n_test].any() and weights[n_test:].any()):  # no row of one sample was held out
        return Interval(low=0.0, high=1.0, confidence_level=confidence_level, method=method)
    a, b = _shares(held_out, weights, n_test, lost=False)
    n, m = _effective_rows(weights[:n_test]), _effective_rows(weights[n_test:])
    outside, other = ((1.0 - a) * n + 0.5) / (n + 0.5), ((1.0 - b) * m + 0.5) / (m + 0.5)
    error = math.sqrt((1.0 - outside) / (outside * n) + (1.0 - other) / (other * m))
    low = 1.0 - outside / other * math.exp(float(ndtri(confidence_level)) * error)
    return Interval(low=max(low, 0.0), high=1.0, confidence_level=confidence_level, method=method)


def more_than_eta(
    members: BoolArray, weights: FloatArray, rows: BoolArray, n_test: int, eta: float, *, lost: bool
) -> float:
    """Return the p-value of "at most eta times as frequent", from rows that had no part in finding the mode."""
    sides = rows.copy(), rows.copy()
    sides[0][n_test:], sides[1][:n_test] = False, False
    counts, sizes = [], []
    for side in sides[::-1] if lost else sides:
        weight = weights[side]
        sizes.append(_effective_rows(weight))
        counts.append(float(weight @ members[side] / weight.sum()) * sizes[-1])
    return rate_ratio_p_value(counts[0], counts[1], sizes[0], sizes[1], eta)


def _effective_rows(weights: FloatArray) -> float:
    """Return how many rows of equal weight would be as uncertain."""
    scaled = weights / weights.max()  # squares of tiny weights are 0
    return float(scaled.sum() ** 2 / (scaled @ scaled))


def _shares(
    members: BoolArray, weights: FloatArray, n_test: int, lost: bool
) -> tuple[float, float]:
    sides = [slice(0, n_test), slice(n_test, None)]
    own, other = (
        float(weights[side] @ members[side] / weights[side].sum())
        for side in (sides[::-1] if lost else sides)
    )
    return own, other
