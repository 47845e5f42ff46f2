"""Fast minimum-norm attack: the radius follows the boundary while steps get shorter (arXiv:2102.12827)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from shiftmetrics._core.validation import check_integer
from shiftmetrics.attacks.geometry import Norm, cosine, project_ball, row_norm, steepest
from shiftmetrics.attacks.inputs import Bounds
from shiftmetrics.attacks.losses import margin_loss, smooth_margin_loss
from shiftmetrics.attacks.options import shared_options
from shiftmetrics.attacks.problem import Problem
from shiftmetrics.attacks.result import AttackResult
from shiftmetrics.attacks.search import (
    Nearest,
    NearestSearch,
    attack_in_batches,
    linear_distance,
    search_nearest,
)


@shared_options
def fmn(
    model: Any,
    X: Any,
    y: Any,
    *,
    norm: Norm = "l2",
    bounds: Bounds = None,
    feature_costs: Any = None,
    frozen: Any = None,
    n_steps: int = 100,
    restarts: int = 1,
    batch_size: int | None = None,
    rng: Any = None,
    progress: bool = True,
) -> AttackResult:
    """Find the nearest error of each row: the fast minimum-norm attack (arXiv:2102.12827).

    The radius is the first-order distance to the boundary until an error is found; then it shrinks a little
    after an error and grows a little after none; steps and changes of the radius fall like a cosine. Steps are
    shares of the radius, so that nothing depends on the scale of the inputs, and go along the gradient of the
    smooth margin, which weighs all classes in reach (the paper's margin sees one at a time).

    Parameters
    ----------
    {subject}
    norm : {"l2", "linf"}, default "l2"
        Norm of the distance.
    {options}
    n_steps : int, default 100
        Gradient steps of a run.
    restarts : int, default 1
        Runs; the first starts at the rows themselves, later ones at random moves.

    Returns
    -------
    {result}

    Raises
    ------
    {errors}

    Examples
    --------
    >>> import torch
    >>> from shiftmetrics.attacks import fmn
    >>> def model(x):
    ...     return torch.stack([3 * x[:, 0] + 4 * x[:, 1], torch.ones(len(x))], dim=1)
    >>> result = fmn(model, [[1.0, 0.0], [0.0, 0.0]], [0, 0])
    >>> result.distance.round(2)  # (3 - 1) / 5, and a row that is wrong where it stands
    array([0.4, 0. ])
    """
    run = fmn_search(check_integer(n_steps, "n_steps", low=1))
    return attack_in_batches(
        search_nearest([run], restarts=check_integer(restarts, "restarts", low=1)),
        model,
        X,
        y,
        name="fmn",
        norm=norm,
        bounds=bounds,
        feature_costs=feature_costs,
        frozen=frozen,
        batch_size=batch_size,
        rng=rng,
        progress=progress,
        n_steps=n_steps,
        restarts=restarts,
    )


def fmn_search(n_steps: int) -> NearestSearch:
    """Return one run of the attack (arXiv:2102.12827, Algorithm 1)."""

    def run(problem: Problem, nearest: Nearest, start: Tensor) -> None:
        move, radius = start, nearest.norm
        for step in range(n_steps):
            _, gradient, logits = problem.gradient(move, smooth_margin_loss)
            value = margin_loss(logits, problem.y)
            gradient = problem.within(gradient, move)
            wrong = value > 0
            nearest.update(move, wrong)
            shrink = cosine(step, n_steps, 0.05, 0.001)
            length = cosine(step, n_steps, 1.0, 0.01)
            # lines 5 to 11: the radius
            estimate = row_norm(move, problem.norm) + linear_distance(value, gradient, problem)
            longer = radius * (1.0 + shrink)
            outside = torch.where(
                nearest.found, longer, torch.maximum(estimate, longer) if step else estimate
            )
            inside = torch.minimum(radius * (1.0 - shrink), nearest.norm)
            radius = torch.where(wrong, inside, outside)
            # lines 12 to 14: the step
            move = move + steepest(gradient, problem.norm) * (length * radius)[:, None]
            move = problem.clip(project_ball(move, radius, problem.norm))
        nearest.update(move, problem.margins(move) > 0)

    return run
