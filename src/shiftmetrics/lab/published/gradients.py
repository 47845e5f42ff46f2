"""Algorithms 1 and 2 of the stability paper on fitted models whose gradients are known."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.validation import check_choice, describe
from shiftmetrics.lab.published.adam import AdamSteps, PointLoss, stability_criterion_adam
from shiftmetrics.lab.result import LabResult
from shiftmetrics.models.linear import LinearRoute
from shiftmetrics.models.linear.scores import AdditiveScores
from shiftmetrics.models.outputs import is_network
from shiftmetrics.models.perturbation import Perturbation, perturbation_of
from shiftmetrics.models.question import Question, question_of
from shiftmetrics.models.route import answer
from shiftmetrics.stability.divergence import DivergenceName
from shiftmetrics.stability.losses import Loss

GradientLossName = Literal["log_loss", "hinge", "squared"]
_TOLERANCE = 1e-6
_HIGHEST = 30.0  # of a log loss: probabilities below the rounding of 1 are cut off


def model_stability_adam(
    model: Any,
    X: Any,
    y: Any,
    threshold: float,
    *,
    loss: GradientLossName = "log_loss",
    theta1: float = 0.4,
    theta2: float = 0.4,
    divergence: DivergenceName = "kl",
    perturbation: Perturbation | None = None,
    sample_weight: Any = None,
    steps: AdamSteps | None = None,
    progress: bool = True,
) -> LabResult:
    """Stability of a model as the paper computes it: Adam on the numbers of each row, and on the dual price.

    For comparison with `model_stability`. It takes linear models and torch modules. Categories and labels stay as
    they are, and whole numbers move by fractions.

    Parameters
    ----------
    model, X, y, threshold, theta1, theta2, divergence, sample_weight
        As in `model_stability`.
    loss : {"log_loss", "hinge", "squared"}, default "log_loss"
        What a row loses; errors have no gradient.
    perturbation : Perturbation, optional
        Which columns may move, within which bounds and at what cost.
    steps : AdamSteps, optional
        How many steps, and how long.
    progress : bool, default True
        Whether to show a progress bar for work of more than two seconds.

    Returns
    -------
    LabResult
        As from `stability_criterion_adam`; ``exact_value`` is that of the exact route, where the model has one.

    Raises
    ------
    TypeError, ValueError
        As in `model_stability`, and if no gradients of the model are known.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from shiftmetrics.lab.published import model_stability_adam
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression(max_iter=1000).fit(X[50:], y[50:])
    >>> result = model_stability_adam(model, X[50:], y[50:], 0.5)
    >>> bool(abs(result.value - result.parts["exact_value"]) < 1e-3)
    True
    """
    check_choice(loss, "loss", ("log_loss", "hinge", "squared"))
    question = question_of(
        model,
        X,
        y,
        loss=loss,
        theta1=theta1,
        theta2=theta2,
        perturbation=perturbation_of(perturbation),
    )
    point_loss, exact = _gradients(question)
    domain = question.domain
    low, high = domain.limits(question.codes)
    bounded = bool(
        np.isfinite(low[:, domain.sliding]).any() or np.isfinite(high[:, domain.sliding]).any()
    )
    result = stability_criterion_adam(
        point_loss,
        question.codes,
        threshold,
        theta1=theta1,
        theta2=theta2,
        divergence=divergence,
        unit=np.where(domain.sliding, domain.unit, 0.0),
        limits=(low, high) if bounded else None,
        exact=exact,
        sample_weight=sample_weight,
        steps=steps,
        progress=progress,
    )
    warnings = [*domain.warnings, *result.warnings]
    if domain.movable_flips:
        warnings.append("Gradient steps leave categories as they are.")
    if (domain.sliding & domain.integer).any():
        warnings.append("Gradient steps move whole numbers by fractions.")
    settings = {**result.settings, "loss": loss, "model": type(model).__name__}
    return dataclasses.replace(result, settings=settings, warnings=tuple(warnings))


def _gradients(question: Question) -> tuple[PointLoss, Loss | None]:
    """Return the loss of the model with its gradient, and the exact worst cases where they are known.

    Raises
    ------
    ValueError
        If no gradients of the model are known.
    """
    if is_network(question.model):
        if np.isnan(question.codes).any():
            raise ValueError(
                describe("X", "free of missing cells for the gradient of a network", "some")
            )
        return _of_network(question), None
    linear = LinearRoute().accepts(question.model, question.loss)
    scores = AdditiveScores.of(question) if linear else None
    if scores is not None:
        point_loss = _of_scores(question, scores)
        losses, formula = (
            question.losses(question.codes, slice(None)),
            point_loss(question.codes)[0],
        )
        if question.loss == "log_loss":
            losses, formula = np.minimum(losses, _HIGHEST), np.minimum(formula, _HIGHEST)
        if np.allclose(losses, formula, rtol=_TOLERANCE, atol=_TOLERANCE):
            _, best = answer(question)
            return point_loss, best.loss if best.kind == "exact" else None
    got = f"a {type(question.model).__name__} whose gradients are not known"
    raise ValueError(describe("model", "linear or a torch module", got, "Use model_stability."))


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

    from shiftmetrics.models.networks.climb import LOSSES
    from shiftmetrics.models.networks.network import Network

    network = Network(question.model, question, row_shape=question.table.row_shape)
    labels = network.tensor(question.y)
    y = labels if question.loss == "squared" else labels.long()
    row_loss = LOSSES[question.loss]

    def point_loss(points: FloatArray) -> tuple[FloatArray, FloatArray]:
        with network.evaluating(), torch.enable_grad():
            there = network.tensor(points).requires_grad_()
            losses = row_loss(network(there), y)
            (gradient,) = torch.autograd.grad(losses.sum(), there)
        return losses.detach().cpu().numpy(), gradient.cpu().numpy()

    return point_loss
