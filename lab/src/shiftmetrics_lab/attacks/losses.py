"""Losses that attacks of given strength raise, one value for each sample."""

from __future__ import annotations

from typing import Literal, TypeAlias

from torch import Tensor

from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics.attacks.model import RowLoss, cross_entropy, margin_loss

AttackLoss: TypeAlias = Literal["ce", "dlr", "margin"]


def difference_of_logits_ratio(logits: Tensor, y: Tensor) -> Tensor:
    """Return the margin over z_(1) - z_(3), which no rescaling of the logits changes (arXiv:2003.01690, eq. 6)."""
    top = _highest(logits, 3)
    return margin_loss(logits, y) / (top[:, 0] - top[:, 2]).clamp_min(1e-12)


def targeted_difference_of_logits_ratio(target: Tensor) -> RowLoss:
    """Return the same ratio towards one ``target`` class for each sample (arXiv:2003.01690, eq. 7)."""

    def loss(logits: Tensor, y: Tensor) -> Tensor:
        top = _highest(logits, 4)
        gap = logits.gather(1, target[:, None])[:, 0] - logits.gather(1, y[:, None])[:, 0]
        return gap / (top[:, 0] - 0.5 * (top[:, 2] + top[:, 3])).clamp_min(1e-12)

    return loss


def _highest(logits: Tensor, count: int) -> Tensor:
    """Return the largest logits of each row; the ratios use the third and fourth."""
    if logits.shape[1] < count:
        expected, got = f"one for {logits.shape[1]} classes", f"one that needs {count}"
        raise ArgumentValueError("loss", expected, got, 'Take "ce".')
    return logits.topk(count, dim=1).values


ATTACK_LOSSES: dict[AttackLoss, RowLoss] = {
    "ce": cross_entropy,
    "dlr": difference_of_logits_ratio,
    "margin": margin_loss,
}
