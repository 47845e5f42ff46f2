"""Networks trained by ERM, IRM and LISA on digits whose image factors are under control, in the place of the papers'.

Environment j of ``ENVIRONMENTS["discriminability"]`` shifts j factors: hue, lightness, position, scale, texture.
0 and 1 are the sources. All ten digits of scikit-learn's set are drawn at 32 pixels, and a small network reads them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from shiftmetrics.lab.datasets import load
from shiftmetrics.lab.learners import ERM, IRM, LISA, fit
from shiftmetrics.lab.shifts.factors import ENVIRONMENTS, factor_environments
from shiftmetrics.lab.shifts.factors.environments import split_instances

CACHE = Path(__file__).parent / ".cache"
LEARNERS = ("ERM", "IRM", "LISA")
SIZE = 32


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


def network(seed: int) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Conv2d(3, 16, 5, stride=2), nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(),
        nn.Conv2d(32, 48, 3), nn.ReLU(),
        nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(48, 10),
    )  # fmt: skip


def drawn(
    parts: dict[str, Any], name: str, environments: list, seed: int
) -> list[tuple[torch.Tensor, np.ndarray]]:
    """Draw the digits of one part in each environment, as tensors with their labels."""
    digits = load("digits")
    samples = factor_environments(
        digits.X, digits.y, environments, instances=parts[name], size=SIZE, rng=seed
    )
    return [
        (torch.from_numpy(one.images).permute(0, 3, 1, 2).float().div(255), one.labels) for one in samples
    ]


def trained(seed: int, quick: bool) -> Trained:
    """Return the networks of one seed, trained once for all experiments."""
    environments = [spec.replace(shape=tuple(range(10))) for spec in ENVIRONMENTS["discriminability"]]
    sizes = {"train 0": 600, "train 1": 600, "test": 290, "other": 290}
    parts = split_instances(load("digits").y, sizes, rng=seed)
    sources = [drawn(parts, f"train {j}", [environments[j]], seed)[0] for j in (0, 1)]
    x = torch.cat([images for images, _ in sources])
    y = torch.from_numpy(np.concatenate([labels for _, labels in sources]))
    domain = np.repeat([0, 1], [len(images) for images, _ in sources])
    epochs = 2 if quick else 15
    methods = {
        "ERM": {"objective": ERM()},
        "IRM": {"objective": IRM(penalty=100.0, warmup=epochs // 2)},
        "LISA": {"objective": ERM(), "transform": LISA(n_classes=10)},
    }
    models = {}
    for name, method in methods.items():
        models[name] = network(seed)
        kept = CACHE / f"factor_models_{name}_{seed}_{epochs}.pt"
        if kept.is_file():
            models[name].load_state_dict(torch.load(kept))
            continue
        options = {"domain": domain, "batch_size": 64, "optimizer": 2e-3, "epochs": epochs, "rng": seed}
        fit(models[name], x, y, progress=False, **method, **options)
        CACHE.mkdir(exist_ok=True)
        torch.save(models[name].state_dict(), kept)
    tests = drawn(parts, "test", environments, seed)
    other, other_labels = drawn(parts, "other", [environments[0]], seed)[0]
    return Trained(models, [images for images, _ in tests], tests[0][1], other, other_labels)
