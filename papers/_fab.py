"""The fast adaptive boundary attack (Croce and Hein, arXiv:1907.02044), for the experiment that compares with it."""

from __future__ import annotations

import torch
from torch import Tensor

from shiftmetrics.attacks.geometry import dual_norm, move_to_hyperplane, row_norm
from shiftmetrics.attacks.nearest import NearestError
from shiftmetrics.attacks.problem import AttackProblem

_N_CANDIDATES = 10  # classes with the largest logits, among which the nearest boundary is sought


def fab(problem: AttackProblem, nearest: NearestError, start: Tensor, n_steps: int) -> None:
    """Run the fast adaptive boundary attack (arXiv:1907.02044, Algorithm 1), with its constants."""
    most_back = 0.1
    eta = 1.05
    beta = 0.9
    classes = candidate_classes(problem)
    norm = problem.norm
    move = start
    for _ in range(n_steps):
        normal, gap = nearest_boundary(problem, move, classes)
        # Two projections on the boundary <normal, m> = <normal, move> + gap: of the point and of the row.
        offset = (normal * move).sum(dim=1) + gap
        from_point = signed_projection(problem, move, normal, gap)
        from_row = signed_projection(problem, torch.zeros_like(move), normal, offset)
        d_point = row_norm(from_point, norm)
        d_row = row_norm(from_row, norm)
        share = d_point / (d_point + d_row).clamp_min(torch.finfo(move.dtype).tiny)  # eq. 9
        share = share.clamp_max(most_back)[:, None]
        move = problem.clip(
            (1.0 - share) * (move + eta * from_point) + share * eta * from_row
        )  # eq. 10
        wrong = problem.margins(move) > 0
        nearest.update(move, wrong)
        move = torch.where(wrong[:, None], beta * move, move)  # eq. 11: back towards the row


def candidate_classes(problem: AttackProblem) -> Tensor:
    """Return the classes with the largest logits at the rows, of shape (n_samples, n_candidates)."""
    logits = problem.logits(problem.zeros()).scatter(1, problem.y[:, None], -torch.inf)
    return logits.topk(min(_N_CANDIDATES, logits.shape[1] - 1), dim=1).indices


def nearest_boundary(
    problem: AttackProblem, move: Tensor, classes: Tensor
) -> tuple[Tensor, Tensor]:
    """Return normal and gap of the linearised boundary ``<normal, step> = gap`` nearest to each moved row.

    The gap is negative where the moved row lies beyond the boundary.
    """
    gaps, gradients = class_gradients(problem, move, classes)
    slopes = torch.stack([dual_norm(gradient, problem.norm) for gradient in gradients], dim=1)
    distance = gaps.abs() / slopes.clamp_min(torch.finfo(slopes.dtype).tiny)
    # beyond a boundary, that of the class now predicted is the one to return to
    ahead = (gaps > 0).any(dim=1)
    best = torch.where(ahead, gaps.argmax(dim=1), distance.argmin(dim=1))
    rows = torch.arange(len(best), device=best.device)
    return gradients[best, rows], -gaps[rows, best]


def signed_projection(problem: AttackProblem, point: Tensor, normal: Tensor, gap: Tensor) -> Tensor:
    """Return the least move to a hyperplane ahead of the point or behind it."""
    sign = torch.where(gap < 0, -1.0, 1.0).to(gap.dtype)
    return move_to_hyperplane(point, normal * sign[:, None], gap * sign, *problem.box, problem.norm)


def class_gradients(problem: AttackProblem, move: Tensor, classes: Tensor) -> tuple[Tensor, Tensor]:
    """Return z_k - z_y for the ``classes`` (n_samples, n_candidates) and their gradients.

    Returns
    -------
    gaps : Tensor of shape (n_samples, n_candidates)
    gradients : Tensor of shape (n_candidates, n_samples, n_features)
    """
    with torch.enable_grad():
        move = move.detach().requires_grad_(True)
        logits = problem.model(problem.points(move))
        gaps = logits.gather(1, classes) - logits.gather(1, problem.y[:, None])
        # samples do not interact, so the gradient of a sum over samples holds that of each sample
        columns = gaps.sum(dim=0)
        last = classes.shape[1] - 1
        gradients = []
        for k in range(classes.shape[1]):
            (gradient,) = torch.autograd.grad(columns[k], move, retain_graph=k < last)
            gradients.append(gradient * problem.free)
    return gaps.detach(), torch.stack(gradients)
