"""Gradient steps of fixed length, FGSM and PGD, and noise to compare them with."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from shiftmetrics._core.validation import check_choice, check_integer
from shiftmetrics.attacks.geometry import Norm, project_ball, row_norm, steepest
from shiftmetrics.attacks.model import margin_loss
from shiftmetrics.attacks.problem import AttackOptions, AttackProblem
from shiftmetrics.attacks.search import AttackResult, run_search
from shiftmetrics_lab.attacks.losses import ATTACK_LOSSES, AttackLoss


def fgsm(
    model: Any,
    X: Any,
    y: Any,
    *,
    strength: Any,
    norm: Norm = "linf",
    loss: AttackLoss = "ce",
    options: AttackOptions | None = None,
) -> AttackResult:
    """Move each row by ``strength`` along its steepest ascent: the fast gradient sign method (arXiv:1412.6572).

    Parameters
    ----------
    model, X, y
        The model and its rows; see `pgd`.
    strength : float or array of shape (n_samples,)
        Length of the perturbation, in the norm; 0 is the identity.
    norm : {"linf", "l2"}, default "linf"
        "linf" goes by the sign of the gradient.
    loss : {"ce", "dlr", "margin"}, default "ce"
        What the perturbation raises.
    options : AttackOptions, optional
        Bounds, feature costs, frozen features, batch size, seed and progress bar.

    Returns
    -------
    AttackResult
        ``x_adv``, ``distance`` and ``success``, recomputed from the model at the end.

    Raises
    ------
    TypeError, ValueError
        As in `pgd`.

    Examples
    --------
    >>> import torch
    >>> from shiftmetrics_lab.attacks import fgsm
    >>> def model(x):
    ...     return torch.stack([x[:, 0] + x[:, 1], 1 - x[:, 0]], dim=1)
    >>> fgsm(model, [[0.5, 0.1]], [0], strength=0.1).x_adv.round(3).tolist()
    [[0.4..., 0.0]]
    """
    check_choice(loss, "loss", tuple(ATTACK_LOSSES))

    def search(problem: AttackProblem, generator: torch.Generator) -> Tensor:
        _, gradient, _ = problem.gradient(problem.zeros(), ATTACK_LOSSES[loss])
        gradient = problem.within(gradient, problem.zeros())
        return problem.clip(steepest(gradient, norm) * problem.radius[:, None])

    return run_search(
        search, model, X, y, name="fgsm", norm=norm, options=options, strength=strength,
        loss=loss,
    )  # fmt: skip


def pgd(
    model: Any,
    X: Any,
    y: Any,
    *,
    strength: Any,
    norm: Norm = "linf",
    loss: AttackLoss = "ce",
    n_steps: int = 40,
    restarts: int = 1,
    early_stop: bool = False,
    options: AttackOptions | None = None,
) -> AttackResult:
    """Raise the loss within a ball by projected gradient steps (arXiv:1706.06083).

    Kept for each row is the best point met on the way: an error before no error, then the higher loss. So more
    restarts never make the attack weaker.

    Parameters
    ----------
    model : callable
        Maps a tensor of inputs to logits of shape (n_samples, n_classes). A ``torch.nn.Module`` is attacked in
        evaluation mode and put back into its previous mode; gradients of parameters are left alone.
    X : Tensor or array of shape (n_samples, ...)
        Inputs of any shape, float32 or float64. Arrays become tensors of the model's dtype (of torch's default
        dtype for a model that is no module).
    y : array of shape (n_samples,)
        The labels: integers from 0 to n_classes - 1.
    strength : float or array of shape (n_samples,)
        Radius of the ball, in the norm; 0 is the identity.
    norm : {"linf", "l2"}, default "linf"
        Norm of the ball.
    loss : {"ce", "dlr", "margin"}, default "ce"
        What the steps raise: cross-entropy, the difference-of-logits ratio, or the margin of the logits.
    n_steps : int, default 40
        Gradient steps of a run, each of the length ``2.5 / n_steps`` times the strength.
    restarts : int, default 1
        Runs, each from another random start.
    early_stop : bool, default False
        Whether a row is left alone as soon as it is an error. Faster, and enough for accuracy under attack; not
        for measures that look at the scores, which want the strongest perturbation.
    options : AttackOptions, optional
        Bounds, feature costs, frozen features, batch size, seed and progress bar.

    Returns
    -------
    AttackResult
        ``x_adv``, ``distance`` and ``success``, recomputed from the model at the end.

    Raises
    ------
    TypeError
        If the model cannot be called, is not differentiable in its input, or an argument is of the wrong type.
    ValueError
        If inputs lie outside the bounds, labels are no classes of the model, shapes do not fit, or the model
        returns probabilities; the message gives the values.

    Examples
    --------
    >>> import torch
    >>> from shiftmetrics_lab.attacks import pgd
    >>> def model(x):
    ...     return torch.stack([x.square().sum(1), torch.ones(len(x))], dim=1)
    >>> result = pgd(model, [[0.9, 0.9], [2.0, 0.1]], [0, 0], strength=0.4, norm="l2")
    >>> result.success
    array([ True, False])
    """
    check_choice(loss, "loss", tuple(ATTACK_LOSSES))
    n_steps = check_integer(n_steps, "n_steps", low=1)
    restarts = check_integer(restarts, "restarts", low=1)
    row_loss = ATTACK_LOSSES[loss]

    def search(problem: AttackProblem, generator: torch.Generator) -> Tensor:
        worst = Worst(problem)
        for _ in range(restarts):
            rows = worst.rows_to_attack(early_stop)
            part = problem.take(rows)
            move = part.random(part.radius, generator)
            for _ in range(n_steps):
                if not part.n_samples:
                    break
                value, gradient, logits = part.gradient(move, row_loss)
                going = worst.update(rows, move, value, margin_loss(logits, part.y))
                if early_stop and not bool(going.all()):
                    rows, part, move, gradient = (
                        rows[going],
                        part.take(going),
                        move[going],
                        gradient[going],
                    )
                if norm == "l2":  # clipping a sign loses nothing, clipping a length does
                    gradient = part.within(gradient, move)
                move = move + steepest(gradient, norm) * (2.5 / n_steps * part.radius)[:, None]
                move = part.clip(project_ball(move, part.radius, norm))
            if part.n_samples:
                logits = part.logits(move)
                worst.update(rows, move, row_loss(logits, part.y), margin_loss(logits, part.y))
        return worst.move

    return run_search(
        search, model, X, y, name="pgd", norm=norm, options=options, strength=strength,
        loss=loss, n_steps=n_steps, restarts=restarts, early_stop=early_stop,
    )  # fmt: skip


def noise(
    model: Any,
    X: Any,
    y: Any,
    *,
    strength: Any,
    norm: Norm = "linf",
    options: AttackOptions | None = None,
) -> AttackResult:
    """Perturb each row by ``strength`` in a random direction: noise of the same norm as an attack.

    Pass the ``distance`` of an attack as ``strength`` to give each row noise as long as its adversarial one. Inside
    bounds the direction is bent so that the length is kept where the bounds leave room for it. The model needs
    no gradient.

    Parameters
    ----------
    model, X, y
        The model and its rows; see `pgd`.
    strength : float or array of shape (n_samples,)
        Length of the perturbation, in the norm; 0 is the identity.
    norm : {"linf", "l2"}, default "linf"
        "l2" takes a Gaussian direction; "linf" changes every feature by the strength, up or down.
    options : AttackOptions, optional
        Bounds, feature costs, frozen features, batch size, seed and progress bar.

    Returns
    -------
    AttackResult
        ``x_adv``, ``distance`` and ``success``, recomputed from the model at the end.

    Raises
    ------
    TypeError, ValueError
        As in `pgd`.

    Examples
    --------
    >>> import torch
    >>> from shiftmetrics.attacks import AttackOptions
    >>> from shiftmetrics_lab.attacks import noise
    >>> box = AttackOptions(bounds=(0, 1))
    >>> result = noise(lambda x: x, torch.full((2, 3), 0.9), [0, 1], strength=[0.1, 0.2], options=box)
    >>> result.distance.round(3)
    array([0.1, 0.2])
    """

    def search(problem: AttackProblem, generator: torch.Generator) -> Tensor:
        direction = torch.empty_like(problem.zeros()).normal_(generator=generator)
        direction = steepest(direction * problem.free, norm)
        low, high = problem.box
        if norm == "linf":
            # up where the bounds leave no room below, and down where they leave none above
            direction = torch.where(high < problem.radius[:, None], -direction.abs(), direction)
            direction = torch.where(-low < problem.radius[:, None], direction.abs(), direction)
        return _stretch(problem, direction)

    return run_search(
        search,
        model,
        X,
        y,
        name="noise",
        norm=norm,
        options=options,
        strength=strength,
        needs_gradient=False,
    )


def _stretch(problem: AttackProblem, direction: Tensor) -> Tensor:
    """Return the clipped multiple of each direction whose length is the radius, or the longest there is."""
    low, high = torch.zeros_like(problem.radius), problem.radius.clone()
    for _ in range(
        40
    ):  # double until the clipped perturbation is long enough, or nothing changes any more
        short = row_norm(problem.clip(direction * high[:, None]), problem.norm) < problem.radius
        if not bool(short.any()):
            break
        high = torch.where(short, 2.0 * high, high)
    for _ in range(40):
        middle = 0.5 * (low + high)
        short = row_norm(problem.clip(direction * middle[:, None]), problem.norm) < problem.radius
        low, high = torch.where(short, middle, low), torch.where(short, high, middle)
    return problem.clip(direction * high[:, None])


class Worst:
    """The strongest perturbation so far for each row: an error before no error, then the higher loss."""

    def __init__(self, problem: AttackProblem) -> None:
        self.move = problem.zeros()
        self.value = torch.full_like(self.move[:, 0], -torch.inf)
        self.wrong = torch.zeros_like(self.value, dtype=torch.bool)

    def rows_to_attack(self, early_stop: bool) -> Tensor:
        """Return the rows to attack: with ``early_stop``, those that are not errors yet."""
        return (~(self.wrong & early_stop)).nonzero()[:, 0]

    def update(self, rows: Tensor, move: Tensor, value: Tensor, margin: Tensor) -> Tensor:
        """Keep the ``move`` of ``rows`` where it is stronger; return where it is not an error."""
        wrong = margin > 0
        better = torch.where(wrong == self.wrong[rows], value > self.value[rows], wrong)
        rows = rows[better]
        self.move[rows], self.value[rows], self.wrong[rows] = (
            move[better],
            value[better],
            wrong[better],
        )
        return ~wrong
