"""Three readers of handwritten digits, in the place of the papers' networks for CIFAR-10.

- "undefended": plain training;
- "adversarial": trained on its own worst cases within a ball;
- "weak": the undefended network behind JPEG compression, with a reverse sigmoid after it, which hides its confidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from shiftmetrics.attacks import AttackOptions, AttackResult, apgd, nearest_error, pgd
from shiftmetrics.lab.datasets import load
from shiftmetrics.lab.learners import ERM, Adversarial, fit
from shiftmetrics.lab.shifts.defences import JPEGDefence, ReverseSigmoid

CACHE = Path(__file__).parent / ".cache"
NAMES = ("undefended", "adversarial", "weak")
POWERS = (8, 16, 32, 64)
"""Bounds of the attacks on a pixel, in 255ths: digits have few pixels with a high contrast."""
RATIOS = np.linspace(0.0, 1.0, 11)
OPTIONS = AttackOptions(bounds=(0, 1))


@dataclass(frozen=True)
class Readers:
    """The models of one seed, with the digits that took no part in training."""

    models: dict[str, Any]
    x: torch.Tensor
    y: torch.Tensor

    @property
    def labels(self) -> np.ndarray:
        return self.y.numpy()

    def scores(self, name: str, x: torch.Tensor | None = None) -> np.ndarray:
        """Return a model's scores on the digits, or on others."""
        with torch.no_grad():
            return self.models[name](self.x if x is None else x).numpy().astype(float)


def readers(seed: int, quick: bool) -> Readers:
    """Return the models of one seed, trained once for all experiments; the quick form has fewer epochs."""
    digits = load("digits")
    order = np.random.default_rng(seed).permutation(len(digits.y))
    x = torch.tensor(digits.X[order].reshape(-1, 1, 8, 8), dtype=torch.float32)
    y = torch.tensor(digits.y[order])
    n_test = 150 if quick else 500
    how = {"epochs": 8 if quick else 30, "batch_size": 128, "optimizer": 3e-3, "rng": seed, "progress": False}
    plain, robust = _network(seed), _network(seed)
    fit(plain, x[n_test:], y[n_test:], objective=ERM(), **how)
    fit(
        robust,
        x[n_test:],
        y[n_test:],
        objective=Adversarial(radius=0.15, n_steps=5, low=0.0, high=1.0),
        **how,
    )
    models = {"undefended": plain, "adversarial": robust, "weak": ReverseSigmoid(JPEGDefence(plain))}
    return Readers(models, x[:n_test], y[:n_test])


def attacked(digits: Readers, name: str, kind: str, power: int = 0) -> AttackResult:
    """Attack a model: "pgd", "apgd-ce" or "apgd-dlr" within a bound, "fmn" or "fab" to the nearest error."""
    model, x, y = digits.models[name], digits.x, digits.y
    if kind in ("fmn", "fab"):
        return nearest_error(model, x, y, method=kind, norm="linf", n_steps=30, options=OPTIONS)
    if kind == "pgd":
        return pgd(model, x, y, strength=power / 255, n_steps=20, options=OPTIONS)
    loss = kind.removeprefix("apgd-")
    return apgd(model, x, y, strength=power / 255, loss=loss, n_steps=20, options=OPTIONS)


def sizes(attack: AttackResult) -> np.ndarray:
    """Return how far an attack moved each digit, by the largest change of a pixel; inf where it failed."""
    return np.where(attack.success, attack.distance, np.inf)


def _network(seed: int) -> torch.nn.Sequential:
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(64, 128), torch.nn.ELU(), torch.nn.Linear(128, 10)
    )
