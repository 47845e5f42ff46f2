"""A small network and the interval of a paired difference over seeds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import t

from optional import torch


@pytest.fixture
def network() -> Callable[..., torch.nn.Module]:
    """Return a maker of seeded two-layer networks."""

    def make(n_inputs=2, n_classes=2, units=16, seed=0, dtype=torch.float64):
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            return torch.nn.Sequential(
                torch.nn.Flatten(),
                torch.nn.Linear(n_inputs, units, dtype=dtype),
                torch.nn.ReLU(),
                torch.nn.Linear(units, n_classes, dtype=dtype),
            )

    return make


@pytest.fixture
def paired_interval() -> Callable[..., tuple[float, float]]:
    """Return Student's interval of the mean of paired differences."""

    def interval(differences, level=0.95):
        values = np.asarray(differences, dtype=float)
        half = t.ppf(0.5 + level / 2, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
        return float(values.mean() - half), float(values.mean() + half)

    return interval
