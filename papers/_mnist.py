"""The handwritten digits of MNIST's test set, which several experiments share."""

from __future__ import annotations

from functools import cache

import numpy as np
from _experiment import data_folder

from shiftmetrics_lab.datasets import load


@cache
def mnist() -> tuple[np.ndarray, np.ndarray]:
    """Return 10,000 digits of 28 by 28 pixels in [0, 1], and what they show."""
    digits = load("mnist", data_folder("mnist_test") / "mnist_t10k.npz")
    return np.asarray(digits.X) / 255.0, digits.y
