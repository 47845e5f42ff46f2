"""Attacks of other libraries, or your own: one method, ``attack(model, x, y) -> x_adv``."""

from __future__ import annotations

import warnings
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from shiftmetrics._core.validation import describe
from shiftmetrics.attacks.geometry import Norm
from shiftmetrics.attacks.inputs import Bounds
from shiftmetrics.attacks.options import shared_options
from shiftmetrics.attacks.problem import Problem
from shiftmetrics.attacks.result import AttackResult
from shiftmetrics.attacks.search import attack_in_batches


@runtime_checkable
class Attack(Protocol):
    """Anything that can be called as ``attack(model, x, y)`` and returns the adversarial inputs.

    The attacks of this package are such attacks once their options are set:
    ``functools.partial(pgd, strength=0.1)``.
    """

    def __call__(self, model: Any, x: Any, y: Any, /) -> Any:
        """Return adversarial inputs in the shape of ``x``, or an `AttackResult`."""


@shared_options
def run_attack(
    attack: Attack,
    model: Any,
    X: Any,
    y: Any,
    *,
    norm: Norm = "l2",
    bounds: Bounds = None,
    feature_costs: Any = None,
    frozen: Any = None,
    batch_size: int | None = None,
    rng: Any = None,
    progress: bool = True,
) -> AttackResult:
    """Run any attack and recompute what it did: distances in this norm and metric, and errors of this model.

    Inputs that the attack left outside the bounds, or moved in frozen features, are put back first, with a
    warning: only allowed moves count.

    Parameters
    ----------
    attack : callable
        ``attack(model, x, y) -> x_adv``, called with tensors batch by batch; see `Attack`.
    {subject}
    norm : {"l2", "linf"}, default "l2"
        Norm in which the distances are reported.
    {options}

    Returns
    -------
    {result}

    Raises
    ------
    {errors}

    Examples
    --------
    >>> import torch
    >>> from shiftmetrics.attacks import run_attack
    >>> def fade(model, x, y):
    ...     return 0.5 * x
    >>> result = run_attack(fade, torch.nn.Identity(), torch.tensor([[3.0, 4.0]]), [1])
    >>> result.distance, result.success
    (array([2.5]), array([False]))
    """
    name = getattr(attack, "name", None) or getattr(attack, "__name__", None) or type(attack).__name__
    if not callable(attack):
        raise TypeError(describe("attack", "a callable (model, x, y) -> x_adv", repr(attack)))

    def search(problem: Problem, rows: slice, generator: torch.Generator) -> Tensor:
        found = attack(model, problem.x, problem.y)
        x_adv = torch.as_tensor(found.x_adv if isinstance(found, AttackResult) else found).detach()
        if x_adv.shape != problem.x.shape or not bool(torch.isfinite(x_adv).all()):
            got = (
                f"shape {tuple(x_adv.shape)}"
                if x_adv.shape != problem.x.shape
                else "values that are not finite"
            )
            raise ValueError(
                describe(
                    "attack", f"a function that returns finite inputs of shape {tuple(problem.x.shape)}", got
                )
            )
        step = (x_adv.to(problem.x) - problem.x).flatten(1)
        move = step if problem.scale is None else step * problem.scale
        allowed = problem.clip(move)
        excess = (allowed - move).abs().amax() if move.numel() else 0.0
        if float(excess) > 1e-4 * float(move.abs().amax()):
            warnings.warn(
                f"{name} returned inputs outside the bounds, or moved frozen features, by up to {float(excess):.3g}; "
                "they were put back. Give the attack the same bounds.",
                UserWarning,
                stacklevel=2,
            )
        return allowed

    return attack_in_batches(
        search,
        model,
        X,
        y,
        name=str(name),
        norm=norm,
        bounds=bounds,
        feature_costs=feature_costs,
        frozen=frozen,
        batch_size=batch_size,
        rng=rng,
        progress=progress,
        keep_length=True,
        needs_gradient=False,
    )
