"""Varimax rotation: directions that a few rows each belong to, in the span of eigenfunctions that share rows.

Eigenfunctions of nearly equal eigenvalues are mixtures of the patterns behind them, and which mixtures is chance.
"""

from __future__ import annotations

import numpy as np

from shiftmetrics._core.arrays import FloatArray

_STARTS = 4
_STEPS = 1000
_STILL = 1e-12


def varimax(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the rotation that makes the squared columns of ``values @ rotation`` vary most over the rows.

    Parameters
    ----------
    values : ndarray of shape (n_rows, k)
        Functions at rows.
    weights : ndarray of shape (n_rows,)
        Weights of the rows, summing to 1.

    Returns
    -------
    ndarray of shape (k, k)
        An orthogonal matrix: the best of several starts, the first of which is no rotation. Columns stand in no
        particular order.

    Notes
    -----
    Kaiser, "The varimax criterion for analytic rotation in factor analysis", Psychometrika 1958.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.repeat(np.eye(2), 5, axis=0)
    >>> mixed = rows @ np.array([[0.8, 0.6], [-0.6, 0.8]])
    >>> np.sort(np.abs(mixed @ varimax(mixed, np.full(10, 0.1))).max(axis=1)).round(6)
    array([1., 1., 1., 1., 1., 1., 1., 1., 1., 1.])
    """
    size = values.shape[1]
    if size < 2:
        return np.eye(size)
    # Other starts guard against stationary points: that they are drawn changes no result but a poor one.
    rng = np.random.default_rng(0)
    starts = [np.eye(size), *(np.linalg.qr(rng.normal(size=(size, size)))[0] for _ in range(_STARTS - 1))]
    return max((_ascend(values, weights, start) for start in starts), key=lambda pair: pair[0])[1]


def _ascend(values: FloatArray, weights: FloatArray, rotation: FloatArray) -> tuple[float, FloatArray]:
    """Go to the rotation nearest to the gradient until it stands still; return the criterion and the rotation."""
    weighted, reached = values * weights[:, None], -np.inf
    for _ in range(_STEPS):
        rotated = values @ rotation
        squares = rotated * rotated
        means = weights @ squares
        criterion = float((weights @ (squares * squares)).sum() - (means * means).sum())
        if criterion <= reached + _STILL * abs(reached):
            break
        reached, kept = criterion, rotation
        left, _, right = np.linalg.svd(weighted.T @ (rotated * (squares - means)))
        rotation = left @ right
    return reached, kept
