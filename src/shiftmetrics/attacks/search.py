"""What all attacks share: batches, restarts, the best move so far, and the final check against the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from shiftmetrics._core.result import settings_of
from shiftmetrics._core.validation import check_choice, describe
from shiftmetrics.attacks.geometry import NORMS, Norm, dual_norm, row_norm
from shiftmetrics.attacks.inputs import Bounds, Inputs, check_inputs, check_labels
from shiftmetrics.attacks.losses import margin_loss
from shiftmetrics.attacks.model import (
    check_differentiable,
    check_logits,
    checked,
    evaluation_mode,
    parameter_of,
)
from shiftmetrics.attacks.problem import Problem
from shiftmetrics.attacks.result import AttackResult

BatchSearch: TypeAlias = Callable[[Problem, slice, torch.Generator], Tensor]
"""Finds the moves (n_samples, n_features) of a batch, given its rows in the whole and a seeded generator."""

NearestSearch: TypeAlias = Callable[[Problem, "Nearest", Tensor], None]
"""Looks for nearer errors from a start and tells `Nearest` about them."""


def attack_in_batches(
    search: BatchSearch,
    model: Any,
    X: Any,
    y: Any,
    *,
    name: str,
    norm: Norm,
    bounds: Bounds,
    feature_costs: Any,
    frozen: Any,
    batch_size: int | None,
    rng: Any,
    progress: bool,
    strength: Any = None,
    needs_gradient: bool = True,
    keep_length: bool = False,
    min_classes: int = 2,
    **settings: Any,
) -> AttackResult:
    """Check the arguments, run ``search`` over batches, and recompute distances and errors from the model."""
    from tqdm import tqdm

    norm = check_choice(norm, "norm", NORMS)
    logits_of = checked(model)
    parts: list[Tensor] = []
    wrong: list[Tensor] = []
    with evaluation_mode(model):  # tensors are made inside: those of torch's inference mode know no gradient
        inputs = check_inputs(
            X,
            y,
            parameter_of(model),
            norm=norm,
            bounds=bounds,
            feature_costs=feature_costs,
            frozen=frozen,
            strength=strength,
            batch_size=batch_size,
            rng=rng,
        )
        with tqdm(
            total=len(inputs.x), desc=name, unit=" rows", delay=2.0, disable=not progress, leave=False
        ) as bar:
            for rows, problem, generator in inputs.problems(logits_of):
                _check_model(problem, min_classes, try_gradient=needs_gradient and rows.start == 0)
                move = search(problem, rows, generator)
                x_adv = _settle(problem, move, inputs, push=strength is None and not keep_length)
                with torch.no_grad():
                    wrong.append(logits_of(x_adv).argmax(dim=1) != problem.y)
                parts.append(x_adv)
                bar.update(len(x_adv))
    x_adv = torch.cat(parts)
    return AttackResult(
        x_adv=x_adv.cpu().numpy() if inputs.as_numpy else x_adv,
        distance=inputs.distance(x_adv, inputs.x),
        success=np.asarray(torch.cat(wrong).cpu(), dtype=bool),
        attack=name,
        norm=norm,
        settings=settings_of(
            norm=norm,
            bounds=bounds,
            feature_costs=feature_costs,
            frozen=frozen,
            strength=strength,
            batch_size=inputs.batch_size,
            rng=rng if isinstance(rng, int) else None,
            torch=torch.__version__,
            **settings,
        ),
    )


class Worst:
    """The strongest move found so far for each row: an error before no error, then the higher loss."""

    def __init__(self, problem: Problem) -> None:
        self.move = problem.zeros()
        self.value = torch.full_like(self.move[:, 0], -torch.inf)
        self.wrong = torch.zeros_like(self.value, dtype=torch.bool)

    def rows_to_attack(self, early_stop: bool) -> Tensor | None:
        """Return the rows that are still to be attacked; None stands for all of them."""
        return (~self.wrong).nonzero()[:, 0] if early_stop else None

    def update(self, rows: Tensor | None, move: Tensor, value: Tensor, margin: Tensor) -> Tensor:
        """Keep the ``move`` of ``rows`` where it is stronger; return where it is not an error yet."""
        wrong = margin > 0
        known_value, known_wrong = (
            (self.value, self.wrong) if rows is None else (self.value[rows], self.wrong[rows])
        )
        better = torch.where(wrong == known_wrong, value > known_value, wrong)
        if rows is None:
            self.move = torch.where(better[:, None], move, self.move)
            self.value = torch.where(better, value, self.value)
            self.wrong = self.wrong | wrong
        else:
            rows = rows[better]
            self.move[rows], self.value[rows], self.wrong[rows] = move[better], value[better], wrong[better]
        return ~wrong


class Nearest:
    """The nearest error found so far for each row of a problem."""

    def __init__(self, problem: Problem) -> None:
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


def search_nearest(
    searches: list[NearestSearch], *, restarts: int, n_probes: int = 0, finish: NearestSearch | None = None
) -> BatchSearch:
    """Return the search that runs minimum-norm ``searches`` one after the other on the rows not wrong yet.

    The first run starts at the rows themselves, the others in turn at the nearest rows of the batch that are
    predicted otherwise and at random moves about as long as the best so far. Then ``n_probes`` random moves
    shorter than the best are looked at: where few features may move, they find stretches of the boundary that no
    gradient led to. In the end each best move is shortened along its own line until it meets the boundary, and
    ``finish`` runs once more from there.
    """

    def search(problem: Problem, rows: slice, generator: torch.Generator) -> Tensor:
        moves = problem.zeros()
        logits = problem.logits(moves)
        right = (logits.argmax(dim=1) == problem.y).nonzero()[:, 0]
        if not len(right):
            return moves
        part = problem.take(right)
        nearest = Nearest(part)
        for restart in range(restarts):
            start = part.zeros()
            if restart % 2:
                start = move_to_others(part, problem, logits.argmax(dim=1), restart // 2)
                end = Nearest(part)
                end.update(start, part.margins(start) > 0)
                shorten(part, end)
                nearest.update(end.move, end.found)
                start = torch.where(end.found[:, None], end.move, start)
            elif restart:
                radius = torch.where(nearest.found, nearest.norm, first_radius(part))
                start = part.random(radius, generator)
            for run in searches:
                run(part, nearest, start)
        for _ in range(n_probes):
            move = part.random(nearest.norm.where(nearest.found, 0.0), generator)
            nearest.update(move, part.margins(move) > 0)
        shorten(part, nearest)
        if finish is not None:
            finish(part, nearest, nearest.move)
            shorten(part, nearest)
        moves[right] = nearest.move
        return moves

    return search


def move_to_others(part: Problem, others: Problem, predicted: Tensor, rank: int) -> Tensor:
    """Return the moves to the nearest (``rank`` 0) or next row of ``others`` that is predicted otherwise."""
    scale = 1.0 if part.scale is None else part.scale
    free = 1.0 if part.free is None else part.free
    from_, to = part.x.flatten(1) * scale * free, others.x.flatten(1) * scale * free
    distance = torch.cdist(from_, to, p=2.0 if part.norm == "l2" else torch.inf)
    distance = distance.masked_fill(part.y[:, None] == predicted, torch.inf)
    order = distance.topk(min(rank + 1, len(to)), dim=1, largest=False)
    moves = part.clip(to[order.indices[:, -1]] - from_)
    return torch.where(torch.isfinite(order.values[:, -1:]), moves, 0.0)


def shorten(problem: Problem, nearest: Nearest, *, n_steps: int = 10) -> None:
    """Halve the part of each line that ends in a known error until its nearest error is known to 0.1 %."""
    end = nearest.move
    low = torch.zeros_like(nearest.norm)
    high = torch.ones_like(nearest.norm)
    for _ in range(n_steps):
        middle = 0.5 * (low + high)
        move = middle[:, None] * end
        wrong = (problem.margins(move) > 0) & nearest.found
        nearest.update(move, wrong)
        low, high = torch.where(wrong, low, middle), torch.where(wrong, middle, high)


def first_radius(problem: Problem) -> Tensor:
    """Return the distance to the boundary of each row by its first-order estimate, within the bounds."""
    value, gradient, _ = problem.gradient(problem.zeros(), margin_loss)
    return linear_distance(value, problem.within(gradient, problem.zeros()), problem)


def linear_distance(value: Tensor, gradient: Tensor, problem: Problem) -> Tensor:
    """Return ``-value / |gradient|``, at most what the bounds allow, and 1 where there is no gradient."""
    slope = dual_norm(gradient, problem.norm)
    estimate = torch.where(slope > 0, -value / slope.clamp_min(torch.finfo(slope.dtype).tiny), 1.0)
    return torch.minimum(torch.where(torch.isfinite(estimate), estimate, 1.0), problem.reach())


def _check_model(problem: Problem, min_classes: int, *, try_gradient: bool) -> None:
    """Look at the model's answers to unmoved rows; whether a gradient comes back is tried on the first batch."""
    logits = problem.logits(problem.zeros())
    check_labels(problem.y, logits.shape[1])
    check_logits(logits)
    if logits.shape[1] < min_classes:
        raise ValueError(
            describe(
                "loss", f"one for {logits.shape[1]} classes", f"one that needs {min_classes}", 'Take "ce".'
            )
        )
    if try_gradient:
        check_differentiable(problem.model, problem.x[:8], problem.y[:8])


def _settle(problem: Problem, move: Tensor, inputs: Inputs, *, push: bool) -> Tensor:
    """Return the moved inputs inside the bounds; the nearest error, if on the very boundary, is pushed over it.

    A minimum-norm attack ends a rounding away from the boundary, where the same input in another batch may be
    predicted otherwise. So errors get a margin above the rounding of the logits, at no measurable length.
    """
    with torch.no_grad():
        x_adv = inputs.clamp(problem.points(move))
        if inputs.free is not None:
            free = inputs.free.reshape(x_adv.shape[1:]) > 0
            x_adv = torch.where(free, x_adv, problem.x)
        moved = (move != 0).any(dim=1)
        for attempt in range(6 if push else 0):
            logits = problem.model(x_adv)
            margin = margin_loss(logits, problem.y)
            rounding = 16 * torch.finfo(logits.dtype).eps * logits.abs().amax(dim=1)
            close = moved & (margin.abs() <= rounding)
            if not bool(close.any()):
                break
            longer = problem.points(problem.clip(move * (1.0 + 1e-5 * 4.0**attempt)))
            x_adv = torch.where(close.reshape(-1, *[1] * (x_adv.ndim - 1)), inputs.clamp(longer), x_adv)
    return x_adv
