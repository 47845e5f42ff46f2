"""Auto-PGD: gradient steps with momentum whose length halves when progress stalls (arXiv:2003.01690)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import torch
from torch import Tensor

from shiftmetrics._core.validation import check_choice, check_integer
from shiftmetrics.attacks.geometry import Norm, project_ball, steepest
from shiftmetrics.attacks.model import RowLoss, margin_loss
from shiftmetrics.attacks.problem import AttackOptions, AttackProblem
from shiftmetrics.attacks.search import AttackResult, run_search
from shiftmetrics_lab.attacks.gradient import Worst
from shiftmetrics_lab.attacks.losses import (
    ATTACK_LOSSES,
    targeted_difference_of_logits_ratio,
)

_RHO = 0.75  # fraction of steps that must raise the loss
_MOMENTUM = 0.75


def apgd(
    model: Any,
    X: Any,
    y: Any,
    *,
    strength: Any,
    norm: Norm = "linf",
    loss: Literal["ce", "dlr", "dlr-targeted"] = "ce",
    n_steps: int = 100,
    restarts: int = 1,
    n_targets: int = 9,
    early_stop: bool = False,
    options: AttackOptions | None = None,
) -> AttackResult:
    """Raise the loss within a ball by steps of adaptive length: Auto-PGD (arXiv:2003.01690).

    Parameters
    ----------
    model, X, y
        The model and its rows; see `pgd`.
    strength : float or array of shape (n_samples,)
        Radius of the ball, in the norm; 0 is the identity.
    norm : {"linf", "l2"}, default "linf"
        Norm of the ball.
    loss : {"ce", "dlr", "dlr-targeted"}, default "ce"
        Cross-entropy; the difference-of-logits ratio (three classes or more); or that ratio towards each of
        the ``n_targets`` classes next to the label in turn (four classes or more), the strongest of them.
    n_steps : int, default 100
        Gradient steps of a run.
    restarts : int, default 1
        Runs (of each target), each from another random start.
    n_targets : int, default 9
        Targets of "dlr-targeted".
    early_stop : bool, default False
        Whether further runs leave out the rows that are errors already.
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
    >>> from shiftmetrics_lab.attacks import apgd
    >>> def model(x):
    ...     return torch.stack([x.square().sum(1), torch.ones(len(x))], dim=1)
    >>> result = apgd(model, [[0.9, 0.9], [2.0, 0.1]], [0, 0], strength=0.4, norm="l2")
    >>> result.success
    array([ True, False])
    """
    check_choice(loss, "loss", ("ce", "dlr", "dlr-targeted"))
    n_steps = check_integer(n_steps, "n_steps", low=2)
    restarts = check_integer(restarts, "restarts", low=1)
    n_targets = check_integer(n_targets, "n_targets", low=1)

    def search(problem: AttackProblem, generator: torch.Generator) -> Tensor:
        worst = Worst(problem)
        for target in _targets(problem, n_targets) if loss == "dlr-targeted" else [None]:
            for _ in range(restarts):
                rows = worst.rows_to_attack(early_stop)
                part = problem.take(rows)
                if not part.n_samples:
                    break
                if target is None:
                    row_loss = ATTACK_LOSSES["dlr" if loss == "dlr" else "ce"]
                else:
                    row_loss = targeted_difference_of_logits_ratio(target[rows])
                start = part.random(part.radius, generator)
                for move, value, margin in _run(part, start, row_loss, n_steps):
                    # losses towards different targets do not compare: margins do
                    worst.update(rows, move, value if target is None else margin, margin)
        return worst.move

    return run_search(
        search, model, X, y, name="apgd", norm=norm, options=options, strength=strength,
        loss=loss, n_steps=n_steps, restarts=restarts, n_targets=n_targets,
        early_stop=early_stop,
    )  # fmt: skip


def checkpoints(n_steps: int) -> list[int]:
    """Return the steps at which the length is looked at.

    Section 3.2: p_0 = 0, p_1 = 0.22, p_{j+1} = p_j + max(p_j - p_{j-1} - 0.03, 0.06), in fractions of all steps.
    """
    shares = [0.0, 0.22]
    while shares[-1] < 1.0:
        shares.append(shares[-1] + max(shares[-1] - shares[-2] - 0.03, 0.06))
    return sorted({min(n_steps, round(share * n_steps + 0.499)) for share in shares[1:]})


def _run(
    problem: AttackProblem, start: Tensor, row_loss: RowLoss, n_steps: int
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Run Algorithm 1 and yield every point that it visits, with its loss and margin."""
    norm, radius = problem.norm, problem.radius
    marks = set(checkpoints(n_steps))
    length = 2.0 * radius
    previous, move = start, start
    value, gradient, logits = problem.gradient(move, row_loss)
    yield move, value, margin_loss(logits, problem.y)
    best_move, best_value, best_gradient = move, value, gradient
    rises = torch.zeros_like(value)
    mark, mark_value, halved = 0, best_value, torch.zeros_like(value, dtype=torch.bool)
    for step in range(1, n_steps + 1):
        # lines 7 and 8: a projected step, and momentum (the first step has none)
        ahead = move + steepest(problem.within(gradient, move), norm) * length[:, None]
        ahead = problem.clip(project_ball(ahead, radius, norm))
        if step > 1:
            ahead = move + _MOMENTUM * (ahead - move) + (1.0 - _MOMENTUM) * (move - previous)
            ahead = problem.clip(project_ball(ahead, radius, norm))
        previous, move = move, ahead
        old = value
        value, gradient, logits = problem.gradient(move, row_loss)
        yield move, value, margin_loss(logits, problem.y)
        rises = rises + (value > old)
        better = value > best_value
        best_value = torch.where(better, value, best_value)
        best_move = torch.where(better[:, None], move, best_move)
        best_gradient = torch.where(better[:, None], gradient, best_gradient)
        if step in marks:
            # lines 13 to 16: halve the length where few steps rose, or where nothing was gained since
            few = rises < _RHO * (step - mark)
            stalled = ~halved & (best_value <= mark_value)
            halved = few | stalled
            length = torch.where(halved, 0.5 * length, length)
            move = torch.where(halved[:, None], best_move, move)
            previous = torch.where(halved[:, None], best_move, previous)
            gradient = torch.where(halved[:, None], best_gradient, gradient)
            value = torch.where(halved, best_value, value)
            rises = torch.zeros_like(rises)
            mark, mark_value = step, best_value


def _targets(problem: AttackProblem, n_targets: int) -> list[Tensor | None]:
    logits = problem.logits(problem.zeros()).scatter(1, problem.y[:, None], -torch.inf)
    classes = logits.topk(min(n_targets, logits.shape[1] - 1), dim=1).indices
    return [classes[:, k] for k in range(classes.shape[1])]
