"""Rows drawn at random: those that landmarks come from, and those that a score is computed on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray, to_float64


def draw_rows(weights: FloatArray, size: int, rng: np.random.Generator) -> IntArray:
    """Draw at most ``size`` rows of positive weight, each as likely as any other, in the order of the rows."""
    rows: IntArray = np.flatnonzero(weights)
    return rows if len(rows) <= size else np.sort(rng.choice(rows, size, replace=False))


def pairs_of(test_weights: FloatArray, reference_weights: FloatArray) -> IntArray:
    """Return the rows that have weight in both samples."""
    return np.flatnonzero((test_weights > 0.0) & (reference_weights > 0.0))


def draw_both(
    test_weights: FloatArray,
    reference_weights: FloatArray,
    size: int,
    rng: np.random.Generator,
    *,
    paired: bool = False,
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Draw at most ``size`` rows of each sample; the same rows of both where they are paired.

    Returns
    -------
    tuple
        Positions among the rows of both samples, test rows first, and the weights of the rows drawn of each sample,
        scaled to sum 1.
    """
    if paired:
        both = np.zeros(len(test_weights))
        both[pairs_of(test_weights, reference_weights)] = 1.0
        test = reference = draw_rows(both, size, rng)
    else:
        test = draw_rows(test_weights, size, rng)
        reference = draw_rows(reference_weights, size, rng)
    shares = [part / part.sum() for part in (test_weights[test], reference_weights[reference])]
    return np.concatenate([test, reference + len(test_weights)]), shares[0], shares[1]


@dataclass(eq=False)
class KeptRows:
    """A uniform sample of fixed size of the rows of a stream; two of them merge into one of the rows of both.

    Each row gets a random key, and those with the smallest keys stay.

    Parameters
    ----------
    size : int
        How many rows stay.
    rng : Generator
        Draws the keys; streams that are to be merged need different ones.
    """

    size: int
    rng: np.random.Generator
    rows: FloatArray | None = field(default=None)
    weights: FloatArray = field(default_factory=lambda: np.empty(0))
    keys: FloatArray = field(default_factory=lambda: np.empty(0))

    def add(self, points: Any, weights: FloatArray) -> None:
        """Show it more rows; those without weight are passed over."""
        keys = np.where(weights > 0.0, self.rng.random(len(weights)), np.inf)
        most = self.keys.max() if len(self.keys) == self.size else np.inf
        chosen = np.flatnonzero(keys < most)
        if len(chosen) > self.size:
            chosen = np.sort(chosen[np.argpartition(keys[chosen], self.size)[: self.size]])
        if len(chosen):
            positions = chosen if isinstance(points, np.ndarray) else chosen.tolist()
            self._join(to_float64(points[positions, ...]), weights[chosen], keys[chosen])

    def merged(self, other: KeptRows) -> KeptRows:
        """Return a sample of the rows of both."""
        both = KeptRows(self.size, self.rng, self.rows, self.weights, self.keys)
        if other.rows is not None:
            both._join(other.rows, other.weights, other.keys)
        return both

    def _join(self, rows: FloatArray, weights: FloatArray, keys: FloatArray) -> None:
        keys = np.concatenate([self.keys, keys])
        weights = np.concatenate([self.weights, weights])
        joined = rows if self.rows is None else np.concatenate([self.rows, rows])
        kept = np.arange(len(keys))
        if len(keys) > self.size:
            kept = np.sort(np.argpartition(keys, self.size)[: self.size])
        self.keys, self.weights, self.rows = keys[kept], weights[kept], joined[kept]
