"""Several samples by name, and the novelty of each two of them: both ways, relabelled rows, top modes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, IntArray, namespace
from shiftmetrics._core.blocks import map_blocks
from shiftmetrics._core.tables import align_tables
from shiftmetrics._core.threads import one_blas_thread
from shiftmetrics._core.validation import check_matrix, check_number, describe
from shiftmetrics.novelty.bandwidth import choose_bandwidth
from shiftmetrics.novelty.factor import Factor, dense_factor
from shiftmetrics.novelty.gram import Gram, rows_at
from shiftmetrics.novelty.kernels import EPSILON, GaussianKernel
from shiftmetrics.novelty.null import relabelled
from shiftmetrics.novelty.spectrum import difference, eigenvalues_and_vectors

FACTORS = (math.sqrt(0.5), 1.0, math.sqrt(2.0))
"""Around the bandwidth of the variance rule, by default."""

ONE_SET = "features"
"""Name of the only feature set, where the samples are plain arrays."""


def check_named_samples(samples: Mapping[str, Any]) -> tuple[dict[str, list[Array]], tuple[int, ...]]:
    """Return the arrays of each feature set in the order of the samples, and the rows of each sample."""
    if not isinstance(samples, Mapping) or len(samples) < 2:
        got = f"{len(samples)}" if isinstance(samples, Mapping) else type(samples).__name__
        raise ValueError(describe("samples", "a mapping from names to at least two samples", got))
    nested = [isinstance(sample, Mapping) for sample in samples.values()]
    if any(nested) != all(nested):
        raise ValueError(describe("samples", "all arrays or all mappings of feature sets", "both"))
    by_name = {
        str(name): dict(sample) if all(nested) else {ONE_SET: sample} for name, sample in samples.items()
    }
    first_name, first = next(iter(by_name.items()))
    arrays: dict[str, list[Array]] = {name: [] for name in first}
    sizes = []
    for sample_name, sets in by_name.items():
        argument = f"samples[{sample_name!r}]"
        if set(sets) != set(first):
            expected = f"of the feature sets of {first_name!r}, {sorted(first)}"
            raise ValueError(describe(argument, expected, sorted(sets)))
        for set_name, known in arrays.items():
            name = f"{argument}[{set_name!r}]" if all(nested) else argument
            names = f"samples[{first_name!r}]", name
            _, value = align_tables(first[set_name], sets[set_name], *names, rows=False, option=None)
            known.append(check_matrix(value, name, min_rows=2))
            columns = int(known[0].shape[1])
            if known[-1].shape[1] != columns:
                expected = f"of as many columns as {names[0]}, {columns}"
                raise ValueError(describe(name, expected, f"{known[-1].shape[1]}"))
        counts = {int(known[-1].shape[0]) for known in arrays.values()}
        if len(counts) > 1:
            raise ValueError(describe(argument, "of the same rows in every feature set", sorted(counts)))
        sizes.append(counts.pop())
    return arrays, tuple(sizes)


def check_bandwidths(
    bandwidths: Any, features: dict[str, list[Array]], positions: list[IntArray]
) -> FloatArray:
    """Return the bandwidths of each feature set: (n_sets, n_bandwidths)."""
    if bandwidths is None:
        centers = []
        for arrays in features.values():
            pooled = [rows_at(array, rows) for array, rows in zip(arrays, positions, strict=True)]
            centers.append(choose_bandwidth(namespace(*pooled).concat(pooled)).value)
        return np.outer(centers, FACTORS)
    given = bandwidths if isinstance(bandwidths, Mapping) else dict.fromkeys(features, bandwidths)
    if set(given) != set(features):
        expected = f"given for {', '.join(features)}"
        raise ValueError(describe("bandwidths", expected, ", ".join(given) or "none"))
    rows = [
        [check_number(width, f"bandwidths[{name!r}]", low=0.0, open_low=True) for width in given[name]]
        for name in features
    ]
    if not rows[0] or len({len(row) for row in rows}) > 1:
        expected = "as many, at least one, for each feature set"
        raise ValueError(describe("bandwidths", expected, [len(row) for row in rows]))
    return np.array(rows)


def score_pairs(
    samples: Sequence[FloatArray],
    bandwidth: float,
    *,
    n_permutations: int,
    n_exemplars: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Score each two of several samples of one size; each pair has random numbers of its own.

    Returns
    -------
    scores : ndarray of shape (k, k)
        Novelty of the row's sample against the column's, in nats.
    null : ndarray of shape (k, k)
        Mean score of the relabelled rows of each pair, 0 without any.
    top_modes : ndarray of shape (k, k, n_exemplars)
        Rows of the row's sample that show what it has most in excess; -1 where there is none.
    """
    count = len(samples)
    pairs = list(itertools.combinations(range(count), 2))
    generators = rng.spawn(len(pairs))
    scores, null = np.zeros((count, count)), np.zeros((count, count))
    top_modes = np.full((count, count, n_exemplars), -1)

    def score(number: slice) -> None:
        # One factor of the joint kernel matrix serves both directions and all relabellings.
        i, j = pairs[number.start]
        n_rows = len(samples[i])
        factor = dense_factor(Gram(samples[i], samples[j], GaussianKernel(bandwidth)))
        gained, lost = relabelled(
            factor.values,
            np.ones(2 * n_rows),
            n_rows,
            1.0,
            n_permutations=n_permutations,
            rng=generators[number.start],
        )
        assert lost is not None
        scores[i, j], scores[j, i] = gained.observed, lost.observed
        null[i, j] = null[j, i] = 0.5 * (gained.mean + lost.mean)
        if n_exemplars:
            for place, top in zip(((i, j), (j, i)), _top_rows(factor, n_rows), strict=True):
                rows = top[:n_exemplars]
                top_modes[place][: len(rows)] = rows

    with one_blas_thread():
        for _ in map_blocks(score, [slice(place, place + 1) for place in range(len(pairs))]):
            pass
    return scores, null, top_modes


def _top_rows(factor: Factor, n_rows: int) -> list[IntArray]:
    """Return the rows of each sample, largest membership in the mode that it has most in excess first."""
    shares = np.full(n_rows, 1.0 / n_rows)
    matrix, _ = difference(factor, n_rows, shares, shares, 1.0)
    eigenvalues, top, bottom = eigenvalues_and_vectors(matrix, 1, 1)
    found = []
    for eigenvalue, vector, rows in (
        (eigenvalues[0], top[:, 0], slice(0, n_rows)),
        (-eigenvalues[-1], bottom[:, 0], slice(n_rows, None)),
    ):
        membership = np.square(factor.values[rows] @ vector)
        order = np.argsort(-membership, kind="stable")
        found.append(order if eigenvalue > EPSILON * factor.rank else order[:0])
    return found
