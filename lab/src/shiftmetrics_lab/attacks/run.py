"""Attacks of other libraries, with distances and errors recomputed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics.attacks.geometry import Norm
from shiftmetrics.attacks.problem import AttackOptions, AttackProblem
from shiftmetrics.attacks.search import AttackResult, run_search


def run_attack(
    attack: Callable[[Any, Any, Any], Any],
    model: Any,
    X: Any,
    y: Any,
    *,
    norm: Norm = "l2",
    options: AttackOptions | None = None,
) -> AttackResult:
    """Run any attack and recompute its result: distances in this norm and metric, and errors of this model.

    Inputs that the attack left outside the bounds, or changed in frozen features, are put back first, with a
    warning: only allowed changes count.

    Parameters
    ----------
    attack : callable
        ``attack(model, x, y) -> x_adv``, called with tensors batch by batch. The attacks of this package fit
        once their options are set: ``functools.partial(pgd, strength=0.1)``.
    model, X, y
        The model and its rows; see `pgd`.
    norm : {"l2", "linf"}, default "l2"
        Norm in which the distances are reported.
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
    >>> from shiftmetrics_lab.attacks import run_attack
    >>> def fade(model, x, y):
    ...     return 0.5 * x
    >>> result = run_attack(fade, torch.nn.Identity(), torch.tensor([[3.0, 4.0]]), [1])
    >>> result.distance, result.success
    (array([2.5]), array([False]))
    """
    name = getattr(attack, "__name__", type(attack).__name__)
    if not callable(attack):
        raise ArgumentTypeError("attack", "a callable (model, x, y) -> x_adv", value=attack)

    def search(problem: AttackProblem, generator: torch.Generator) -> Tensor:
        result = attack(model, problem.x, problem.y)
        x_adv = torch.as_tensor(
            result.x_adv if isinstance(result, AttackResult) else result
        ).detach()
        shape = tuple(problem.x.shape)
        if tuple(x_adv.shape) != shape or not bool(torch.isfinite(x_adv).all()):
            got = (
                "values that are not finite"
                if x_adv.shape == shape
                else f"shape {tuple(x_adv.shape)}"
            )
            raise ArgumentValueError(
                "attack", f"a function that returns finite inputs of shape {shape}", got
            )
        step = (x_adv.to(problem.x) - problem.x).flatten(1)
        move = step * problem.scale
        allowed = problem.clip(move)
        excess = float((allowed - move).abs().amax())
        if excess > 1e-4 * float(move.abs().amax()):
            warnings.warn(
                f"{name} returned inputs outside the bounds, or changed frozen features, by up to {excess:.3g}; "
                "they were put back. Give the attack the same bounds.",
                UserWarning,
                stacklevel=4,
            )
        return allowed

    return run_search(
        search, model, X, y, name=str(name), norm=norm, options=options, needs_gradient=False
    )  # fmt: skip
