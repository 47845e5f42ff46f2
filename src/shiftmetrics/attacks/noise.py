"""Random moves of a given length: what an attack is compared with, for it finds directions and noise does not."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from shiftmetrics.attacks.geometry import Norm, row_norm, steepest
from shiftmetrics.attacks.inputs import Bounds
from shiftmetrics.attacks.options import shared_options
from shiftmetrics.attacks.problem import Problem
from shiftmetrics.attacks.result import AttackResult
from shiftmetrics.attacks.search import attack_in_batches


@shared_options
def noise(
    model: Any,
    X: Any,
    y: Any,
    *,
    strength: Any,
    norm: Norm = "linf",
    bounds: Bounds = None,
    feature_costs: Any = None,
    frozen: Any = None,
    batch_size: int | None = None,
    rng: Any = None,
    progress: bool = True,
) -> AttackResult:
    """Move each row by ``strength`` in a random direction: noise of the same norm as an attack.

    Pass the ``distance`` of an attack as ``strength`` to give each row noise as long as its adversarial move. Inside
    bounds the direction is bent so that the length is kept where the bounds leave room for it. The model needs
    no gradient.

    Parameters
    ----------
    {subject}
    strength : float or array of shape (n_samples,)
        Length of the move, in the norm; 0 is the identity.
    norm : {"linf", "l2"}, default "linf"
        "l2" takes a Gaussian direction; "linf" moves every feature by the strength, up or down.
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
    >>> from shiftmetrics.attacks import noise
    >>> result = noise(lambda x: x, torch.full((2, 3), 0.9), [0, 1], strength=[0.1, 0.2], bounds=(0, 1), rng=0)
    >>> result.distance.round(3)
    array([0.1, 0.2])
    """

    def search(problem: Problem, rows: slice, generator: torch.Generator) -> Tensor:
        direction = torch.empty_like(problem.zeros()).normal_(generator=generator)
        if problem.free is not None:
            direction = direction * problem.free
        direction = steepest(direction, norm)
        if problem.low is None or problem.high is None:
            return direction * problem.radius[:, None]
        if norm == "linf":
            # up where there is no room below, and down where there is none above
            direction = torch.where(problem.high < problem.radius[:, None], -direction.abs(), direction)
            direction = torch.where(-problem.low < problem.radius[:, None], direction.abs(), direction)
        return _stretch(problem, direction)

    return attack_in_batches(
        search,
        model,
        X,
        y,
        name="noise",
        norm=norm,
        bounds=bounds,
        feature_costs=feature_costs,
        frozen=frozen,
        batch_size=batch_size,
        rng=rng,
        progress=progress,
        strength=strength,
        needs_gradient=False,
    )


def _stretch(problem: Problem, direction: Tensor) -> Tensor:
    """Return the clipped multiple of each direction whose length is the radius, or the longest there is."""
    low, high = torch.zeros_like(problem.radius), problem.radius.clone()
    for _ in range(40):  # double until the clipped move is long enough, or nothing moves any more
        short = row_norm(problem.clip(direction * high[:, None]), problem.norm) < problem.radius
        if not bool(short.any()):
            break
        high = torch.where(short, 2.0 * high, high)
    for _ in range(40):
        middle = 0.5 * (low + high)
        short = row_norm(problem.clip(direction * middle[:, None]), problem.norm) < problem.radius
        low, high = torch.where(short, middle, low), torch.where(short, high, middle)
    return problem.clip(direction * high[:, None])
