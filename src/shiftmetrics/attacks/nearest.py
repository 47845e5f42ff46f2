"""The nearest error of each sample, by one attack or by several from several starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from shiftmetrics._core.validation import check_choice, check_integer, describe
from shiftmetrics.attacks.boundary import (
    DEEPFOOL_STEPS,
    NearestError,
    Run,
    ddn,
    deepfool,
    fab,
    first_radius,
    fmn,
    shorten,
    slide,
)
from shiftmetrics.attacks.geometry import Norm
from shiftmetrics.attacks.problem import AttackOptions, AttackProblem
from shiftmetrics.attacks.search import AttackResult, Search, run_search


@dataclass(frozen=True)
class _Method:
    """Attacks to run one after the other, with their defaults."""

    runs: tuple[Run, ...]
    n_steps: int = 100
    restarts: int = 1
    n_probes: int = 0
    refine: bool = False


_METHODS = {
    "all": _Method((deepfool, fmn, ddn), restarts=3, n_probes=32, refine=True),
    "fmn": _Method((fmn,)),
    "ddn": _Method((ddn,)),
    "deepfool": _Method((deepfool,), n_steps=DEEPFOOL_STEPS, refine=True),
    "fab": _Method((fab,), n_steps=50),
}


def nearest_error(
    model: Any,
    X: Any,
    y: Any,
    *,
    method: Literal["all", "fmn", "ddn", "deepfool", "fab"] = "all",
    norm: Norm = "l2",
    n_steps: int | None = None,
    restarts: int | None = None,
    refine: bool | None = None,
    options: AttackOptions | None = None,
) -> AttackResult:
    """Find the nearest error of each sample by one attack, or by several from several starts.

    Steps of fixed length in the papers are fractions of the distance here, so that nothing depends on the scale of
    the inputs, and go along the gradient of a smooth margin, which does not vanish where the model is sure.

    Parameters
    ----------
    model, X, y
        The model, the samples, and their labels; see `shiftmetrics.lab.attacks.pgd`.
    method : {"all", "fmn", "ddn", "deepfool", "fab"}, default "all"
        "fmn": the fast minimum-norm attack (arXiv:2102.12827), whose radius follows the boundary while steps get
        shorter. "ddn": decoupled direction and norm (arXiv:1811.09600), in l2. "deepfool": a few steps to the
        nearest linearised boundary (arXiv:1511.04599). "fab": the fast adaptive boundary attack
        (arXiv:1907.02044), one gradient for each of 10 candidate classes and step. "all": DeepFool, FMN and (in
        l2) DDN, then random perturbations shorter than the best.
    norm : {"l2", "linf"}, default "l2"
        Norm of the distance.
    n_steps : int, optional
        Gradient steps from each start. Default: 100, and 50 for "deepfool" (which takes no more) and "fab".
    restarts : int, optional
        Starts: the samples themselves, then in turn the nearest samples of the batch that are predicted otherwise and
        random perturbations. Default: 3 for "all", else 1.
    refine : bool, optional
        Whether each perturbation slides along the boundary to its nearest point at the end. Default: for "all" and
        "deepfool"; without it, DeepFool is as published.
    options : AttackOptions, optional
        Bounds, feature costs, frozen features, batch size, seed and progress bar.

    Returns
    -------
    AttackResult
        ``x_adv``, ``distance`` and ``success``, recomputed from the model at the end.

    Raises
    ------
    TypeError, ValueError
        As in `shiftmetrics.lab.attacks.pgd`.

    Examples
    --------
    >>> import torch
    >>> from shiftmetrics.attacks import AttackOptions, nearest_error
    >>> def model(x):
    ...     return torch.stack([3 * x[:, 0] + 4 * x[:, 1], torch.ones(len(x))], dim=1)
    >>> nearest_error(model, [[1.0, 0.0], [0.0, 0.0]], [0, 0]).distance.round(2)  # (3 - 1) / 5, and wrong already
    array([0.4, 0. ])
    >>> options = AttackOptions(frozen=[False, True])
    >>> nearest_error(model, [[1.0, 0.0]], [0], method="ddn", options=options).distance.round(2)  # (3 - 1) / 3
    array([0.67])
    >>> box = AttackOptions(frozen=[True, False], bounds=(0, 2))  # 3 > 1 for any second feature
    >>> nearest_error(model, [[1.0, 0.0]], [0], options=box).distance_to_error
    array([inf])
    >>> nearest_error(model, [[1.0, 0.0]], [0], method="deepfool", norm="linf").distance.round(2)  # 2 / (3 + 4)
    array([0.29])
    """
    chosen = _METHODS[check_choice(method, "method", tuple(_METHODS))]
    if method == "ddn" and norm != "l2":
        raise ValueError(describe("norm", "'l2' for DDN", value=norm, remedy='Use method="fmn".'))
    n_steps = check_integer(chosen.n_steps if n_steps is None else n_steps, "n_steps", low=1)
    restarts = check_integer(chosen.restarts if restarts is None else restarts, "restarts", low=1)
    refine = chosen.refine if refine is None else bool(refine)
    return run_search(
        search_nearest(chosen, norm, n_steps, restarts, refine),
        model, X, y, name="nearest error" if method == "all" else method, norm=norm, options=options, push=True,
        method=method, n_steps=n_steps, restarts=restarts, refine=refine,
    )  # fmt: skip


def search_nearest(
    method: _Method, norm: Norm, n_steps: int, restarts: int, refine: bool
) -> Search:
    """Return the search that runs the method's attacks one after the other on the samples not wrong yet.

    The first start is the samples themselves; the others are in turn the nearest samples of the batch that are
    predicted otherwise and random moves about as long as the best so far. Then random moves shorter than the best
    are tried: where few features may move, they find parts of the boundary that no gradient led to. In the end
    each best move is shortened along its line until it meets the boundary, and slides along it where ``refine``
    says so.
    """
    runs = [run for run in method.runs if norm == "l2" or run is not ddn]

    def search(problem: AttackProblem, generator: torch.Generator) -> Tensor:
        moves = problem.zeros()
        predicted = problem.logits(moves).argmax(dim=1)
        right = (predicted == problem.y).nonzero()[:, 0]
        if not len(right):
            return moves
        part = problem.take(right)
        nearest = NearestError(part)
        for restart in range(restarts):
            # starts in turn: the samples themselves, others that are predicted otherwise, random moves
            start = part.zeros()
            if restart % 2:
                start = move_to_others(part, problem, predicted, restart // 2)
                end = NearestError(part)
                end.update(start, part.margins(start) > 0)
                shorten(part, end)
                nearest.update(end.move, end.found)
                start = torch.where(end.found[:, None], end.move, start)
            elif restart:
                radius = torch.where(nearest.found, nearest.norm, first_radius(part))
                start = part.random(radius, generator)
            for run in runs:
                run(part, nearest, start, n_steps)
        # random moves shorter than the best
        for _ in range(method.n_probes):
            move = part.random(nearest.norm.where(nearest.found, 0.0), generator)
            nearest.update(move, part.margins(move) > 0)
        # to the boundary along the line, then along the boundary
        shorten(part, nearest)
        if refine:
            slide(part, nearest)
            shorten(part, nearest)
        moves[right] = nearest.move
        return moves

    return search


def move_to_others(
    part: AttackProblem, others: AttackProblem, predicted: Tensor, rank: int
) -> Tensor:
    """Return the moves to the nearest (``rank`` 0) or next row of ``others`` that is predicted otherwise."""
    from_ = part.x.flatten(1) * part.scale * part.free
    to = others.x.flatten(1) * part.scale * part.free
    distance = torch.cdist(from_, to, p=2.0 if part.norm == "l2" else torch.inf)
    distance = distance.masked_fill(part.y[:, None] == predicted, torch.inf)
    order = distance.topk(min(rank + 1, len(to)), dim=1, largest=False)
    moves = part.clip(to[order.indices[:, -1]] - from_)
    return torch.where(torch.isfinite(order.values[:, -1:]), moves, 0.0)
