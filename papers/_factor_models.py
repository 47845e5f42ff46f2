"""Networks trained by ERM, IRM and LISA on digits whose image factors are under control, in the place of the papers'.

Environment j of ``ENVIRONMENTS["discriminability"]`` shifts j factors: hue, lightness, position, scale, texture.
0 and 1 are the sources. As in the thesis the task is fours against nines of MNIST, drawn at 32 pixels (thesis: 128);
500 pictures of each source train a network of four convolutions with batch normalisation for ten epochs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from _cache import kept
from _mnist import mnist
from torch import nn

from shiftmetrics_lab.datasets import load
from shiftmetrics_lab.learners import ERM, IRM, LISA, fit
from shiftmetrics_lab.learners.selection import predict_scores
from shiftmetrics_lab.shifts.factors import ENVIRONMENTS, factor_environments
from shiftmetrics_lab.shifts.factors.environments import FactorSample, split_instances
from shiftmetrics_lab.shifts.factors.spec import FactorSpec

LEARNERS = ("ERM", "IRM", "LISA")
DIGITS = load("digits")
EPOCHS = 10
PENALTY = 100.0
"""Of IRM, after a third of the epochs at penalty 1: features must form first."""

FOUR_OR_NINE = (4, 9)
Sample = tuple[torch.Tensor, np.ndarray]


@dataclass(frozen=True)
class Trained:
    """The networks of one seed, and the test environments; a nine is class 1.

    ``tests[j]`` holds the digits with j factors shifted, ``other`` those of environment 0 from other digits.
    """

    models: dict[str, nn.Sequential]
    tests: list[torch.Tensor]
    labels: np.ndarray
    other: torch.Tensor
    other_labels: np.ndarray

    def scores(self, name: str, x: torch.Tensor) -> np.ndarray:
        return predict_scores(self.models[name], x)

    def features(self, name: str, x: torch.Tensor) -> np.ndarray:
        """Return what the last layer sees."""
        return predict_scores(self.models[name][:-1], x)


def network(seed: int, n_classes: int = 10, width: int = 16) -> nn.Sequential:
    """Return four convolutions with batch normalisation, a maximum over places and a linear layer."""
    torch.manual_seed(seed)
    layers: list[nn.Module] = []
    channels = 3
    for n_outputs, stride in ((width, 2), (2 * width, 1), (2 * width, 2), (4 * width, 1)):
        convolution = nn.Conv2d(channels, n_outputs, 3, stride=stride, padding=1, bias=False)
        layers += [convolution, nn.BatchNorm2d(n_outputs), nn.ReLU()]
        channels = n_outputs
    return nn.Sequential(
        *layers, nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(channels, n_classes)
    )


def as_sample(sample: FactorSample) -> Sample:
    """Return drawn digits as a tensor of pictures of 32 pixels, with their labels."""
    return torch.from_numpy(sample.images).permute(0, 3, 1, 2).float().div(255), sample.labels


def joined(samples: Sequence[Sample]) -> Sample:
    return torch.cat([x for x, _ in samples]), np.concatenate([y for _, y in samples])


def drawn(instances: np.ndarray, environments: Sequence[FactorSpec], seed: int) -> list[Sample]:
    """Draw some digits of MNIST in each environment."""
    samples = factor_environments(
        *mnist(), environments, instances=instances, size=32, rng=seed, progress=False
    )
    return [as_sample(one) for one in samples]


def nines(samples: Sequence[Sample]) -> list[Sample]:
    """Return the samples with labels 1 for nines and 0 for fours."""
    return [(x, (y == max(FOUR_OR_NINE)).astype(int)) for x, y in samples]


def trained(seed: int, quick: bool) -> Trained:
    """Return the networks of one seed, trained once for all experiments."""
    environments = [spec.replace(shape=FOUR_OR_NINE) for spec in ENVIRONMENTS["discriminability"]]
    sizes = {"train 0": 500, "train 1": 500, "test": 490, "other": 490}
    parts = split_instances(mnist()[1], sizes, shape=FOUR_OR_NINE, rng=seed)
    sources = [nines(drawn(parts[f"train {j}"], [environments[j]], seed))[0] for j in (0, 1)]
    x, labels = joined(sources)
    y = torch.from_numpy(labels)
    domain = np.repeat([0, 1], [len(images) for images, _ in sources])
    epochs = 2 if quick else EPOCHS
    methods = {
        "ERM": {"objective": ERM()},
        "IRM": {"objective": IRM(penalty=PENALTY, warmup=epochs // 3)},
        "LISA": {"objective": ERM(), "transform": LISA(n_classes=2)},
    }
    options = {"domain": domain, "batch_size": 32, "optimizer": 3e-3, "epochs": epochs, "rng": seed}
    models = {}
    for name, method in methods.items():
        models[name] = model = network(seed, n_classes=2)
        train = partial(fit, model, x, y, progress=False, **method, **options)
        state = kept(
            f"factors-{name}-{seed}-{epochs}",
            lambda train=train: train().model.state_dict(),
            __file__,
        )
        model.load_state_dict(state)
    tests = nines(drawn(parts["test"], environments, seed))
    other, other_labels = nines(drawn(parts["other"], [environments[0]], seed))[0]
    return Trained(models, [images for images, _ in tests], tests[0][1], other, other_labels)
