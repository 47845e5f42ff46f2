"""Algorithms 1 and 2 of the stability paper on fitted models whose gradients are known."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import check_choice
from shiftmetrics.models.domain.perturbation import Perturbation, perturbation_of
from shiftmetrics.models.linear import LinearRoute
from shiftmetrics.models.linear.scores import AdditiveScores
from shiftmetrics.models.measures.routes import find_worst_case
from shiftmetrics.models.reading.estimators import is_network
from shiftmetrics.models.reading.model import ModelProblem, problem_of
from shiftmetrics.stability.divergence import DivergenceName
from shiftmetrics.stability.losses import Loss
from shiftmetrics_lab.published.adam import AdamSteps, PointLoss, stability_criterion_adam
from shiftmetrics_lab.result import LabResult

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
    they are, and integers change by fractions.

    Parameters
    ----------
    model, X, y, threshold, theta1, theta2, divergence, sample_weight
        As in `model_stability`.
    loss : {"log_loss", "hinge", "squared"}, default "log_loss"
        What a row loses; errors have no gradient.
    perturbation : Perturbation, optional
        Which columns may change, within which bounds and at what cost.
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
    >>> from shiftmetrics_lab.published import model_stability_adam
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression(max_iter=1000).fit(X[50:], y[50:])
    >>> result = model_stability_adam(model, X[50:], y[50:], 0.5)
    >>> bool(abs(result.value - result.parts["exact_value"]) < 1e-3)
    True
    """
    check_choice(loss, "loss", ("log_loss", "hinge", "squared"))
    problem = problem_of(
        model,
        X,
        y,
        loss=loss,
        theta1=theta1,
        perturbation=perturbation_of(perturbation),
    )
    point_loss, exact = _gradients(problem)
    domain = problem.domain
    low, high = domain.limits(problem.codes)
    bounded = bool(
        np.isfinite(low[:, domain.numeric]).any() or np.isfinite(high[:, domain.numeric]).any()
    )
    result = stability_criterion_adam(
        point_loss,
        problem.codes,
        threshold,
        theta1=theta1,
        theta2=theta2,
        divergence=divergence,
        unit=np.where(domain.numeric, domain.unit, 0.0),
        limits=(low, high) if bounded else None,
        exact=exact,
        sample_weight=sample_weight,
        steps=steps,
        progress=progress,
    )
    warnings = [*domain.warnings, *result.warnings]
    if domain.mutable_flips:
        warnings.append("Gradient steps leave categories as they are.")
    if (domain.numeric & domain.integer).any():
        warnings.append("Gradient steps change integers by fractions.")
    settings = {**result.settings, "loss": loss, "model": type(model).__name__}
    return dataclasses.replace(result, settings=settings, warnings=tuple(warnings))


def _gradients(problem: ModelProblem) -> tuple[PointLoss, Loss | None]:
    """Return the loss of the model with its gradient, and the exact worst cases where they are known.

    Raises
    ------
    ValueError
        If no gradients of the model are known.
    """
    if is_network(problem.model):
        if np.isnan(problem.codes).any():
            raise ArgumentValueError(
                "X", "free of missing cells for the gradient of a network", "some"
            )
        return _of_network(problem), None
    linear = LinearRoute().accepts(problem.model, problem.loss)
    scores = AdditiveScores.of(problem) if linear else None
    if scores is not None:
        point_loss = _of_scores(problem, scores)
        losses, formula = (
            problem.losses(problem.codes, slice(None)),
            point_loss(problem.codes)[0],
        )
        if problem.loss == "log_loss":
            losses, formula = np.minimum(losses, _HIGHEST), np.minimum(formula, _HIGHEST)
        if np.allclose(losses, formula, rtol=_TOLERANCE, atol=_TOLERANCE):
            _, best = find_worst_case(problem)
            return point_loss, best.loss if best.kind == "exact" else None
    got = f"a {type(problem.model).__name__} whose gradients are not known"
    raise ArgumentValueError("model", "linear or a torch module", got, "Use model_stability.")


def _of_scores(problem: ModelProblem, scores: AdditiveScores) -> PointLoss:
    """Return the loss of scores that are a sum over columns."""
    y, everyone = problem.y, np.arange(problem.n_samples)
    weights = scores.weights.T
    slope: Callable[[FloatArray], tuple[FloatArray, FloatArray]]
    if problem.loss == "squared":

        def slope(values: FloatArray) -> tuple[FloatArray, FloatArray]:
            residuals = values[:, 0] - y
            return residuals * residuals, 2.0 * residuals[:, None]

    elif problem.loss == "hinge":

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
        losses, change = slope(scores(points, problem))
        return np.asarray(losses), np.where(np.isnan(points), 0.0, change @ weights)

    return point_loss


def _of_network(problem: ModelProblem) -> PointLoss:
    """Return the loss of a torch module."""
    import torch

    from shiftmetrics.models.networks.ascent import LOSSES
    from shiftmetrics.models.networks.network import Network

    network = Network(problem.model, problem, row_shape=problem.table.row_shape)
    labels = network.tensor(problem.y)
    y = labels if problem.loss == "squared" else labels.long()
    row_loss = LOSSES[problem.loss]

    def point_loss(points: FloatArray) -> tuple[FloatArray, FloatArray]:
        with network.evaluating(), torch.enable_grad():
            there = network.tensor(points).requires_grad_()
            losses = row_loss(network(there), y)
            (gradient,) = torch.autograd.grad(losses.sum(), there)
        return losses.detach().cpu().numpy(), gradient.cpu().numpy()

    return point_loss
