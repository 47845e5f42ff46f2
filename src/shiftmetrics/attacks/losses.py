"""What a gradient attack raises: one number for each row, larger when the row is closer to an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import torch
from torch import Tensor

RowLoss: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""Maps logits of shape (n_samples, n_classes) and labels (n_samples,) to losses (n_samples,)."""

LossName: TypeAlias = Literal["ce", "dlr", "margin"]


def margin_loss(logits: Tensor, y: Tensor) -> Tensor:
    """Return max_{k != y} z_k - z_y: positive exactly where the row is misclassified."""
    own = logits.gather(1, y[:, None])
    others = logits.scatter(1, y[:, None], -torch.inf)
    return others.amax(dim=1) - own[:, 0]


def smooth_margin_loss(logits: Tensor, y: Tensor) -> Tensor:
    """Return log sum_{k != y} exp z_k - z_y.

    Its gradient has the direction of the cross-entropy's, which is its softplus, and does not vanish where the
    model is sure.
    """
    own = logits.gather(1, y[:, None])
    others = logits.scatter(1, y[:, None], -torch.inf)
    return others.logsumexp(dim=1) - own[:, 0]


def cross_entropy(logits: Tensor, y: Tensor) -> Tensor:
    """Return -log softmax(z)_y."""
    return torch.nn.functional.cross_entropy(logits, y, reduction="none")


def difference_of_logits_ratio(logits: Tensor, y: Tensor) -> Tensor:
    """Return the margin over z_(1) - z_(3), which no rescaling of the logits changes (arXiv:2003.01690, eq. 6)."""
    top = logits.topk(3, dim=1).values
    return margin_loss(logits, y) / (top[:, 0] - top[:, 2]).clamp_min(1e-12)


def targeted_difference_of_logits_ratio(target: Tensor) -> RowLoss:
    """Return the same ratio towards one ``target`` class for each row (arXiv:2003.01690, eq. 7)."""

    def loss(logits: Tensor, y: Tensor) -> Tensor:
        top = logits.topk(4, dim=1).values
        gap = logits.gather(1, target[:, None])[:, 0] - logits.gather(1, y[:, None])[:, 0]
        return gap / (top[:, 0] - 0.5 * (top[:, 2] + top[:, 3])).clamp_min(1e-12)

    return loss


ROW_LOSSES: dict[LossName, RowLoss] = {
    "ce": cross_entropy,
    "dlr": difference_of_logits_ratio,
    "margin": margin_loss,
}

MIN_CLASSES = {"ce": 2, "margin": 2, "dlr": 3, "dlr-targeted": 4}
"""How many classes each loss needs: the ratios look at the third and fourth largest logit."""
