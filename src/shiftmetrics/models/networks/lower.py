"""Lower bounds from a Lipschitz constant: no row gains more than one whose loss rises as fast as that allows."""

from __future__ import annotations

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.models.networks.lipschitz import layers_of, relaxed_units
from shiftmetrics.models.networks.module import Network
from shiftmetrics.models.question import Question
from shiftmetrics.stability.losses import HingeLoss, LogisticLoss, Loss, SquaredLoss, ZeroOneLoss


def lower_loss(question: Question, network: Network) -> Loss | None:
    """Return a loss whose stability is a certified lower bound of the network's, or None where none is known.

    A margin that changes by at most L per unit of distance needs at least margin / L to become an error, and a loss
    that rises with it rises at most as that of a linear model with weights of norm L does.
    """
    layers = layers_of(network.module, network.row_shape)
    unit = relaxed_units(question.domain)
    if layers is None or len(unit) != layers.n_inputs or not np.isfinite(unit).all():
        return None
    scaled = layers.in_units(unit)
    scores = network.scores(question.codes)
    if question.loss == "squared":
        return SquaredLoss(scores - question.y, scaled.bound(np.ones(1)))
    slopes = scaled.bound_of_gaps() if scaled.n_outputs > 1 else _of_one_margin(scaled.bound(np.ones(1)))
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
    return LogisticLoss(_soft_minimum(gaps), steepest)


def _of_one_margin(slope: float) -> FloatArray:
    """Return the bounds of two classes of which the first has the score 0."""
    return np.array([[0.0, slope], [slope, 0.0]])


def _soft_minimum(gaps: FloatArray) -> FloatArray:
    """Return ``-log sum exp(-gaps)``: the logistic loss of it is the cross-entropy."""
    least = gaps.min(axis=1, keepdims=True)
    return np.asarray(least[:, 0] - np.log(np.exp(least - gaps).sum(axis=1)))
