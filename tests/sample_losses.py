"""The samples that the golden numbers belong to, and small losses of every kind."""

import numpy as np

from shiftmetrics.stability import (
    CandidateLoss,
    FixedLoss,
    HingeLoss,
    LogisticLoss,
    PiecewiseLinearLoss,
    SquaredLoss,
    ZeroOneLoss,
)
from shiftmetrics.stability.losses import Loss

MARGINS = -0.5 + 0.1 * np.arange(30)
NORM = 1.5


def golden_loss(name: str) -> Loss:
    if name == "squared":
        return SquaredLoss(-1 + 2 * np.arange(30) / 29, NORM)
    if name == "zero_one":
        return ZeroOneLoss(np.maximum(MARGINS, 0.0) / NORM)
    return {"hinge": HingeLoss, "logistic": LogisticLoss}[name](MARGINS, NORM)


def random_loss(kind: str, seed: int, n: int = 40) -> Loss:
    """Return a loss with ties, inf distances and padding where its kind knows them."""
    rng = np.random.default_rng(seed)
    margins = np.round(rng.normal(1.0, 1.0, n), 1)
    if kind == "fixed":
        return FixedLoss(np.round(rng.exponential(1.0, n), 1))
    if kind == "zero_one":
        distances = np.round(np.maximum(margins, 0.0), 1)
        distances[rng.random(n) < 0.1] = np.inf
        return ZeroOneLoss(distances)
    if kind == "hinge":
        return HingeLoss(margins, 0.8)
    if kind == "logistic":
        return LogisticLoss(margins, 0.8)
    if kind == "squared":
        return SquaredLoss(margins, 0.8)
    if kind == "piecewise":
        values = np.concatenate([rng.normal(0.0, 1.0, (n, 3)), np.zeros((n, 1))], axis=1)
        return PiecewiseLinearLoss(values, [1.0, 0.5, 0.2, 0.0])
    losses = np.round(rng.exponential(1.0, (n, 5)), 1)
    distances = np.round(rng.uniform(0.1, 2.0, (n, 5)), 1)
    distances[rng.random((n, 5)) < 0.2] = np.inf
    distances[:, 0] = 0.0
    return CandidateLoss(losses, distances)


KINDS = ("fixed", "zero_one", "hinge", "logistic", "squared", "piecewise", "candidate")


def middle_threshold(loss: Loss, theta1: float, theta2: float, depth: float = 0.4) -> float:
    """Return a threshold between the risk as it is and the highest that shifts reach."""
    rows = slice(0, loss.n_samples)
    base, reach = loss.base(rows).mean(), loss.reach(theta1, rows).loss
    highest = min(reach.mean() if np.isinf(theta2) else reach.max(), base + 3.0)
    return float(base + depth * (highest - base))
