"""Tests of counts: one distribution in two samples, and p-values that hold together."""

from __future__ import annotations

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray

_LEAST_EXPECTED = 5.0
"""Expected count from which a level has a cell of its own in the test of a category."""


def holm(p_values: FloatArray) -> FloatArray:
    """Return p-values that hold together (S. Holm, Scandinavian Journal of Statistics 6, 1979)."""
    order = np.argsort(p_values, kind="stable")
    n = len(p_values)
    # The least p-value counts n times, the next one n - 1 times; none may be below the one before.
    stepped = np.maximum.accumulate(p_values[order] * np.arange(n, 0, -1))
    adjusted = np.empty(n)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def rare_together(table: IntArray) -> IntArray:
    """Return a table of counts with the rare levels in one cell: of many that stand once, two samples share few."""
    # The count that a level is expected to have in the smaller sample, if it is as frequent in both.
    expected = table.sum(axis=0) * table.sum(axis=1).min() / table.sum()
    rare = expected < _LEAST_EXPECTED
    cells = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    return np.asarray(cells[:, cells.sum(axis=0) > 0], dtype=np.int64)


def one_distribution(cells: IntArray) -> float:
    """Return the p-value of one distribution in both rows of a table of counts; of two cells by Fisher's test."""
    n_cells = cells.shape[1]
    if n_cells < 2:
        return 1.0
    if n_cells == 2:
        from scipy.stats import fisher_exact

        return float(fisher_exact(cells).pvalue)
    from scipy.special import chdtrc

    # Pearson's test, as SciPy's contingency tables have it, which take ten times as long to say it: a monitor asks
    # four times of each column.
    expected = np.outer(cells.sum(axis=1), cells.sum(axis=0)) / cells.sum()
    statistic = float(((cells - expected) ** 2 / expected).sum())
    return float(chdtrc(n_cells - 1, statistic))
