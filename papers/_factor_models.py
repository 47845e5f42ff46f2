"""Networks trained by ERM, IRM and LISA on digits whose image factors are under control, in the place of the papers'.

Environment j of ``ENVIRONMENTS["discriminability"]`` shifts j factors: hue, lightness, position, scale, texture.
0 and 1 are the sources. All ten digits of the set of scikit-learn are drawn at 32 pixels and halved to 16; a small
network reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from _cache import kept
from torch import nn

from shiftmetrics.lab.datasets import load
from shiftmetrics.lab.learners import ERM, IRM, LISA, fit
from shiftmetrics.lab.shifts.factors import ENVIRONMENTS, factor_environments
from shiftmetrics.lab.shifts.factors.environments import FactorSample, split_instances
from shiftmetrics.lab.shifts.factors.spec import FactorSpec

LEARNERS = ("ERM", "IRM", "LISA")
DIGITS = load("digits")
Sample = tuple[torch.Tensor, np.ndarray]


@dataclass(frozen=True)
class Trained:
    """The networks of one seed, and the test environments.

    ``tests[j]`` holds the digits with j factors shifted, ``other`` those of environment 0 from other digits.
    """

    models: dict[str, nn.Sequential]
    tests: list[torch.Tensor]
    labels: np.ndarray
    other: torch.Tensor
    other_labels: np.ndarray

    def scores(self, name: str, x: torch.Tensor) -> np.ndarray:
        with torch.no_grad():
            return self.models[name](x).numpy().astype(float)

    def features(self, name: str, x: torch.Tensor) -> np.ndarray:
        """Return what the last layer sees."""
        with torch.no_grad():
            return self.models[name][:-1](x).numpy().astype(float)


def network(seed: int, width: int = 12) -> nn.Sequential:
    """Return three convolutions and a linear layer; the first convolution has ``width`` channels."""
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Conv2d(3, width, 3), nn.ReLU(),
        nn.Conv2d(width, 2 * width, 3, stride=2), nn.ReLU(),
        nn.Conv2d(2 * width, 4 * width, 3), nn.ReLU(),
        nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(4 * width, 10),
    )  # fmt: skip


def as_sample(drawn: FactorSample) -> Sample:
    """Return drawn digits as a tensor of pictures of 16 pixels, with their labels."""
    images = torch.from_numpy(drawn.images).permute(0, 3, 1, 2).float().div(255)
    return nn.functional.avg_pool2d(images, 2), drawn.labels


def joined(samples: Sequence[Sample]) -> Sample:
    return torch.cat([x for x, _ in samples]), np.concatenate([y for _, y in samples])


def drawn(instances: np.ndarray, environments: Sequence[FactorSpec], seed: int) -> list[Sample]:
    """Draw some digits in each environment."""
    samples = factor_environments(
        DIGITS.X, DIGITS.y, environments, instances=instances, size=32, rng=seed, progress=False
    )
    return [as_sample(one) for one in samples]


def trained(seed: int, quick: bool) -> Trained:
    """Return the networks of one seed, trained once for all experiments."""
    environments = [
        spec.replace(shape=tuple(range(10))) for spec in ENVIRONMENTS["discriminability"]
    ]
    sizes = {"train 0": 600, "train 1": 600, "test": 290, "other": 290}
    parts = split_instances(DIGITS.y, sizes, rng=seed)
    sources = [drawn(parts[f"train {j}"], [environments[j]], seed)[0] for j in (0, 1)]
    x, labels = joined(sources)
    y = torch.from_numpy(labels)
    domain = np.repeat([0, 1], [len(images) for images, _ in sources])
    epochs = 2 if quick else 16
    methods = {
        "ERM": {"objective": ERM()},
        "IRM": {"objective": IRM(penalty=1.0, warmup=epochs // 2)},
        "LISA": {"objective": ERM(), "transform": LISA(n_classes=10)},
    }
    options = {"domain": domain, "batch_size": 32, "optimizer": 4e-3, "epochs": epochs, "rng": seed}
    models = {}
    for name, method in methods.items():
        models[name] = model = network(seed)
        train = partial(fit, model, x, y, progress=False, **method, **options)
        state = kept(
            f"factors-{name}-{seed}-{epochs}", lambda train=train: train().model.state_dict()
        )
        model.load_state_dict(state)
    tests = drawn(parts["test"], environments, seed)
    other, other_labels = drawn(parts["other"], [environments[0]], seed)[0]
    return Trained(models, [images for images, _ in tests], tests[0][1], other, other_labels)
