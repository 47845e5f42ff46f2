"""The example of the stability paper in the plane: two Gaussian clouds and a logistic regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

PRICES = {"only weights": (np.inf, 0.2), "only moves": (0.2, np.inf), "both": (0.4, 0.4)}
"""theta1 and theta2, with 1/theta1 + 1/theta2 = 5."""


def clouds(seed: int) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return a fitted model, its 200 points and their labels; about 1 % of them are errors.

    Draws without an error are passed over: no weights raise their error rate.
    """
    rng = np.random.default_rng(seed)
    while True:
        points = np.concatenate(
            [rng.normal([2, 2], 1, (100, 2)), rng.normal([-1, -1], 1, (100, 2))]
        )
        labels = np.repeat([0, 1], 100)
        model = LogisticRegression(C=10.0).fit(points, labels)
        if model.score(points, labels) < 1:
            return model, points, labels


def draw_boundary(ax: Any, model: Any) -> None:
    """Draw the line where the model's decision changes, over the axes as they are."""
    left, right = ax.get_xlim()
    bottom, top = ax.get_ylim()
    x = np.linspace(left, right, 300)
    y = np.linspace(bottom, top, 300)
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    margins = model.decision_function(grid).reshape(300, 300)
    ax.contour(x, y, margins, levels=[0.0], colors="black", linewidths=1.2)


def boundary_distance(model: Any, points: np.ndarray) -> np.ndarray:
    """Return how far points lie from the line where the model's decision changes."""
    return np.abs(model.decision_function(points)) / np.linalg.norm(model.coef_)
