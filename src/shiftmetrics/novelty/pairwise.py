"""Novelty between each two of several samples of one size: scores both ways, relabelled rows, top modes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.blocks import map_blocks
from shiftmetrics._core.threads import one_blas_thread
from shiftmetrics.novelty.calibration import relabelled
from shiftmetrics.novelty.factor import Factor, dense_factor
from shiftmetrics.novelty.gram import FeatureGram
from shiftmetrics.novelty.kernels import EPSILON, GaussianKernel
from shiftmetrics.novelty.spectrum import difference


@dataclass(frozen=True, eq=False)
class PairScores:
    """Scores of two samples of one size, each against the other.

    Attributes
    ----------
    scores : tuple of float
        Novelty of the first against the second, and of the second against the first, in nats.
    null : float
        Mean score of two samples dealt anew from the rows of both, 0 without any.
    top_modes : tuple of ndarray
        Rows of the first sample that show what it has most in excess, and of the second; none where it has nothing.
    """

    scores: tuple[float, float]
    null: float
    top_modes: tuple[IntArray, IntArray]


@dataclass(frozen=True, eq=False)
class ScoreMatrix:
    """Scores of each sample (row) against each other (column), with 0 on the diagonals."""

    scores: FloatArray
    null: FloatArray
    top_modes: IntArray
    """Of shape (k, k, n_exemplars): rows of the row's sample, -1 where there is none."""


def pair_scores(
    first: FloatArray,
    second: FloatArray,
    bandwidth: float,
    *,
    n_relabelled: int,
    n_exemplars: int,
    rng: np.random.Generator,
) -> PairScores:
    """Score two samples of one size against each other, and relabellings of their rows.

    One factor of the joint kernel matrix serves all. What is lost by the first is gained by the second.
    """
    n_rows = len(first)
    factor = dense_factor(FeatureGram(first, second, GaussianKernel(bandwidth)))
    weights = np.ones(2 * n_rows)
    nulls = relabelled(
        factor.values, weights, n_rows, 1.0, n_permutations=n_relabelled, reverse=True, rng=rng
    )
    assert nulls.lost is not None
    return PairScores(
        scores=(nulls.gained.observed, nulls.lost.observed),
        null=0.5 * (nulls.gained.mean + nulls.lost.mean),
        top_modes=_top_rows(factor, n_rows, n_exemplars),
    )


def score_matrix(
    samples: Sequence[FloatArray],
    bandwidth: float,
    *,
    n_relabelled: int,
    n_exemplars: int,
    rng: np.random.Generator,
) -> ScoreMatrix:
    """Score all pairs of samples of one size; each pair has random numbers of its own."""
    count = len(samples)
    pairs = list(itertools.combinations(range(count), 2))
    streams = rng.spawn(len(pairs))

    def score(place: slice) -> PairScores:
        i, j = pairs[place.start]
        return pair_scores(
            samples[i],
            samples[j],
            bandwidth,
            n_relabelled=n_relabelled,
            n_exemplars=n_exemplars,
            rng=streams[place.start],
        )

    scores, null = np.zeros((count, count)), np.zeros((count, count))
    top_modes = np.full((count, count, n_exemplars), -1)
    with one_blas_thread():
        found = map_blocks(score, [slice(place, place + 1) for place in range(len(pairs))])
        for (i, j), pair in zip(pairs, found, strict=True):
            scores[i, j], scores[j, i] = pair.scores
            null[i, j] = null[j, i] = pair.null
            for row, column, top in ((i, j, pair.top_modes[0]), (j, i, pair.top_modes[1])):
                top_modes[row, column, : len(top)] = top
    return ScoreMatrix(scores, null, top_modes)


def _top_rows(factor: Factor, n_rows: int, n_exemplars: int) -> tuple[IntArray, IntArray]:
    """Return the rows of each sample with the largest membership in the mode that it has most in excess."""
    from scipy.linalg import eigh

    none = np.empty(0, dtype=np.int64)
    if not n_exemplars:
        return none, none
    shares = np.full(n_rows, 1.0 / n_rows)
    matrix, _ = difference(factor, n_rows, shares, shares, 1.0)
    found = []
    for end, rows in ((len(matrix) - 1, slice(0, n_rows)), (0, slice(n_rows, None))):
        eigenvalue, vector = eigh(matrix, lower=True, subset_by_index=[end, end])
        membership = np.square(factor.values[rows] @ vector[:, 0])
        novel = abs(float(eigenvalue[0])) > EPSILON * len(matrix)
        found.append(np.argsort(-membership, kind="stable")[:n_exemplars] if novel else none)
    return found[0], found[1]
