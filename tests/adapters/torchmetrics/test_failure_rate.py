"""Attack failure rates as a metric: counts, margins and what is refused."""

import math

import numpy as np
import pytest
import torch
from torchmetrics.classification import MulticlassAccuracy

from shiftmetrics.adapters.torchmetrics import AttackFailureRate

K = 5


def batches(
    seed: int = 0, sizes: tuple[int, ...] = (40, 7, 60)
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(seed)
    reference = 3.0 * torch.randn(sum(sizes), K, generator=generator)
    scores = reference + 3.0 * torch.randn(sum(sizes), K, generator=generator)
    return list(zip(scores.split(sizes), reference.split(sizes), strict=True))


def joined(parts: list[tuple[torch.Tensor, torch.Tensor]]) -> tuple[torch.Tensor, torch.Tensor]:
    scores, reference = zip(*parts, strict=True)
    return torch.cat(scores), torch.cat(reference)


def test_attack_failure_rates_are_counted() -> None:
    parts = batches()
    scores, reference = joined(parts)
    labels = torch.randint(0, K, (len(scores),), generator=torch.Generator().manual_seed(2))
    afr_p = int((scores.argmax(dim=1) == reference.argmax(dim=1)).sum()) / len(scores)
    afr_t = int((scores.argmax(dim=1) == labels).sum()) / len(scores)
    metric, labelled = AttackFailureRate(), AttackFailureRate()
    for (a, b), y in zip(parts, labels.split((40, 7, 60)), strict=True):
        metric.update(a, b)
        labelled.update(a.argmax(dim=1), b.argmax(dim=1), labels=y)
    assert metric.compute().item() == afr_p == AttackFailureRate()(scores, reference).item()
    assert labelled.compute().item() == afr_t
    assert AttackFailureRate()(scores, reference, labels).item() == afr_t
    accuracy = MulticlassAccuracy(K, average="micro")
    assert labelled.compute().item() == pytest.approx(accuracy(scores, labels).item())
    metric.merge_state(labelled)
    with pytest.raises(ValueError, match="labels must be given in every update or in none"):
        metric.compute()


def test_attack_failure_rate_of_margins() -> None:
    shifted, reference = torch.tensor([1.0, -1.0, 2.0]), torch.tensor([1.0, 1.0, 1.0])
    assert AttackFailureRate()(shifted, reference).item() == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones((2, 2)), torch.ones(2, 2)), "scores must be a tensor"),
        ((torch.ones(2, 2), torch.ones(3, 2)), "reference_scores must be of length 2"),
        ((torch.ones(2, 2), torch.ones(2, 2), torch.ones(3)), "labels must be of length 2"),
        ((torch.full((2, 2), math.nan), torch.ones(2, 2)), "scores must be finite"),
    ],
)
def test_bad_input_of_attack_failure_rate(arguments: tuple, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        AttackFailureRate().update(*arguments)
