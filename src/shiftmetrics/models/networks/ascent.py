"""Gradient ascent of ``dual loss - theta1 distance^2`` for all rows at once, safeguarded and warm-started."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.attacks.model import cross_entropy, margin_loss, smooth_margin_loss
from shiftmetrics.models.decision.space import MoveSpace
from shiftmetrics.models.networks.module import Network, batches
from shiftmetrics.models.question import LossName

RowLoss = Callable[[Tensor, Tensor], Tensor]
"""Maps scores and labels to one number for each row."""

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

_LONGEST, _SHORTEST = 32.0, 1e-3


class Ascent:
    """Rows that climb in the numeric columns that move; categories stay where a point has them.

    Parameters
    ----------
    network : Network
    space : MoveSpace
        The rows and where they may move.
    y : array of shape (n_rows,)
        Positions of labels, or values.
    loss : str
        A key of `LOSSES`.
    theta1 : float
        Price of moving.
    """

    def __init__(self, network: Network, space: MoveSpace, y: Any, loss: LossName, theta1: float) -> None:
        self.network, self.space, self.loss, self.theta1 = network, space, loss, theta1
        labels = np.array(y, dtype=np.float64)
        self._y = network.tensor(labels) if loss == "squared" else network.tensor(labels).long()
        self._unit = network.tensor(space.unit)
        self._low, self._high = network.tensor(space.low), network.tensor(space.high)

    def climb(self, points: FloatArray, dual: float, *, n_steps: int) -> FloatArray:
        """Return better points, reached from ``points`` in a few gradient steps; never worse ones."""
        moves = self.space.moves(points, np.arange(len(points)))
        climbed = np.empty_like(points)
        with self.network.evaluating():
            for rows in batches(points):
                base = self.network.tensor(points[rows])
                found = self._climb(rows, base, self.network.tensor(moves[rows]), dual, n_steps)
                climbed[rows] = self._points(rows, base, found).detach().cpu().numpy()
        return climbed

    def leaps(self, points: FloatArray, dual: float) -> list[FloatArray]:
        """Return points farther off, where the loss is no longer saturated: other starts for `climb`."""
        moves = self.space.moves(points, np.arange(len(points)))
        signs = (1.0, -1.0) if self.loss == "squared" else (1.0,)
        leapt = [np.empty_like(points) for _ in signs]
        with self.network.evaluating():
            for rows in batches(points):
                base, here = self.network.tensor(points[rows]), self.network.tensor(moves[rows])
                _, slope = self._value(rows, base, here, UNSATURATED[self.loss])
                step = slope * (dual / (2.0 * self.theta1))
                if self.loss == "squared":  # the loss grows as the square: a move of usual length will do
                    step = slope / slope.norm(dim=1, keepdim=True).clamp_min(1e-12)
                for sign, place in zip(signs, leapt, strict=True):
                    there = self._clip(rows, here + sign * step)
                    place[rows] = self._points(rows, base, there).detach().cpu().numpy()
        return leapt

    def steepness(self) -> float:
        """Return the root mean square slope of the loss, where it is not saturated, in units of cost."""
        total = 0.0
        with self.network.evaluating():
            for rows in batches(self.space.origin):
                base = self.network.tensor(self.space.origin[rows])
                _, slope = self._value(rows, base, torch.zeros_like(self._low[rows]), UNSATURATED[self.loss])
                total += float(slope.square().sum())
        return float(np.sqrt(total / len(self.space.origin)))

    def _climb(self, rows: slice, base: Tensor, move: Tensor, dual: float, n_steps: int) -> Tensor:
        reach = dual / (2.0 * self.theta1)
        loss, slope = self._value(rows, base, move, LOSSES[self.loss])
        value = dual * loss - self.theta1 * move.square().sum(dim=1)
        step = torch.ones_like(value)
        # where the loss is concave enough, the row's best place is a fixed point: move = h slope / (2 theta1)
        heading = self._clip(rows, reach * slope) - move
        for _ in range(n_steps):
            trial = self._clip(rows, move + step[:, None] * heading)
            loss, slope = self._value(rows, base, trial, LOSSES[self.loss])
            there = dual * loss - self.theta1 * trial.square().sum(dim=1)
            ahead = self._clip(rows, reach * slope) - trial
            better = there > value
            change, turn = trial - move, heading - ahead
            curved = (change * turn).sum(dim=1)
            # Barzilai and Borwein: the step that a straight line through both headings would have wanted
            secant = change.square().sum(dim=1) / curved.clamp_min(1e-300)
            step = torch.where(better & (curved > 0.0), secant, torch.where(better, 2.0 * step, 0.25 * step))
            step = step.clamp(_SHORTEST, _LONGEST)
            move = torch.where(better[:, None], trial, move)
            heading = torch.where(better[:, None], ahead, heading)
            value = torch.where(better, there, value)
        return move

    def _value(self, rows: slice, base: Tensor, move: Tensor, loss: RowLoss) -> tuple[Tensor, Tensor]:
        """Return a loss and its slope in units of cost."""
        move = move.detach().requires_grad_(True)
        value = loss(self.network(self._points(rows, base, move)), self._y[rows])
        (slope,) = torch.autograd.grad(value.sum(), move)
        return value.detach(), torch.nan_to_num(slope, nan=0.0, posinf=0.0, neginf=0.0)

    def _points(self, rows: slice, base: Tensor, move: Tensor) -> Tensor:
        origin = self.network.tensor(self.space.origin[rows][:, self.space.numeric])
        columns = torch.as_tensor(self.space.numeric, device=base.device)
        return base.index_copy(1, columns, origin + move * self._unit)

    def _clip(self, rows: slice, move: Tensor) -> Tensor:
        return torch.minimum(torch.maximum(move, self._low[rows]), self._high[rows])
