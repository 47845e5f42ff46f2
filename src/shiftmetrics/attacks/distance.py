"""The distance to an error in a cost metric, by several attacks together: what stability asks for."""

from __future__ import annotations

from typing import Any

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.validation import check_integer
from shiftmetrics.attacks.ddn import ddn_search
from shiftmetrics.attacks.fmn import fmn_search
from shiftmetrics.attacks.geometry import Norm
from shiftmetrics.attacks.inputs import Bounds
from shiftmetrics.attacks.linearised import deepfool_search
from shiftmetrics.attacks.options import shared_options
from shiftmetrics.attacks.result import AttackResult
from shiftmetrics.attacks.search import attack_in_batches, search_nearest
from shiftmetrics.attacks.slide import slide


@shared_options
def nearest_error(
    model: Any,
    X: Any,
    y: Any,
    *,
    norm: Norm = "l2",
    bounds: Bounds = None,
    feature_costs: Any = None,
    frozen: Any = None,
    n_steps: int = 100,
    restarts: int = 3,
    batch_size: int | None = None,
    rng: Any = 0,
    progress: bool = True,
) -> AttackResult:
    """Find the nearest error of each row by several attacks, each from several starts, and keep the nearest.

    DeepFool, FMN and (in l2) DDN, from several starts: the rows themselves, the nearest rows of the
    batch that are predicted otherwise, and random moves. Then random moves shorter than the best are tried, and
    the best slides along the boundary to its nearest point.

    Parameters
    ----------
    {subject}
    norm : {"l2", "linf"}, default "l2"
        Norm of the distance.
    {options}
    n_steps : int, default 100
        Gradient steps of FMN and of DDN, for each start.
    restarts : int, default 3
        Starts.

    Returns
    -------
    {result}

    Raises
    ------
    {errors}

    See Also
    --------
    min_distance : the distances alone.

    Examples
    --------
    >>> import torch
    >>> from shiftmetrics.attacks import nearest_error
    >>> def model(x):
    ...     return torch.stack([x.square().sum(1), torch.ones(len(x))], dim=1)
    >>> result = nearest_error(model, [[0.0, 3.0], [0.1, 0.1]], [0, 0])
    >>> result.distance.round(2)
    array([2., 0.])
    """
    n_steps = check_integer(n_steps, "n_steps", low=1)
    searches = [
        deepfool_search(50, 0.02, 10),
        fmn_search(n_steps),
        *([ddn_search(n_steps)] if norm == "l2" else []),
    ]
    return attack_in_batches(
        search_nearest(
            searches,
            restarts=check_integer(restarts, "restarts", low=1),
            n_probes=32,
            finish=slide,
        ),
        model,
        X,
        y,
        name="nearest error",
        norm=norm,
        bounds=bounds,
        feature_costs=feature_costs,
        frozen=frozen,
        batch_size=batch_size,
        rng=rng,
        progress=progress,
        n_steps=n_steps,
        restarts=restarts,
    )


@shared_options
def min_distance(
    model: Any,
    X: Any,
    y: Any,
    *,
    norm: Norm = "l2",
    bounds: Bounds = None,
    feature_costs: Any = None,
    frozen: Any = None,
    n_steps: int = 100,
    restarts: int = 3,
    batch_size: int | None = None,
    rng: Any = 0,
    progress: bool = True,
) -> FloatArray:
    """Return the unsquared distance of each row to its nearest error that `nearest_error` found.

    An upper bound on the true distance, and so on a stability computed from it.

    Parameters
    ----------
    {subject}
    norm : {"l2", "linf"}, default "l2"
        Norm of the distance.
    {options}
    n_steps : int, default 100
        Gradient steps of FMN and of DDN, for each start.
    restarts : int, default 3
        Starts.

    Returns
    -------
    ndarray of shape (n_samples,)
        In the units of ``X`` and its feature costs; 0 where a row is wrong already, inf where no error was found.

    Raises
    ------
    {errors}

    Examples
    --------
    >>> import torch
    >>> from shiftmetrics.attacks import min_distance
    >>> def model(x):
    ...     return torch.stack([3 * x[:, 0] + 4 * x[:, 1], torch.ones(len(x))], dim=1)
    >>> min_distance(model, [[1.0, 0.0], [0.0, 0.0]], [0, 0]).round(2)
    array([0.4, 0. ])
    >>> min_distance(model, [[1.0, 0.0]], [0], frozen=[True, False], bounds=(0, 2))  # 3 > 1 for any second feature
    array([inf])
    """
    return nearest_error(
        model,
        X,
        y,
        norm=norm,
        bounds=bounds,
        feature_costs=feature_costs,
        frozen=frozen,
        n_steps=n_steps,
        restarts=restarts,
        batch_size=batch_size,
        rng=rng,
        progress=progress,
    ).distance_to_error
