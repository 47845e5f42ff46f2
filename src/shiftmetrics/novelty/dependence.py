"""Samples that depend on each other: duplicates, and an order. P-values of permutations hold for independent ones."""

from __future__ import annotations

import math

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray

_DUPLICATED = 0.05
"""Fraction of a sample's rows that are copies, from which it is said."""

_APART = 10
"""Places apart, at which rows count as far from each other."""

_LEAST_CLOSENESS = 0.3
"""By how much of it the squared difference of neighbours must be smaller for an order to be said."""

_ORDERED = 8.0
"""Of independent rows that varies by 1.6 over the root of their number: this is five times as much."""

_LEAST_ROWS = 50
FEW_COMBINATIONS = 10
"""With fewer possible rows than this times their number, equal rows are no copies."""
_GROUPS = "say which samples belong together (groups)"


def duplicate_warnings(test: FloatArray, reference: FloatArray) -> tuple[str, ...]:
    """Return what to know of rows that stand more than once in a sample, or in both.

    Parameters
    ----------
    test, reference : ndarray of shape (n_rows, n_columns)
        Rows of both samples.
    """
    everything = np.concatenate([test, reference])
    # Of so few combinations of values rows must repeat.
    if math.prod(len(np.unique(column)) for column in everything.T) < FEW_COMBINATIONS * len(
        everything
    ):
        return ()
    place = np.unique(everything, axis=0, return_inverse=True)[1].reshape(-1)
    return warnings_of_codes(place[: len(test)], place[len(test) :])


def warnings_of_codes(test: IntArray, reference: IntArray) -> tuple[str, ...]:
    """Return what to know of rows that stand more than once, where equal rows have equal codes.

    Parameters
    ----------
    test, reference : ndarray of shape (n_rows,)
        The code of each row.
    """
    sides = test, reference
    common = np.intersect1d(*sides)
    found = []
    excess = 0.0
    n_distinct = []
    for name, own, other in (("features", *sides), ("reference", *sides[::-1])):
        counts = np.unique(own, return_counts=True)[1]
        copied = 1.0 - len(counts) / len(own)
        n_distinct.append(len(counts))
        shared = float(np.isin(own, common).mean())
        # By chance a row has a twin among those of the other sample as often as these have among themselves, or,
        # of other distributions, less often on average over both sides.
        excess += 0.5 * (shared - counts[counts > 1].sum() / len(own))
        # Rows of few values are equal by chance: within a sample half as often as across two of its size. But not
        # all of them equally often.
        across = shared * max(1.0, len(own) / len(other))
        if 1 < counts.min() == counts.max():
            found.append(f"every row of {name} stands {counts[0]} times")
        elif copied >= _DUPLICATED and copied > across:
            found.append(f"{100.0 * copied:.0f} % of the rows of {name} are copies of others")
    fraction = len(common) / min(n_distinct)
    if fraction >= _DUPLICATED and excess >= max(
        _DUPLICATED, 1.0 / math.sqrt(min(map(len, sides)))
    ):
        found.append(
            f"{len(common)} rows stand in both samples ({100.0 * fraction:.0f} % of the smaller)"
        )
    if not found:
        return ()
    what = " and ".join(found)
    return (
        f"{what[0].upper()}{what[1:]}; the p-values assume independent samples. Drop the copies, or {_GROUPS}.",
    )


def order_warnings(scores: tuple[FloatArray, FloatArray]) -> tuple[str, ...]:
    """Return what to know where neighbouring rows of a sample score alike, as in a time series.

    Parameters
    ----------
    scores : tuple of ndarray of shape (n_rows,)
        How new each row of the sample and of the reference looks, in the order of the rows; of the sample without the
        members of new modes, which may stand together.
    """
    for name, values in zip(("features", "reference"), scores, strict=True):
        n_rows = len(values)
        if n_rows < _LEAST_ROWS:
            continue
        # Equal scores have equal ranks. In an order, rows next to each other differ less than rows a few places
        # apart; rows that were sorted by their class do not, within a class.
        ranks = np.unique(values, return_inverse=True)[1].astype(np.float64)
        near = float(np.mean((ranks[1:] - ranks[:-1]) ** 2))
        apart = float(np.mean((ranks[_APART:] - ranks[:-_APART]) ** 2))
        closeness = 1.0 - near / max(apart, 1e-300)
        if closeness >= max(_LEAST_CLOSENESS, _ORDERED / math.sqrt(n_rows)):
            return (
                f"Neighbouring rows of {name} are more alike than rows further apart, as in a time series; "
                f"the p-values assume independent samples, and are too small if they are not: then {_GROUPS}.",
            )
    return ()
