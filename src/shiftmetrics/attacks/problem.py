"""A batch of rows under attack, in coordinates where the cost of a move is a plain norm.

A row x moves to ``x + move / scale``, with ``scale = sqrt(feature_costs)``, so that the weighted distance
``sqrt(sum_j cost_j (x'_j - x_j)^2)`` is the length of the move. Bounds become a box of moves, and a frozen
feature is a box of width 0. The attacks see rows of shape ``(n_features,)``, whatever the shape of an input.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from shiftmetrics.attacks.geometry import Norm, random_move, row_norm
from shiftmetrics.attacks.losses import RowLoss, margin_loss


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, labels and the set of moves; ``model`` maps inputs to checked logits."""

    model: Callable[[Tensor], Tensor]
    x: Tensor  # (n_samples, ...)
    y: Tensor  # (n_samples,)
    norm: Norm
    scale: Tensor | None  # (n_features,)
    free: Tensor | None  # (n_features,), 1 where a feature may move and 0 where it is frozen
    low: Tensor | None  # (n_samples, n_features), the box of moves
    high: Tensor | None
    radius: Tensor  # (n_samples,), the longest move of an attack of given strength; inf for the others

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.x.shape[0]

    def zeros(self) -> Tensor:
        """Return the move of nobody, of shape (n_samples, n_features)."""
        return torch.zeros_like(self.x.reshape(self.n_samples, -1))

    def points(self, move: Tensor) -> Tensor:
        """Return the inputs that the moves lead to, in the shape of the inputs."""
        step = move if self.scale is None else move / self.scale
        return self.x + step.reshape(self.x.shape)

    def clip(self, move: Tensor) -> Tensor:
        """Return the moves with every feature inside its bounds, and frozen ones unmoved."""
        if self.low is None or self.high is None:
            return move
        return torch.minimum(torch.maximum(move, self.low), self.high)

    def random(self, radius: Tensor, generator: torch.Generator) -> Tensor:
        """Return random moves of at most ``radius`` (one for each row), inside the bounds."""
        return self.clip(random_move(self.zeros(), self.free, radius, self.norm, generator))

    def logits(self, move: Tensor) -> Tensor:
        """Return the logits at the moved inputs, without a gradient."""
        with torch.no_grad():
            return self.model(self.points(move))

    def margins(self, move: Tensor) -> Tensor:
        """Return ``margin_loss`` at the moved inputs: positive where they are misclassified."""
        return margin_loss(self.logits(move), self.y)

    def gradient(self, move: Tensor, loss: RowLoss) -> tuple[Tensor, Tensor, Tensor]:
        """Return the loss of each row, its gradient in the move, and the logits.

        Only the gradient in the input is computed: parameters keep their ``.grad``, and it takes less time.
        """
        with torch.enable_grad():
            move = move.detach().requires_grad_(True)
            logits = self.model(self.points(move))
            value = loss(logits, self.y)
            (gradient,) = torch.autograd.grad(value.sum(), move)
        return value.detach(), self._only_free(gradient), logits.detach()

    def within(self, gradient: Tensor, move: Tensor) -> Tensor:
        """Return the gradient without the features that it pushes against a bound they have reached.

        They cannot follow; counted in, they would make the boundary look nearer than it is, and waste length.
        """
        if self.low is None or self.high is None:
            return gradient
        blocked = ((gradient < 0) & (move <= self.low)) | ((gradient > 0) & (move >= self.high))
        return gradient.masked_fill(blocked, 0.0)

    def class_gradients(self, move: Tensor, classes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return z_k - z_y for the ``classes`` (n_samples, n_candidates) and their gradients.

        Returns
        -------
        gaps : Tensor of shape (n_samples, n_candidates)
            -inf where a class is the label itself.
        gradients : Tensor of shape (n_candidates, n_samples, n_features)
        logits : Tensor of shape (n_samples, n_classes)
        """
        with torch.enable_grad():
            move = move.detach().requires_grad_(True)
            logits = self.model(self.points(move))
            gaps = logits.gather(1, classes) - logits.gather(1, self.y[:, None])
            columns = gaps.sum(dim=0)
            last = classes.shape[1] - 1
            gradients = torch.stack(
                [
                    self._only_free(torch.autograd.grad(columns[k], move, retain_graph=k < last)[0])
                    for k in range(classes.shape[1])
                ]
            )
        return gaps.detach(), gradients, logits.detach()

    def take(self, rows: Tensor) -> Problem:
        """Return the problem of some rows alone."""
        return replace(
            self,
            x=self.x[rows],
            y=self.y[rows],
            low=None if self.low is None else self.low[rows],
            high=None if self.high is None else self.high[rows],
            radius=self.radius[rows],
        )

    def reach(self) -> Tensor:
        """Return the longest move that each row's bounds allow, inf without bounds."""
        if self.low is None or self.high is None:
            return torch.full_like(self.x.reshape(self.n_samples, -1)[:, 0], torch.inf)
        return row_norm(torch.maximum(self.low.abs(), self.high.abs()), self.norm)

    def _only_free(self, gradient: Tensor) -> Tensor:
        return gradient if self.free is None else gradient * self.free
