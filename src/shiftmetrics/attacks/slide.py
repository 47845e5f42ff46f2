"""Slide a known error along the boundary to the boundary's point nearest to the row."""

from __future__ import annotations

import torch
from torch import Tensor

from shiftmetrics.attacks.geometry import move_to_hyperplane, row_norm
from shiftmetrics.attacks.losses import margin_loss
from shiftmetrics.attacks.problem import Problem
from shiftmetrics.attacks.search import Nearest


def slide(problem: Problem, nearest: Nearest, start: Tensor, *, n_steps: int = 15) -> None:
    """Turn each best move towards the nearest point of the linearised boundary, as long as that shortens it.

    The nearest point of the boundary is where its normal points back at the row. Each step projects the row on
    the boundary linearised at the best move, goes a share of the way there, and measures how far the boundary
    is in that direction; the share doubles after a gain and halves after none.
    """
    share = torch.ones_like(nearest.norm)
    tiny = torch.finfo(share.dtype).tiny
    for _ in range(n_steps):
        move = nearest.move
        value, normal, _ = problem.gradient(move, margin_loss)
        offset = (normal * move).sum(dim=1) - value
        target = move_to_hyperplane(
            torch.zeros_like(move), normal, offset, problem.low, problem.high, problem.norm
        )
        turned = move + share[:, None] * (target - move)
        length = row_norm(turned, problem.norm).clamp_min(tiny)
        # an error at 0.999 of the best length is a gain; how much of one, a few halvings tell
        high = 0.999 * nearest.norm / length
        low = torch.minimum(0.9 * high, torch.ones_like(high))
        gained = _wrong(problem, nearest, turned, high)
        if not bool(gained.any()) and bool((share < 0.05).all()):
            break
        for _ in range(3):
            middle = 0.5 * (low + high)
            wrong = _wrong(problem, nearest, turned, middle) & gained
            low, high = torch.where(wrong, low, middle), torch.where(wrong, middle, high)
        share = torch.where(gained, (2.0 * share).clamp_max(1.0), 0.5 * share)


def _wrong(problem: Problem, nearest: Nearest, direction: Tensor, length: Tensor) -> Tensor:
    """Tell where the direction is an error at this length, and keep it if it is the nearest."""
    length = torch.where(nearest.found, length, 0.0)
    move = problem.clip(direction * length[:, None])
    return nearest.update(move, (problem.margins(move) > 0) & nearest.found)
