"""Losses that attacks of given strength raise, one value for each sample."""

from __future__ import annotations

from typing import Literal, TypeAlias

from torch import Tensor

from shiftmetrics.attacks.model import RowLoss, cross_entropy, margin_loss

AttackLoss: TypeAlias = Literal["ce", "dlr", "margin"]


def difference_of_logits_ratio(logits: Tensor, y: Tensor) -> Tensor:
    """Return the margin over z_(1) - z_(3), which no rescaling of the logits changes (arXiv:2003.01690, eq. 6)."""
    top = logits.topk(3, dim=1).values
    return margin_loss(logits, y) / (top[:, 0] - top[:, 2]).clamp_min(1e-12)


def targeted_difference_of_logits_ratio(target: Tensor) -> RowLoss:
    """Return the same ratio towards one ``target`` class for each sample (arXiv:2003.01690, eq. 7)."""

    def loss(logits: Tensor, y: Tensor) -> Tensor:
        top = logits.topk(4, dim=1).values
        gap = logits.gather(1, target[:, None])[:, 0] - logits.gather(1, y[:, None])[:, 0]
        return gap / (top[:, 0] - 0.5 * (top[:, 2] + top[:, 3])).clamp_min(1e-12)

    return loss


ATTACK_LOSSES: dict[AttackLoss, RowLoss] = {
    "ce": cross_entropy,
    "dlr": difference_of_logits_ratio,
    "margin": margin_loss,
}

MIN_CLASSES = {"ce": 2, "margin": 2, "dlr": 3, "dlr-targeted": 4}
"""How many classes each loss needs: the ratios use the third and fourth largest logit."""
