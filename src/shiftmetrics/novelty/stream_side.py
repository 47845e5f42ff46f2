"""One sample of a stream: its sums under a feature map, and the rows that are kept of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray
from shiftmetrics._core.validation import check_weights, describe
from shiftmetrics.novelty.feature_map import FeatureMap, MappedSums, sums_of
from shiftmetrics.novelty.landmarks import LandmarkMap
from shiftmetrics.novelty.subsample import KeptRows


class StreamSide:
    """One sample of a stream: its sums, how many rows they are of, and the rows that are kept."""

    def __init__(self, feature_map: FeatureMap, kept: KeptRows, sums: MappedSums | None = None) -> None:
        self.feature_map, self.kept, self.sums = feature_map, kept, sums

    @property
    def count(self) -> int:
        """Return the rows so far."""
        return 0 if self.sums is None else int(self.sums.count)

    def add(self, points: Array, weights: FloatArray, sums: MappedSums) -> None:
        """Add a block of rows, with its sums."""
        self.kept.add(points, weights)
        self.sums = sums if self.sums is None else self.sums + sums

    def merged(self, other: StreamSide) -> StreamSide:
        """Return one of the rows of both, which stay as they are."""
        known = [sums for sums in (self.sums, other.sums) if sums is not None]
        total = known[0] + known[1] if len(known) == 2 else known[0] if known else None
        return StreamSide(self.feature_map, self.kept.merged(other.kept), total)

    def total(self) -> MappedSums:
        """Return the sums of all rows, of which there must be some."""
        assert self.sums is not None
        return self.sums

    def rows(self) -> FloatArray:
        """Return the rows that were kept."""
        return np.empty((0, 0)) if self.kept.rows is None else self.kept.rows

    def kept_shares(self) -> FloatArray:
        """Return their weights, scaled to sum 1."""
        shares: FloatArray = self.kept.weights / self.kept.weights.sum()
        return shares


def block_sums(feature_map: FeatureMap, points: Array, weights: FloatArray) -> MappedSums:
    """Return the sums of a block of rows."""
    noise = feature_map.noise if isinstance(feature_map, LandmarkMap) else 0.0
    return sums_of(feature_map, points, weights, noise=noise)


def raw_weights(weights: Any, argument: str, n_rows: int) -> FloatArray:
    """Check weights and leave their scale, on which blocks have to agree."""
    if weights is None:
        return np.ones(n_rows)
    scaled = check_weights(weights, argument, n_rows)
    assert scaled is not None
    mean = float(np.mean(np.asarray(weights, dtype=np.float64)))
    if not math.isfinite(mean * n_rows):
        raise ValueError(describe(argument, "of a finite sum", "weights that overflow", "Scale all of them."))
    return scaled * mean


def quadratic(lower: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return w' C w for each column w, from the lower triangle of C."""
    product = lower @ vectors
    squares: FloatArray = 2.0 * np.einsum("ij,ij->j", vectors, product)
    squares -= np.einsum("ij,i,ij->j", vectors, np.diagonal(lower), vectors)
    return squares
