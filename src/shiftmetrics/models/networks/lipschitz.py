"""How fast the scores of a small network can change: certified from its layers, in the metric of the costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.stability.domain import Domain

_MOST_PATTERNS = 16  # units of a hidden layer whose 2^units patterns are all looked at
_NARROW = 1e-6  # slack for what rounding in a narrower dtype does to the scores

_ACTIVATIONS: tuple[type[nn.Module], ...] = (
    nn.ReLU, nn.ReLU6, nn.Tanh, nn.Hardtanh, nn.Softplus, nn.Sigmoid, nn.LogSigmoid, nn.Softsign, nn.Hardsigmoid,
)  # fmt: skip
"""Activations whose slope is between 0 and 1 everywhere."""
_PASSED: tuple[type[nn.Module], ...] = (nn.Identity, nn.Dropout, nn.AlphaDropout)


@dataclass(frozen=True, eq=False)
class Layers:
    """An affine map of coded rows, then activations and affine maps in turn.

    Attributes
    ----------
    weights : tuple of arrays
        The matrices, of shapes (n_out, n_in).
    slack : float
        Factor for rounding, a little above 1 where the network is not float64.
    """

    weights: tuple[FloatArray, ...]
    slack: float = 1.0

    @property
    def n_outputs(self) -> int:
        """Number of scores."""
        return len(self.weights[-1])

    def in_units(self, unit: FloatArray) -> Layers:
        """Return the layers as functions of moves in units of cost; a unit of 0 freezes a column."""
        return Layers((self.weights[0] * unit, *self.weights[1:]), self.slack)

    def bound(self, direction: FloatArray) -> float:
        """Return a bound on the slope of ``direction @ scores``, of shape (n_outputs,)."""
        last = direction @ self.weights[-1]
        if len(self.weights) == 1:
            return self.slack * float(np.linalg.norm(last))
        bound = float(np.linalg.norm(last))
        for matrix in self.weights[:-1]:
            bound *= _spectral_norm(matrix)
        if len(self.weights) == 2:
            bound = min(bound, _bound_of_two(last, self.weights[0]))
        return self.slack * bound

    def bound_of_gaps(self) -> FloatArray:
        """Return bounds on the slopes of the differences of scores, of shape (n_outputs, n_outputs)."""
        k = self.n_outputs
        bounds = np.zeros((k, k))
        for first in range(k):
            for second in range(first):
                direction = np.zeros(k)
                direction[first], direction[second] = 1.0, -1.0
                bounds[first, second] = bounds[second, first] = self.bound(direction)
        return bounds


def layers_of(module: nn.Module) -> Layers | None:
    """Return the layers of a feed-forward network, or None where something in it is not known."""
    affine: list[FloatArray] = []
    pending: FloatArray | None = None
    for part in _parts(module):
        if isinstance(part, _PASSED):
            continue
        if _squashes(part):
            if pending is None:
                return None
            affine.append(pending)
            pending = None
            continue
        matrix = _matrix(part)
        if matrix is None:
            return None
        if pending is None:
            pending = np.diag(matrix) if matrix.ndim == 1 else matrix
        else:
            pending = matrix[:, None] * pending if matrix.ndim == 1 else matrix @ pending
    if pending is None:
        return None
    like = next(module.parameters(), None)
    wide = like is None or like.dtype == torch.float64
    return Layers((*affine, pending), 1.0 if wide else 1.0 + _NARROW)


def relaxed_units(domain: Domain) -> FloatArray:
    """Return units in which no move of a domain is shorter than it is: those of numbers, and of flips spread out.

    A flip changes its columns by at most some Euclidean length at one distance, so a metric that counts that length
    as that distance is a lower bound. Frozen columns have the unit 0.
    """
    unit = np.where(domain.sliding, domain.unit, 0.0)
    for flip in domain.movable_flips:
        apart = np.linalg.norm(flip.states[:, None] - flip.states[None], axis=2).max()
        unit[flip.columns] = apart / flip.distance if flip.distance > 0.0 else np.inf
    return np.asarray(unit)


def _parts(module: nn.Module) -> Any:
    """Yield the parts of nested sequences in order."""
    if type(module) is nn.Sequential:
        for part in module:
            yield from _parts(part)
    else:
        yield module


def _squashes(part: nn.Module) -> bool:
    if isinstance(part, nn.LeakyReLU):
        return 0.0 <= part.negative_slope <= 1.0
    if isinstance(part, nn.ELU | nn.CELU):
        return isinstance(part, nn.CELU) or 0.0 < part.alpha <= 1.0
    return isinstance(part, _ACTIVATIONS)


def _matrix(part: nn.Module) -> FloatArray | None:
    """Return the matrix of an affine part, or the diagonal of one that scales columns; None for others."""
    from shiftmetrics.learners.tabular import Standardize

    def numbers(tensor: Any) -> FloatArray:
        return np.asarray(tensor.detach().cpu().double().numpy())

    if isinstance(part, nn.Linear):
        return numbers(part.weight)
    if isinstance(part, Standardize):
        return 1.0 / numbers(part.scale)
    if isinstance(part, nn.BatchNorm1d) and part.running_var is not None:
        scale = 1.0 / np.sqrt(numbers(part.running_var) + part.eps)
        return scale if part.weight is None else scale * numbers(part.weight)
    return None


def _spectral_norm(matrix: FloatArray) -> float:
    return float(np.linalg.norm(matrix, ord=2)) if matrix.size else 0.0


def _bound_of_two(last: FloatArray, first: FloatArray) -> float:
    """Bound ``|sum_h a_h last_h first_h|`` over all slopes a_h in [0, 1] of the hidden units.

    With few units the greatest of all patterns, where a convex function has its maximum. With more, half the sum of
    the rows plus half of what signs can make of them.
    """
    rows = last[:, None] * first
    rows = rows[np.any(rows != 0.0, axis=1)]
    if not len(rows):
        return 0.0
    if len(rows) <= _MOST_PATTERNS:
        gram = rows @ rows.T
        patterns = (np.arange(2 ** len(rows))[:, None] >> np.arange(len(rows))) & 1
        worst = 0.0
        for start in range(0, len(patterns), 8192):
            block = patterns[start : start + 8192].astype(np.float64)
            worst = max(worst, float(np.einsum("ij,ij->i", block @ gram, block).max()))
        return float(np.sqrt(worst)) * (1.0 + 1e-9)
    signs = min(float(np.linalg.norm(rows, axis=1).sum()), np.sqrt(len(rows)) * _spectral_norm(rows))
    return 0.5 * (float(np.linalg.norm(rows.sum(axis=0))) + float(signs))
