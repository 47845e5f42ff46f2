"""Permuted labels: what the largest eigenvalues of the difference are where nothing is new.

Labels are permuted in units: groups that the caller names, or a few rows of one sample drawn at random, so that some
hundred sums tell all of any number of rows. Permutations of the units are a subgroup of those of the rows, so the
test
is exact for samples of one distribution. Pairs are swapped instead.
"""

from __future__ import annotations

import math
import sys
from concurrent.futures import Executor
from dataclasses import dataclass, replace

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.blocks import map_blocks, one_blas_thread, row_blocks

MOST_UNITS = 400
LEAST_UNITS = 20
"""Units of the smaller sample; the larger one has at most as many times more as it has rows."""

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
    paired: bool = False
    weights: tuple[FloatArray, FloatArray] | None = None
    """Of the rows of both samples, where units are rows drawn at random, which may be split again."""

    def at(self, rows: IntArray) -> PermutationUnits:
        """Return the units of some rows, in order, as those of a sample of these rows alone."""
        weights = self.weights
        if weights is not None:
            of_test = int(np.searchsorted(rows, len(weights[0])))
            weights = weights[0][rows[:of_test]], weights[1][rows[of_test:] - len(weights[0])]
        return replace(self, of_row=self.of_row[rows], weights=weights)

    def among(self, kept: BoolArray, rng: np.random.Generator) -> PermutationUnits:
        """Return units of the rows that are kept: where one sample has lost more rows, its units would be smaller."""
        if self.weights is None:
            return self
        n_test = len(self.weights[0])
        sides = (
            np.where(kept[:n_test], self.weights[0], 0.0),
            np.where(kept[n_test:], self.weights[1], 0.0),
        )
        return make_units(sides, None, paired=False, rng=rng)

    def permuted(
        self, weights: FloatArray, n_resamples: int, rng: np.random.Generator
    ) -> BoolArray:
        """Return permuted labels of the units, (n_resamples, n_units); units of no weight keep theirs."""
        labels = np.tile(self.in_test, (n_resamples, 1))
        if self.paired:
            half = len(self.in_test) // 2
            swapped = rng.random((n_resamples, half)) < 0.5
            labels ^= np.hstack([swapped, swapped])
        else:
            having = np.flatnonzero(weights)
            labels[:, having] = rng.permuted(labels[:, having], axis=1)
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
    tiny = np.finfo(np.float64).tiny
    own = 1.0 / np.maximum(labels @ weights, tiny)
    other = 1.0 / np.maximum(~labels @ weights, tiny)
    return np.where(labels, own[..., None], -other[..., None])


def permuted_rows(
    in_test: BoolArray,
    groups: IntArray | None,
    n_resamples: int,
    rng: np.random.Generator,
    *,
    paired: bool,
) -> BoolArray:
    """Return permuted labels of all rows, (n_resamples, n_rows).

    Parameters
    ----------
    in_test : ndarray of shape (n_rows,)
        The true labels.
    groups : ndarray of shape (n_rows,), optional
        Number of the group of each row; with ``paired``, of its pair.
    n_resamples : int
        How many permutations.
    rng : Generator
        Draws them.
    paired : bool
        Whether labels are swapped within pairs.
    """
    if groups is None:
        return rng.permuted(np.tile(in_test, (n_resamples, 1)), axis=1)
    n_groups = int(groups.max()) + 1
    if paired:
        swapped = rng.random((n_resamples, n_groups)) < 0.5
        return swapped[:, groups] ^ in_test
    of_group = np.zeros(n_groups, bool)
    of_group[groups] = in_test
    return rng.permuted(np.tile(of_group, (n_resamples, 1)), axis=1)[:, groups]


def make_units(
    weights: tuple[FloatArray, FloatArray],
    groups: tuple[IntArray, IntArray] | None,
    *,
    paired: bool,
    rng: np.random.Generator,
    most_rows: int = sys.maxsize,
) -> PermutationUnits:
    """Put the rows of both samples into units.

    Parameters
    ----------
    weights : tuple of ndarray
        Weights of the rows of both samples: rows of weight 0 are left out.
    groups : tuple of ndarray of int, optional
        Number of the group of each row of both samples: groups stay whole.
    paired : bool
        Whether row i of both samples belong together.
    rng : Generator
        Draws the rows of units.
    most_rows : int, optional
        So many rows of both samples are put into units, about; all by default.
    """
    numbers = groups
    if numbers is None:
        numbers = np.arange(len(weights[0])), np.arange(len(weights[1]))
    if paired:
        return _paired_units(weights, numbers, rng, most_rows)
    # The groups that have weight, in random order: the first ones are taken where there are too many rows.
    having = [
        rng.permutation(np.unique(side[w > 0.0])) for side, w in zip(numbers, weights, strict=True)
    ]
    n_rows = [int((side > 0.0).sum()) for side in weights]
    most = max(most_rows // 2, most_rows - min(n_rows))
    having = [side[: _drawn(len(side), n, most)] for side, n in zip(having, n_rows, strict=True)]
    fewer = min(map(len, having))
    having = [side[: MOST_TIMES * fewer] for side in having]
    # As few groups to a unit as give no more than the most units, and enough units in the smaller sample.
    wanted = -(-sum(map(len, having)) // MOST_UNITS)
    size = max(1, min(wanted, fewer // LEAST_UNITS))
    parts = [np.array_split(side, max(1, len(side) // size)) for side in having]
    n_test_units = len(parts[0])
    of_row = []
    for place in (0, 1):
        unit = _numbered(parts[place], 1 + int(numbers[place].max()))[numbers[place]]
        unit[weights[place] == 0.0] = -1
        of_row.append(np.where(unit >= 0, unit + place * n_test_units, -1))
    in_test = np.arange(n_test_units + len(parts[1])) < n_test_units
    again = weights if groups is None else None
    return PermutationUnits(np.concatenate(of_row), in_test, weights=again)


def _paired_units(
    weights: tuple[FloatArray, FloatArray],
    numbers: tuple[IntArray, IntArray],
    rng: np.random.Generator,
    most_rows: int,
) -> PermutationUnits:
    """Put pairs into units: unit u of the test sample holds the partners of unit u of the reference."""
    both = (weights[0] > 0.0) & (weights[1] > 0.0)
    pairs = rng.permutation(np.unique(numbers[0][both]))
    pairs = pairs[: _drawn(len(pairs), int(both.sum()), most_rows // 2)]
    parts = np.array_split(pairs, min(len(pairs), MOST_UNITS // 2))
    unit = _numbered(parts, 1 + int(max(numbers[0].max(), numbers[1].max())))
    of_test = np.where(both, unit[numbers[0]], -1)
    of_reference = np.where(of_test >= 0, of_test + len(parts), -1)
    in_test = np.arange(2 * len(parts)) < len(parts)
    return PermutationUnits(np.concatenate([of_test, of_reference]), in_test, paired=True)


def extremes(
    sums: FloatArray, coefficients: FloatArray, whitening: FloatArray, executor: Executor | None
) -> FloatArray:
    """Return the largest eigenvalue of the whitened difference, and of its negative, for each permutation: (2, n)."""

    def evaluate(rows: slice) -> FloatArray:
        matrices = symmetric(coefficients[rows] @ sums)
        eigenvalues = np.linalg.eigvalsh(whitening @ matrices @ whitening)
        return np.stack([eigenvalues[:, -1], -eigenvalues[:, 0]])

    with one_blas_thread():
        blocks = row_blocks(len(coefficients), 1, block_bytes=_TOGETHER)
        return np.concatenate(list(map_blocks(evaluate, blocks, executor=executor)), axis=1)


def whitening_of(sums: FloatArray, weight: float) -> FloatArray:
    """Return (C + ridge)^(-1/2) of the pooled covariance C of coordinates: (rank, rank)."""
    eigenvalues, vectors = np.linalg.eigh(symmetric(sums.sum(axis=0) / weight))
    scaled = vectors / np.sqrt(np.maximum(eigenvalues, 0.0) + RIDGE / weight)
    return np.asarray(scaled @ vectors.T)


def symmetric(triangles: FloatArray) -> FloatArray:
    """Return symmetric matrices from their lower triangles, rows one after the other along the last axis."""
    rank = (math.isqrt(8 * triangles.shape[-1] + 1) - 1) // 2
    rows, columns = np.tril_indices(rank)
    matrices = np.empty((*triangles.shape[:-1], rank, rank))
    matrices[..., rows, columns] = triangles
    matrices[..., columns, rows] = triangles
    return matrices


def _drawn(count: int, n_rows: int, most: int) -> int:
    """Return how many of these groups hold ``most`` of their rows, about."""
    return count if n_rows <= most else max(1, count * most // n_rows)


def _numbered(parts: list[IntArray], size: int) -> IntArray:
    """Return the place of the part that each number stands in, -1 for none."""
    found = np.full(size, -1)
    for place, part in enumerate(parts):
        found[part] = place
    return found
