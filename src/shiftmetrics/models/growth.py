"""Losses that grow faster than the price of moving: a single row far away then breaks any model, at no cost."""

from __future__ import annotations

import math
import warnings

import numpy as np

from shiftmetrics._core.arrays import IntArray
from shiftmetrics.models.question import Question
from shiftmetrics.stability.losses import FixedLoss, Reach

_STEPS = 2.0**16, 2.0**20  # units of distance at which the growth of predictions is looked at
_LINEAR = 1.5 * _STEPS[1] / _STEPS[0]
_MOST_ROWS, _MOST_WAYS = 4, 64


class EndlessLoss(FixedLoss):
    """Losses that grow faster than the squared distance, so that the stability is 0."""

    def largest_dual(self, theta1: float) -> float:
        """Return 0: at any price of a unit of loss a move pays."""
        return math.inf if math.isinf(theta1) else 0.0

    def _reach(self, rows: slice) -> Reach:
        return Reach(np.full_like(self.base(rows), math.inf), np.zeros_like(self.base(rows)))


def grows_faster(question: Question) -> bool:
    """Tell whether predictions of a regression grow faster than linearly, from far points of a few rows.

    Such are those of generalised linear models with a logarithmic link, and of polynomials: their squared loss
    outgrows the squared distance.
    """
    domain = question.domain
    free = np.flatnonzero(domain.sliding & (np.isinf(domain.lower) | np.isinf(domain.upper)))
    if question.loss != "squared" or not free.size:
        return False
    ways = np.zeros((2 * len(free) + _MOST_WAYS, domain.n_features))
    ways[np.arange(2 * len(free)), np.tile(free, 2)] = np.repeat([1.0, -1.0], len(free))
    rng = np.random.default_rng(0)
    ways[2 * len(free) :, free] = rng.choice([1.0, -1.0], size=(_MOST_WAYS, len(free)))
    ways = rng.permutation(ways)[:_MOST_WAYS]
    chosen: IntArray = np.linspace(0, question.n_samples - 1, _MOST_ROWS).astype(int)
    start = np.repeat(question.codes[chosen], len(ways), axis=0)
    moves = np.tile(ways, (len(chosen), 1)) * domain.unit
    with np.errstate(over="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        far = [question.predict(domain.clip(start + step * moves, start)) for step in _STEPS]
        sizes = [np.abs(values - question.predict(start)) for values in far]
        return bool((np.isinf(far[1]) | (sizes[1] > _LINEAR * sizes[0]) & (sizes[0] > 0.0)).any())
