"""Searches for the nearest error from a start: FMN, DDN, DeepFool and FAB, and ways to shorten a known move."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

from shiftmetrics.attacks.geometry import (
    dual_norm,
    move_to_hyperplane,
    project_ball,
    row_norm,
    steepest,
)
from shiftmetrics.attacks.model import margin_loss, smooth_margin_loss
from shiftmetrics.attacks.problem import AttackProblem

DEEPFOOL_STEPS = 50
_RADIUS_STEP = 0.05  # by which fraction a step of DDN changes the length
_OVERSHOOT = 0.02  # by which fraction DeepFool goes beyond the linearised boundary
_N_CANDIDATES = 10  # classes with the largest logits, among which the nearest boundary is sought


class NearestError:
    """The nearest error found so far for each row of a problem."""

    def __init__(self, problem: AttackProblem) -> None:
        self.move = problem.zeros()
        self.norm_of = problem.norm
        self.norm = torch.full_like(self.move[:, 0], torch.inf)

    @property
    def found(self) -> Tensor:
        """Where an error is known."""
        return torch.isfinite(self.norm)

    def update(self, move: Tensor, wrong: Tensor) -> Tensor:
        """Keep ``move`` where it is an error nearer than the best; return where that was so."""
        length = row_norm(move, self.norm_of)
        better = wrong & (length < self.norm)
        self.norm = torch.where(better, length, self.norm)
        self.move = torch.where(better[:, None], move, self.move)
        return better


Run: TypeAlias = Callable[[AttackProblem, NearestError, Tensor, int], None]
"""``run(problem, nearest, start, n_steps)`` looks for nearer errors from a start and updates ``nearest``."""


def shorten(problem: AttackProblem, nearest: NearestError, *, n_steps: int = 10) -> None:
    """Halve the part of each line that ends in a known error until its nearest error is known to 0.1 %."""
    # bisection between the sample (0) and the best perturbation (1)
    end = nearest.move
    low = torch.zeros_like(nearest.norm)
    high = torch.ones_like(nearest.norm)
    for _ in range(n_steps):
        middle = 0.5 * (low + high)
        move = middle[:, None] * end
        wrong = (problem.margins(move) > 0) & nearest.found
        nearest.update(move, wrong)
        low = torch.where(wrong, low, middle)
        high = torch.where(wrong, middle, high)


def first_radius(problem: AttackProblem) -> Tensor:
    """Return the distance to the boundary of each row by its first-order estimate, within the bounds."""
    value, gradient, _ = problem.gradient(problem.zeros(), margin_loss)
    return linear_distance(value, problem.within(gradient, problem.zeros()), problem)


def linear_distance(value: Tensor, gradient: Tensor, problem: AttackProblem) -> Tensor:
    """Return ``-value / |gradient|``, at most what the bounds allow, and 1 where there is no gradient."""
    slope = dual_norm(gradient, problem.norm)
    distance = -value / slope.clamp_min(torch.finfo(slope.dtype).tiny)
    known = (slope > 0) & torch.isfinite(distance)
    return torch.minimum(torch.where(known, distance, 1.0), problem.reach())


def slide(problem: AttackProblem, nearest: NearestError, *, n_steps: int = 15) -> None:
    """Turn each best move towards the nearest point of the linearised boundary, as long as that shortens it.

    The nearest point of the boundary is where its normal points back at the sample. Each step projects the sample on
    the boundary linearised at the best move, goes a fraction of the way there, and measures how far the boundary
    is in that direction; the fraction doubles after a gain and halves after none. A heuristic: it finds a local
    optimum along the boundary.
    """
    share = torch.ones_like(nearest.norm)
    tiny = torch.finfo(share.dtype).tiny
    for _ in range(n_steps):
        move = nearest.move
        # the linearised boundary is <normal, m> = <normal, move> - value
        value, normal, _ = problem.gradient(move, margin_loss)
        offset = (normal * move).sum(dim=1) - value
        target = move_to_hyperplane(
            torch.zeros_like(move), normal, offset, *problem.box, problem.norm
        )
        turned = move + share[:, None] * (target - move)
        length = row_norm(turned, problem.norm).clamp_min(tiny)
        # an error at 0.999 of the best length is a gain, which a few halvings increase
        high = 0.999 * nearest.norm / length
        low = torch.minimum(0.9 * high, torch.ones_like(high))
        gained = _is_nearer(problem, nearest, turned, high)
        if not bool(gained.any()) and bool((share < 0.05).all()):
            break
        for _ in range(3):
            middle = 0.5 * (low + high)
            wrong = _is_nearer(problem, nearest, turned, middle) & gained
            low = torch.where(wrong, low, middle)
            high = torch.where(wrong, middle, high)
        share = torch.where(gained, (2.0 * share).clamp_max(1.0), 0.5 * share)


def _is_nearer(
    problem: AttackProblem, nearest: NearestError, direction: Tensor, length: Tensor
) -> Tensor:
    """Return where the direction is an error at this length, and keep the nearest."""
    length = torch.where(nearest.found, length, 0.0)
    move = problem.clip(direction * length[:, None])
    return nearest.update(move, (problem.margins(move) > 0) & nearest.found)


def fmn(problem: AttackProblem, nearest: NearestError, start: Tensor, n_steps: int) -> None:
    """Run the fast minimum-norm attack (arXiv:2102.12827, Algorithm 1).

    Gradient steps are projected on a ball whose radius grows while there is no error and shrinks once there is one,
    so that the move ends on the boundary at its nearest point.
    """
    move = start
    radius = nearest.norm
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
        first = torch.maximum(estimate, longer) if step else estimate
        outside = torch.where(nearest.found, longer, first)
        inside = torch.minimum(radius * (1.0 - shrink), nearest.norm)
        radius = torch.where(wrong, inside, outside)
        # lines 12 to 14: the step
        move = move + steepest(gradient, problem.norm) * (length * radius)[:, None]
        move = problem.clip(project_ball(move, radius, problem.norm))
    nearest.update(move, problem.margins(move) > 0)


def ddn(problem: AttackProblem, nearest: NearestError, start: Tensor, n_steps: int) -> None:
    """Run decoupled direction and norm (arXiv:1811.09600, Algorithm 1).

    The gradient turns the direction; whether the move is an error changes its length, by 5 % a step.
    """
    move = start
    radius = torch.where(nearest.found, nearest.norm, first_radius(problem))
    for step in range(n_steps):
        _, gradient, logits = problem.gradient(move, smooth_margin_loss)
        value = margin_loss(logits, problem.y)
        gradient = problem.within(gradient, move)
        wrong = value > 0
        nearest.update(move, wrong)
        # the direction
        length = cosine(step, n_steps, 1.0, 0.01) * radius
        move = move + steepest(gradient, "l2") * length[:, None]
        # the length
        radius = radius * torch.where(wrong, 1.0 - _RADIUS_STEP, 1.0 + _RADIUS_STEP)
        radius = torch.minimum(radius, problem.reach())
        turned = row_norm(move, "l2").clamp_min(torch.finfo(move.dtype).tiny)
        move = problem.clip(move * (radius / turned)[:, None])
    nearest.update(move, problem.margins(move) > 0)


def deepfool(problem: AttackProblem, nearest: NearestError, start: Tensor, n_steps: int) -> None:
    """Run DeepFool (arXiv:1511.04599, Algorithm 2), which leaves a sample at its first error.

    Each step goes to the nearest of the boundaries between the label and another class, linearised at the move.
    """
    classes = candidate_classes(problem)
    move = start
    going = torch.ones_like(nearest.found)
    for _ in range(min(n_steps, DEEPFOOL_STEPS)):
        if not bool(going.any()):
            break
        normal, gap = nearest_boundary(problem, move, classes)
        move = move + move_to_hyperplane(move, normal, gap, *problem.box, problem.norm)
        beyond = problem.clip((1.0 + _OVERSHOOT) * move)
        wrong = problem.margins(beyond) > 0
        nearest.update(beyond, wrong & going)
        going = going & ~wrong


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
    gaps, gradients = problem.class_gradients(move, classes)
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


def cosine(step: int, n_steps: int, first: float, last: float) -> float:
    """Return the value at ``step`` of a schedule that falls from ``first`` to ``last`` like a cosine."""
    return last + 0.5 * (first - last) * (1.0 + math.cos(math.pi * step / max(1, n_steps)))
