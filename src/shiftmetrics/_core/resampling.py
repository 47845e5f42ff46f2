"""Resampling: what other samples of the same size would plausibly have given.

A draw gives each unit (a row, or a group of rows that belong together) a count. Whatever a measure sums over its
rows it can sum with those counts as weights; all draws of a block of units are one matrix product, and blocks add
up. The same seed gives the same draws, so statistics of several models, or of further parameters, stay paired.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.blocks import map_reduce, row_blocks
from shiftmetrics._core.tables import check_labels
from shiftmetrics._core.validation import describe

COUNTS_IN_BLOCK = 1 << 18
"""Counts that are drawn at a time: they are scattered over memory, which is quick within a cache."""


@dataclass(frozen=True)
class Draws:
    """Repeatable draws of counts, one for each unit: the bootstrap, or subsamples.

    Attributes
    ----------
    n_units : int
        Rows, or groups of rows.
    n_resamples : int
        Number of draws.
    seed : int
        Gives the same draws each time.
    size : int or None
        Units in each draw, without replacement: subsamples, halves, or, in a pooled sample, permutations. None draws
        as many as there are, with replacement: the bootstrap.
    smooth : bool
        Give each unit a standard exponential weight in place of a count: the Bayesian bootstrap (D. Rubin, Annals of
        Statistics 9, 1981, doi:10.1214/aos/1176345338).
    """

    n_units: int
    n_resamples: int
    seed: int
    size: int | None = None
    smooth: bool = False

    @property
    def blocks(self) -> list[slice]:
        """Slices of units whose counts are drawn at a time."""
        return row_blocks(self.n_units, self.n_resamples, block_bytes=COUNTS_IN_BLOCK)

    def counts(self, block: int) -> FloatArray:
        """Return the counts of the units of one of the `blocks`, of shape (n_resamples, n_units)."""
        units = self.blocks[block]
        n_units = units.stop - units.start
        rng = np.random.default_rng([self.seed, 1, block])
        if self.smooth:
            return rng.standard_exponential((self.n_resamples, n_units))
        totals = self._totals[:, block]
        if self.size is None:
            places = rng.integers(n_units, size=int(totals.sum()))
            places += np.repeat(n_units * np.arange(self.n_resamples), totals)
            counts = np.bincount(places, minlength=self.n_resamples * n_units)
            return counts.reshape(self.n_resamples, n_units).astype(np.float64)
        order = rng.random((self.n_resamples, n_units)).argsort(axis=1)
        drawn = np.zeros((self.n_resamples, n_units))
        np.put_along_axis(drawn, order, (np.arange(n_units) < totals[:, None]).astype(np.float64), axis=1)
        return drawn

    @cached_property
    def _totals(self) -> IntArray:
        """How much of each draw falls into each block, of shape (n_resamples, n_blocks)."""
        sizes = np.asarray([units.stop - units.start for units in self.blocks])
        rng = np.random.default_rng([self.seed, 0])
        if self.size is None:
            return rng.multinomial(self.n_units, sizes / self.n_units, size=self.n_resamples)
        return rng.multivariate_hypergeometric(sizes, self.size, size=self.n_resamples, method="marginals")


@dataclass(frozen=True)
class Units:
    """Which rows are drawn together.

    Attributes
    ----------
    n_rows, n_units : int
        Rows, and groups of them: as many where every row stands for itself.
    codes : ndarray of shape (n_rows,) or None
        The group of each row, from 0; None where every row stands for itself.
    """

    n_rows: int
    n_units: int
    codes: IntArray | None = None

    @classmethod
    def of(cls, groups: Any, n_rows: int) -> Units:
        """Return the units of ``groups``: one label for each row, or None.

        Raises
        ------
        ValueError
            If labels are missing, their number is another one, or there is only one group.
        """
        if groups is None:
            return cls(n_rows, n_rows)
        labels, codes = np.unique(check_labels(groups, "groups", length=n_rows), return_inverse=True)
        if len(labels) < 2:
            got = f"only {labels.tolist()[0]!r}"
            remedy = "Groups are drawn as a whole: give each cluster of rows its own label."
            raise ValueError(describe("groups", "of at least two different labels", got, remedy))
        return cls(n_rows, len(labels), codes.astype(np.int64))

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sum of ``values`` over the rows of each unit."""
        if self.codes is None:
            return values
        sums = np.zeros((self.n_units, *values.shape[1:]))
        np.add.at(sums, self.codes, values)
        return sums


def resampled_sums(
    values_of: Callable[[slice], FloatArray], draws: Draws, units: Units, *, executor: Executor | None = None
) -> FloatArray:
    """Sum columns of values over the rows of each draw.

    Parameters
    ----------
    values_of : callable
        Maps a slice of rows to their values, of shape (n_rows, n_columns). It must be thread-safe.
    draws : Draws
        Of the units.
    units : Units
        Which rows are drawn together. Without groups the memory is bounded by the block size; with them the sums of
        each group are kept.
    executor : concurrent.futures.Executor, optional
        Where blocks are worked off.

    Returns
    -------
    ndarray of shape (n_resamples, n_columns)
    """
    blocks = draws.blocks
    numbers = [slice(block, block + 1) for block in range(len(blocks))]
    of_units = values_of
    if units.codes is not None:
        slices = row_blocks(units.n_rows, 1, block_bytes=1 << 10)
        first = values_of(slices[0])
        sums = np.zeros((units.n_units, first.shape[1]))
        for rows in slices:
            np.add.at(sums, units.codes[rows], values_of(rows) if rows.start else first)
        of_units = sums.__getitem__
    return map_reduce(
        lambda number: draws.counts(number.start) @ of_units(blocks[number.start]), numbers, executor=executor
    )
