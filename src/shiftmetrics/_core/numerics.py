"""Small numerics: log-partition functions, directions, entropy, and buffers that threads keep."""

from __future__ import annotations

import math
import threading

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, namespace

UNIT_ROUNDOFF = 2.0**-53
"""Largest relative error of one rounded float64 operation."""


def log_partition(scores: Array, weights: Array, factor: float) -> tuple[Array, Array]:
    """Log-partition function of each row and its derivative with respect to ``factor``.

    Each row is shifted by its own maximum, so no scale of the scores overflows or vanishes.

    Parameters
    ----------
    scores : array of shape (n_rows, n_classes)
        Finite float64 values of any array library.
    weights : array of shape (n_classes,)
        Positive.
    factor : float
        Non-negative and finite.

    Returns
    -------
    value, slope : array of shape (n_rows,)
        ``log(sum_k weights[k] exp(factor scores[:, k]))``, and the mean of the scores under that distribution.
    """
    xp = namespace(scores)
    top = xp.max(scores, axis=-1, keepdims=True)
    below = scores - top
    terms = xp.exp(factor * below)
    total = terms @ weights
    value = factor * top[..., 0] + xp.log(total)
    return value, top[..., 0] + (terms * below) @ weights / total


def directions(rows: Array) -> Array:
    """Scale rows to length 1: by their largest entry first, so that no square overflows. Rows of zeros stay zero."""
    xp = namespace(rows)
    largest = xp.max(xp.abs(rows), axis=1, keepdims=True)
    rows = rows / xp.where(largest > 0.0, largest, xp.ones_like(largest))
    length = xp.sqrt(xp.sum(rows * rows, axis=1, keepdims=True))
    return rows / xp.where(length > 0.0, length, xp.ones_like(length))


def posteriors(scores: FloatArray, prior: FloatArray, beta: float) -> FloatArray:
    """Return ``p ~ prior exp(beta s)`` over the last axis; ``beta`` may be infinite.

    Parameters
    ----------
    scores : ndarray of shape (..., n_classes)
        Scores whose largest is 0 in each row.
    prior : ndarray of shape (n_classes,)
        Positive.
    beta : float
        Inverse temperature.
    """
    if math.isinf(beta):
        terms = prior * (scores == 0.0)
    else:
        with np.errstate(under="ignore"):
            terms = prior * np.exp(beta * scores)
    return np.asarray(terms / terms.sum(axis=-1, keepdims=True))


def entropy(probabilities: FloatArray) -> float:
    """Entropy in nats of a distribution; zeros count nothing."""
    positive = probabilities[probabilities > 0.0]
    return float(-np.sum(positive * np.log(positive))) + 0.0


class Workspace(threading.local):
    """Buffers that each thread keeps from block to block, so that NumPy kernels allocate nothing large.

    Fresh arrays of some hundred kilobytes cost the operating system more time than the arithmetic on them.
    """

    def __init__(self) -> None:
        self._buffers: dict[str, FloatArray] = {}

    def __reduce__(self) -> tuple[type[Workspace], tuple[()]]:
        return Workspace, ()  # buffers do not travel between processes

    def buffer(self, name: str, shape: tuple[int, ...]) -> FloatArray:
        """Return the uninitialised buffer ``name`` in this ``shape``, the same memory at each call."""
        size = math.prod(shape)
        flat = self._buffers.get(name)
        if flat is None or flat.size < size:
            flat = self._buffers[name] = np.empty(size)
        return flat[:size].reshape(shape)
