"""How fast the scores of a small network can change: certified from its layers, in the metric of the costs."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy.special import logsumexp
from torch import nn

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.models.domain import Domain
from shiftmetrics.models.networks.network import Network, Standardize
from shiftmetrics.models.question import Question
from shiftmetrics.stability.losses import HingeLoss, LogisticLoss, Loss, SquaredLoss, ZeroOneLoss

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
    weights : tuple of arrays of shape (n_out, n_in)
        The matrices.
    slack : float
        Factor for rounding, a little above 1 where the network is not float64.
    """

    weights: tuple[FloatArray, ...]
    slack: float = 1.0

    def in_units(self, unit: FloatArray) -> Layers:
        """Return the layers as functions of moves in units of cost; a unit of 0 freezes a column."""
        return Layers((self.weights[0] * unit, *self.weights[1:]), self.slack)

    @cached_property
    def stretch_before(self) -> float:
        """A bound on how much everything before the last map stretches."""
        return math.prod(_spectral_norm(matrix) for matrix in self.weights[:-1])

    def bound(self, direction: FloatArray) -> float:
        """Return a bound on the slope of ``direction @ scores``, of shape (n_outputs,)."""
        last = direction @ self.weights[-1]
        bound = float(np.linalg.norm(last)) * self.stretch_before
        if len(self.weights) == 2:
            bound = min(bound, _bound_of_two(last, self.weights[0]))
        return self.slack * bound

    def bound_of_gaps(self) -> FloatArray:
        """Return bounds on the slopes of the differences of scores, of shape (n_outputs, n_outputs)."""
        directions = np.eye(self.weights[-1].shape[0])
        bounds = np.zeros_like(directions)
        for first, second in itertools.combinations(range(len(bounds)), 2):
            bound = self.bound(directions[second] - directions[first])
            bounds[first, second] = bounds[second, first] = bound
        return bounds


def layers_of(module: nn.Module, row_shape: tuple[int, ...] | None = None) -> Layers | None:
    """Return the layers of a feed-forward network, or None where something in it is not known, as convolutions are.

    Parameters
    ----------
    module : torch.nn.Module
    row_shape : tuple of int, optional
        The shape in which it takes a row, where that is not flat.
    """
    affine: list[FloatArray] = []
    pending: FloatArray | None = None
    flat = row_shape is None
    for part in _parts(module):
        if isinstance(part, _PASSED):
            continue
        if isinstance(part, nn.Flatten) and (part.start_dim, part.end_dim) == (1, -1):
            flat = True
        elif _squashes(part) and pending is not None:
            affine.append(pending)
            pending = None
        else:
            matrix = _matrix(part) if flat else None
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

    def numbers(tensor: Any) -> FloatArray:
        return np.asarray(tensor.detach().cpu().double().numpy())

    if isinstance(part, nn.BatchNorm1d) and part.running_var is not None:
        scale = 1.0 / np.sqrt(numbers(part.running_var) + part.eps)
        return scale if part.weight is None else scale * numbers(part.weight)
    if isinstance(part, nn.Linear):
        return numbers(part.weight)
    return 1.0 / numbers(part.scale) if isinstance(part, Standardize) else None


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


def lower_loss(question: Question, network: Network) -> Loss | None:
    """Return a loss whose stability is a certified lower bound of the network's, or None where none is known.

    A margin that changes by at most L per unit of distance needs at least margin / L to become an error, and a loss
    that rises with it rises at most as that of a linear model with weights of norm L does.
    """
    layers = layers_of(network.module, network.row_shape)
    unit = relaxed_units(question.domain)
    if layers is None or len(unit) != layers.weights[0].shape[1] or not np.isfinite(unit).all():
        return None
    scaled = layers.in_units(unit)
    scores = network.scores(question.codes)
    if question.loss == "squared":
        return SquaredLoss(scores - question.y, scaled.bound(np.ones(1)))
    slopes = (
        scaled.bound_of_gaps()
        if scaled.weights[-1].shape[0] > 1
        else scaled.bound(np.ones(1)) * (1.0 - np.eye(2))
    )
    y, everyone = question.y, np.arange(len(scores))
    gaps = scores[everyone, y][:, None] - scores  # how far ahead of each class the label is
    gaps[everyone, y] = np.inf
    if question.loss == "zero_one":
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.where(slopes[y] > 0.0, np.maximum(gaps, 0.0) / slopes[y], np.inf)
        needed[gaps <= 0.0] = 0.0
        distances = needed.min(axis=1)
        distances[question.is_wrong(question.codes, slice(None))] = 0.0
        return ZeroOneLoss(distances, kind="lower_bound")
    steepest = float(slopes.max())
    if question.loss == "hinge":
        return HingeLoss(gaps.min(axis=1), steepest)
    return LogisticLoss(-logsumexp(-gaps, axis=1), steepest)  # the logistic loss of that is the cross-entropy
