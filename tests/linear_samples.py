"""Samples whose labels depend on a linear score and noise."""

import numpy as np


def sample(d: int = 4, n: int = 150, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * rng.uniform(0.5, 2.0, d)
    return X, (X @ rng.standard_normal(d) + 0.5 * rng.standard_normal(n) > 0).astype(int)
