"""Norms, balls and hyperplanes for rows of perturbations.

A perturbation is a row of shape ``(n_features,)`` in coordinates where its cost is a plain norm (see `problem`).
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import torch
from torch import Tensor

Norm: TypeAlias = Literal["l2", "linf"]
NORMS: tuple[Norm, ...] = ("l2", "linf")


def row_norm(perturbation: Tensor, norm: Norm) -> Tensor:
    """Return the norm of each row, of shape ``(n_samples,)``."""
    order = 2 if norm == "l2" else math.inf
    length: Tensor = torch.linalg.vector_norm(perturbation, ord=order, dim=1)
    return length


def dual_norm(gradient: Tensor, norm: Norm) -> Tensor:
    """Return the norm of each gradient that is dual to the norm of a perturbation: l2 for l2, l1 for linf."""
    order = 2 if norm == "l2" else 1
    length: Tensor = torch.linalg.vector_norm(gradient, ord=order, dim=1)
    return length


def steepest(gradient: Tensor, norm: Norm) -> Tensor:
    """Return the perturbation of norm one that raises a function of this gradient fastest (0 where it is 0)."""
    if norm == "linf":
        return gradient.sign()
    return gradient / row_norm(gradient, norm).clamp_min(torch.finfo(gradient.dtype).tiny)[:, None]


def project_ball(perturbation: Tensor, radius: Tensor, norm: Norm) -> Tensor:
    """Return the nearest perturbation within ``radius`` (one for each row)."""
    if norm == "linf":
        return torch.maximum(torch.minimum(perturbation, radius[:, None]), -radius[:, None])
    length = row_norm(perturbation, norm).clamp_min(torch.finfo(perturbation.dtype).tiny)
    return perturbation * (radius / length).clamp(max=1.0)[:, None]


def random_move(
    like: Tensor,
    free: Tensor,
    radius: Tensor,
    norm: Norm,
    generator: torch.Generator,
) -> Tensor:
    """Return a random perturbation of the free features, uniform in the ball of ``radius`` (one for each sample)."""
    random = torch.empty_like(like)
    if norm == "linf":
        random.uniform_(-1.0, 1.0, generator=generator)
        return random * free * radius[:, None]
    # a Gaussian direction; a uniform number to the power 1/d is the length of a uniform point in d dimensions
    random.normal_(generator=generator)
    direction = steepest(random * free, norm)
    dimension = max(1.0, float(free.sum()))
    fraction = torch.empty_like(radius).uniform_(generator=generator) ** (1.0 / dimension)
    return direction * (fraction * radius)[:, None]


def move_to_hyperplane(
    point: Tensor,
    normal: Tensor,
    gap: Tensor,
    low: Tensor,
    high: Tensor,
    norm: Norm,
) -> Tensor:
    """Return the least perturbation m with ``<normal, m> = gap`` that keeps ``point + m`` within a box.

    The optimum changes every coordinate j along the normal (l2) or its sign (linf) until it meets its bound, so
    the gain is piecewise linear and increasing in the common length t: sort the lengths at which coordinates
    stop, and read t off the segment that holds the gap. Where the box is out of reach of the hyperplane, the
    answer is its corner nearest to it.

    Parameters
    ----------
    point, normal : Tensor of shape (n_samples, n_features)
    gap : Tensor of shape (n_samples,)
        At least 0: negative gaps count as 0.
    low, high : Tensor of shape (n_samples, n_features)
        The box, which holds ``point``.
    norm : {"l2", "linf"}

    Returns
    -------
    Tensor of shape (n_samples, n_features)
    """
    # each coordinate changes along the normal, or its sign, at this speed
    speed = normal if norm == "l2" else normal.sign()
    # what each coordinate gains per unit of t, never negative
    rate = normal * speed
    gap = gap.clamp_min(0.0)
    tiny = torch.finfo(point.dtype).tiny
    room = torch.where(speed > 0, high - point, point - low).clamp_min(0.0)
    # the t at which each coordinate stops; 1e12 stands for a bound at infinity, so that products stay finite
    stop = torch.where(rate > 0, room / speed.abs().clamp_min(tiny), 0.0).clamp_max(1e12)
    stop, order = stop.sort(dim=1)
    rate = rate.gather(1, order)
    # still[k]: gain per t of the coordinates that have not stopped before the k-th
    still = rate.flip(1).cumsum(1).flip(1)
    # gained[k]: the gain when the k-th coordinate stops; the gap lies on the segment before the first that reaches it
    steps = stop.diff(dim=1, prepend=torch.zeros_like(stop[:, :1]))
    gained = torch.cumsum(still * steps, dim=1)
    k = (gained < gap[:, None]).sum(dim=1, keepdim=True).clamp_max(stop.shape[1] - 1)
    before = (k - 1).clamp_min(0)
    first = k == 0
    start = torch.where(first, 0.0, stop.gather(1, before))
    have = torch.where(first, 0.0, gained.gather(1, before))
    length = start + (gap[:, None] - have) / still.gather(1, k).clamp_min(tiny)
    length = torch.minimum(length, stop[:, -1:])
    return torch.minimum(torch.maximum(length * speed, low - point), high - point)
