"""Two small trained networks: one in the plane, where a grid is an oracle, and one for digits."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from optional import torch


@dataclass
class Trained:
    model: torch.nn.Module
    x: torch.Tensor  # held out
    y: torch.Tensor


def _fit(model, x, y, *, n_steps, batch, lr):
    generator = torch.Generator().manual_seed(1)
    optimiser = torch.optim.Adam(model.parameters(), lr=lr)
    for _ in range(n_steps):
        rows = torch.randint(len(x), (batch,), generator=generator)
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
        optimiser.step()
    optimiser.zero_grad(set_to_none=True)
    return model.eval()


@functools.cache
def network_of_the_plane() -> Trained:
    """Three curved classes in [-1, 1]^2, some rows close to two boundaries at once."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1.0, 1.0, (1060, 2))
    y = (x[:, 1] > 0.4 * np.sin(4.0 * x[:, 0])).astype(int) + (
        np.hypot(x[:, 0] - 0.3, x[:, 1] - 0.4) < 0.35
    )
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layers = [torch.nn.Linear(2, 24), torch.nn.Tanh(), torch.nn.Linear(24, 24), torch.nn.Tanh()]
        model = torch.nn.Sequential(*layers, torch.nn.Linear(24, 3))
    _fit(model, x[:1000], y[:1000], n_steps=500, batch=200, lr=0.02)
    return Trained(model, x[1000:], y[1000:])


@functools.cache
def network_of_digits() -> Trained:
    """A small convolutional network on 8 x 8 digits in [0, 1]; 200 rows held out."""
    from sklearn.datasets import load_digits

    data = load_digits()
    order = np.random.default_rng(0).permutation(len(data.target))
    x = torch.tensor(data.images[order][:, None] / 16.0, dtype=torch.float32)
    y = torch.tensor(data.target[order])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = torch.nn.Sequential(
            torch.nn.Conv2d(1, 16, 3, padding=1),
            torch.nn.ReLU(),
            torch.nn.Conv2d(16, 32, 3, padding=1, stride=2),
            torch.nn.ReLU(),
            torch.nn.Flatten(),
            torch.nn.Linear(32 * 16, 10),
        )
    _fit(model, x[200:], y[200:], n_steps=400, batch=128, lr=3e-3)
    return Trained(model, x[:200], y[:200])
