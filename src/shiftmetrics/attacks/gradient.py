"""Attacks of a given strength by gradient steps of fixed length: FGSM and PGD."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from shiftmetrics._core.validation import check_choice, check_integer, check_number
from shiftmetrics.attacks.geometry import Norm, project_ball, steepest
from shiftmetrics.attacks.inputs import Bounds
from shiftmetrics.attacks.losses import MIN_CLASSES, ROW_LOSSES, LossName, margin_loss
from shiftmetrics.attacks.options import shared_options
from shiftmetrics.attacks.problem import Problem
from shiftmetrics.attacks.result import AttackResult
from shiftmetrics.attacks.search import Worst, attack_in_batches


@shared_options
def fgsm(
    model: Any,
    X: Any,
    y: Any,
    *,
    strength: Any,
    norm: Norm = "linf",
    bounds: Bounds = None,
    feature_costs: Any = None,
    frozen: Any = None,
    loss: LossName = "ce",
    batch_size: int | None = None,
    rng: Any = None,
    progress: bool = True,
) -> AttackResult:
    """Move each row once by ``strength`` along its steepest ascent: the fast gradient sign method (arXiv:1412.6572).

    Parameters
    ----------
    {subject}
    strength : float or array of shape (n_samples,)
        Length of the move, in the norm; 0 is the identity.
    norm : {"linf", "l2"}, default "linf"
        "linf" moves by the sign of the gradient.
    {options}
    loss : {"ce", "dlr", "margin"}, default "ce"
        What the move raises.

    Returns
    -------
    {result}

    Raises
    ------
    {errors}

    Examples
    --------
    >>> import torch
    >>> from shiftmetrics.attacks import fgsm
    >>> def model(x):
    ...     return torch.stack([x[:, 0] + x[:, 1], 1 - x[:, 0]], dim=1)
    >>> fgsm(model, [[0.5, 0.1]], [0], strength=0.1).x_adv.round(3).tolist()
    [[0.4..., 0.0]]
    """
    check_choice(loss, "loss", tuple(ROW_LOSSES))

    def search(problem: Problem, rows: slice, generator: torch.Generator) -> Tensor:
        _, gradient, _ = problem.gradient(problem.zeros(), ROW_LOSSES[loss])
        gradient = problem.within(gradient, problem.zeros())
        return problem.clip(steepest(gradient, norm) * problem.radius[:, None])

    return attack_in_batches(
        search,
        model,
        X,
        y,
        name="fgsm",
        norm=norm,
        bounds=bounds,
        feature_costs=feature_costs,
        frozen=frozen,
        batch_size=batch_size,
        rng=rng,
        progress=progress,
        strength=strength,
        min_classes=MIN_CLASSES[loss],
        loss=loss,
    )


@shared_options
def pgd(
    model: Any,
    X: Any,
    y: Any,
    *,
    strength: Any,
    norm: Norm = "linf",
    bounds: Bounds = None,
    feature_costs: Any = None,
    frozen: Any = None,
    loss: LossName = "ce",
    n_steps: int = 40,
    step_size: float | None = None,
    restarts: int = 1,
    random_start: bool = True,
    early_stop: bool = False,
    batch_size: int | None = None,
    rng: Any = None,
    progress: bool = True,
) -> AttackResult:
    """Raise the loss within a ball by projected gradient steps (arXiv:1706.06083).

    Kept for each row is the best point met on the way: an error before no error, then the higher loss. So more
    restarts never make the attack weaker.

    Parameters
    ----------
    {subject}
    strength : float or array of shape (n_samples,)
        Radius of the ball, in the norm; 0 is the identity.
    norm : {"linf", "l2"}, default "linf"
        Norm of the ball.
    {options}
    loss : {"ce", "dlr", "margin"}, default "ce"
        What the steps raise: cross-entropy, the difference-of-logits ratio, or the margin of the logits.
    n_steps : int, default 40
        Gradient steps of a run.
    step_size : float, optional
        Length of a step as a share of the strength. Default: ``2.5 / n_steps``.
    restarts : int, default 1
        Runs, each from another random start.
    random_start : bool, default True
        Whether the first run, too, starts at a random point of the ball; later ones always do.
    early_stop : bool, default False
        Whether a row is left alone as soon as it is an error. Faster, and enough for accuracy under attack; not
        for measures that look at the scores, which want the strongest move.

    Returns
    -------
    {result}

    Raises
    ------
    {errors}

    Examples
    --------
    >>> import torch
    >>> from shiftmetrics.attacks import pgd
    >>> def model(x):
    ...     return torch.stack([x.square().sum(1), torch.ones(len(x))], dim=1)
    >>> result = pgd(model, [[0.9, 0.9], [2.0, 0.1]], [0, 0], strength=0.4, norm="l2", rng=0)
    >>> result.success
    array([ True, False])
    """
    check_choice(loss, "loss", tuple(ROW_LOSSES))
    n_steps = check_integer(n_steps, "n_steps", low=1)
    restarts = check_integer(restarts, "restarts", low=1)
    row_loss = ROW_LOSSES[loss]
    share = (
        2.5 / n_steps if step_size is None else check_number(step_size, "step_size", low=0.0, open_low=True)
    )

    def search(problem: Problem, rows: slice, generator: torch.Generator) -> Tensor:
        worst = Worst(problem)
        for restart in range(restarts):
            active = worst.rows_to_attack(early_stop)
            part = problem if active is None else problem.take(active)
            move = part.zeros()
            if random_start or restart:
                move = part.random(part.radius, generator)
            for _ in range(n_steps):
                if not part.n_samples:
                    break
                value, gradient, logits = part.gradient(move, row_loss)
                going = worst.update(active, move, value, margin_loss(logits, part.y))
                if early_stop and not bool(going.all()):
                    active = worst.rows_to_attack(early_stop)
                    part, move, gradient = part.take(going), move[going], gradient[going]
                if norm == "l2":  # signs are clipped for nothing, lengths are not
                    gradient = part.within(gradient, move)
                move = move + steepest(gradient, norm) * (share * part.radius)[:, None]
                move = part.clip(project_ball(move, part.radius, norm))
            if part.n_samples:
                logits = part.logits(move)
                worst.update(active, move, row_loss(logits, part.y), margin_loss(logits, part.y))
        return worst.move

    return attack_in_batches(
        search,
        model,
        X,
        y,
        name="pgd",
        norm=norm,
        bounds=bounds,
        feature_costs=feature_costs,
        frozen=frozen,
        batch_size=batch_size,
        rng=rng,
        progress=progress,
        strength=strength,
        min_classes=MIN_CLASSES[loss],
        loss=loss,
        n_steps=n_steps,
        step_size=share,
        restarts=restarts,
        random_start=random_start,
        early_stop=early_stop,
    )
