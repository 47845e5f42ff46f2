"""Minimum-norm attacks by projection on linearised boundaries, within the bounds: DeepFool and FAB."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from shiftmetrics._core.validation import check_integer, check_number
from shiftmetrics.attacks.geometry import Norm, dual_norm, move_to_hyperplane, row_norm
from shiftmetrics.attacks.inputs import Bounds
from shiftmetrics.attacks.options import shared_options
from shiftmetrics.attacks.problem import Problem
from shiftmetrics.attacks.result import AttackResult
from shiftmetrics.attacks.search import Nearest, NearestSearch, attack_in_batches, search_nearest
from shiftmetrics.attacks.slide import slide


@shared_options
def deepfool(
    model: Any,
    X: Any,
    y: Any,
    *,
    norm: Norm = "l2",
    bounds: Bounds = None,
    feature_costs: Any = None,
    frozen: Any = None,
    n_steps: int = 50,
    overshoot: float = 0.02,
    refine: bool = True,
    n_candidates: int = 10,
    batch_size: int | None = None,
    rng: Any = None,
    progress: bool = True,
) -> AttackResult:
    """Step to the nearest linearised boundary until the prediction changes: DeepFool (arXiv:1511.04599).

    Few steps, each of them exactly within the bounds. In the end each move is shortened along its line and,
    since DeepFool itself has no way back to the row, slid along the boundary to its nearest point.

    Parameters
    ----------
    {subject}
    norm : {"l2", "linf"}, default "l2"
        Norm of the distance.
    {options}
    n_steps : int, default 50
        Most steps.
    overshoot : float, default 0.02
        By which share a move goes beyond the linearised boundary.
    refine : bool, default True
        Whether to slide the move along the boundary; without it, DeepFool as published.
    n_candidates : int, default 10
        The classes with the largest logits, among which the nearest boundary is sought.

    Returns
    -------
    {result}

    Raises
    ------
    {errors}

    Examples
    --------
    >>> import torch
    >>> from shiftmetrics.attacks import deepfool
    >>> def model(x):
    ...     return torch.stack([3 * x[:, 0] + 4 * x[:, 1], torch.ones(len(x))], dim=1)
    >>> deepfool(model, [[1.0, 0.0]], [0], norm="linf").distance.round(2)  # (3 - 1) / (3 + 4)
    array([0.29])
    """
    n_candidates = check_integer(n_candidates, "n_candidates", low=2)
    run = deepfool_search(
        check_integer(n_steps, "n_steps", low=1), check_number(overshoot, "overshoot", low=0.0), n_candidates
    )
    return attack_in_batches(
        search_nearest([run], restarts=1, finish=slide if refine else None),
        model,
        X,
        y,
        name="deepfool",
        norm=norm,
        bounds=bounds,
        feature_costs=feature_costs,
        frozen=frozen,
        batch_size=batch_size,
        rng=rng,
        progress=progress,
        n_steps=n_steps,
        overshoot=overshoot,
        refine=refine,
        n_candidates=n_candidates,
    )


@shared_options
def fab(
    model: Any,
    X: Any,
    y: Any,
    *,
    norm: Norm = "l2",
    bounds: Bounds = None,
    feature_costs: Any = None,
    frozen: Any = None,
    n_steps: int = 50,
    restarts: int = 1,
    n_candidates: int = 10,
    batch_size: int | None = None,
    rng: Any = None,
    progress: bool = True,
) -> AttackResult:
    """Find the nearest error of each row: the fast adaptive boundary attack (arXiv:1907.02044).

    Each step projects both the point and the row on the nearest linearised boundary within the bounds, and goes
    between the two. Costs one gradient for each candidate class and step.

    Parameters
    ----------
    {subject}
    norm : {"l2", "linf"}, default "l2"
        Norm of the distance.
    {options}
    n_steps : int, default 50
        Steps of a run.
    restarts : int, default 1
        Runs; the first starts at the rows themselves.
    n_candidates : int, default 10
        The classes with the largest logits, among which the nearest boundary is sought.

    Returns
    -------
    {result}

    Raises
    ------
    {errors}

    Examples
    --------
    >>> import torch
    >>> from shiftmetrics.attacks import fab
    >>> def model(x):
    ...     return torch.stack([3 * x[:, 0] + 4 * x[:, 1], torch.ones(len(x))], dim=1)
    >>> fab(model, [[1.0, 0.0]], [0], bounds=(-0.1, 1.0)).distance.round(3)  # the second feature stops at -0.1
    array([0.543])
    """
    n_candidates = check_integer(n_candidates, "n_candidates", low=2)
    run = fab_search(check_integer(n_steps, "n_steps", low=1), n_candidates)
    return attack_in_batches(
        search_nearest([run], restarts=check_integer(restarts, "restarts", low=1)),
        model,
        X,
        y,
        name="fab",
        norm=norm,
        bounds=bounds,
        feature_costs=feature_costs,
        frozen=frozen,
        batch_size=batch_size,
        rng=rng,
        progress=progress,
        n_steps=n_steps,
        restarts=restarts,
        n_candidates=n_candidates,
    )


def deepfool_search(n_steps: int, overshoot: float, n_candidates: int) -> NearestSearch:
    """Return one run of DeepFool (arXiv:1511.04599, Algorithm 2)."""

    def run(problem: Problem, nearest: Nearest, start: Tensor) -> None:
        classes = candidate_classes(problem, n_candidates)
        move = start
        going = torch.ones_like(nearest.found)  # DeepFool leaves a row at its first error
        for _ in range(n_steps):
            if not bool(going.any()):
                break
            normal, gap = nearest_boundary(problem, move, classes)
            step = move_to_hyperplane(move, normal, gap, problem.low, problem.high, problem.norm)
            move = move + step
            beyond = problem.clip((1.0 + overshoot) * move)
            wrong = problem.margins(beyond) > 0
            nearest.update(beyond, wrong & going)
            going = going & ~wrong

    return run


def fab_search(n_steps: int, n_candidates: int) -> NearestSearch:
    """Return one run of FAB (arXiv:1907.02044, Algorithm 1), with its constants."""
    most_back, eta, beta = 0.1, 1.05, 0.9

    def run(problem: Problem, nearest: Nearest, start: Tensor) -> None:
        classes = candidate_classes(problem, n_candidates)
        low, high, norm = problem.low, problem.high, problem.norm
        move = start
        for _ in range(n_steps):
            normal, gap = nearest_boundary(problem, move, classes)
            # Two projections on the boundary <normal, m> = <normal, move> + gap: of the point and of the row.
            offset = (normal * move).sum(dim=1) + gap
            from_point = signed_projection(move, normal, gap, low, high, norm)
            from_row = signed_projection(torch.zeros_like(move), normal, offset, low, high, norm)
            d_point, d_row = row_norm(from_point, norm), row_norm(from_row, norm)
            share = d_point / (d_point + d_row).clamp_min(torch.finfo(move.dtype).tiny)  # eq. 9
            share = share.clamp_max(most_back)[:, None]
            move = problem.clip((1.0 - share) * (move + eta * from_point) + share * eta * from_row)  # eq. 10
            wrong = problem.margins(move) > 0
            nearest.update(move, wrong)
            move = torch.where(wrong[:, None], beta * move, move)  # eq. 11: back towards the row

    return run


def candidate_classes(problem: Problem, n_candidates: int) -> Tensor:
    """Return the classes with the largest logits at the rows, of shape (n_samples, n_candidates)."""
    logits = problem.logits(problem.zeros()).scatter(1, problem.y[:, None], -torch.inf)
    return logits.topk(min(n_candidates, logits.shape[1] - 1), dim=1).indices


def nearest_boundary(problem: Problem, move: Tensor, classes: Tensor) -> tuple[Tensor, Tensor]:
    """Return normal and gap of the linearised boundary ``<normal, step> = gap`` nearest to each moved row.

    The gap is negative where the moved row lies beyond the boundary.
    """
    gaps, gradients, _ = problem.class_gradients(move, classes)
    slopes = torch.stack([dual_norm(gradient, problem.norm) for gradient in gradients], dim=1)
    distance = gaps.abs() / slopes.clamp_min(torch.finfo(slopes.dtype).tiny)
    # beyond a boundary, that of the class now predicted is the one to return to
    ahead = (gaps > 0).any(dim=1)
    best = torch.where(ahead, gaps.argmax(dim=1), distance.argmin(dim=1))
    rows = torch.arange(len(best), device=best.device)
    return gradients[best, rows], -gaps[rows, best]


def signed_projection(
    point: Tensor, normal: Tensor, gap: Tensor, low: Tensor | None, high: Tensor | None, norm: Norm
) -> Tensor:
    """Return the least move to a hyperplane ahead of the point or behind it."""
    sign = torch.where(gap < 0, -1.0, 1.0).to(gap.dtype)
    return move_to_hyperplane(point, normal * sign[:, None], gap * sign, low, high, norm)
