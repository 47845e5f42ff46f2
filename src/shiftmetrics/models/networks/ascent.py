"""Perturbed inputs of a network: gradient ascent of ``dual loss - theta1 distance^2``, attacks for the 0/1 loss."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.attacks import AttackOptions, nearest_error
from shiftmetrics.attacks.model import (
    RowLoss,
    check_logits,
    cross_entropy,
    margin_loss,
    smooth_margin_loss,
)
from shiftmetrics.models.networks.bounds import certified_radii
from shiftmetrics.models.networks.layer_check import reproduces
from shiftmetrics.models.networks.network import Network, batches
from shiftmetrics.models.reading.model import LossName, ModelProblem
from shiftmetrics.models.search.counterexamples import find_counterexamples
from shiftmetrics.models.search.worst_case import EVERYONE, Ascent, BestPoints, WorstCase
from shiftmetrics.stability.losses import ZeroOneLoss

LOSSES: dict[LossName, RowLoss] = {
    "log_loss": cross_entropy,
    "hinge": lambda scores, y: (1.0 + margin_loss(scores, y)).clamp_min(0.0),
    "squared": lambda values, y: (values - y).square(),
}

UNSATURATED: dict[LossName, RowLoss] = {
    "log_loss": smooth_margin_loss,
    "hinge": margin_loss,
    "squared": lambda values, y: values,
}
"""What a loss becomes where it is high: its gradient does not vanish where a row has no loss."""

# Bounds of the step length.
_LONGEST = 32.0
_SHORTEST = 1e-3
_N_STEPS = 3
"""Gradient steps in a round."""
_FIRST_MOVES = (
    0.3,
    1.0,
    3.0,
)  # typical lengths of the perturbations at the first guesses of the price
_MOST_JUMPS = 32
_FIRST_ECHO = 0.2
_LEAST_ECHO = 1e-7
_HIGHEST_PRICE = 1e9


class GradientAscent(Ascent):
    """Ascent by the gradients of a network.

    Rows climb in the numeric columns that may change; categories stay where a point has them, but for jumps.
    """

    rtol = 1e-11

    def __init__(self, problem: ModelProblem, network: Network) -> None:
        if network.classifies:
            check_logits(torch.as_tensor(network.scores(problem.codes)))
        super().__init__(problem)
        self.network = network
        self.warnings = network.warnings
        self.theta1 = problem.theta1
        # The box of moves, in units of cost, as tensors.
        labels = network.tensor(problem.y)
        if problem.loss != "squared":
            labels = labels.long()
        self._y = labels
        self._unit = network.tensor(self.space.unit)
        self._low = network.tensor(self.space.low)
        self._high = network.tensor(self.space.high)
        self.slopes = self._slopes_at_rows()
        # Where a loss of slope s is linear, the best move at a price has the length price s / (2 theta1).
        squares = np.square(self.slopes).sum(axis=1)
        steepness = float(np.sqrt(squares.mean())) or 1.0
        price_of_move = 2.0 * self.theta1 / steepness
        self.guesses = [price_of_move * move for move in _FIRST_MOVES]
        self.price = self.guesses[-1]
        self.before: float | None = None  # the price of the round before

    def first(self) -> WorstCase:
        """Climb at several guesses of the price, so that the first solve has something to choose from."""
        for guess in self.guesses:
            self.round(guess)
        return self.worst_case()

    def next_price(self, dual: float) -> float | None:
        """Return a higher price where the threshold is out of reach of what is known; else None."""
        if math.isfinite(dual) or self.price >= _HIGHEST_PRICE:
            return None
        return self.price_at(dual)

    def climb(
        self,
        start: FloatArray,
        best: BestPoints,
        dual: float,
    ) -> None:
        """Climb from the best points, from far ones, and from those after a jump."""
        everyone = np.arange(len(start))
        starts = [start, *self._leaps(dual), *self._jumps(start, dual)]
        for points in starts:
            climbed = self._ascended(points, dual)
            losses, _, values = self._seen(climbed, dual)
            best.keep(everyone, climbed, losses, values)

    def add_found(self, best: BestPoints, price: float) -> None:
        """Add the points, and others a little nearer and farther: echoes.

        The best points may be there when the price has settled. It changes with the points, by less each round; so do
        the echoes.
        """
        super().add_found(best, price)
        change = _FIRST_ECHO
        if self.before:
            change = abs(price / self.before - 1.0)
        self.before = price
        if change < _LEAST_ECHO:
            return
        rows = np.arange(len(best.points))
        moves = self.space.moves(best.points, rows)[:, None]
        change = min(change, _FIRST_ECHO)
        for factor in (1.0 - change, 1.0 + change):
            echo = self.space.clip(factor * moves, rows)
            points = self.space.points(best.points, rows, echo)[:, 0]
            losses, distances, _ = self._seen(points, price)
            distances = np.where(best.found, distances, np.inf)
            self.add(points, losses, distances)

    def _seen(self, points: FloatArray, price: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Put points where the model sees them, in place, and measure them there."""
        codes = self.problem.codes
        allowed = self.problem.domain.clip(points, codes)
        points[:] = self.network.seen(allowed, codes)
        return self.measured(points, EVERYONE, price)

    def _jumps(self, start: FloatArray, dual: float) -> list[FloatArray]:
        """Return the best single jump from each point, where there are categories or coarse integers."""
        if not self.space.jumping:
            return []
        # Of some jumps at random the best is kept, whether or not it gains: the climb from there tells.
        jumped = start.copy()
        best = np.full(len(start), -np.inf)
        options = self.space.some_jumps(start, self.problem.rng, _MOST_JUMPS)
        for points in np.ascontiguousarray(options.swapaxes(0, 1)):
            _, _, there = self._seen(points, dual)
            better = there > best
            jumped[better] = points[better]
            best[better] = there[better]
        return [jumped]

    def _ascended(self, points: FloatArray, dual: float) -> FloatArray:
        """Return better points, reached from ``points`` in a few gradient steps; never worse ones."""
        moves = self.space.moves(points, np.arange(len(points)))
        climbed = np.empty_like(points)
        with self.network.evaluating():
            for rows in batches(points):
                base = self.network.tensor(points[rows])
                begin = self.network.tensor(moves[rows])
                found = self._ascent(rows, base, begin, dual)
                there = self._points(rows, base, found)
                climbed[rows] = there.detach().cpu().numpy()
        return climbed

    def _slopes_at_rows(self) -> FloatArray:
        """Return the slopes of the loss at the rows, were it not saturated there, in units of cost."""
        codes = self.problem.codes
        loss = UNSATURATED[self.problem.loss]
        slopes = []
        with self.network.evaluating():
            for rows in batches(codes):
                base = self.network.tensor(codes[rows])
                here = torch.zeros_like(self._low[rows])
                _, slope = self._value(rows, base, here, loss)
                slopes.append(slope.cpu().double().numpy())
        return np.concatenate(slopes)

    def _leaps(self, dual: float) -> list[FloatArray]:
        """Return points far from the rows, where the loss is no longer saturated: other places to climb from."""
        rows = np.arange(len(self.slopes))
        # Where the loss is linear with this slope, the best move is dual slope / (2 theta1).
        reach = dual / (2.0 * self.theta1)
        moves = self.slopes[:, None] * reach
        if self.problem.loss == "squared":
            # It grows as the square: a move of length 1 to either side will do.
            size = np.linalg.norm(self.slopes, axis=1, keepdims=True)
            ways = self.slopes / np.maximum(size, 1e-12)
            moves = np.stack([ways, -ways], axis=1)
        moves = self.space.clip(moves, rows)
        points = self.space.points(self.problem.codes, rows, moves)
        return list(points.swapaxes(0, 1))

    def _ascent(
        self,
        rows: slice,
        base: Tensor,
        move: Tensor,
        dual: float,
    ) -> Tensor:
        """Return better moves, by a few steps towards the fixed point ``move = dual slope(move) / (2 theta1)``.

        The best move inside the box is such a point. Steps that do not raise ``dual loss - theta1 move^2`` are taken
        back, and the next ones are shorter.
        """
        reach = dual / (2.0 * self.theta1)
        row_loss = LOSSES[self.problem.loss]
        loss, slope = self._value(rows, base, move, row_loss)
        value = self._worth(loss, move, dual)
        step = torch.ones_like(value)
        heading = self._clip(rows, reach * slope) - move
        for _ in range(_N_STEPS):
            stepped = move + step[:, None] * heading
            trial = self._clip(rows, stepped)
            loss, slope = self._value(rows, base, trial, row_loss)
            there = self._worth(loss, trial, dual)
            ahead = self._clip(rows, reach * slope) - trial
            better = there > value
            change = trial - move
            turn = heading - ahead
            curved = (change * turn).sum(dim=1)
            # Barzilai and Borwein: the step that a straight line through both headings would have wanted.
            length = change.square().sum(dim=1)
            secant = length / curved.clamp_min(1e-300)
            step = torch.where(better, 2.0 * step, 0.25 * step)
            step = torch.where(better & (curved > 0.0), secant, step)
            step = step.clamp(_SHORTEST, _LONGEST)
            move = torch.where(better[:, None], trial, move)
            heading = torch.where(better[:, None], ahead, heading)
            value = torch.where(better, there, value)
        return move

    def _value(
        self,
        rows: slice,
        base: Tensor,
        move: Tensor,
        loss: RowLoss,
    ) -> tuple[Tensor, Tensor]:
        """Return a loss and its slope in units of cost."""
        move = move.detach().requires_grad_(True)
        output = self.network(self._points(rows, base, move))
        value = loss(output, self._y[rows])
        (slope,) = torch.autograd.grad(value.sum(), move)
        # Where a loss overflows its slope leads nowhere.
        slope = torch.nan_to_num(slope, nan=0.0, posinf=0.0, neginf=0.0)
        return value.detach(), slope

    def _worth(self, loss: Tensor, move: Tensor, dual: float) -> Tensor:
        """Return ``dual loss - theta1 move^2``."""
        return dual * loss - self.theta1 * move.square().sum(dim=1)

    def _points(
        self,
        rows: slice,
        base: Tensor,
        move: Tensor,
    ) -> Tensor:
        smooth = self.space.origin[rows][:, self.space.smooth]
        origin = self.network.tensor(smooth)
        columns = torch.as_tensor(self.space.smooth, device=base.device)
        return base.index_copy(1, columns, origin + move * self._unit)

    def _clip(self, rows: slice, move: Tensor) -> Tensor:
        above = torch.maximum(move, self._low[rows])
        return torch.minimum(above, self._high[rows])


def attack_network(problem: ModelProblem, network: Network) -> WorstCase:
    """WorstCase for the 0/1 loss."""
    points = _attacked(problem, network)
    domain = problem.domain
    codes = problem.codes
    # Errors and distances are those of the model at the points in its own precision.
    wrong = problem.is_wrong(codes, EVERYONE)
    success = problem.is_wrong(points, EVERYONE)
    distances = domain.distances(points, codes)
    distances[~success] = np.inf
    distances[wrong] = 0.0
    left = np.isinf(distances)
    # Jumps have no gradient, and a gradient may lead nowhere: then a search that only predicts goes on.
    steps = domain.numeric & domain.integer
    if left.any() or domain.mutable_flips or steps.any():
        found = find_counterexamples(problem, n_queries=problem.search.n_queries, known=points)
        nearer = found.distances < distances
        points = np.where(nearer[:, None], found.points, points)
        distances = np.minimum(found.distances, distances)
    found_errors = WorstCase.of_errors(points, distances, warnings=network.warnings)
    bounds = None
    if reproduces(network, problem.codes):
        bounds = certified_radii(problem, network.module, network.cut, distances)
    if bounds is None:
        return found_errors
    least = ZeroOneLoss(np.minimum(bounds, distances), kind="lower_bound")
    return replace(found_errors, lower=least)


def _attacked(problem: ModelProblem, network: Network) -> FloatArray:
    """Return where gradient attacks bring each row; the row itself where they find nothing."""
    domain = problem.domain
    codes = problem.codes
    free = domain.numeric & ~domain.integer
    if not free.any():
        return codes.copy()
    # Bounds that hold every row: those of the domain, widened to rows that stand outside.
    low, high = domain.limits(codes)
    lowest = np.minimum(low, codes).min(axis=0)
    highest = np.maximum(high, codes).max(axis=0)
    options = AttackOptions(
        bounds=(lowest, highest),
        feature_costs=np.where(free, domain.unit, 1.0) ** -2.0,
        frozen=~free,
        rng=problem.rng,
        progress=problem.search.progress,
    )
    start = network.tensor(codes).to(network.dtype)
    with network.evaluating():
        found = nearest_error(network, start, problem.y, options=options)
    # What may not change smoothly stays where it was, whatever rounding made of it.
    moved = found.x_adv.detach().cpu().double().numpy()
    moved = np.where(free, moved, codes)
    inside = domain.clip(moved, codes)
    return network.seen(inside, codes)
