"""Samples that depend on each other: duplicates, and an order. P-values of permutations hold for independent ones."""

from __future__ import annotations

import math

import numpy as np

from shiftmetrics._core.arrays import FloatArray

_DUPLICATED = 0.05
"""Fraction of a sample's rows that are copies, from which it is said."""

_ORDERED = 5.0
"""Standard errors of the correlation of neighbouring rows' scores, from which an order is said."""

_LEAST_CORRELATION = 0.2
_LEAST_ROWS = 50
_GROUPS = "pass resampling=NoveltyResampling(groups=(labels, reference_labels))"


def duplicate_warnings(test: FloatArray, reference: FloatArray) -> tuple[str, ...]:
    """Return what to know of rows that stand more than once in a sample, or in both.

    Parameters
    ----------
    test, reference : ndarray of shape (n_rows, n_columns)
        Rows of both samples.
    """
    found = []
    distinct = []
    for name, rows in (("features", test), ("reference", reference)):
        unique, counts = np.unique(rows, axis=0, return_counts=True)
        distinct.append(unique)
        # Few values make equal rows without any copying, as in a table of categories.
        copied = 1.0 - len(unique) / len(rows)
        if copied < _DUPLICATED or _is_discrete(rows):
            continue
        if counts.min() == counts.max():
            found.append(f"every row of {name} stands {counts[0]} times")
        else:
            found.append(f"{100.0 * copied:.0f} % of the rows of {name} are copies of others")
    both = np.concatenate(distinct)
    common = len(both) - len(np.unique(both, axis=0))
    fraction = common / min(map(len, distinct))
    if fraction >= _DUPLICATED and not _is_discrete(test):
        found.append(
            f"{common} rows stand in both samples ({100.0 * fraction:.0f} % of the smaller)"
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
        # Equal scores have equal ranks.
        ranks = np.unique(values, return_inverse=True)[1].astype(np.float64)
        ranks -= ranks.mean()
        correlation = float(ranks[1:] @ ranks[:-1] / max(float(ranks @ ranks), 1e-300))
        if correlation >= max(_LEAST_CORRELATION, _ORDERED / math.sqrt(n_rows)):
            return (
                f"Neighbouring rows of {name} are alike (rank correlation {correlation:.2f}), as in a time series; "
                f"the p-values assume independent samples, and are too small if they are not: then {_GROUPS}.",
            )
    return ()


def _is_discrete(rows: FloatArray) -> bool:
    """Return whether equal rows are no surprise: the columns have so few values that rows must repeat."""
    values = 1.0
    for column in rows.T:
        values *= len(np.unique(column))
        if values > 10.0 * len(rows):
            return False
    return True
