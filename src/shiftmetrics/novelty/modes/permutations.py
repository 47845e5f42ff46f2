"""Permuted labels: what the largest eigenvalues of the difference are where nothing is new.

Labels are permuted in units: groups that the caller names, or a few rows of one sample chosen at random, so that some
hundred sums tell all of any number of rows. Permutations of the units are a subgroup of those of the rows, so the
test is exact for samples of one distribution. Pairs are swapped instead.
"""

from __future__ import annotations

import math
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.blocks import map_blocks, one_blas_thread, row_blocks
from shiftmetrics._core.confidence import binomial_interval

MOST_UNITS = 400
LEAST_UNITS = 20
"""Units of the smaller sample; the larger one has as many times more as it has rows."""

MOST_TIMES = 20
"""More rows of the larger sample than so many times those of the smaller are left out."""

RIDGE = 20.0
"""Of the whitening, in rows: 5 to 20 are alike, 80 loses."""

_TOGETHER = 16


@dataclass(frozen=True, eq=False)
class PermutationUnits:
    """Rows whose labels are permuted together.

    Attributes
    ----------
    of_row : ndarray of shape (n_rows,)
        The unit of each row; -1 for rows that are left out.
    in_test : ndarray of shape (n_units,)
        Whether a unit is of the test sample.
    paired : bool
        Whether unit u of the first half belongs to unit u of the second, so that only these two are swapped.
    """

    of_row: IntArray
    in_test: BoolArray
    paired: bool

    def permuted(
        self, weights: FloatArray, n_resamples: int, rng: np.random.Generator
    ) -> BoolArray:
        """Return permuted labels of the units, (n_resamples, n_units); units of no weight keep theirs."""
        if self.paired:
            pairs = np.tile(np.arange(len(self.in_test) // 2), 2)
            return permuted_labels(self.in_test, pairs, n_resamples, rng)
        labels = np.tile(self.in_test, (n_resamples, 1))
        having = np.flatnonzero(weights)
        labels[:, having] = permuted_labels(self.in_test[having], None, n_resamples, rng)
        return labels

    def half(self, rng: np.random.Generator) -> BoolArray:
        """Return a random half of the units of each sample; pairs stay together."""
        half = np.zeros(len(self.in_test), bool)
        n_test = int(self.in_test.sum())
        for side in (slice(0, n_test), slice(n_test, None)):
            half[side] = rng.permuted(np.arange(len(half[side])) % 2 == 0)
        if self.paired:
            half[n_test:] = half[:n_test]
        return half


def differences(labels: BoolArray, weights: FloatArray) -> FloatArray:
    """Return labels as coefficients of sums over units: 1 / (weight of a side), negative for the other one."""
    # A side without weight would be divided by 0.
    tiny = np.finfo(np.float64).tiny
    own = 1.0 / np.maximum(labels @ weights, tiny)
    other = 1.0 / np.maximum(~labels @ weights, tiny)
    return np.where(labels, own[..., None], -other[..., None])


def permuted_labels(
    in_test: BoolArray, pairs: IntArray | None, n_resamples: int, rng: np.random.Generator
) -> BoolArray:
    """Return random permutations of labels, (n_resamples, n_labels); with ``pairs`` they are swapped within pairs.

    Parameters
    ----------
    in_test : ndarray of shape (n_labels,)
        The true labels.
    pairs : ndarray of shape (n_labels,), optional
        Number of the pair of each.
    n_resamples : int
        How many permutations.
    rng : Generator
        Draws them.
    """
    if pairs is None:
        return rng.permuted(np.tile(in_test, (n_resamples, 1)), axis=1)
    swapped = rng.random((n_resamples, int(pairs.max()) + 1)) < 0.5
    # Where a pair is swapped, both of its labels are turned round.
    return swapped[:, pairs] ^ in_test


def near_level(p_value: float, n_resamples: int, alpha: float) -> bool:
    """Return whether other permutations could turn the verdict: the exact interval of the p-value holds the level."""
    if not n_resamples:  # so few rows that nothing was permuted
        return False
    # p = (1 + reached) / (1 + permutations)
    reached = p_value * (n_resamples + 1) - 1
    low, high = binomial_interval(reached / n_resamples, n_resamples, 0.95)
    return low < alpha < high


def searched_rows(
    having: BoolArray,
    in_test: BoolArray,
    together: IntArray | None,
    most: int,
    rng: np.random.Generator,
    *,
    paired: bool,
    halved: bool,
) -> IntArray:
    """Return the rows to search on: all that have weight, or as many at random, whole groups and pairs.

    Parameters
    ----------
    having : ndarray of shape (n_rows,)
        Whether a row has weight, and so has its partner.
    in_test : ndarray of shape (n_rows,)
        Whether a row is of the test sample.
    together : ndarray of shape (n_rows,), optional
        Number of the group, or the pair, of each row.
    most : int
        How many rows, about.
    rng : Generator
        Draws them.
    paired : bool
        Whether groups hold rows of both samples.
    halved : bool
        Whether to take a random half of them only.
    """
    sides = [having & in_test, having & ~in_test]
    smaller = min(int(side.sum()) for side in sides)
    # Where one sample is small, more of the other one fits.
    limit = min(max(most // 2, most - smaller), MOST_TIMES * smaller)
    if paired:
        sides = [having]
        limit = most
    groups = np.arange(len(having)) if together is None else together
    chosen = np.ones(int(groups.max()) + 1, bool)
    for side in sides:
        count = int(side.sum())
        if count > limit or halved:
            names = rng.permutation(np.unique(groups[side]))
            wanted = max(1, len(names) * min(limit, count) // count)
            if halved:
                wanted = (wanted + 1) // 2
            chosen[names[wanted:]] = False
    return np.flatnonzero(chosen[groups] & having)


def make_units(
    kept: BoolArray,
    in_test: BoolArray,
    together: IntArray | None,
    rng: np.random.Generator,
    *,
    paired: bool,
) -> PermutationUnits:
    """Put the rows that are kept into units.

    Parameters
    ----------
    kept : ndarray of shape (n_rows,)
        Whether a row is in a unit.
    in_test : ndarray of shape (n_rows,)
        Whether a row is of the test sample.
    together : ndarray of shape (n_rows,), optional
        Number of the group of each row, which stays whole; with ``paired``, of its pair.
    rng : Generator
        Draws the rows of units.
    paired : bool
        Whether groups hold rows of both samples, which change places.
    """
    groups = np.arange(len(kept)) if together is None else together
    if paired:
        # Unit u holds some pairs' rows of the test sample, unit n + u those of the reference.
        pairs = rng.permutation(np.unique(groups[kept]))
        n_test_units = min(len(pairs), MOST_UNITS // 2)
        n_units = 2 * n_test_units
        of_row = _numbered(np.array_split(pairs, n_test_units), groups)
        of_row[~in_test] += n_test_units
    else:
        names = [rng.permutation(np.unique(groups[kept & side])) for side in (in_test, ~in_test)]
        # As few groups to a unit as give no more than the most units, and enough units in the smaller sample.
        wanted = -(-sum(map(len, names)) // MOST_UNITS)
        fewer = min(map(len, names))
        size = max(1, min(wanted, fewer // LEAST_UNITS))
        parts: list[IntArray] = []
        for side in names:
            parts += np.array_split(side, max(1, len(side) // size))
        n_units = len(parts)
        n_test_units = max(1, len(names[0]) // size)
        of_row = _numbered(parts, groups)
    of_row[~kept] = -1
    return PermutationUnits(of_row, np.arange(n_units) < n_test_units, paired)


def extremes(
    sums: FloatArray, coefficients: FloatArray, whitening: FloatArray, executor: Executor | None
) -> FloatArray:
    """Return the largest eigenvalue of the whitened difference, and of its negative, for each permutation: (2, n)."""

    def evaluate(rows: slice) -> FloatArray:
        # The matrices of all permutations are combinations of the sums of units: no row is touched.
        matrices = symmetric(coefficients[rows] @ sums)
        eigenvalues = np.linalg.eigvalsh(whitening @ matrices @ whitening)
        return np.stack([eigenvalues[:, -1], -eigenvalues[:, 0]])

    with one_blas_thread():
        blocks = row_blocks(len(coefficients), 1, block_bytes=_TOGETHER)
        return np.concatenate(list(map_blocks(evaluate, blocks, executor=executor)), axis=1)


def whitening_of(sums: FloatArray, weight: float) -> FloatArray:
    """Return (C + ridge)^(-1/2) of the pooled covariance C of coordinates: (rank, rank)."""
    # The ridge, of 20 rows, keeps directions that few rows have from counting as much as others.
    pooled = symmetric(sums.sum(axis=0) / weight)
    eigenvalues, vectors = np.linalg.eigh(pooled)
    ridged = np.maximum(eigenvalues, 0.0) + RIDGE / weight
    scaled = vectors / np.sqrt(ridged)
    return np.asarray(scaled @ vectors.T)


def symmetric(triangles: FloatArray) -> FloatArray:
    """Return symmetric matrices from their lower triangles, rows one after the other along the last axis."""
    # A triangle has r (r + 1) / 2 numbers: solved for r.
    rank = (math.isqrt(8 * triangles.shape[-1] + 1) - 1) // 2
    rows, columns = np.tril_indices(rank)
    matrices = np.empty((*triangles.shape[:-1], rank, rank))
    matrices[..., rows, columns] = triangles
    matrices[..., columns, rows] = triangles
    return matrices


def _numbered(parts: list[IntArray], groups: IntArray) -> IntArray:
    """Return the number of the part that the group of each row is in."""
    number = np.full(int(groups.max()) + 1, -1)
    for place, part in enumerate(parts):
        number[part] = place
    return number[groups]
