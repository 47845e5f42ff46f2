"""Decoupled direction and norm: gradient steps turn a move, and its length is set apart (arXiv:1811.09600)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from shiftmetrics._core.validation import check_integer, check_number
from shiftmetrics.attacks.geometry import cosine, row_norm, steepest
from shiftmetrics.attacks.inputs import Bounds
from shiftmetrics.attacks.losses import margin_loss, smooth_margin_loss
from shiftmetrics.attacks.options import shared_options
from shiftmetrics.attacks.problem import Problem
from shiftmetrics.attacks.result import AttackResult
from shiftmetrics.attacks.search import (
    Nearest,
    NearestSearch,
    attack_in_batches,
    first_radius,
    search_nearest,
)


@shared_options
def ddn(
    model: Any,
    X: Any,
    y: Any,
    *,
    bounds: Bounds = None,
    feature_costs: Any = None,
    frozen: Any = None,
    n_steps: int = 100,
    radius_step: float = 0.05,
    restarts: int = 1,
    batch_size: int | None = None,
    rng: Any = None,
    progress: bool = True,
) -> AttackResult:
    """Find the nearest error of each row in l2: decoupled direction and norm (arXiv:1811.09600).

    Each step turns the move along the gradient of the cross-entropy (of the smooth margin, which has the same
    direction and does not vanish where the model is sure), then sets its length: a little shorter after an
    error, a little longer after none. Steps are shares of the length and the first length is the first-order
    distance, so that nothing depends on the scale of the inputs (the paper's are fixed, for images in [0, 1]).

    Parameters
    ----------
    {subject}
    {options}
    n_steps : int, default 100
        Gradient steps of a run.
    radius_step : float, default 0.05
        By how much a step changes the length, as a share.
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
    >>> from shiftmetrics.attacks import ddn
    >>> def model(x):
    ...     return torch.stack([3 * x[:, 0] + 4 * x[:, 1], torch.ones(len(x))], dim=1)
    >>> ddn(model, [[1.0, 0.0]], [0]).distance.round(2)  # (3 - 1) / 5
    array([0.4])
    >>> ddn(model, [[1.0, 0.0]], [0], frozen=[False, True]).distance.round(2)  # (3 - 1) / 3
    array([0.67])
    """
    run = ddn_search(
        check_integer(n_steps, "n_steps", low=1),
        check_number(radius_step, "radius_step", low=0.0, high=1.0, open_low=True, open_high=True),
    )
    return attack_in_batches(
        search_nearest([run], restarts=check_integer(restarts, "restarts", low=1)),
        model,
        X,
        y,
        name="ddn",
        norm="l2",
        bounds=bounds,
        feature_costs=feature_costs,
        frozen=frozen,
        batch_size=batch_size,
        rng=rng,
        progress=progress,
        n_steps=n_steps,
        radius_step=radius_step,
        restarts=restarts,
    )


def ddn_search(n_steps: int, radius_step: float = 0.05) -> NearestSearch:
    """Return one run of the attack (arXiv:1811.09600, Algorithm 1)."""

    def run(problem: Problem, nearest: Nearest, start: Tensor) -> None:
        move = start
        radius = torch.where(nearest.found, nearest.norm, first_radius(problem))
        for step in range(n_steps):
            _, gradient, logits = problem.gradient(move, smooth_margin_loss)
            value = margin_loss(logits, problem.y)
            gradient = problem.within(gradient, move)
            wrong = value > 0
            nearest.update(move, wrong)
            length = cosine(step, n_steps, 1.0, 0.01) * radius
            move = move + steepest(gradient, "l2") * length[:, None]
            radius = radius * torch.where(wrong, 1.0 - radius_step, 1.0 + radius_step)
            radius = torch.minimum(radius, problem.reach())
            turned = row_norm(move, "l2").clamp_min(torch.finfo(move.dtype).tiny)
            move = problem.clip(move * (radius / turned)[:, None])
        nearest.update(move, problem.margins(move) > 0)

    return run
