"""The paper's gradient steps on the rows of a model: Algorithms 1 and 2, for models whose gradients are known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.validation import describe
from shiftmetrics.models.linear.route import LinearRoute
from shiftmetrics.models.linear.scores import AdditiveScores
from shiftmetrics.models.outputs import is_network
from shiftmetrics.models.question import Question
from shiftmetrics.models.result import ModelStabilityResult
from shiftmetrics.models.route import Answer, answer
from shiftmetrics.stability.adam import AdamOptions, PointLoss
from shiftmetrics.stability.divergence import DivergenceName
from shiftmetrics.stability.losses import CandidateLoss, Loss
from shiftmetrics.stability.options import Options
from shiftmetrics.stability.published import AdamStabilityResult, AdamStabilityStatus, adam_fields

ALGORITHMS: dict[str, DivergenceName] = {"algorithm1": "kl", "algorithm2": "chi2"}
"""The algorithms of the paper, and the divergence that each is for."""
_TOLERANCE = 1e-6
_HIGHEST = 30.0  # of a log loss: probabilities below the rounding of 1 are cut off


@dataclass(frozen=True, eq=False, kw_only=True)
class ModelAdamStabilityResult(AdamStabilityResult, ModelStabilityResult):
    """Where the paper's gradient steps on the rows of a model and on the price ended.

    It has the fields of `AdamStabilityResult`, and those of `ModelStabilityResult` for the rows where they ended;
    ``exact_value`` is that of the exact route, where the model has one.
    """

    measure: ClassVar[str] = "model_stability_adam"
    title: ClassVar[str] = "Stability by gradient steps"
    higher_is_better: ClassVar[bool] = True

    status: AdamStabilityStatus  # type: ignore[assignment]


def check_algorithm(method: str, divergence: DivergenceName, loss: str) -> None:
    """Refuse an algorithm that is for another divergence, or a loss without gradients.

    Raises
    ------
    ValueError
        If so.
    """
    if divergence != ALGORITHMS[method]:
        raise ValueError(
            describe("divergence", f"{ALGORITHMS[method]!r} for method={method!r}", repr(divergence))
        )
    if loss == "zero_one":
        remedy = "Errors have no gradient to follow."
        raise ValueError(
            describe("loss", f"'log_loss', 'hinge' or 'squared' for method={method!r}", "'zero_one'", remedy)
        )


def take_steps(
    question: Question, threshold: float, method: str, options: Options, sample_weight: Any
) -> tuple[Answer, dict[str, Any]]:
    """Take the steps; return the points they found and the fields of the result.

    Raises
    ------
    ValueError
        If no gradients of the model are known.
    """
    domain, start = question.domain, question.codes
    point_loss, exact = _gradients(question, method)
    low, high = domain.limits(start)
    bounded = bool(np.isfinite(low[:, domain.sliding]).any() or np.isfinite(high[:, domain.sliding]).any())
    unit = np.where(domain.sliding, domain.unit, 0.0)
    fields, run = adam_fields(
        point_loss, start, threshold, unit=unit, options=options, steps=AdamOptions(),
        sample_weight=sample_weight, exact=exact, limits=(low, high) if bounded else None,
    )  # fmt: skip
    points = start + unit * run.moves
    warnings = []
    if domain.movable_flips or math.isfinite(domain.label_flip):
        warnings.append(
            f"Gradient steps leave categories and labels as they are: method={method!r} moves numbers."
        )
    if (domain.sliding & domain.integer).any():
        warnings.append(
            f"Gradient steps move whole numbers by fractions: method={method!r} ignores integer=."
        )
    known = CandidateLoss(
        np.stack([point_loss(start)[0], run.losses], axis=1),
        np.stack([np.zeros(len(start)), np.sqrt(run.squared)], axis=1),
    )
    found = Answer(loss=known, points=lambda rows, distances, choices: points[rows], warnings=tuple(warnings))
    fields["moved_points"] = points if options.keep_rows else None
    return found, fields


def _gradients(question: Question, method: str) -> tuple[PointLoss, Loss | None]:
    """Return the loss of the model with its gradient, and the exact worst cases where they are known."""
    if is_network(question.model):
        if np.isnan(question.codes).any():
            raise ValueError(
                describe(
                    "X",
                    f"free of missing cells for a network and method={method!r}",
                    "some",
                    'Use method="auto".',
                )
            )
        return _of_network(question), None
    linear = LinearRoute().accepts(question.model, question.loss)
    scores = AdditiveScores.of(question) if linear else None
    if scores is not None:
        point_loss = _of_scores(question, scores)
        own, formula = question.losses(question.codes, slice(None)), point_loss(question.codes)[0]
        if question.loss == "log_loss":
            own, formula = np.minimum(own, _HIGHEST), np.minimum(formula, _HIGHEST)
        if np.allclose(own, formula, rtol=_TOLERANCE, atol=_TOLERANCE):
            _, best = answer(question)
            return point_loss, best.loss if best.kind == "exact" else None
    raise ValueError(
        describe(
            "model",
            f"linear or a torch module for method={method!r}",
            f"a {type(question.model).__name__} whose gradients are not known",
            'Use method="auto".',
        )
    )


def _of_scores(question: Question, scores: AdditiveScores) -> PointLoss:
    """Return the loss of scores that are a sum over columns."""
    y, everyone = question.y, np.arange(question.n_samples)
    weights = scores.weights.T
    slope: Callable[[FloatArray], tuple[FloatArray, FloatArray]]
    if question.loss == "squared":

        def slope(values: FloatArray) -> tuple[FloatArray, FloatArray]:
            residuals = values[:, 0] - y
            return residuals * residuals, 2.0 * residuals[:, None]

    elif question.loss == "hinge":

        def slope(values: FloatArray) -> tuple[FloatArray, FloatArray]:
            rivals = values.copy()
            rivals[everyone, y] = -np.inf
            best = rivals.argmax(axis=1)
            losses = np.maximum(1.0 + rivals[everyone, best] - values[everyone, y], 0.0)
            change = np.zeros_like(values)
            change[everyone, best], change[everyone, y] = 1.0, -1.0
            return losses, change * (losses > 0.0)[:, None]

    else:

        def slope(values: FloatArray) -> tuple[FloatArray, FloatArray]:
            values = values - values.max(axis=1, keepdims=True)
            odds = np.exp(values)
            total = odds.sum(axis=1)
            change = odds / total[:, None]
            change[everyone, y] -= 1.0
            return np.log(total) - values[everyone, y], change

    def point_loss(points: FloatArray) -> tuple[FloatArray, FloatArray]:
        losses, change = slope(scores(points, question))
        return np.asarray(losses), np.where(np.isnan(points), 0.0, change @ weights)

    return point_loss


def _of_network(question: Question) -> PointLoss:
    """Return the loss of a torch module."""
    import torch

    from shiftmetrics.models.networks.ascent import LOSSES
    from shiftmetrics.models.networks.module import Network

    network = Network(
        question.model, classifies=question.classes is not None, row_shape=question.table.row_shape
    )
    labels = network.tensor(question.y)
    y = labels if question.loss == "squared" else labels.long()
    row_loss = LOSSES[question.loss]

    def point_loss(points: FloatArray) -> tuple[FloatArray, FloatArray]:
        question.count.rows += len(points)
        with network.evaluating(), torch.enable_grad():
            there = network.tensor(points).requires_grad_()
            losses = row_loss(network(there), y)
            (gradient,) = torch.autograd.grad(losses.sum(), there)
        return losses.detach().cpu().numpy(), gradient.cpu().numpy()

    return point_loss
